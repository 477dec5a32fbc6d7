// Package release tests a release as a platform engineer uses it: with the release program, the real clusterctl, and an API
// server that gets what clusterctl renders.
package release

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/pages"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

const (
	version = "v0.1.0"
	image   = "registry.example.com/capwin/manager:test"
)

// variables are those without a default that the heads of the flavors ask for. The password has characters that are special in
// YAML.
var variables = map[string]string{
	"WINDOWS_CLOUD":                 "vsphere",
	"CONTROL_PLANE_ENDPOINT_IP":     "192.0.2.10",
	"VSPHERE_SERVER":                "vcenter.example.com:8443",
	"VSPHERE_USERNAME":              `EXAMPLE\admin`,
	"VSPHERE_PASSWORD":              `p"a's\s: #{word}%`,
	"VSPHERE_TLS_THUMBPRINT_SHA256": strings.Repeat("AB:", 31) + "AB",
	"VSPHERE_DATACENTER":            "dc0",
	"VSPHERE_DATASTORE":             "/dc0/datastore/ssd",
	"VSPHERE_FOLDER":                "/dc0/vm/nodes",
	"VSPHERE_NETWORK":               "VM Network",
	"VSPHERE_RESOURCE_POOL":         "/dc0/host/c0/Resources",
	"VSPHERE_TEMPLATE":              "ubuntu-2404-kube-v1.36.3",
	"VSPHERE_WINDOWS_TEMPLATE":      "windows-2022-efi-kube-v1.36.3",
	"VSPHERE_SSH_AUTHORIZED_KEY":    "ssh-ed25519 AAAA admin@example.com",
	"AZURE_SUBSCRIPTION_ID":         "11111111-2222-3333-4444-555555555555",
	"AZURE_LOCATION":                "westeurope",
	"CLUSTER_IDENTITY_NAME":         "cluster-identity",
	"AZURE_NODE_IDENTITY": "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/nodes" +
		"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/linux",
	"AZURE_SSH_PUBLIC_KEY_B64": "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmth" +
		"R3h3ZEhoOGcgYWRtaW5AZXhhbXBsZS5jb20=",
}

// A release has its files, and real API servers take what clusterctl makes of them: every field, with nothing to warn of.
func TestRelease(t *testing.T) {
	needsServers(t)
	t.Parallel()
	u := offline(t)
	repository := filepath.Dir(u.config)
	wantFiles(t, repository)
	components := u.components()
	if count := bytes.Count(components, []byte("image: "+image)); count != 2 {
		t.Errorf("%d containers run the image of the release, want 2", count)
	}
	management := u.prepared(components)
	for _, flavor := range flavors(t, repository) {
		if flavor != "windows" { // TestClasses has it: its Cluster is refused before its class is there
			u.strictly(management, []byte(u.generate("any", "--flavor", flavor)))
			u := u
			u.variables = mirrored
			u.strictly(management, []byte(u.generate("any", "--flavor", flavor)))
		}
	}
	cluster := []byte(u.generate("demo", "--flavor", "windows-vsphere"))
	for _, pair := range [][2]string{{"L2Bridge", "Calico"}, {"Overlay", "Flannel"}, {"L2Bridge", "AzureCNI"}} {
		u := u
		u.variables = map[string]string{"WINDOWS_NETWORK_MODE": pair[0], "WINDOWS_CNI": pair[1], "WINDOWS_POOL": "second"}
		u.strictly(management, []byte(u.generate("any", "--flavor", "windows-pool-azure")))
	}
	u.strictly(management, firstPool(t))
	// The API server must have every character of the password.
	password := u.kubectl(management, cluster, "apply", "--server-side", "--dry-run=server", "-f", "-",
		"--selector", "clusterctl.cluster.x-k8s.io/move", "-o", "go-template={{.data.password | base64decode}}")
	expect.Same(t, "password", variables["VSPHERE_PASSWORD"], string(password))
	u.wantBound(management)
}

// writeRelease runs the release program into a new folder.
func writeRelease(t *testing.T) (repository string) {
	t.Helper()
	repository = t.TempDir()
	writeReleaseTo(t, repository)
	return repository
}

func writeReleaseTo(t *testing.T, repository string) {
	t.Helper()
	touch(t, sources...)
	run(t, nil, program(t, "release"), "-source", "../../..", "-version", version, "-image", image, "-out", repository)
}

