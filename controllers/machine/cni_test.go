package machine

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// noCNI is what Cluster API says of a Node that has no CNI since a time.
func noCNI(since time.Duration) func(*facts) {
	return func(f *facts) {
		f.machine.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNodeNotHealthyReason,
			Message: "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
				"message:Network plugin returns error: cni plugin not initialized",
			LastTransitionTime: metav1.NewTime(begin.Add(since)),
		}}
	}
}

// TestCNINotReady: a Node that has had no CNI for 15 minutes is told, with what brings it, and its machine stays Ready.
func TestCNINotReady(t *testing.T) {
	flannel := func(f *facts) {
		deadline(0)(f)
		f.config.Spec.Network.Mode, f.config.Spec.Network.CNI = bootstrapv1.NetworkOverlay, bootstrapv1.CNIFlannel
	}
	healthy := func(f *facts) {
		nodeHealthy(clusterv1.MachineNodeHealthyReason)(f)
		f.machine.Status.Conditions[0].Status = metav1.ConditionTrue
	}
	full := func(f *facts) {
		noCNI(time.Hour)(f)
		f.machine.Status.Conditions[0].Message = "* Node.MemoryPressure: kubelet has insufficient memory available"
	}
	const told = "False CNINotReady"
	for name, c := range map[string]struct {
		reason  string
		changes []func(*facts) // before each look, the first of which is 20 minutes after the Node has joined
		want    string
		wake    time.Duration
	}{
		"never": {"it is told", []func(*facts){noCNI(0)}, told, 0},
		"late": {
			"400 s are no reason to tell anything", []func(*facts){noCNI(20*time.Minute - 400*time.Second)}, "", 500 * time.Second,
		},
		"almost": {
			"the wake-up is for the very moment", []func(*facts){noCNI(5*time.Minute + time.Second)}, "", time.Second,
		},
		"just":          {"15 minutes are over", []func(*facts){noCNI(5 * time.Minute)}, told, 0},
		"at last":       {"it has come", []func(*facts){noCNI(0), healthy}, "True CNIReady", 0},
		"another fault": {"the kubelet says no more that it lacks one", []func(*facts){noCNI(0), full}, "True CNIReady", 0},
		"only that":     {"it is no CNI that is missing", []func(*facts){full}, "", 0},
		"healthy":       {"nothing to tell", []func(*facts){healthy}, "", 0},
		"out of sight": {
			"what was said stands", []func(*facts){noCNI(0), nodeHealthy(clusterv1.MachineNodeConnectionDownReason)}, told, 0,
		},
		"being deleted": {"nobody waits for it", []func(*facts){noCNI(19 * time.Minute), noCNI(0), isDeleting}, told, 0},
		"not joined": {
			"it is of no Node of this machine",
			[]func(*facts){func(f *facts) { noCNI(0)(f); f.machine.Status.NodeRef.Name = "" }},
			"", 0,
		},
		"ten times as fast": {
			"simulated guests' clocks run faster", []func(*facts){func(f *facts) { noCNI(18 * time.Minute)(f); f.speed = 10 }}, told, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := world(flannel, vm(cloud.Running, succeeded), withNode)
			f.now = begin.Add(20 * time.Minute)
			for _, change := range c.changes {
				change(f)
				report(f, nil)
			}
			got := ""
			if cni := conditions.Get(f.windows, infrav1.CNIReadyCondition); cni != nil {
				got = string(cni.Status) + " " + cni.Reason
			}
			expect.Same(t, c.reason, c.want, got)
			if joined(f) && !deleting(f) {
				expect.Same(t, "the next look", c.wake, nextLook(f))
				expect.Same(t, "Ready", "Running", conditions.GetReason(f.windows, infrav1.ReadyCondition))
				expect.Same(t, "it says so", c.want == told, conditions.GetMessage(f.windows, infrav1.ReadyCondition) != "")
			}
		})
	}
	sentence := func(changes ...func(*facts)) string {
		f := world(append(changes, vm(cloud.Running, succeeded), withNode, noCNI(0), later, seen)...)
		return conditions.GetMessage(f.windows, infrav1.CNIReadyCondition)
	}
	const begins = "Node m-abc has had no CNI for 15m: its kubelet reports that the network plug-in is not ready. Looked for: "
	expect.Same(t, "Flannel", begins+`the Windows service flanneld, which writes C:\run\flannel\subnet.env, after which the node `+
		`writes C:\etc\cni\net.d\10-flannel.conf (on the node: Get-Service flanneld)`, sentence(flannel))
	blocked := vm(cloud.Running, reported("Succeeded", "1/1 every-boot", atEnd+`,"boot":{"state":"Failed",`+
		`"reason":"NodeFilesFailed","message":"cni-configuration: Access to the path is denied."}`))
	expect.Same(t, "the node knows more", strings.Replace(begins, "Looked", `The node reports: "cni-configuration: Access to the `+
		`path is denied." (NodeFilesFailed). Looked`, 1)+`a file of the CNI in C:\etc\cni\net.d; another bootstrap provider `+
		`configured the node`,
		conditions.GetMessage(world(blocked, withNode, noCNI(0), later, seen).windows, infrav1.CNIReadyCondition))
	expect.Same(t, "no config of ours",
		begins+`a file of the CNI in C:\etc\cni\net.d; another bootstrap provider configured the node`, sentence())
	noMachine := world(was(running), func(f *facts) { f.machine = nil })
	expect.Same(t, "no Machine", reread, nextLook(noMachine))
}
