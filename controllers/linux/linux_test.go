package linux

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

var errLinux = errors.New("boom")

// answer is what a workload cluster says of its control plane.
type answer struct {
	Workload
	nodes []corev1.Node
	err   error
}

// ControlPlane implements Workload.
func (a answer) ControlPlane(_ context.Context, cluster client.ObjectKey) ([]corev1.Node, error) {
	if cluster.String() != "ns/prod" {
		return nil, errors.New("another cluster was asked: " + cluster.String())
	}
	return a.nodes, a.err
}

func linuxNode(version string, ready corev1.ConditionStatus) corev1.Node {
	n := corev1.Node{}
	n.Status.NodeInfo.KubeletVersion = version
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	return n
}

// TestControlPlane: Windows waits until Linux is there. Nodes of a workload cluster are not watched, so that it is looked at
// again every 5 seconds.
func TestControlPlane(t *testing.T) {
	ready, notReady := linuxNode("v1.36.3", corev1.ConditionTrue), linuxNode("v1.36.3", corev1.ConditionFalse)
	const none = "Cluster prod has no Ready Node among its %d with the labels node-role.kubernetes.io/control-plane and " +
		"kubernetes.io/os=linux; Windows VMs are made only after one is Ready"
	internal := phase.Of(errLinux)
	for name, c := range map[string]struct {
		reason         string
		notInitialized bool
		nodes          []corev1.Node
		err            error
		want           phase.Stop
	}{
		"one":        {"Windows can join", false, []corev1.Node{ready}, nil, phase.Stop{}},
		"one of two": {"one is enough", false, []corev1.Node{notReady, ready}, nil, phase.Stop{}},
		"not initialized": {"the Cluster is watched", true, []corev1.Node{ready}, nil, phase.Stop{
			Reason: "WaitingForControlPlane", Message: "the control plane of Cluster prod is not initialized yet", Wakes: "Cluster",
		}},
		"none":       {"it comes without a watch", false, nil, nil, linuxStop("WaitingForLinuxNode", none, 0)},
		"none Ready": {"so does a Ready one", false, []corev1.Node{notReady}, nil, linuxStop("WaitingForLinuxNode", none, 1)},
		"unreachable": {"nothing is known", false, nil, &workload.UnreachableError{Why: "is away"}, phase.Stop{
			Reason: "WaitingForLinuxNode", After: 5 * time.Second,
			Message: "the API server of Cluster prod is away; Windows waits until it shows a Ready Linux Node",
		}},
		"failed List": {"the queue backs off", false, []corev1.Node{ready}, errLinux, internal},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod"}}
			cluster.Status.Initialization.ControlPlaneInitialized = new(!c.notInitialized)
			nodes, err := ControlPlane(t.Context(), answer{nodes: c.nodes, err: c.err}, cluster)
			got := phase.Of(err)
			if errors.Is(c.err, errLinux) {
				expect.Says(t, c.reason, err, "read Nodes of Cluster prod: boom")
				got.Err = errLinux
			}
			if got != c.want {
				t.Errorf("%s: %+v, want %+v", c.reason, got, c.want)
			}
			if (err == nil) != (nodes != nil) || err == nil && len(nodes) != len(c.nodes) {
				t.Errorf("%d nodes with the error %v: without an error, all of them are returned", len(nodes), err)
			}
		})
	}
}

// A Cluster whose status says nothing yet is not initialized.
func TestNothingSaidYet(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod"}}
	_, err := ControlPlane(t.Context(), answer{nodes: []corev1.Node{linuxNode("v1.36.3", corev1.ConditionTrue)}}, cluster)
	expect.Same(t, "reason", "WaitingForControlPlane", phase.Of(err).Reason)
}

func linuxStop(reason, format string, nodes int) phase.Stop {
	return phase.Of(phase.WaitFor(5*time.Second, reason, format, nodes))
}

// A kubeconfig that must not be used is for a person to mend; it is noticed soon.
func TestRefusedKubeconfig(t *testing.T) {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "prod"}}
	cluster.Status.Initialization.ControlPlaneInitialized = new(true)
	refused := &workload.RefusedError{}
	_, err := ControlPlane(t.Context(), answer{err: refused}, cluster)
	want := phase.Stop{Reason: "KubeconfigRefused", Message: refused.Error(), After: 5 * time.Second, Stalled: true}
	if got := phase.Of(err); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestOldestVersion: any API server of a control plane may answer, so the oldest one counts.
func TestOldestVersion(t *testing.T) {
	for want, versions := range map[string][]string{
		"":        {"", "unknown"},
		"v1.35.9": {"v1.36.0", "v1.35.9", "", "v1.35.10"},
		"v1.36.3": {"v1.36.3+vmware.1"},
	} {
		var nodes []corev1.Node
		for _, version := range versions {
			nodes = append(nodes, linuxNode(version, corev1.ConditionTrue))
		}
		expect.Same(t, "oldest", want, OldestVersion(nodes))
	}
}

// unlisted is a cache that does not answer.
type unlisted struct{ client.Reader }

// List implements client.Reader.
func (unlisted) List(context.Context, client.ObjectList, ...client.ListOption) error { return errLinux }

// A cache that cannot be listed wakes none, which the log says: they look by themselves.
func TestWakeWithoutCache(t *testing.T) {
	var lines []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	waiting := Waiting{Reader: unlisted{}, List: &clusterv1.MachineList{}, Needs: func(client.Object) bool { return true }}
	_, err := waiting.of(t.Context(), client.ObjectKey{Namespace: "ns", Name: "prod"})
	expect.Says(t, "a failed List", err, "list objects of Cluster ns/prod: boom")
	waiting.wake(ctx, client.ObjectKey{Namespace: "ns", Name: "prod"}, queue)
	expect.Same(t, "woken", 0, queue.Len())
	expect.Same(t, "lines in the log", 1, len(lines))
	waiting.Reader = machines{}
	waiting.wake(ctx, client.ObjectKey{Namespace: "ns", Name: "prod"}, queue)
	expect.Same(t, "lines in the log of a cache that answers", 1, len(lines))
}