// sources are what the release program reads.
var sources = []string{"../../../config", "../../../templates", "../../../metadata.yaml"}

// touch reads the files that the release program will read. Go caches a test result until a file changes that the test itself
// has read.
func touch(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(name)
			return err
		})
		expect.OK(t, err)
	}
}

func wantFiles(t *testing.T, repository string) {
	t.Helper()
	want := []string{
		"bootstrap-windows/" + version + "/bootstrap-components.yaml",
		"bootstrap-windows/" + version + "/metadata.yaml",
		"clusterctl.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows-azure.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows-pool-azure.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows-pool-vsphere.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows-vsphere.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows.yaml",
		"infrastructure-windows/" + version + "/cluster-template.yaml",
		"infrastructure-windows/" + version + "/clusterclass-windows-azure.yaml",
		"infrastructure-windows/" + version + "/clusterclass-windows-vsphere.yaml",
		"infrastructure-windows/" + version + "/infrastructure-components.yaml",
		"infrastructure-windows/" + version + "/metadata.yaml",
		"install.yaml",
	}
	var got []string
	err := fs.WalkDir(os.DirFS(repository), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, path)
		}
		return err
	})
	expect.OK(t, err)
	expect.Same(t, "repository", want, got)
}

// firstPool is the example in the README.
func firstPool(t *testing.T) []byte {
	t.Helper()
	return []byte(pages.YAML(t, "../../../README.md")[0])
}

// unset are variables that nobody sets: defaults that are empty, without which clusterctl wants a value. It shows their names.
var unset = []string{"REQUIRED_ON_VSPHERE", "REQUIRED_IN_AZURE", "EMPTY_BY_DEFAULT"}

// The head of each flavor explains every variable that the flavor or a command in the head has.
func TestVariablesAreDocumented(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for _, file := range expect.Got(filepath.Glob("../../../templates/*.yaml"))(t) {
		head, body, _ := strings.Cut(string(expect.Got(os.ReadFile(file))(t)), "apiVersion:")
		var explained []string
		for _, line := range regexp.MustCompile(`(?m)^# {3}([A-Z][A-Z0-9_]+)(?: |$)`).FindAllStringSubmatch(head, -1) {
			explained = append(explained, line[1])
		}
		for _, used := range variable.FindAllStringSubmatch(body, -1) {
			all[used[1]] = true
			if !slices.Contains(slices.Concat(unset, explained), used[1]) {
				t.Errorf("%s is not explained in the head of %s", used[1], file)
			}
		}
		commands := variablesOfCommands(head)
		for _, used := range commands {
			if !slices.Contains(explained, used) {
				t.Errorf("a command in the head of %s takes %s, which the head does not explain", file, used)
			}
		}
		for _, name := range explained {
			if !strings.Contains(body, "${"+name) && !slices.Contains(commands, name) {
				t.Errorf("%s is explained in the head of %s, and not used", name, file)
			}
		}
	}
	for name := range variables {
		if !all[name] {
			t.Errorf("%s is set by the test but not used by a flavor", name)
		}
	}
}

// variablesOfCommands are those that a shell would put in, and those without which clusterctl does not install the vSphere
// provider (config/base/credentials.yaml of v1.16.1).
func variablesOfCommands(head string) (names []string) {
	for _, used := range regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]+)`).FindAllStringSubmatch(head, -1) {
		names = append(names, used[1])
	}
	if regexp.MustCompile(`clusterctl init .*vsphere[:,]`).MatchString(head) {
		names = append(names, "VSPHERE_USERNAME", "VSPHERE_PASSWORD")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// variable is the beginning of one in a template.
var variable = regexp.MustCompile(`\$\{([A-Z0-9_]+)`)

// startManagement starts a management cluster with Cluster API and its webhooks.
func startManagement(t *testing.T, binaries servers.Binaries, parts servers.CAPIOptions) *servers.Management {
	t.Helper()
	management := expect.Got(servers.StartManagement(t.Context(),
		servers.ManagementOptions{Binaries: binaries, Dir: t.TempDir()}))(t)
	t.Cleanup(func() {
		expect.Fine(t, management.Stop())
	})
	expect.OK(t, servers.InstallCAPI(t.Context(), management, parts))
	return management
}

// testdata reads a file of this test's own.
func testdata(t *testing.T, file string) []byte {
	t.Helper()
	return expect.Got(os.ReadFile(filepath.Join("testdata", file)))(t)
}
