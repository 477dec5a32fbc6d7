package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// everyKind lists the kinds of objects in our components.
const everyKind = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings," +
	"customresourcedefinitions,deployments,networkpolicies,roles,rolebindings,serviceaccounts"

// clusterctl installs, uses and deletes both providers in a management cluster. They have the same name and repository, but
// deleting one leaves the other unchanged. No Pod runs.
func TestInit(t *testing.T) {
	needsServers(t)
	t.Parallel()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	u := user{t: t, binaries: binaries, home: t.TempDir()}
	u.config = initRepository(t)
	management := startManagement(t, binaries, servers.CAPIOptions{CoreOnly: true})
	u.kubectl(management, testdata(t, "cert-manager-stand-ins.yaml"), "apply", "--server-side", "-f", "-")
	kubeconfig := "--kubeconfig=" + management.KubeconfigFile

	u.clusterctl(append(initOfTheQuickStart(t), kubeconfig)...)
	u.wantProviders(management)
	infrastructure, bootstrap := u.objects(management, "infrastructure-windows"), u.objects(management, "bootstrap-windows")
	if len(infrastructure) != 24 || len(bootstrap) != 22 {
		t.Errorf("want 24 objects of the infrastructure provider and 22 of the bootstrap provider, got %v and %v",
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

// initOfTheQuickStart is the command that installs the providers of a new cluster, with those of both clouds. It would wait for
// pods, which nobody runs here.
func initOfTheQuickStart(t *testing.T) []string {
	t.Helper()
	page := string(expect.Got(os.ReadFile("../../../docs/quick-start.md"))(t))
	var commands [][]string
	const begins = `clusterctl --config "$CONFIG" init `
	for line := range strings.Lines(strings.ReplaceAll(page, "\\\n", " ")) {
		if rest, found := strings.CutPrefix(line, begins); found && strings.Contains(rest, "--wait-providers") {
			commands = append(commands, strings.Fields(strings.Replace(rest, "--wait-providers", "", 1)))
		}
	}
	if len(commands) != 2 || commands[0][0] != "--infrastructure" || commands[1][0] != "--infrastructure" {
		t.Fatalf("want one command for each cloud, there are %q", commands)
	}
	expect.Same(t, "all but the cloud", commands[0][2:], commands[1][2:])
	commands[0][1] = strings.TrimSuffix(commands[0][1], ",windows") + "," + commands[1][1]
	return append([]string{"init"}, commands[0]...)
}

// wantProviders: those of others are in the versions that tests have, though their repositories have a newer one.
func (u user) wantProviders(management *servers.Management) {
	u.t.Helper()
	want := []string{"BootstrapProvider windows " + version, "InfrastructureProvider windows " + version}
	for _, one := range expect.Got(servers.ForeignProviders(u.t.Context()))(u.t) {
		want = append(want, one.Type+" "+one.Name+" "+one.Version)
	}
	got := strings.Split(strings.TrimSpace(string(u.kubectl(management, nil, "get", "providers", "-A", "-o",
		`jsonpath={range .items[*]}{.type} {.providerName} {.version}{"\n"}{end}`))), "\n")
	slices.Sort(want)
	slices.Sort(got)
	expect.Same(u.t, "providers", want, got)
}

// initRepository writes a release, and next to it stand-ins for other providers, whose release files are not available offline:
// an empty namespace each, with the metadata of its project. Each has a version that is newer than all, too.
func initRepository(t *testing.T) (config string) {
	t.Helper()
	repository := writeRelease(t)
	config = filepath.Join(repository, "clusterctl.yaml")
	settings := string(expect.Got(os.ReadFile(config))(t))
	for _, one := range expect.Got(servers.ForeignProviders(t.Context()))(t) {
		kind := componentsOf[one.Type]
		folder := filepath.Join(repository, "foreign", strings.TrimPrefix(kind+"-"+one.Name, "core-"))
		const series = "releaseSeries:\n"
		newer := strings.Replace(string(one.Metadata), series, series+"  - {major: 99, minor: 0, contract: v1beta2}\n", 1)
		for name, metadata := range map[string][]byte{one.Version: one.Metadata, "v99.0.0": []byte(newer)} {
			file := filepath.Join(folder, name)
			expect.OK(t, os.MkdirAll(file, 0o755))
			expect.OK(t, os.WriteFile(filepath.Join(file, "metadata.yaml"), metadata, 0o600))
			namespace := "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + kind + "-" + one.Name + "-system\n"
			expect.OK(t, os.WriteFile(filepath.Join(file, kind+"-components.yaml"), []byte(namespace), 0o600))
		}
		settings += "- name: " + one.Name + "\n  type: " + one.Type + "\n  url: file://" +
			filepath.Join(folder, "latest", kind+"-components.yaml") + "\n"
	}
	settings += "cert-manager:\n  externallyProvisioned: true\n"
	expect.OK(t, os.WriteFile(config, []byte(settings), 0o600))
	return config
}

// componentsOf are the beginnings of the names of files that a type of provider has.
var componentsOf = map[string]string{
	"CoreProvider": "core", "BootstrapProvider": "bootstrap", "ControlPlaneProvider": "control-plane",
	"InfrastructureProvider": "infrastructure", "AddonProvider": "addon",
}
