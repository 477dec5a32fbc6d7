// Package release tests a release as a platform engineer uses it: with the release program, the real clusterctl, and an API
// server that gets what clusterctl renders.
package release

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

const (
	version  = "v0.1.0"
	image    = "registry.example.com/capwin/manager:test"
	template = "../../templates/cluster-template-windows-vsphere.yaml"
)

// variables are the variables that the head of the flavor asks for. The password has characters that are special in YAML.
var variables = map[string]string{
	"CONTROL_PLANE_ENDPOINT_IP":     "192.0.2.10",
	"VSPHERE_SERVER":                "vcenter.example.com:8443",
	"VSPHERE_USERNAME":              `EXAMPLE\admin`,
	"VSPHERE_PASSWORD":              `p"a's\s: #{word}%`,
	"VSPHERE_TLS_THUMBPRINT":        strings.Repeat("AB:", 19) + "AB",
	"VSPHERE_TLS_THUMBPRINT_SHA256": strings.Repeat("AB:", 31) + "AB",
	"VSPHERE_DATACENTER":            "dc0",
	"VSPHERE_DATASTORE":             "/dc0/datastore/ssd",
	"VSPHERE_FOLDER":                "/dc0/vm/nodes",
	"VSPHERE_NETWORK":               "VM Network",
	"VSPHERE_RESOURCE_POOL":         "/dc0/host/c0/Resources",
	"VSPHERE_TEMPLATE":              "ubuntu-2404-kube-v1.36.3",
	"VSPHERE_WINDOWS_TEMPLATE":      "windows-2022-kube-v1.36.3",
	"VSPHERE_SSH_AUTHORIZED_KEY":    "ssh-ed25519 AAAA admin@example.com",
}

func TestRelease(t *testing.T) {
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	repository := writeRelease(t)
	wantFiles(t, repository)

	u := user{t: t, binaries: binaries, config: filepath.Join(repository, "clusterctl.yaml"), home: t.TempDir()}
	cluster := u.clusterctl("generate", "cluster", "demo", "--infrastructure", "windows:"+version, "--flavor", "windows-vsphere",
		"--target-namespace", "default", "--kubernetes-version", "v1.36.3", "--control-plane-machine-count", "3",
		"--worker-machine-count", "2")
	components := slices.Concat(
		u.clusterctl("generate", "provider", "--infrastructure", "windows:"+version), []byte("\n---\n"),
		u.clusterctl("generate", "provider", "--bootstrap", "windows:"+version))
	if count := bytes.Count(components, []byte("image: "+image)); count != 2 {
		t.Errorf("%d containers run the image of the release, want 2", count)
	}

	management := startManagement(t, binaries, servers.CAPIOptions{})
	u.kubectl(management, components, "apply", "--server-side", "-f", "-")
	installProviders(t, management)
	u.kubectl(management, nil, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	wantAccepted(t, string(u.strictly(management, cluster)))
	for _, flavor := range flavors(t, repository) {
		u.strictly(management, []byte(u.generate("any", "--flavor", flavor)))
	}
	u.kubectl(management, firstPool(t), "apply", "--server-side", "--dry-run=server", "-f", "-")
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
	touch(t, "../../config", "../../templates", "../../metadata.yaml")
	run(t, nil, "go", "run", "../../config/release", "-source", "../..", "-version", version, "-image", image, "-out", repository)
	return repository
}

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
		"infrastructure-windows/" + version + "/cluster-template-windows-vsphere.yaml",
		"infrastructure-windows/" + version + "/cluster-template-windows.yaml",
		"infrastructure-windows/" + version + "/cluster-template.yaml",
		"infrastructure-windows/" + version + "/infrastructure-components.yaml",
		"infrastructure-windows/" + version + "/metadata.yaml",
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

func wantAccepted(t *testing.T, output string) {
	t.Helper()
	want := []string{
		"cluster.cluster.x-k8s.io/demo",
		"kubeadmcontrolplane.controlplane.cluster.x-k8s.io/demo",
		"machinedeployment.cluster.x-k8s.io/demo-windows",
		"machinehealthcheck.cluster.x-k8s.io/demo-windows",
		"secret/demo",
		"secret/demo-windows-vsphere",
		"vspherecluster.infrastructure.cluster.x-k8s.io/demo",
		"vspheremachinetemplate.infrastructure.cluster.x-k8s.io/demo-control-plane",
		"windowsbootstrapconfigtemplate.bootstrap.cluster.x-k8s.io/demo-windows",
		"windowsmachinetemplate.infrastructure.cluster.x-k8s.io/demo-windows",
	}
	var got []string
	for line := range strings.Lines(output) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "Warning") {
			got = append(got, name)
		}
		if rest != "serverside-applied (server dry run)" {
			t.Errorf("unexpected: %s", line)
		}
	}
	slices.Sort(got)
	expect.Same(t, "accepted objects", want, got)
}

// firstPool is the example in the README.
func firstPool(t *testing.T) []byte {
	t.Helper()
	content := expect.Got(os.ReadFile("../../README.md"))(t)
	_, rest, _ := strings.Cut(string(content), "```yaml\n")
	pool, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("README.md has no YAML")
	}
	return []byte(pool)
}

// The head of the flavor explains every variable.
func TestVariablesAreDocumented(t *testing.T) {
	content := expect.Got(os.ReadFile(template))(t)
	head, body, _ := strings.Cut(string(content), "apiVersion:")
	var explained []string
	for _, line := range regexp.MustCompile(`(?m)^# {3}([A-Z][A-Z0-9_]+)`).FindAllStringSubmatch(head, -1) {
		explained = append(explained, line[1])
	}
	used := regexp.MustCompile(`\$\{([A-Z0-9_]+)`).FindAllStringSubmatch(body, -1)
	for _, variable := range used {
		if !slices.Contains(explained, variable[1]) {
			t.Errorf("%s is not explained in the head of %s", variable[1], template)
		}
	}
	for _, name := range explained {
		if !strings.Contains(body, "${"+name) {
			t.Errorf("%s is explained in the head of %s, and not used", name, template)
		}
	}
	for name := range variables {
		if !strings.Contains(body, "${"+name) {
			t.Errorf("%s is set by the test but not used by the flavor", name)
		}
	}
}

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

// user is a platform engineer with a shell, offline.
type user struct {
	t            *testing.T
	binaries     servers.Binaries
	config, home string
	// variables are set instead of the usual ones.
	variables map[string]string
}

func (u user) clusterctl(args ...string) []byte {
	u.t.Helper()
	command := exec.CommandContext(u.t.Context(), u.binaries.Path("clusterctl"), append([]string{"--config", u.config}, args...)...)
	command.Env = []string{
		"HOME=" + u.home, "XDG_CONFIG_HOME=" + u.home, "PATH=" + os.Getenv("PATH"),
		"GOPROXY=off", "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	}
	set := maps.Clone(variables)
	maps.Copy(set, u.variables)
	for name, value := range set {
		command.Env = append(command.Env, name+"="+value)
	}
	return output(u.t, command)
}

func (u user) kubectl(management *servers.Management, input []byte, args ...string) []byte {
	u.t.Helper()
	flags := []string{"--kubeconfig", management.KubeconfigFile, "--cache-dir", filepath.Join(u.home, "kube")}
	return run(u.t, input, u.binaries.Path("kubectl"), append(flags, args...)...)
}

func run(t *testing.T, input []byte, program string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	command.Stdin = bytes.NewReader(input)
	return output(t, command)
}

func output(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(command.Path), strings.Join(command.Args[1:], " "), err, stderr.String())
	}
	return out
}
