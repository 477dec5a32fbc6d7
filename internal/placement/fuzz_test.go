package placement_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/odd"
)

// command is one without anything that a shell obeys outside of its quoted word.
var command = regexp.MustCompile(`^kubectl [A-Za-z0-9 ._:/=@-]*('[^']*')?$`)

// FuzzFindings: whatever a cluster tells, each of its workloads has its verdict, no sentence has what a terminal obeys, no
// command what a shell obeys, and who takes one workload after the other has the same ones.
func FuzzFindings(f *testing.F) {
	odd.Fuzz(f, checkFindings)
}

func checkFindings(t *testing.T, source *odd.Source) {
	s := source.Seen()
	all := s.Findings()
	if len(all) < len(s.Workloads) {
		t.Fatalf("%d findings on %d workloads", len(all), len(s.Workloads))
	}
	var wrong []placement.Finding
	for i, one := range all {
		checkTexts(t, one)
		if i < len(s.Workloads) && one.Of != s.Workloads[i].String() {
			t.Errorf("%s has the finding of %s", s.Workloads[i], one.Of)
		}
		if one.Problem != "" {
			wrong = append(wrong, one)
		}
	}
	if isEachOnce(s) {
		checkTaken(t, s, wrong)
	}
}

func checkTexts(t *testing.T, one placement.Finding) {
	t.Helper()
	if one.Of == "" || one.Why == "" {
		t.Errorf("a finding has no text: %+v", one)
	}
	for _, text := range append([]string{one.Of, one.Why, one.Mend, one.Allow}, one.Nodes...) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Contains(text, "%!") {
			t.Errorf("%q", text)
		}
	}
	for _, text := range []string{one.Mend, one.Allow} {
		if text != "" && !command.MatchString(text) {
			t.Errorf("%q is no command", text)
		}
	}
}

// isEachOnce says that no two Nodes have one name, as callers promise.
func isEachOnce(s placement.Seen) bool {
	names := map[string]bool{}
	for _, n := range slices.Concat(s.Windows, s.Linux) {
		if names[n.Name] {
			return false
		}
		names[n.Name] = true
	}
	classes := map[string]bool{}
	for _, c := range s.RuntimeClasses {
		classes[c.Name] = true
	}
	return len(classes) == len(s.RuntimeClasses)
}

// checkTaken gives the workloads one after the other.
func checkTaken(t *testing.T, s placement.Seen, wrong []placement.Finding) {
	t.Helper()
	taken := placement.NewWrong(s)
	for _, one := range s.Workloads {
		taken.Take(one)
	}
	if got := taken.Findings(); !reflect.DeepEqual(tellings(wrong), tellings(got)) {
		t.Errorf("%q, want %q", tellings(got), tellings(wrong))
	}
}

// tellings are the texts of findings, in one order.
func tellings(all []placement.Finding) (texts []string) {
	for _, one := range all {
		texts = append(texts, one.Why+one.Mend)
	}
	slices.Sort(texts)
	return texts
}
