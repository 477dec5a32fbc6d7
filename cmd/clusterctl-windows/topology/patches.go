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

// unpatched explains why the topology cannot be expanded: mostly because a patch of the class fails, of which only its own
// message counts.
func (t *topology) unpatched(err error) error {
	patch := nameOfPatch.FindStringSubmatch(err.Error())
	if patch == nil {
		return t.wrap(err, "spec", "topology")
	}
	var refused []error
	reported := map[string]bool{}
	for _, text := range reasons(err) {
		if !reported[text] {
			reported[text] = true
			refused = append(refused, fmt.Errorf("%s (%s): the patch %s of ClusterClass %s fails: %s",
				t.object, t.lines().Place("spec", "topology"), patch[1], t.classKey(), text))
		}
	}
	return errors.Join(refused...)
}

// reasons are the ends of the messages of joined errors.
func reasons(err error) []string {
	if aggregate, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		var texts []string
		for _, e := range aggregate.Errors() {
			texts = append(texts, reasons(e)...)
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
	return []string{ofPatch.ReplaceAllString(text, "it must $1 $2, but the template has no such place")}
}
