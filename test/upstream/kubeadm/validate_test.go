// Package kubeadm holds what is rendered for kubeadm against the real one.
package kubeadm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

const goldenPlans = "../../../bootstrap/testdata/golden/*.json"

// kubeadm reads strictly: a field that it does not know is an error, as it would be on the node.
func TestJoinConfigurations(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	files, err := filepath.Glob(goldenPlans)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans: %v", err)
	}
	// kubeadm looks whether it is there; on a node it is, by the path without a drive that is rendered.
	discovery := filepath.Join(t.TempDir(), "discovery.yaml")
	expect.OK(t, os.WriteFile(discovery, nil, 0o600))
	seen := map[string]int{}
	for _, file := range files {
		text := joinConfiguration(t, file)
		text = strings.Replace(text, "/run/kubeadm/discovery.yaml", discovery, 1)
		version, _, _ := strings.Cut(strings.SplitAfter(text, "kubeadm.k8s.io/")[1], `"`)
		seen[version]++
		if said, err := validate(t, binaries, text); err != nil {
			t.Errorf("%s (%s): %v: %s", file, version, err, said)
		}
	}
	for _, version := range []string{"v1beta3", "v1beta4"} {
		if seen[version] == 0 {
			t.Errorf("no golden plan has a JoinConfiguration of %s", version)
		}
	}
}

// The real kubeadm must be able to say no, or the test above says nothing.
func TestKubeadmRefuses(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	good := joinConfiguration(t, strings.Replace(goldenPlans, "*", "vsphere", 1))
	byFile := joinConfiguration(t, strings.Replace(goldenPlans, "*", "discovery", 1))
	for _, c := range []struct{ good, name, from, to, says string }{
		{good, "unknown field", `"nodeRegistration":`, `"nodeRegistrations":`, `unknown field "nodeRegistrations"`},
		{good, "another kind", `"JoinConfiguration"`, `"JoinConfig"`, "JoinConfig"},
		{good, "broken token", `"abcdef.`, `"abcdef-`, "token is invalid"},
		{byFile, "no file", "x", "x", "not a valid HTTPS URL or a file on disk"},
		{byFile, "drive", "/run/kubeadm/discovery.yaml", `C:\\run\\kubeadm\\discovery.yaml`, "the scheme must be https"},
	} {
		if !strings.Contains(c.good, c.from) {
			t.Fatalf("%s: nothing to change in\n%s", c.name, c.good)
		}
		said, err := validate(t, binaries, strings.Replace(c.good, c.from, c.to, 1))
		if err == nil || !strings.Contains(said, c.says) {
			t.Errorf("%s: %v, %q", c.name, err, said)
		}
	}
}

func validate(t *testing.T, binaries servers.Binaries, text string) (said string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "join.yaml")
	expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.CommandContext(t.Context(), binaries.Path("kubeadm"), "config", "validate", "--config", file).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubeadm config validate: %w", err)
	}
	return string(out), err
}

// joinConfiguration is what a golden plan writes for kubeadm.
func joinConfiguration(t *testing.T, file string) string {
	t.Helper()
	content := expect.Got(os.ReadFile(file))(t)
	decoded, err := plan.Decode(content)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for _, phase := range decoded.Phases {
		for _, step := range phase.Steps {
			if file, ok := step.(*plan.File); ok && file.Base().Name == "join-configuration" {
				return file.Text.String()
			}
		}
	}
	t.Fatalf("%s has no join configuration", file)
	return ""
}
