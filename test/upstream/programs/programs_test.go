package programs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const goldens = "../../../bootstrap/testdata/golden"

// Each form that we render was given to each of its programs, which took it. make test-programs asks them.
func TestFormsAreTaken(t *testing.T) {
	tables, forms := expect.Got(Tables("tables"))(t), expect.Got(Forms(goldens))(t)
	for name, table := range tables {
		left := maps.Clone(table.Takes)
		for _, form := range forms {
			for _, one := range For(table.Program, form) {
				if table.Takes[one.Digest()] == "" {
					t.Errorf("%s was never given what %s has: test/upstream/programs/check.sh -write", name, one.Golden)
				}
				delete(left, one.Digest())
			}
		}
		if len(left) > 0 {
			t.Errorf("%s was given what nothing has any more, %v: test/upstream/programs/check.sh -write", name, left)
		}
	}
}

func TestBrokenFormsAreRefused(t *testing.T) {
	for name, table := range expect.Got(Tables("tables"))(t) {
		broken := Broken[table.Program]
		if len(broken) < 5 || len(table.Refuses) != len(broken) {
			t.Errorf("%s refuses %d of %d broken forms, want 5 or more", name, len(table.Refuses), len(broken))
		}
		for _, change := range broken {
			if table.Refuses[change.Name] == "" {
				t.Errorf("%s does not say why it refuses %s", name, change.Name)
			}
		}
	}
}

// Each minor version that the kubelet's tables have from 1.33 on, and each program.
func TestAllProgramsHaveTables(t *testing.T) {
	tables := expect.Got(Tables("tables"))(t)
	var have, want []string
	for _, table := range tables {
		if table.Program == "kube-proxy" {
			have = append(have, minor(table.Version))
		}
	}
	for _, path := range expect.Got(filepath.Glob("../kubelet/versions/*.json"))(t) {
		if version := minor(filepath.Base(path)); version >= "v1.33" {
			want = append(want, version)
		}
	}
	slices.Sort(have)
	expect.Same(t, "minor versions of kube-proxy", want, have)
	for program := range Broken {
		if !slices.ContainsFunc(slices.Collect(maps.Values(tables)), func(table Table) bool { return table.Program == program }) {
			t.Errorf("%s has no table", program)
		}
	}
	script := string(expect.Got(os.ReadFile("check.sh"))(t))
	for name, table := range tables {
		if table.Program != "flannel" && !strings.Contains(script, table.Version) {
			t.Errorf("check.sh does not build what tables/%s.json is of", name)
		}
	}
}

func minor(version string) string { return regexp.MustCompile(`^v1\.\d+`).FindString(version) }

func TestDelegate(t *testing.T) {
	const conf = `{"name":"cbr0","cniVersion":"0.3.0","type":"flannel","delegate":{"type":"win-bridge"}}`
	got := expect.Got(Delegate(conf, "10.244.3.0/24", "10.244.0.0/16"))(t)
	want := `{"cniVersion":"0.3.0","ipMasq":false,"ipMasqNetwork":"10.244.0.0/16",` +
		`"ipam":{"subnet":"10.244.3.0/24","type":"host-local"},"name":"cbr0","type":"win-bridge"}`
	expect.Same(t, "what flannel.exe hands on", want, string(got))
}

// A plan's own arguments and facts stand in a form.
func TestFormsOfAPlan(t *testing.T) {
	plan := []any{
		map[string]any{"path": `C:\etc\kube-flannel\net-conf.json`, "text": `{"Network":"10.244.0.0/16"}`},
		map[string]any{"valueName": "AppParameters", "value": []any{
			"--kube-subnet-mgr --iface=", map[string]any{"fact": "nodeAddress"},
		}},
		map[string]any{"path": `C:\etc\kube-proxy\config.conf`, "text": []any{"vip ", map[string]any{"fact": "nobody's"}}},
		map[string]any{"command": []any{"log", `C:\k\kube-proxy.exe`, "--windows-service", `--config=C:\etc\kube-proxy\config.conf`}},
	}
	want := []Form{
		{Program: "flanneld", Args: []string{"--kube-subnet-mgr", "--iface=10.1.2.3"}, Text: `{"Network":"10.244.0.0/16"}`},
		{
			Program: "kube-proxy", Text: "vip (fact nobody's)",
			Args: []string{"--windows-service", `--config=C:\etc\kube-proxy\config.conf`},
		},
	}
	expect.Same(t, "forms", want, formsOf(plan))
}
