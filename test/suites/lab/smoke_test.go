package lab_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

const labelSmoke = "capwin.cluster.x-k8s.io/smoke"

// smoked is a world in which the plugin's program tries connections.
type smoked struct {
	*answers
	program string
}

// ended is how the program ended.
type ended struct {
	code  int
	err   string
	found report.FindingList
}

// TestSmoke runs the program clusterctl-windows as users do, against a real API server, scheduler and controller manager,
// and kubelets that stand in: before there is a Windows node, when all holds, and with each fault alone. -smoke.all has
// all faults.
func TestSmoke(t *testing.T) {
	stories.Begin(t)
	if testing.Short() {
		t.Skip("starts real servers")
	}
	network := expect.Got(traffic.Start())(t)
	t.Cleanup(func() { expect.OK(t, network.Close()) })
	program := filepath.Join(t.TempDir(), "clusterctl-windows")
	built := make(chan error, 1)
	go func() { built <- servers.BuildPlugin(t.Context(), program) }()
	s := &smoked{answers: &answers{podWorld: podCluster(t, network), to: map[string]string{}}, program: program}
	expect.OK(t, <-built)
	t.Run("no Windows node", s.noWindows)
	t.Run("no rights", s.noRights)
	s.joinNode(t)
	t.Run("no certificate of the kubelet's port", s.unsigned)
	t.Run("all holds", s.allHolds)
	t.Run("Ctrl-C", s.interrupted)
	for _, c := range smokeCases {
		if *everyFault || c.always {
			t.Run(c.name, func(t *testing.T) { s.fault(t, c) })
		}
	}
	if *everyFault {
		t.Run("another namespace of the name", s.exchanged)
		t.Run("on the control plane", s.onControlPlane)
		t.Run("examples", s.examples)
		s.gone(t)
	}
}

func (s *smoked) noWindows(t *testing.T) {
	got := s.smoke(t)
	if got.code != 1 || !strings.HasPrefix(got.err, "the cluster has no Windows Node: none of its 2 Nodes has the label") {
		t.Errorf("got %+v", got)
	}
	s.madeNothing(t)
}

// noRights: a user who may nothing is told what is lacking, and nothing is made.
func (s *smoked) noRights(t *testing.T) {
	config := expect.Got(clientcmd.Load(s.Kubeconfig))(t)
	for _, user := range config.AuthInfos {
		user.Impersonate = "dev"
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	expect.OK(t, clientcmd.WriteToFile(*config, file))
	got := s.call(t, "smoke", "--kubeconfig", file)
	if got.code != 1 || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "so nothing was made: list nodes, get "+
		"nodes/proxy, list namespaces, create namespaces, delete namespaces, create services, create pods, list pods, get pods/exec, "+
		"create pods/exec, get pods/log, list events; a ClusterRole must give them") {
		t.Errorf("got %+v", got)
	}
	s.madeNothing(t)
}

// allHolds with a namespace that an earlier run has left: it is named, and stays.
func (s *smoked) allHolds(t *testing.T) {
	left := expect.Got(s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "capwin-smoke-left", Labels: map[string]string{labelSmoke: ""},
	}}, metav1.CreateOptions{}))(t)
	got := s.smoke(t)
	var names []string
	for _, f := range got.found.Items {
		names = append(names, f.Check+" "+string(f.Result))
	}
	expect.Same(t, "findings", []string{
		"earlier runs warning", "Linux pod ok", "Windows Node ok", "Windows pod ok",
		"Linux pod to Windows pod ok", "Linux pod to Service of Windows pod ok",
		"Linux pod to NodePort of Windows node ok", "Windows host to Windows pod ok", "Windows host to Service of Windows pod ok",
		"Windows pod to Linux pod ok", "Windows pod to Service of Linux pod ok", "Windows pod to name of a Service ok",
		"Windows pod outwards ok", "exec in the Windows pod ok", "logs of the Windows pod ok", "metrics of the Windows node ok",
		"ping out of the cluster skipped", "NodePort on its own node skipped", "volumes skipped",
	}, names)
	if got.code != 0 || got.err != "" {
		t.Errorf("exit code %d: %s%+v", got.code, got.err, got.found.Items)
	}
	if f := got.find(t, "earlier runs"); !strings.HasSuffix(f.Message, "kubectl delete namespace capwin-smoke-left") {
		t.Errorf("got %q", f.Message)
	}
	there := expect.Got(s.client.CoreV1().Namespaces().Get(t.Context(), left.Name, metav1.GetOptions{}))(t)
	if there.DeletionTimestamp != nil {
		t.Error("the namespace of another run is removed")
	}
	expect.OK(t, s.client.CoreV1().Namespaces().Delete(t.Context(), left.Name, metav1.DeleteOptions{}))
	s.goes(t)
}

