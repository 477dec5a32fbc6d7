package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

const (
	pool  = "vsphere"
	other = "azure"
	// patience with one chapter; a warm one takes seconds.
	patience = 5 * time.Minute
	// look is how often the API server is asked what is to be shown.
	look = 250 * time.Millisecond
	// joining is the chapter with which a picture begins, and scaling the one in which it is taken.
	joining = "Linux comes up, its nodes and then CoreDNS; then Windows joins"
	scaling = "Both scaled to 3, as a change in Git would do"
)

// story is what the demo shows, and what it measures on the way.
type story struct {
	lab    *lab.Lab
	screen *screen
	took   []measure
	// first is the line from which on a picture shows the screen, and seen is the screen of the picture.
	first int
	seen  []string
}

type measure struct {
	what string
	took time.Duration
}

// chapter has a title, acts, and shows the machines until it is over.
type chapter struct {
	title string
	act   func(context.Context) error
	over  func(context.Context, []infrav1.WindowsMachine) (bool, error)
}

// beginning is how the first machines come.
func (s *story) beginning() []chapter {
	return []chapter{
		{"2 machines in vSphere and 2 in Azure, before there is a Linux node", s.apply, s.wait(4)},
		{joining, s.linux, s.nodes(4)},
	}
}

// tell goes through the life of a pool.
func (s *story) tell(ctx context.Context) error {
	for _, c := range s.beginning() {
		if err := s.chapter(ctx, c); err != nil {
			return err
		}
	}
	if err := s.tellPods(ctx); err != nil {
		return err
	}
	for _, c := range []chapter{
		{scaling, s.scale(3), s.nodes(6)},
		{"Azure has no room for the first size any more; a machine more there", s.fill, s.nodes(7)},
		{"Both scaled to 1", s.scale(1), s.nodes(2)},
		{"Deleted", s.remove, s.nodes(0)},
	} {
		if err := s.chapter(ctx, c); err != nil {
			return err
		}
	}
	s.summary()
	return nil
}

// apply is what a user does first, and the control plane says that it is initialized: before that Cluster API makes no machines.
func (s *story) apply(ctx context.Context) error {
	return errors.Join(
		s.lab.Initialize(ctx),
		s.lab.Apply(ctx, lab.Pool{Name: pool, Replicas: 2}),
		s.lab.Apply(ctx, lab.Pool{Name: other, Replicas: 2, Azure: true}))
}

// linux brings up what carries a cluster.
func (s *story) linux(ctx context.Context) error {
	if err := s.lab.Workload.RegisterControlPlaneNode(ctx); err != nil {
		return err
	}
	return s.lab.StartLinux(ctx)
}

func (s *story) scale(replicas int32) func(context.Context) error {
	return func(ctx context.Context) error {
		return errors.Join(s.lab.Scale(ctx, pool, replicas), s.lab.Scale(ctx, other, replicas))
	}
}

// fill has Azure refuse the first size of the pool, for want of room: its next machine gets the second.
func (s *story) fill(ctx context.Context) error {
	s.lab.Azure.Change(func(w *armsim.Inside) {
		w.Compute.Faults.Full = func(size, _ string) string {
			if size == lab.AzureSize {
				return "SkuNotAvailable"
			}
			return ""
		}
	})
	return s.lab.Scale(ctx, other, 4)
}

func (s *story) remove(ctx context.Context) error {
	return errors.Join(s.lab.Remove(ctx, pool), s.lab.Remove(ctx, other))
}

// chapter acts and shows the machines until it is over.
func (s *story) chapter(ctx context.Context, c chapter) error {
	s.screen.title(c.title)
	if c.title == joining {
		s.first = len(s.screen.lines) - 1
	}
	begin := time.Now()
	failed := func(err error) error {
		return fmt.Errorf("%s: %w", strings.ToLower(c.title[:1])+c.title[1:], err)
	}
	if err := c.act(ctx); err != nil {
		return failed(err)
	}
	ctx, cancel := wait.Within(ctx, patience)
	defer cancel()
	for {
		done, err := s.show(ctx, begin, c)
		if err != nil {
			return failed(err)
		}
		if done {
			break
		}
		select {
		case <-ctx.Done():
			return failed(fmt.Errorf("not done after %s: %w", patience, context.Cause(ctx)))
		case <-time.After(look):
		}
	}
	took := time.Since(begin)
	s.took = append(s.took, measure{c.title, took})
	s.screen.done(took)
	return nil
}

// show prints the machines as the API server has them and says whether the chapter is over.
func (s *story) show(ctx context.Context, begin time.Time, c chapter) (bool, error) {
	var machines infrav1.WindowsMachineList
	if err := s.lab.Client.List(ctx, &machines, client.InNamespace(lab.Namespace)); err != nil {
		return false, fmt.Errorf("list windowsmachines: %w", err)
	}
	s.screen.show(time.Since(begin), rows(machines.Items))
	if c.title == scaling && (s.seen == nil || slices.ContainsFunc(machines.Items, reports)) {
		s.seen = slices.Clone(s.screen.lines[s.first:])
	}
	return c.over(ctx, machines.Items)
}

