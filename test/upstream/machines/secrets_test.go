package machines

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func secretMachine() Machine {
	return Machine{Name: "a", Plan: &plan.Plan{
		Version: plan.Version, Machine: plan.Machine{Namespace: "a", Name: "b", UID: "c", Node: "d", Cluster: "e"},
		Report: []plan.Channel{}, Redact: []string{"abcdef.0123456789abcdef", "0123456789abcdef"},
		Phases: []plan.Phase{{Name: "one", Steps: []plan.Step{
			&plan.File{Path: plan.Text(`C:\a`), Text: plan.Text("version = 3\nkey = 'r4nd0m-\u00e9-t3xt'\n"), Secret: true},
			&plan.File{Path: plan.Text(`C:\b`), Text: plan.Text("version = 3\ntoken: abcdef.0123456789abcdef\n")},
		}}},
	}}
}

// A leak is found in whatever form a console or a log gives it, and what is nowhere secret is none.
func TestSecretsAreFound(t *testing.T) {
	secrets := expect.Got(SecretsOf(secretMachine()))(t)
	for _, test := range []struct {
		reason, text string
		leaks        bool
	}{
		{"all of it", "the token is abcdef.0123456789abcdef", true},
		{"half of it", "0123 56789abc", true},
		{"wrapped", "01234\r\n  56789", true},
		{"UTF-16", "0\x001\x002\x003\x004\x005\x006\x007\x00", true},
		{"what a code page made of it", "r4nd0m-?-t3xt", false}, // seven characters on each side
		{"a secret line", "key='r4nd0m", true},
		{"too short to be told from a word", "0123456", false},
		{"public elsewhere", "version = 3", false},
		{"a word of the scripts", "Invoke-Agent", false},
	} {
		if found := secrets.Find(test.text); (found != "") != test.leaks {
			t.Errorf("%s: %q is found in %q", test.reason, found, test.text)
		}
	}
}

// What a failing program writes has every secret in it: otherwise nothing would be tried.
func TestSpillHasEverySecret(t *testing.T) {
	for _, m := range expect.Got(Generated(repository))(t) {
		secrets := expect.Got(SecretsOf(m))(t)
		spill := dense(secrets.Spill())
		for _, line := range secrets.Lines {
			if !strings.Contains(spill, dense(line)) {
				t.Errorf("%s: a secret of %d characters is not spilt", m.Name, len(line))
			}
		}
		if secrets.Find(spill) == "" || len(secrets.Lines) < 2 {
			t.Errorf("%s: %d secrets, and none is found in the spill", m.Name, len(secrets.Lines))
		}
	}
}
