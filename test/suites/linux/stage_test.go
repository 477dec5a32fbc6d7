// Package linux_test proves that Linux comes first: the whole lab, with both managers as their own accounts, Cluster API's core,
// a real API server, scheduler and controller manager, and kubelets that stand in, which make pods Ready.
package linux_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

var everything = flag.Bool("linux.all", false, "try what takes minutes, too")

// manager is how both managers call themselves in workload clusters.
const manager = "capwin-manager"

// The pools of a stage: the Nodes of one have the default taint, those of the other have none.
const (
	taintedPool = "tainted"
	openPool    = "open"
)

// stage is a lab whose Linux is not there yet.
type stage struct {
	*testing.T

	lab      *lab.Lab
	ctx      context.Context //nolint:containedctx // because it is the test's own
	workload kubernetes.Interface
	bindings *bindings
	dns      *availability
}

func newStage(t *testing.T, options lab.Options) *stage {
	t.Helper()
	if testing.Short() {
		t.Skip("starts two control planes; CI runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	options.Dir, options.BootTime, options.LinuxLater, options.Audited = t.TempDir(), time.Second, true, true
	begin := time.Now()
	l, err := lab.Start(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, err := l.Management.Printed(servers.Infrastructure)
			t.Logf("the infrastructure manager says (%v):\n%s", err, text[max(0, len(text)-8000):])
		}
		expect.Fine(t, l.Stop())
	})
	t.Cleanup(cancel)
	config := rest.CopyConfig(l.Workload.Config)
	config.UserAgent = "watcher"
	s := &stage{T: t, lab: l, ctx: ctx, workload: expect.Got(kubernetes.NewForConfig(config))(t)}
	s.bindings, s.dns = watchBindings(ctx, t, s.workload), watchDNS(ctx, t, s.workload)
	s.Logf("the lab runs after %.1f s", time.Since(begin).Seconds())
	return s
}

// apply makes two Machines: the Node of one gets the default taint, that of the other none.
func (s *stage) apply() {
	s.Helper()
	open := &bootstrapv1.WindowsBootstrapConfigSpec{}
	open.Node.Taints = &[]bootstrapv1.NodeTaint{}
	for name, config := range map[string]*bootstrapv1.WindowsBootstrapConfigSpec{taintedPool: {}, openPool: open} {
		expect.OK(s, s.lab.ApplyMachine(s.ctx, lab.Pool{Name: name, Replicas: 1, Config: config}))
	}
}

// machines are those of all pools.
func (s *stage) machines() []infrav1.WindowsMachine {
	s.Helper()
	var list infrav1.WindowsMachineList
	expect.OK(s, s.lab.Client.List(s.ctx, &list))
	return list.Items
}

// waits looks until the machine of a pool waits for this reason, with a sentence that has each part.
func (s *stage) waits(pool, reason string, parts ...string) (sentence string) {
	s.Helper()
	begin := time.Now()
	wait.Until(s, reason, func() (any, bool) {
		var seen []string
		good := false
		for _, m := range s.machines() {
			is, says := capiconditions.GetReason(&m, infrav1.ReadyCondition), capiconditions.GetMessage(&m, infrav1.ReadyCondition)
			seen = append(seen, m.Name+" "+is+": "+says)
			if m.Labels[clusterv1.MachineDeploymentNameLabel] == pool {
				sentence = says
				good = is == reason && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(says, part) })
			}
		}
		return strings.Join(seen, "\n"), good
	})
	s.boughtNothing()
	s.Logf("%5.1f s  %s: %s", time.Since(begin).Seconds(), reason, sentence)
	return sentence
}

// boughtNothing: before the gate opens there is no token, no bootstrap data, and no call of the cloud.
func (s *stage) boughtNothing() {
	s.Helper()
	if calls := s.lab.VCenter.Calls(); len(calls) > 0 {
		s.Errorf("the vCenter was called: %v", calls)
	}
	var secrets corev1.SecretList
	expect.OK(s, s.lab.Client.List(s.ctx, &secrets))
	for _, secret := range secrets.Items {
		if _, has := secret.Data["value"]; has && !strings.HasSuffix(secret.Name, "-kubeconfig") {
			s.Errorf("there is the bootstrap data %s", secret.Name)
		}
	}
	expect.OK(s, s.lab.WorkloadClient.List(s.ctx, &secrets))
	for _, secret := range secrets.Items {
		if secret.Type == corev1.SecretTypeBootstrapToken && strings.HasPrefix(string(secret.Data["description"]), "capwin") {
			s.Errorf("there is the token %s", secret.Name)
		}
	}
}

// joined waits until so many Windows Nodes are Ready and known to their cloud.
func (s *stage) joined(wanted int) {
	s.Helper()
	begin := time.Now()
	wait.Until(s, fmt.Sprintf("%d Windows Nodes", wanted), func() (any, bool) {
		var nodes corev1.NodeList
		expect.OK(s, s.lab.WorkloadClient.List(s.ctx, &nodes, onWindows))
		var seen []string
		for _, m := range s.machines() {
			seen = append(seen, fmt.Sprintf("%s %s: %s", m.Name, m.Status.Phase, capiconditions.GetMessage(&m, infrav1.ReadyCondition)))
		}
		ready := 0
		for _, node := range nodes.Items {
			seen = append(seen, fmt.Sprintf("%s %v", node.Name, node.Spec.Taints))
			if settled(&node) {
				ready++
			}
		}
		return seen, ready == wanted && len(nodes.Items) == wanted
	})
	s.Logf("%5.1f s  until %d Windows Nodes are Ready", time.Since(begin).Seconds(), wanted)
}

// settled says that a Node is Ready and has no taint but those of its config.
func settled(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key != "os" {
			return false
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// kubectl is the real one, in the workload cluster.
func (s *stage) kubectl(args ...string) string {
	s.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s *stage) try(args ...string) (string, error) {
	command := exec.CommandContext(s.ctx, filepath.Join(s.lab.Programs(), "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.lab.Workload.KubeconfigFile)
	out, err := command.CombinedOutput()
	return string(out), err
}

// run has a shell run the command at the end of a sentence, as a person would.
func (s *stage) run(sentence string) {
	s.Helper()
	_, command, found := strings.Cut(sentence, "run this in the workload cluster: ")
	if !found {
		s.Fatalf("no command in %q", sentence)
	}
	shell := exec.CommandContext(s.ctx, "sh", "-c", command)
	shell.Env = []string{"PATH=" + s.lab.Programs(), "KUBECONFIG=" + s.lab.Workload.KubeconfigFile, "HOME=" + s.TempDir()}
	if out, err := shell.CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// management is kubectl in the management cluster.
func (s *stage) management(args ...string) string {
	s.Helper()
	command := exec.CommandContext(s.ctx, filepath.Join(s.lab.Programs(), "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.lab.Management.KubeconfigFile)
	out, err := command.CombinedOutput()
	if err != nil {
		s.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
