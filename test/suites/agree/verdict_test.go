package agree

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// verdict is what one side makes of a file.
type verdict struct {
	// by is who refuses it: good for nobody.
	by class
	// fields are the paths that the refusal names, sorted. In the place of one that a sentence does not name is the sentence.
	fields []string
	says   string
}

func (v verdict) refused() bool { return v.by != good }

func (v verdict) String() string {
	if !v.refused() {
		return "taken"
	}
	return fmt.Sprintf("%s at %q: %s", v.by, v.fields, v.says)
}

// refusal is a verdict with the fields of several sentences.
func refusal(by class, sentences ...string) verdict {
	v := verdict{by: by, says: strings.Join(sentences, "\n")}
	for _, sentence := range sentences {
		v.fields = append(v.fields, fieldIn(sentence))
	}
	if slices.Contains(v.fields, nameField) { // Cluster API derives a selector and labels from a name, which are wrong as it is
		v.fields = []string{nameField}
	}
	slices.Sort(v.fields)
	v.fields = slices.Compact(v.fields)
	return v
}

const nameField = "metadata.name"

var (
	// path is that of a field: spec.kubelet.extraArgs[0].name.
	path = regexp.MustCompile(`\b(?:metadata|spec|data|stringData)(?:\.[A-Za-z][-A-Za-z0-9]*|\[[^\]]*\])*`)
	// names are those of a machine or its Cluster, with or without the namespace, which each side has its own of.
	names = regexp.MustCompile(`\b(?:[-a-z0-9]+/)?(?:` + name + `|` + world.ClusterName + `)(?:-[a-z0-9]+)*\b`)
)

// hidden is the end of a path that may be a secret, pasted into a wrong place: the plugin names what it is in.
var hidden = regexp.MustCompile(`^(unknown field "(?:[a-zA-Z]+(?:\[\d+\])?\.)*[a-zA-Z]+)\.[a-zA-Z]*[^a-zA-Z"\[.].*"$`)

// fieldIn is the first path in a sentence.
func fieldIn(sentence string) string {
	if found := path.FindString(hidden.ReplaceAllString(sentence, "$1")); found != "" {
		return found
	}
	return names.ReplaceAllString(sentence, "NAME")
}
