package frontdoor

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/suites/charts"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

const (
	root      = "../../.."
	namespace = "default"
	version   = "v0.1.0"
	crdChart  = "crd.projectcalico.org.v1"
)

// world is a cloud, and the clusters that are made in it.
type world struct {
	*testing.T
	dir      string
	binaries servers.Binaries
	charts   *charts.Server
	network  *traffic.Cluster
	vms      *linuxvm.VMs
	// One of them is the cloud.
	vsphere *vsphere
	azure   *azure

	// operator is the real operator of Calico; empty where its stand-in runs.
	operator string

	repository string
	// endpoint is the address of the control plane.
	endpoint string
	// plugin is the folder with clusterctl-windows.
	plugin string
	begin  time.Time

	mu sync.Mutex
	// commanded is when the one command began, marks are the times of the steps since, order that in which they were seen.
	commanded time.Time
	marks     map[string]time.Duration
	order     []string
	// waits are the conditions Ready of the pool's machines, each once.
	waits []metav1.Condition
	// made and removed count the Windows VMs that were ordered, and those whose removal was.
	made, removed int
}

// management is a management cluster with all that a platform engineer has there before the one command.
type management struct {
	*servers.Management
	client client.Client
	// stop ends the stand-in for the providers of the Linux VMs.
	stop func()
}

// newWorld has everything that is outside of management clusters.
func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	w := &world{T: t, dir: t.TempDir(), begin: time.Now(), endpoint: newEndpoint(), marks: map[string]time.Duration{}}
	w.plugin = filepath.Join(w.dir, "bin")
	expect.OK(t, servers.BuildPlugin(t.Context(), filepath.Join(w.plugin, "clusterctl-windows")))
	w.binaries = expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	w.network = expect.Got(traffic.Start())(t)
	w.operator = peers.Program(t, peers.Operator)
	w.vms = &linuxvm.VMs{
		Binaries: w.binaries, Dir: filepath.Join(w.dir, "linux"), Progress: t.Output(), Network: w.network, Program: w.program,
	}
	repositories := expect.Got(charts.Upstream(t.Context()))(t)
	for url, names := range map[string][]string{
		"https://docs.tigera.io/calico/charts":                                                    {crdChart, "tigera-operator"},
		"https://raw.githubusercontent.com/kubernetes-sigs/cloud-provider-azure/master/helm/repo": {"cloud-provider-azure"},
	} {
		var sources []fs.FS
		for _, name := range names {
			source := os.DirFS(filepath.Join("testdata", "charts", name))
			if name == crdChart {
				source = w.calicoKinds()
			}
			sources = append(sources, source)
		}
		repositories[url] = expect.Got(charts.Repository(sources...))(t)
	}
	w.charts = expect.Got(charts.Start(w.dir, repositories))(t)
	w.repository = w.release()
	t.Cleanup(func() {
		expect.Fine(t, w.vms.Stop())
		expect.Fine(t, w.charts.Close())
		expect.Fine(t, w.network.Close())
	})
	return w
}

// program is what a container on a Linux machine does, if it does something here.
func (w *world) program(ctx context.Context, vm *linuxvm.VM, p *pods.Process) (is bool, err error) {
	if w.azure != nil {
		if is, err := w.cloudProvider(ctx, vm, p); is {
			return true, err
		}
	}
	return w.calicoPrograms(ctx, p)
}

// background runs something until the test ends.
func (w *world) background(do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		do(ctx)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-over })
	w.Cleanup(stop)
	return stop
}

// tell prints what has happened, and when.
func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.Output(), "%6.1f s  %s\n", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}

// release is a clusterctl repository as `make repository` writes it, with Cluster API's own provider, whose release files are not
// available offline.
func (w *world) release() string {
	w.Helper()
	repository := filepath.Join(w.dir, "repository")
	w.run(nil, "go", "run", root+"/hack/release", "-source", root, "-version", version, "-out", repository)
	core := filepath.Join(repository, "cluster-api", "v1.14.2")
	expect.OK(w, os.MkdirAll(core, 0o755))
	for file, content := range map[string]string{
		"core-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: capi-system\n",
		"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n" +
			"releaseSeries:\n- {major: 1, minor: 14, contract: v1beta2}\n",
	} {
		expect.OK(w, os.WriteFile(filepath.Join(core, file), []byte(content), 0o600))
	}
	config := filepath.Join(repository, "clusterctl.yaml")
	settings := string(expect.Got(os.ReadFile(config))(w)) + "- name: cluster-api\n  type: CoreProvider\n  url: file://" +
		filepath.Join(core, "core-components.yaml") + "\ncert-manager:\n  externallyProvisioned: true\n"
	expect.OK(w, os.WriteFile(config, []byte(settings), 0o600))
	// clusterctl reads its settings from here.
	home := filepath.Join(w.dir, "home", "cluster-api")
	expect.OK(w, os.MkdirAll(home, 0o755))
	expect.OK(w, os.WriteFile(filepath.Join(home, "clusterctl.yaml"), []byte(settings), 0o600))
	return repository
}

