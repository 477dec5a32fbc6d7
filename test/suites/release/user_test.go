package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

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
	return output(u.t, u.command(args...))
}

func (u user) command(args ...string) *exec.Cmd {
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
	return command
}

func (u user) kubectl(management *servers.Management, input []byte, args ...string) []byte {
	u.t.Helper()
	flags := []string{"--kubeconfig", management.KubeconfigFile, "--cache-dir", filepath.Join(u.home, "kube")}
	return run(u.t, input, u.binaries.Path("kubectl"), append(flags, args...)...)
}

// components are both providers of the release, as clusterctl installs them.
func (u user) components() []byte {
	u.t.Helper()
	return slices.Concat(
		u.clusterctl("generate", "provider", "--infrastructure", "windows:"+version), []byte("\n---\n"),
		u.clusterctl("generate", "provider", "--bootstrap", "windows:"+version))
}

// shared is a folder for what is made once for all tests: a release, and a management cluster that has the providers on both
// clouds, and Cluster API's add-on provider. One test at a time uses that.
var shared struct {
	dir            string
	release, start sync.Once
	turn           sync.Mutex
	management     *servers.Management
}

func TestMain(m *testing.M) {
	var err error
	if shared.dir, err = os.MkdirTemp("", "release"); err != nil {
		panic(err)
	}
	wait.AtOnce(6) // they wait more than they work
	code := m.Run()
	if shared.management != nil {
		err = shared.management.Stop()
	}
	if err = errors.Join(err, os.RemoveAll(shared.dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// programs are the release program and our plugin.
var programs = sync.OnceValue(func() (err error) {
	command := exec.Command("go", "build", "-o", filepath.Join(shared.dir, "release"), "../../../hack/release")
	if said, failed := command.CombinedOutput(); failed != nil {
		err = fmt.Errorf("build the release program: %w: %s", failed, said)
	}
	return errors.Join(err, servers.BuildPlugin(context.Background(), filepath.Join(shared.dir, "clusterctl-windows")))
})

// program returns the path of one of them.
func program(t *testing.T, name string) string {
	t.Helper()
	expect.OK(t, programs())
	return filepath.Join(shared.dir, name)
}

// needsServers skips a test with -short.
func needsServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
}

// prepared is that cluster until the test ends. The first test starts it that wants it.
func (u user) prepared(components []byte) *servers.Management {
	u.t.Helper()
	shared.turn.Lock()
	u.t.Cleanup(shared.turn.Unlock)
	shared.start.Do(func() {
		options := servers.ManagementOptions{Binaries: u.binaries, Dir: filepath.Join(shared.dir, "management")}
		management := expect.Got(servers.StartManagement(context.Background(), options))(u.t)
		shared.management = management
		expect.OK(u.t, servers.InstallCAPI(u.t.Context(), management, servers.CAPIOptions{}))
		u.kubectl(management, components, "apply", "--server-side", "-f", "-")
		installProviders(u.t, management)
		expect.OK(u.t, servers.StartCAAPH(context.Background(), management, os.Stderr))
		u.kubectl(management, nil, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	})
	if shared.management == nil {
		u.t.Fatal("there is no management cluster: the test that was to start it failed")
	}
	return shared.management
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