// reports says whether the guest of a machine is on its way.
func reports(m infrav1.WindowsMachine) bool {
	return strings.HasPrefix(conditions.GetMessage(&m, infrav1.ReadyCondition), "Bootstrap ")
}

// wait is over when so many machines wait for Linux.
func (*story) wait(wanted int) func(context.Context, []infrav1.WindowsMachine) (bool, error) {
	return func(_ context.Context, machines []infrav1.WindowsMachine) (bool, error) {
		waiting := 0
		for _, m := range machines {
			if conditions.GetReason(&m, infrav1.ReadyCondition) == infrav1.WaitingForLinuxNodeReason {
				waiting++
			}
		}
		return waiting == wanted, nil
	}
}

// nodes is over when as many nodes as wanted are Ready, and no other machines are there.
func (s *story) nodes(wanted int32) func(context.Context, []infrav1.WindowsMachine) (bool, error) {
	return func(ctx context.Context, machines []infrav1.WindowsMachine) (bool, error) {
		if len(machines) != int(wanted) {
			return false, nil
		}
		ready, err := s.readyNodes(ctx)
		if err != nil || ready != int(wanted) {
			return false, err
		}
		return s.settled(ctx, wanted)
	}
}

// settled says whether Cluster API calls the pools Available, or has forgotten them.
func (s *story) settled(ctx context.Context, wanted int32) (bool, error) {
	var deployments clusterv1.MachineDeploymentList
	if err := s.lab.Client.List(ctx, &deployments, client.InNamespace(lab.Namespace)); err != nil {
		return false, fmt.Errorf("list machinedeployments: %w", err)
	}
	if wanted == 0 {
		return len(deployments.Items) == 0, nil
	}
	available := int32(0)
	for _, d := range deployments.Items {
		if !conditions.IsTrue(&d, clusterv1.AvailableCondition) {
			return false, nil
		}
		available += ptr.Deref(d.Status.AvailableReplicas, 0)
	}
	return available == wanted, nil
}

func (s *story) readyNodes(ctx context.Context) (int, error) {
	var nodes corev1.NodeList
	if err := s.lab.WorkloadClient.List(ctx, &nodes, client.MatchingLabels{corev1.LabelOSStable: "windows"}); err != nil {
		return 0, fmt.Errorf("list nodes: %w", err)
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready, nil
}

// summary prints what was measured.
func (s *story) summary() {
	s.screen.title("Measured")
	started := s.lab.Started()
	for _, m := range started {
		s.screen.printf("  %-69s %6.1f s\n", m.What, m.Took.Seconds())
	}
	for _, m := range s.took {
		s.screen.printf("  %-69s %6.1f s\n", m.what, m.took.Seconds())
	}
	first := started[len(started)-1].Took + s.took[0].took + s.took[1].took
	s.screen.printf("  %-69s %6.1f s\n", "from nothing to two Ready nodes in each cloud", first.Seconds())
	s.calls("calls to the vCenter, for 3 machines made and removed", s.lab.VCenter.Calls())
	s.calls("calls to Azure, for 4 machines, one of them in its second size", s.lab.Azure.ByClass())
}

// calls prints how often each method was called.
func (s *story) calls(what string, calls map[string]int) {
	total := 0
	for _, n := range calls {
		total += n
	}
	s.screen.printf("  %-69s %6d\n", what, total)
	for _, method := range slices.SortedFunc(maps.Keys(calls), func(a, b string) int { return calls[b] - calls[a] }) {
		s.screen.printf("    %-67s %6d\n", method, calls[method])
	}
}

// keep stays up with two pools.
func (s *story) keep(ctx context.Context) error {
	for _, c := range s.beginning() {
		if err := s.chapter(ctx, c); err != nil {
			return err
		}
	}
	s.screen.title("It stays up until you press Ctrl-C. In another terminal:")
	for _, line := range []string{
		"export PATH=" + s.lab.Programs() + ":$PATH",
		"export KUBECONFIG=" + s.lab.Management.KubeconfigFile,
		"",
		"kubectl get windowsmachines -o wide",
		"clusterctl describe cluster " + lab.ClusterName + " --echo",
		"kubectl scale machinedeployment " + pool + " --replicas=4",
		"kubectl delete machine --wait=false $(kubectl get machines -o name | head -1 | cut -d/ -f2)   # it is replaced",
		"kubectl explain windowsmachine.spec.azure",
		"kubectl --kubeconfig " + s.lab.Workload.KubeconfigFile + " get nodes,pods -A -o wide   # the workload cluster",
		"",
		"ls " + s.lab.GuestsDir() + "   # the nodes' disks, registries and reports",
		"ls " + s.lab.Dir() + "/*/*.log   # every server's log",
	} {
		s.screen.printf("  %s\n", line)
	}
	<-ctx.Done()
	return ctx.Err()
}