// newManagement starts a management cluster with Cluster API, the add-on provider, and ours, which clusterctl installs.
func (w *world) newManagement(name string) *management {
	w.Helper()
	m := &management{Management: expect.Got(servers.StartManagement(w.Context(), servers.ManagementOptions{
		Binaries: w.binaries, Dir: filepath.Join(w.dir, name),
	}))(w)}
	w.Cleanup(func() { expect.Fine(w, m.Stop()) })
	w.install(m)
	// clusterctl labels what it installs, and moves only objects whose kinds have the label.
	w.shell(m, "kubectl label customresourcedefinitions --all --overwrite clusterctl.cluster.x-k8s.io=")
	var more []string
	if w.azure != nil {
		more = w.azure.flags
	}
	if w.azure != nil && w.azure.federated {
		w.federate(m)
	}
	expect.Got(servers.StartManagers(w.Context(), m.Management, more...))(w)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		expect.OK(w, add(scheme))
	}
	config := rest.CopyConfig(m.Config)
	config.WarningHandler = rest.NoWarnings{} // of kinds that others will retire
	m.client = expect.Got(client.New(config, client.Options{Scheme: scheme}))(w)
	// Strict, so that the stand-ins write nothing that their kinds do not have.
	strict := client.WithFieldValidation(m.client, metav1.FieldValidationStrict)
	providers := &linuxvm.Manager{Client: strict, VMs: w.vms}
	providers.VSphere = w.vsphere != nil && w.vsphere.capv == ""
	if w.azure != nil {
		providers.Azure = w.azure
	}
	m.stop = w.background(providers.Run)
	w.tell("management cluster %s is there", name)
	return m
}

// install installs the providers: others' by their parts, ours by clusterctl.
func (w *world) install(m *management) {
	w.Helper()
	expect.OK(w, servers.InstallCAPI(w.Context(), m.Management, servers.CAPIOptions{}))
	standIns := expect.Got(filepath.Abs("../release/testdata/cert-manager-stand-ins.yaml"))(w)
	var parts errgroup.Group
	parts.Go(func() error {
		if w.azure != nil {
			return servers.InstallCAPZ(w.Context(), m.Management)
		}
		return w.installCAPV(w.Context(), m.Management)
	})
	parts.Go(func() error {
		return servers.StartCAAPH(w.Context(), m.Management, w.Output(), w.charts.Environment...)
	})
	parts.Go(func() error {
		said, err := w.try(m, "kubectl apply --server-side --filename "+standIns+"\n"+
			"clusterctl init --core cluster-api:v1.14.2 --control-plane - -i windows -b windows")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return err
	})
	expect.OK(w, parts.Wait())
}

// shell runs commands of a platform engineer, and returns what they print. An error ends the test.
func (w *world) shell(m *management, commands string, environment ...string) string {
	w.Helper()
	out, err := w.try(m, commands, environment...)
	if err != nil {
		w.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return out
}

func (w *world) try(m *management, commands string, environment ...string) (string, error) {
	w.Helper()
	home := filepath.Join(w.dir, "home")
	command := exec.CommandContext(context.WithoutCancel(w.Context()), "bash", "-ec", "set -o pipefail\n"+commands)
	command.Env = append([]string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + w.binaries.Dir + ":" + w.plugin + ":" + os.Getenv("PATH"),
		"GOPROXY=off", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "CLUSTER_TOPOLOGY=true",
		"TMPDIR=" + w.dir,
	}, environment...)
	if m.Management != nil {
		command.Env = append(command.Env, "KUBECONFIG="+m.KubeconfigFile)
	}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

func (w *world) run(input []byte, program string, args ...string) []byte {
	w.Helper()
	command := exec.CommandContext(context.WithoutCancel(w.Context()), program, args...)
	var failed bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &failed
	out, err := command.Output()
	if err != nil {
		w.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, failed.String())
	}
	return out
}
