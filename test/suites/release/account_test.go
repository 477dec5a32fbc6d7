package release

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// opaque is a Secret that no manager of ours writes.
const opaque = "apiVersion: v1\nkind: Secret\nmetadata: {name: opaque, namespace: default}\n"

// wantBound checks that the policies of a component are about the account that its manager runs as, in whichever namespace
// clusterctl puts it: there they must not fall silent.
func (u user) wantBound(management *servers.Management) {
	u.t.Helper()
	bound := func(namespace string, components []byte) {
		account := "system:serviceaccount:" + namespace + ":" + serviceAccount(u.t, components)
		wait.Until(u.t, "account "+account+" to be bound", func() (any, bool) {
			said := u.refused(management, opaque, "--as", account, "create", "--dry-run=server", "-f", "-")
			return said, strings.Contains(said, "ValidatingAdmissionPolicy 'capwin-bootstrap-system-own-secrets'")
		})
	}
	generate := []string{"generate", "provider", "--bootstrap", "windows:" + version}
	bound("capwin-bootstrap-system", u.clusterctl(generate...))
	moved := u.clusterctl(append(generate, "--target-namespace", "tenants")...)
	u.kubectl(management, moved, "apply", "--server-side", "-f", "-")
	bound("tenants", moved)
}

// serviceAccount is the name that the Deployment has for it.
func serviceAccount(t *testing.T, components []byte) string {
	t.Helper()
	_, after, found := bytes.Cut(components, []byte("serviceAccountName: "))
	if !found {
		t.Fatal("the Deployment has no ServiceAccount")
	}
	name, _, _ := bytes.Cut(after, []byte("\n"))
	return string(name)
}

// refused is what kubectl says when it fails; nothing when it does not.
func (u user) refused(management *servers.Management, input string, args ...string) string {
	u.t.Helper()
	command := exec.CommandContext(u.t.Context(), u.binaries.Path("kubectl"),
		append([]string{"--kubeconfig", management.KubeconfigFile, "--cache-dir", u.home + "/kube"}, args...)...)
	command.Stdin = strings.NewReader(input)
	said, err := command.CombinedOutput()
	if err == nil {
		return ""
	}
	return string(said)
}
