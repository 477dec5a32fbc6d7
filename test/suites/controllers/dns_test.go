package controllers

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// pass asks the gate of both managers, with a connection that knows nothing yet.
func pass(t *testing.T, n *world.Namespace) (linux.Passage, error) {
	t.Helper()
	clusters := &workload.Clusters{Live: n.Client, QPS: 1000, Burst: 1000, UserAgent: "test"}
	gate := linux.Gate{Workload: clusters, Cache: n.Client, Now: time.Now}
	windows := &infrav1.WindowsMachine{}
	windows.Namespace, windows.Name = n.Name, "m"
	return gate.Pass(t.Context(), linux.Candidate{
		Cluster: n.Cluster(t.Context(), t), Windows: windows, Config: &bootstrapv1.WindowsBootstrapConfig{},
	})
}

// TestOddDNS: cluster DNS in other forms than kubeadm's. What is no Deployment, or not selected by the Service, holds nobody.
func TestOddDNS(t *testing.T) {
	n := shared.Namespace(t, world.Start{Workload: shared.Apart(t)})
	onLinux := func(name string) *appsv1.Deployment {
		d := anywhere(name)
		d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
		return d
	}
	other := anywhere("other")
	other.Spec.Template.Labels = map[string]string{"app": "other"}
	other.Spec.Selector.MatchLabels = other.Spec.Template.Labels
	daemons := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}
	daemons.Spec.Selector, daemons.Spec.Template = &metav1.LabelSelector{MatchLabels: dnsLabels}, dnsPods()
	for name, c := range map[string]struct {
		objects   []client.Object
		available *appsv1.Deployment // one replica of it answers
		want      string
	}{
		"no Service":                 {[]client.Object{anywhere("coredns")}, nil, ""},
		"a Service without selector": {[]client.Object{dnsService(nil), anywhere("coredns")}, nil, ""},
		"a DaemonSet":                {[]client.Object{dnsService(dnsLabels), daemons}, nil, ""},
		"another Deployment":         {[]client.Object{dnsService(dnsLabels), other}, nil, ""},
		"two Deployments, of which one may run on Windows": {
			[]client.Object{dnsService(dnsLabels), onLinux("coredns"), anywhere("kube-dns")}, nil, "WaitingForPlacement",
		},
		"two Deployments, of which none answers": {
			[]client.Object{dnsService(dnsLabels), onLinux("coredns"), onLinux("kube-dns")}, nil, "WaitingForClusterDNS",
		},
		"two Deployments, of which one answers": {
			[]client.Object{dnsService(dnsLabels), onLinux("coredns")}, onLinux("kube-dns"), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range c.objects {
				copied, _ := o.DeepCopyObject().(client.Object)
				lend(t, copied)
			}
			if c.available != nil {
				available(t, lend(t, c.available), 1)
			}
			passage, err := pass(t, n)
			expect.Same(t, "reason", c.want, phase.Of(err).Reason)
			expect.Same(t, "warnings", 0, len(passage.Warnings))
		})
	}
}

// TestGateWithFewRights: the user of the kubeconfig may list Nodes and nothing else. That holds nobody, and is told.
func TestGateWithFewRights(t *testing.T) {
	n := shared.Namespace(t, world.Start{Workload: shared.Apart(t)})
	lend(t, anywhere("coredns"))
	lend(t, dnsService(dnsLabels))
	lend(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Name}})
	user := lend(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "few-rights"}})
	role := lend(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
	})
	lend(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: n.Name, Name: user.Name}},
	})
	token := &authenticationv1.TokenRequest{}
	expect.OK(t, n.Workload.Client.SubResource("token").Create(t.Context(), user, token))
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: n.Workload.Config.Host, CertificateAuthorityData: n.Workload.CA,
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["c"], config.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "c"
	secret := &corev1.Secret{}
	expect.OK(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.Name, Name: world.ClusterName + "-kubeconfig"}, secret))
	secret.Data = map[string][]byte{"value": expect.Got(clientcmd.Write(*config))(t)}
	expect.OK(t, n.Client.Update(t.Context(), secret))

	passage := expect.Got(pass(t, n))(t)
	expect.Same(t, "control-plane Nodes", 1, len(passage.ControlPlane))
	all := strings.Join(passage.Warnings, "\n")
	for _, part := range []string{
		"ConfigMap kube-system/kubeadm-config", "ConfigMap kube-system/kubelet-config", "ConfigMap kube-public/cluster-info",
		"Service kube-system/kube-dns", "its DaemonSets", "the user of Secret linux-first-kubeconfig",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("the warnings lack %q:\n%s", part, all)
		}
	}
}
