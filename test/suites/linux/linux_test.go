package linux_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// The Linux nodes of a lab, with that of the control plane.
const linuxNodes = 3

// TestLinuxFirst is the life of a cluster from Machines that wait for it to Linux add-ons and drains beside Windows Nodes. With
// -linux.all somebody switches the policies off, so that the hazard is seen, and on again.
func TestLinuxFirst(t *testing.T) {
	stories.Begin(t)
	s := newStage(t, lab.Options{})
	before, bothBefore := addons(""), s.makeBoth("both-before")
	s.make(before)
	s.apply()
	s.comesUp(true)
	s.joined(2)
	s.planned(before)
	old := s.landed(before)
	s.told(before)
	s.runOnBoth(bothBefore, s.makeBoth("both-after"))
	s.keeps(before)
	s.movesDNS(nil)
	s.comesBack(true)
	s.onlyBefore(old)
	s.wroteNoWorkload()
	if *everything {
		s.switchedOff()
	}
}

// TestBefore136: an API server without MutatingAdmissionPolicies keeps cluster DNS on Linux, and warns of the rest.
func TestBefore136(t *testing.T) {
	if !*everything {
		t.Skip("make test-linux runs it")
	}
	s := newStage(t, lab.Options{WithoutMutatingPolicies: true})
	before, after := addons(""), addons("-after")
	s.make(before)
	s.apply()
	s.comesUp(false)
	s.joined(2)
	s.landed(before)
	s.told(before)
	s.warned(after)
	s.landed(after)
	s.readAnew()
	s.told(after)
	s.movesDNS(func(said string, err error) {
		if err == nil || !strings.Contains(said, "cluster DNS runs on Linux only") {
			s.Errorf("%v: %s", err, said)
		}
	})
	expect.Same(s, "wrong bindings of CoreDNS", "", list(of(s.bindings.wrong(), coreDNS)))
	s.Logf("%s", s.bindings.count())
	s.comesBack(false)
	s.wroteNoWorkload()
}

// comesUp brings Linux up step by step. Until the last one, machines wait and say for what, and no VM is bought before the
// policies act.
func (s *stage) comesUp(withMutating bool) {
	s.Helper()
	begin := time.Now()
	_, err := s.unselect()
	expect.OK(s, err)
	s.waits(taintedPool, "WaitingForControlPlane", "is not initialized yet")
	expect.OK(s, s.lab.Initialize(s.ctx))
	s.waits(openPool, "WaitingForLinuxNode", "no Ready Node among its 0 with the label kubernetes.io/os=linux",
		"need a Linux pool, so add one")
	s.registerUninitialized()
	s.waits(openPool, "WaitingForLinuxNode", "no cloud provider has initialized Node "+servers.ControlPlaneNode)
	s.taint(servers.ControlPlaneNode, corev1.Taint{Key: clusters.ControlPlaneLabel, Effect: corev1.TaintEffectNoSchedule})
	s.run(s.waits(openPool, "WaitingForPlacement", "Deployment kube-system/coredns may run on Windows"))
	for _, pool := range []string{taintedPool, openPool} {
		s.waits(pool, "WaitingForClusterDNS", "Deployment kube-system/coredns has 0 of 2 replicas available")
	}
	refuses, changes := s.act()
	expect.OK(s, s.lab.StartLinux(s.ctx))
	s.keptFirst(withMutating, refuses && changes == withMutating)
	s.settleDNS(2)
	s.Logf("%5.1f s  until Linux carries the cluster", time.Since(begin).Seconds())
}

// registerUninitialized brings the Node of the control plane as a kubelet does that waits for a cloud provider.
func (s *stage) registerUninitialized() {
	s.Helper()
	waits := corev1.Taint{Key: clusters.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	plane := corev1.Taint{Key: clusters.ControlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}
	labels := map[string]string{
		corev1.LabelOSStable: "linux", corev1.LabelHostname: servers.ControlPlaneNode, clusters.ControlPlaneLabel: "",
	}
	expect.OK(s, s.lab.WorkloadClient.Create(s.ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: servers.ControlPlaneNode, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{waits, plane}},
	}))
	expect.OK(s, s.lab.Workload.RegisterControlPlaneNode(s.ctx))
}

// taint gives a Node these taints, and no others.
func (s *stage) taint(name string, taints ...corev1.Taint) {
	s.Helper()
	wait.Eventually(s, "the taints of "+name, func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := s.lab.WorkloadClient.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		node.Spec.Taints = taints
		return s.lab.WorkloadClient.Update(ctx, node)
	})
}
