package cloud

import (
	"fmt"
	"regexp"
	"testing"
)

// windowsName is what Windows takes for a computer and Kubernetes for a Node.
var windowsName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$`)

func TestComputerName(t *testing.T) {
	for name, c := range map[string]struct{ machine, prefix string }{
		"long":                 {"production-windows-pool-7f9c4-x2x9z", "prod-"},
		"short":                {"a", "a-"},
		"digits alone":         {"2022", "win-"},
		"begins with a digit":  {"7zip-pool", "win-"},
		"dots":                 {"a.b.c", "a-b-"},
		"ends with a dash":     {"abc-pool", "abc-"},
		"an x at both ends":    {"xbox", "xbox-"},
		"capitals":             {"Pool", "pool-"},
		"nothing":              {"", "win-"},
		"dashes alone":         {"----", "win-"},
		"other alphabets":      {"пул-windows", "win-"},
		"other alphabets only": {"пул", "win-"},
		"first and last":       {"az09", "az09-"},
		"beside them":          {"a/:b", "a--b-"},
		"a brace":              {"a{b", "a-b-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ComputerName(c.machine, "seed")
			if got[:len(got)-digestLength] != c.prefix || !windowsName.MatchString(got) || len(got) > maxComputerName {
				t.Errorf("ComputerName(%q) = %q, want %s and a digest that Windows takes", c.machine, got, c.prefix)
			}
		})
	}
	if got, want := ComputerName("pool-1", "seed"), "pool-36s5gnq1r5"; got != want {
		t.Errorf("ComputerName = %q, want %q in every release: machines that are being made depend on it", got, want)
	}
}

// TestComputerNamesDiffer: names of machines often begin alike, and Windows sees only their first 15 characters.
func TestComputerNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for i := range 200_000 {
		seed := fmt.Sprint(i)
		name := ComputerName("the-same-beginning-of-all-names", seed)
		if other, ok := seen[name]; ok {
			t.Fatalf("%q and %q are both called %s", other, seed, name)
		}
		seen[name] = seed
	}
}

func FuzzComputerName(f *testing.F) {
	f.Add("pool-1", "seed")
	f.Fuzz(func(t *testing.T, machine, seed string) {
		if got := ComputerName(machine, seed); !windowsName.MatchString(got) {
			t.Errorf("ComputerName(%q, %q) = %q", machine, seed, got)
		}
	})
}