// interrupted by Ctrl-C while pods start, by whoever ends programs, and by a terminal that is closed.
func (s *smoked) interrupted(t *testing.T) {
	// Where somebody has started the tests by nohup, a program would ignore that the terminal is closed: what is caught here is not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	for _, one := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		command, said := s.begin(t)
		s.podsOfRun(t)
		expect.OK(t, command.Process.Signal(one))
		_ = command.Wait() // the code says more
		if code := command.ProcessState.ExitCode(); code != 130 || said.String() != "interrupted\n" {
			t.Errorf("%s: exit code %d: %s", one, code, said)
		}
		s.goes(t)
	}
}

// exchanged: a namespace that somebody else has made meanwhile under the name is not this run's.
func (s *smoked) exchanged(t *testing.T) {
	command, said := s.begin(t)
	name := s.podsOfRun(t)
	namespaces := s.client.CoreV1().Namespaces()
	expect.OK(t, command.Process.Signal(syscall.SIGSTOP))
	expect.OK(t, namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}))
	s.gone(t)
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made := expect.Got(namespaces.Create(t.Context(), other, metav1.CreateOptions{}))(t)
	expect.OK(t, command.Process.Signal(syscall.SIGINT))
	expect.OK(t, command.Process.Signal(syscall.SIGCONT))
	_ = command.Wait() // the code says more
	there := expect.Got(namespaces.Get(t.Context(), name, metav1.GetOptions{}))(t)
	if code := command.ProcessState.ExitCode(); code != 130 || there.UID != made.UID || there.DeletionTimestamp != nil {
		t.Errorf("exit code %d, namespace %+v: %s", code, there, said)
	}
	expect.OK(t, namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// onControlPlane: where no other Linux node takes pods.
func (s *smoked) onControlPlane(t *testing.T) {
	s.cordon(t, "linux-0", true)
	s.taint(t, "linux-1", corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
	got := s.smoke(t)
	if f := got.find(t, "Linux Nodes"); got.code != 0 || f.Result != cloud.CheckWarning ||
		!strings.HasPrefix(f.Message, "the Linux pods run on the control plane, and tolerate its taint") {
		t.Errorf("exit code %d: %s%+v", got.code, got.err, got.found.Items)
	}
	s.cordon(t, "linux-0", false)
	s.taint(t, "linux-1")
}

// examples are those of the command's help, in a folder with the kubeconfig that they name.
func (s *smoked) examples(t *testing.T) {
	config := expect.Got(clientcmd.Load(s.Kubeconfig))(t)
	config.Contexts["prod"] = config.Contexts[config.CurrentContext]
	t.Chdir(t.TempDir())
	expect.OK(t, clientcmd.WriteToFile(*config, "prod.kubeconfig"))
	t.Setenv("KUBECONFIG", "prod.kubeconfig")
	s.network.Outside("proxy.example.com", netip.MustParseAddrPort("192.0.2.210:3128"))
	help := string(expect.Got(exec.CommandContext(t.Context(), s.program, "smoke", "--help").Output())(t))
	ran := 0
	for line := range strings.Lines(help) {
		words := strings.Fields(strings.Replace(line, "prod-windows-x7k2p", s.node, 1))
		if len(words) < 4 || !strings.HasPrefix(line, "  clusterctl windows smoke --") || slices.Contains(words, "FILE") {
			continue
		}
		ran++
		if got := s.call(t, append(words[2:], "--timeout", "20s", "-o", "json")...); got.code != 0 || len(got.found.Items) == 0 {
			t.Errorf("%s: exit code %d: %s%+v", line, got.code, got.err, got.found.Items)
		}
	}
	if ran < 3 {
		t.Errorf("%d examples were run:\n%s", ran, help)
	}
}

// smoke runs the program until it ends, which it does soon: clocks of nodes are fast, and a pod has but this time to start.
func (s *smoked) smoke(t *testing.T, more ...string) ended {
	t.Helper()
	return s.call(t, append([]string{"smoke", "--kubeconfig", s.KubeconfigFile, "-o", "json", "--timeout", "20s"}, more...)...)
}

func (s *smoked) call(t *testing.T, args ...string) ended {
	t.Helper()
	command := exec.CommandContext(t.Context(), s.program, args...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	_ = command.Run() // the code says more
	got := ended{code: command.ProcessState.ExitCode(), err: withoutProgress(said.String())}
	if out.Len() > 0 {
		expect.OK(t, json.Unmarshal(out.Bytes(), &got.found))
	}
	return got
}

// withoutProgress leaves out what a slow machine is told every 10 seconds.
func withoutProgress(said string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(said, "\n"), func(line string) bool {
		return strings.Contains(line, " of ") &&
			strings.HasSuffix(line, "s)\n")
	})
	return strings.Join(lines, "")
}

// begin starts the program, and does not wait for it.
func (s *smoked) begin(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	command := exec.CommandContext(t.Context(), s.program, "smoke", "--kubeconfig", s.KubeconfigFile)
	command.Stderr, command.Env = &said, append(os.Environ(), "NO_COLOR=1")
	expect.OK(t, command.Start())
	return command, &said
}

// podsOfRun waits until a run has pods, and returns the name of its namespace.
func (s *smoked) podsOfRun(t *testing.T) (name string) {
	t.Helper()
	wait.Until(t, "pods of a run", func() (any, bool) {
		for _, ns := range s.namespaces(t) {
			if ns.DeletionTimestamp == nil {
				name = ns.Name
			}
		}
		pods := expect.Got(s.client.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{}))(t)
		return pods.Items, name != "" && len(pods.Items) > 0
	})
	return name
}

func (s *smoked) namespaces(t *testing.T) []corev1.Namespace {
	t.Helper()
	return expect.Got(s.client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: labelSmoke}))(t).Items
}

