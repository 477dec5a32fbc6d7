package linux

import (
	"testing"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestKubeadm: for five minutes after the control plane is initialized, what kubeadm join reads may still come. The time is the
// Cluster's: a process that starts later does not begin anew.
func TestKubeadm(t *testing.T) {
	lacks := func(names ...string) func(*stage) { return func(s *stage) { s.kubeadm.Missing = names } }
	after := func(d time.Duration) func(*stage) { return func(s *stage) { s.now = initialized.Add(d) } }
	const config, info = "kube-system/kubeadm-config", "kube-public/cluster-info"
	waits := polls("WaitingForControlPlane")
	stalled := phase.Stop{Reason: "ControlPlaneNotKubeadm", After: 2 * time.Minute, Stalled: true}
	for name, c := range map[string]struct {
		changes []func(*stage)
		want    phase.Stop
		says    []string
	}{
		"at once": {[]func(*stage){lacks(config), after(0)}, waits, []string{"does not have ConfigMap " + config + " yet"}},
		"just before five minutes": {
			[]func(*stage){lacks(config), after(5*time.Minute - time.Second)}, waits, nil,
		},
		"after five minutes": {[]func(*stage){lacks(config), after(5 * time.Minute)}, stalled, []string{
			"ConfigMap " + config + ", which kubeadm join reads: another program than kubeadm made its control plane",
			"use a Cluster with a KubeadmControlPlane",
		}},
		"all three": {[]func(*stage){lacks(config, "kube-system/kubelet-config", info)}, stalled, []string{
			"ConfigMap " + config + " and ConfigMap kube-system/kubelet-config and ConfigMap " + info + ",",
		}},
		"cluster-info alone": {[]func(*stage){lacks(info)}, stalled, []string{
			"ConfigMap " + info, "if only cluster-info is missing, you can set spec.discovery.kubeconfigFrom of the config",
		}},
		"a Cluster without the time": {[]func(*stage){lacks(config), func(s *stage) {
			s.candidate.Cluster.Status.Conditions = nil
		}}, waits, nil},
		"a Cluster whose condition is not True": {[]func(*stage){lacks(config), func(s *stage) {
			s.candidate.Cluster.Status.Conditions[0].Status = "Unknown"
		}}, waits, nil},
		"user data of others": {[]func(*stage){lacks(config), func(s *stage) { s.candidate.Config = nil }}, phase.Stop{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(c.changes...)
			s.stops(t, c.want, c.says...)
			if c.want.Reason != "" {
				expect.Same(t, "asked", []string{"control plane", "kubeadm"}, s.asked)
			}
		})
	}
}

// Whether cluster-info is needed is the config's to say. What is not shown holds nobody, and is told with the user who lacks the
// right.
func TestKubeadmIsAsked(t *testing.T) {
	s := newStage()
	expect.Got(s.pass(t))(t)
	expect.Same(t, "cluster-info is asked for", true, s.withInfo)
	s.candidate.Config.Spec.Discovery.KubeconfigFrom.Secret = bootstrapv1.KeyReference{Name: "own", Key: "kubeconfig"}
	expect.Got(s.pass(t))(t)
	expect.Same(t, "cluster-info is asked for, with a discovery file", false, s.withInfo)

	s.kubeadm.Refused = []string{"ConfigMap kube-system/kubeadm-config", "ConfigMap kube-system/kubelet-config"}
	s.dns.Refused = []string{"Service kube-system/kube-dns"}
	expect.Same(t, "warnings", []string{
		"Cluster prod does not show ConfigMap kube-system/kubeadm-config, ConfigMap kube-system/kubelet-config to the user of " +
			"Secret prod-kubeconfig, so the manager cannot check whether kubeadm has made the control plane, so that nodes can join; " +
			"give that " +
			"user the right to read it",
		"Cluster prod does not show Service kube-system/kube-dns to the user of Secret prod-kubeconfig, so the manager cannot check " +
			"whether " +
			"cluster DNS stays on Linux; give that user the right to read it",
	}, expect.Got(s.pass(t))(t).Warnings)
	s.kubeadm.Missing = []string{"kube-public/cluster-info"}
	s.stops(t, phase.Stop{Reason: "ControlPlaneNotKubeadm", After: 2 * time.Minute, Stalled: true}, "cluster-info")
}
