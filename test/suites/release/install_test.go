package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// What Git has needs nobody who fills in variables. The second time, the API server has nothing to write.
func TestInstallFromGit(t *testing.T) {
	needsServers(t)
	t.Parallel()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	repository := writeRelease(t)
	u := user{t: t, binaries: binaries, config: filepath.Join(repository, "clusterctl.yaml"), home: t.TempDir()}
	install := expect.Got(os.ReadFile(filepath.Join(repository, "install.yaml")))(t)
	if strings.Contains(string(install), "${") {
		t.Error("install.yaml has a variable, which kubectl, Argo CD and Flux apply as it stands")
	}
	management := expect.Got(servers.StartManagement(t.Context(),
		servers.ManagementOptions{Binaries: binaries, Dir: t.TempDir()}))(t)
	t.Cleanup(func() { expect.Fine(t, management.Stop()) })
	u.kubectl(management, install, "apply", "--server-side", "-f", "-")
	u.kubectl(management, nil, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	first := u.written(management, install)
	u.kubectl(management, install, "apply", "--server-side", "-f", "-")
	expect.Same(t, "generation and resource version after the second time", first, u.written(management, install))

	generated := slices.Concat(
		u.clusterctl("generate", "provider", "--infrastructure", "windows:"+version), []byte("\n---\n"),
		u.clusterctl("generate", "provider", "--bootstrap", "windows:"+version))
	expect.Same(t, "what clusterctl installs", u.applied(management, generated), u.applied(management, install))
}

// The overlay in the page lends an identity, as the variable of the components does.
func TestInstallFromGitWithAFlag(t *testing.T) {
	t.Parallel()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	folder := writeRelease(t)
	page := string(expect.Got(os.ReadFile("../../../docs/install.md"))(t))
	_, rest, _ := strings.Cut(page, "```yaml\n# kustomization.yaml\n")
	overlay, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("docs/install.md has no kustomization.yaml")
	}
	expect.OK(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600))
	patched := string(run(t, nil, binaries.Path("kubectl"), "kustomize", folder))
	if !strings.Contains(patched, "- --azure-identities=11111111-1111-1111-1111-111111111111=team-a\n") {
		t.Error("the overlay of docs/install.md does not lend the identity")
	}
}

// written is what the API server changes in an object when it writes it.
func (u user) written(management *servers.Management, install []byte) map[string]string {
	u.t.Helper()
	all := map[string]string{}
	for _, object := range listed(u.t, u.kubectl(management, install, "get", "-f", "-", "-o", "json")) {
		all[nameOf(object)] = fmt.Sprintf("generation %d, resource version %s", object.GetGeneration(), object.GetResourceVersion())
	}
	return all
}

// applied is what the API server would make of the objects.
func (u user) applied(management *servers.Management, objects []byte) map[string]any {
	u.t.Helper()
	all := map[string]any{}
	said := u.kubectl(management, objects, "apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json")
	for _, object := range listed(u.t, said) {
		object.SetManagedFields(nil)
		object.SetGeneration(0)
		delete(object.Object, "status")
		all[nameOf(object)] = object.Object
	}
	return all
}

func listed(t *testing.T, list []byte) []unstructured.Unstructured {
	t.Helper()
	var all unstructured.UnstructuredList
	expect.OK(t, json.Unmarshal(list, &all))
	if len(all.Items) != 48 {
		t.Errorf("%d objects, want 24 and 22 of the providers, and their namespaces", len(all.Items))
	}
	return all.Items
}

func nameOf(object unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
