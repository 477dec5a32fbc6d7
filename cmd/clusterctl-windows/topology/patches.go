package topology

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

var (
	nameOfPatch = regexp.MustCompile(`for patch "([^"]+)": `)
	// where a template failed is of no use without the template.
	placeInTemplate = regexp.MustCompile(`(?s)^.*template: tpl:\d+(?::\d+)?: (?:executing "tpl" at <.*?>: )?`)
	callOfFail      = regexp.MustCompile(`^error calling fail: `)
	// what a template makes has values, which may be secrets.
	notYAML      = regexp.MustCompile(`(?s)^.*failed to unmarshal rendered template: ".*": `)
	ofPatch      = regexp.MustCompile(`^.*: (\w+) operation does not apply: doc is missing \w+: "?([^"]*?)"?: missing value$`)
	startOfChain = regexp.MustCompile(`^failed to (?:apply patches|generate patches|apply patches for patch "[^"]*"): `)
)

// unpatched says why the topology cannot be expanded: mostly because a patch of the class fails, of which only its own
// words count.
func (t *topology) unpatched(err error) error {
	patch := nameOfPatch.FindStringSubmatch(err.Error())
	if patch == nil {
		return t.at(err, "spec", "topology")
	}
	var refused []error
	told := map[string]bool{}
	for _, text := range reasons(err) {
		if !told[text] {
			told[text] = true
			refused = append(refused, fmt.Errorf("%s (%s): the patch %s of ClusterClass %s fails: %s",
				t.object, t.lines().At("spec", "topology"), patch[1], t.classKey(), text))
		}
	}
	return errors.Join(refused...)
}

// reasons are what each of joined errors says at its end.
func reasons(err error) []string {
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		var texts []string
		for _, one := range all.Errors() {
			texts = append(texts, reasons(one)...)
		}
		return texts
	}
	text := err.Error()
	if cut := placeInTemplate.ReplaceAllString(text, ""); cut != text {
		return []string{callOfFail.ReplaceAllString(cut, "")}
	}
	if cut := notYAML.ReplaceAllString(text, ""); cut != text {
		return []string{"what one of its templates makes of the variables is not YAML: " + cut}
	}
	for startOfChain.MatchString(text) {
		text = startOfChain.ReplaceAllString(text, "")
	}
	text = strings.TrimPrefix(text, "failed to calculate value: ")
	return []string{ofPatch.ReplaceAllString(text, "it shall $1 $2, for which the template has no place")}
}
