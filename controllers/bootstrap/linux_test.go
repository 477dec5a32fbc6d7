package bootstrap

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// dnsOf is a Deployment of cluster DNS.
func dnsOf(available int32, selector map[string]string) workload.DNS {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
	d.Spec.Template.Spec.NodeSelector, d.Status.AvailableReplicas = selector, available
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return workload.DNS{Deployments: []appsv1.Deployment{d}}
}

// TestLinuxFirst: until Linux can carry the Cluster, nothing is made, and no call goes to the workload cluster beside the reads
// of the gate.
func TestLinuxFirst(t *testing.T) {
	onLinux := map[string]string{corev1.LabelOSStable: "linux"}
	for name, c := range map[string]struct {
		take func(*room)
		want roomWait
	}{
		"kubeadm's ConfigMaps": {
			func(r *room) { r.kubeadm.Missing = []string{"kube-system/kubeadm-config"} },
			roomWait{"WaitingForControlPlane", 5 * time.Second, false, "ConfigMap kube-system/kubeadm-config yet"},
		},
		"kubeadm": {
			func(r *room) {
				r.kubeadm.Missing = []string{"kube-system/kubeadm-config"}
				r.cluster.Status.Conditions = []metav1.Condition{{
					Type: "ControlPlaneInitialized", Status: metav1.ConditionTrue, Reason: "Initialized",
					LastTransitionTime: metav1.NewTime(roomStart.Add(-5 * time.Minute)),
				}}
			},
			roomWait{"ControlPlaneNotKubeadm", 2 * time.Minute, true, "another program than kubeadm made its control plane"},
		},
		"placement": {
			func(r *room) { r.dns = dnsOf(1, nil) },
			roomWait{"WaitingForPlacement", 5 * time.Second, true, "kubectl patch deployment coredns -n kube-system"},
		},
		"Linux before the place of a VM in Azure": {
			func(r *room) {
				r.nodes, r.config.Spec.Node.CloudConfigFile = nil, bootstrapv1.CloudConfigFileManaged
				inAzure(r)
				r.windows.Status.Azure = &infrav1.AzurePlacement{}
			},
			roomWait{"WaitingForLinuxNode", 5 * time.Second, false, "Cluster prod has no Ready Node among its 0"},
		},
		"cluster DNS": {
			func(r *room) { r.dns = dnsOf(0, onLinux) },
			roomWait{"WaitingForClusterDNS", 5 * time.Second, false, "kube-system/coredns has 0 of 1 replicas available"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, c.take)
			result, err := r.look(t)
			expect.OK(t, err)
			now := r.now(t)
			ready := conditions.Get(now, bootstrapv1.ReadyCondition)
			if !strings.Contains(ready.Message, c.want.says) {
				t.Errorf("Ready says %q", ready.Message)
			}
			expect.Same(t, "wait", fmt.Sprintf("%+v", c.want), fmt.Sprintf("%+v", roomWait{
				ready.Reason, result.RequeueAfter, conditions.IsTrue(now, bootstrapv1.StalledCondition), c.want.says,
			}))
			if r.data(t) != nil || len(r.tokens(t)) > 0 || len(now.Finalizers) > 0 ||
				strings.Contains(strings.Join(r.calls, "\n"), "workload") {
				t.Errorf("something was made: %v", r.calls)
			}
		})
	}
}

// TestWhatIsNotShown: what the cluster does not show holds no config, and is a warning beside those of the user data and of
// kube-proxy.
func TestWhatIsNotShown(t *testing.T) {
	r := newRoom(t, withFlannel, func(r *room) {
		r.kubeadm.Refused = []string{"ConfigMap kube-system/kubeadm-config"}
		r.dns.Refused = []string{"Service kube-system/kube-dns"}
	})
	expect.OK(t, r.workload.Create(t.Context(), proxyPods("kube-system", "b")))
	r.made(t)
	message := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
	for _, part := range []string{
		"* Cluster prod does not show ConfigMap kube-system/kubeadm-config to the user of Secret prod-kubeconfig",
		"* Cluster prod does not show Service kube-system/kube-dns", "runs another kube-proxy on this node",
	} {
		if !strings.Contains(message, part) {
			t.Errorf("HasWarnings lacks %q:\n%s", part, message)
		}
	}
}
