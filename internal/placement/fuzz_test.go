package placement_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/odd"
)

// command is one without anything that a shell obeys outside of its quoted word.
var command = regexp.MustCompile(`^kubectl [A-Za-z0-9 ._:/=@-]*('[^']*')?$`)

// FuzzFindings: whatever a cluster tells, each of its workloads has its verdict, no sentence has what a terminal obeys, and no
// command what a shell obeys.
func FuzzFindings(f *testing.F) {
	odd.Fuzz(f, checkFindings)
}

func checkFindings(t *testing.T, source *odd.Source) {
	s := world{source.Seen(), source.Workloads()}
	for i, one := range s.findings() {
		checkTexts(t, one)
		if i < len(s.workloads) && (one.Of != s.workloads[i].String() || one.Verdict == "") {
			t.Errorf("%s has the finding %+v", s.workloads[i], one)
		}
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
