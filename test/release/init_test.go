package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// everyKind lists the kinds of objects in our components.
const everyKind = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings," +
	"customresourcedefinitions,deployments,networkpolicies,roles,rolebindings,serviceaccounts"

// clusterctl installs, uses and deletes both providers in a management cluster. They have the same name and repository, but
// deleting one leaves the other unchanged. No Pod runs.
func TestInit(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	u := user{t: t, binaries: binaries, home: t.TempDir()}
	u.config = initRepository(t)
	management := startManagement(t, binaries, servers.CAPIOptions{CoreOnly: true})
	u.kubectl(management, testdata(t, "cert-manager-stand-ins.yaml"), "apply", "--server-side", "-f", "-")
	kubeconfig := "--kubeconfig=" + management.KubeconfigFile

	u.clusterctl("init", kubeconfig, "--core", "cluster-api:v1.14.2", "--control-plane", "-",
		"--infrastructure", "windows:"+version, "--bootstrap", "windows:"+version)
	infrastructure, bootstrap := u.objects(management, "infrastructure-windows"), u.objects(management, "bootstrap-windows")
	if len(infrastructure) != 20 || len(bootstrap) != 20 {
		t.Errorf("want 20 objects of the infrastructure provider and 20 of the bootstrap provider, got %v and %v",
			infrastructure, bootstrap)
	}

	// The version is not needed once the provider is installed.
	cluster := u.clusterctl("generate", "cluster", "demo", kubeconfig, "--infrastructure", "windows",
		"--kubernetes-version", "v1.36.3", "--flavor", "windows-pool-vsphere")
	if !strings.Contains(string(cluster), "kind: WindowsMachineTemplate") {
		t.Errorf("generate cluster wrote no WindowsMachineTemplate:\n%s", cluster)
	}

	// The other provider of the cloud is not there, and clusterctl looks whether it has the class's templates.
	wantFailure(t, u.command("generate", "cluster", "demo", kubeconfig, "--infrastructure", "windows",
		"--kubernetes-version", "v1.36.3"), `no matches for kind "VSphereClusterTemplate"`)

	u.clusterctl("delete", kubeconfig, "--infrastructure", "windows")
	left := slices.DeleteFunc(u.objects(management, "infrastructure-windows"), isCRD)
	if len(left) > 0 {
		t.Errorf("after clusterctl delete there is still %v", left)
	}
	expect.Same(t, "the bootstrap provider after the infrastructure provider was deleted",
		bootstrap, u.objects(management, "bootstrap-windows"))
}

func isCRD(name string) bool { return strings.HasPrefix(name, "customresourcedefinition") }

func (u user) objects(management *servers.Management, provider string) []string {
	u.t.Helper()
	names := u.kubectl(management, nil, "get", everyKind, "-A", "-o", "name", "-l", "cluster.x-k8s.io/provider="+provider)
	return strings.Fields(string(names))
}

// initRepository writes a release, and next to it a stand-in for Cluster API's core provider, whose release files are not
// available offline.
func initRepository(t *testing.T) (config string) {
	t.Helper()
	repository := writeRelease(t)
	core := filepath.Join(repository, "cluster-api", "v1.14.2")
	expect.OK(t, os.MkdirAll(core, 0o755))
	for file, content := range map[string]string{
		"core-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: capi-system\n",
		"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n" +
			"releaseSeries:\n- {major: 1, minor: 14, contract: v1beta2}\n",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(core, file), []byte(content), 0o600))
	}
	config = filepath.Join(repository, "clusterctl.yaml")
	content := expect.Got(os.ReadFile(config))(t)
	settings := string(content) + "- name: cluster-api\n  type: CoreProvider\n  url: file://" +
		filepath.Join(core, "core-components.yaml") +
		"\ncert-manager:\n  externallyProvisioned: true\n"
	expect.OK(t, os.WriteFile(config, []byte(settings), 0o600))
	return config
}