func (s *smoked) madeNothing(t *testing.T) {
	t.Helper()
	if all := s.namespaces(t); len(all) > 0 {
		t.Errorf("it has made %+v", all)
	}
}

// goes looks whether each run has removed its namespace: the API server takes seconds until it is gone.
func (s *smoked) goes(t *testing.T) {
	t.Helper()
	for _, ns := range s.namespaces(t) {
		if ns.DeletionTimestamp == nil {
			t.Errorf("the namespace %s is left", ns.Name)
		}
	}
}

// gone waits until nothing of any run is left.
func (s *smoked) gone(t *testing.T) {
	t.Helper()
	wait.Until(t, "no namespace of a run", func() (any, bool) {
		all := s.namespaces(t)
		return all, len(all) == 0
	})
}

func (s *smoked) cordon(t *testing.T, name string, cordoned bool) {
	t.Helper()
	s.patchNode(t, name, map[string]any{"unschedulable": cordoned})
}

// taint gives a node these taints, and takes those that it has.
func (s *smoked) taint(t *testing.T, name string, taints ...corev1.Taint) (before []corev1.Taint) {
	t.Helper()
	before = expect.Got(s.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}))(t).Spec.Taints
	s.patchNode(t, name, map[string]any{"taints": taints})
	return before
}

func (s *smoked) patchNode(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	patch := expect.Got(json.Marshal(map[string]any{"spec": spec}))(t)
	expect.Got(s.client.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
}

func (e ended) find(t *testing.T, check string) report.Finding {
	t.Helper()
	i := slices.IndexFunc(e.found.Items, func(f report.Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("there is no %q: exit code %d, %s, %+v", check, e.code, e.err, e.found.Items)
	}
	return e.found.Items[i]
}
