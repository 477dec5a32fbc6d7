package linux_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// TestNotKubeadms: a control plane with machines of its own, and without what kubeadm join reads. By the real clock that is final
// after 5 minutes, and over a minute after somebody has mended it.
func TestNotKubeadms(t *testing.T) {
	if !*everything {
		t.Skip("make test-linux runs it")
	}
	s := newStage(t, lab.Options{})
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"}}
	expect.OK(s, s.lab.WorkloadClient.Get(s.ctx, client.ObjectKeyFromObject(config), config))
	expect.OK(s, s.lab.WorkloadClient.Delete(s.ctx, config.DeepCopy()))
	machine := controlPlaneMachine()
	expect.OK(s, s.lab.Client.Create(s.ctx, machine))
	s.apply()
	s.waits(openPool, "WaitingForControlPlane", "is not initialized yet")
	expect.OK(s, s.lab.Initialize(s.ctx))
	begin := time.Now()
	s.waits(openPool, "WaitingForLinuxNode", "no Ready Node among its 0 with the label kubernetes.io/os=linux and node-role")
	expect.OK(s, s.lab.Workload.RegisterControlPlaneNode(s.ctx))
	s.waits(openPool, "WaitingForControlPlane", "does not have ConfigMap kube-system/kubeadm-config yet")
	s.stalls(begin)
	s.waits(openPool, "ControlPlaneNotKubeadm", "another program than kubeadm made its control plane")
	config.ResourceVersion = ""
	expect.OK(s, s.lab.WorkloadClient.Create(s.ctx, config))
	expect.OK(s, s.lab.StartLinux(s.ctx))
	s.until(5*time.Minute, func(reason string) bool { return reason != "ControlPlaneNotKubeadm" })
	s.joined(2)
}

// controlPlaneMachine is one that Cluster API counts, and that no provider makes.
func controlPlaneMachine() *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: lab.Namespace, Name: "control-plane-0",
		Labels: map[string]string{clusterv1.ClusterNameLabel: lab.ClusterName, clusterv1.MachineControlPlaneLabel: ""},
	}}
	m.Spec.ClusterName = lab.ClusterName
	m.Spec.Bootstrap.DataSecretName = new("control-plane-0")
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "nobodys",
	}
	return m
}

// stalls waits for what is final after 5 minutes, and not before.
func (s *stage) stalls(begin time.Time) {
	s.Helper()
	s.until(7*time.Minute, func(reason string) bool { return reason == "ControlPlaneNotKubeadm" })
	if took := time.Since(begin); took < 5*time.Minute-2*time.Second { // conditions have seconds
		s.Errorf("it is final after %s", took)
	}
}

// until waits for longer than others do until all machines have such a reason.
func (s *stage) until(limit time.Duration, good func(reason string) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	begin := time.Now()
	expect.OK(s, wait.Poll(ctx, func(context.Context) error {
		for _, m := range s.machines() {
			if reason := capiconditions.GetReason(&m, infrav1.ReadyCondition); !good(reason) {
				return fmt.Errorf("%s waits with %s", m.Name, reason)
			}
		}
		return nil
	}))
	s.Logf("%5.1f s  until that is so", time.Since(begin).Seconds())
}
