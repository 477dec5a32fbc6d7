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

// shared is a management cluster that has the providers on both clouds, and Cluster API's add-on provider.
var shared struct {
	start      sync.Once
	dir        string
	management *servers.Management
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.management != nil {
		if err := errors.Join(shared.management.Stop(), os.RemoveAll(shared.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// prepared is that cluster, which the first test starts that wants it.
func (u user) prepared(components []byte) *servers.Management {
	u.t.Helper()
	shared.start.Do(func() {
		shared.dir = expect.Got(os.MkdirTemp("", "release"))(u.t)
		options := servers.ManagementOptions{Binaries: u.binaries, Dir: shared.dir}
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
