package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestFlannelBeforeItsMachines: no VM is bought while Flannel's Linux nodes have settings that Windows cannot have. Once they are
// mended, the machine goes on by itself, and its node's daemons have their rights before there is a VM.
func TestFlannelBeforeItsMachines(t *testing.T) {
	s := ready(t)
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-flannel", Name: "kube-flannel-cfg"},
		Data:       map[string]string{"net-conf.json": `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}}`},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: settings.Namespace}}
	expect.OK(t, s.Client.Create(t.Context(), namespace))
	expect.OK(t, s.Client.Create(t.Context(), settings))
	m := s.machine("m")
	m.Config.Spec.Network.Mode, m.Config.Spec.Network.CNI = bootstrapv1.NetworkOverlay, bootstrapv1.CNIFlannel
	m.Create(t)
	state := m.Await(t, "the comparison", world.Config("DataSecretAvailable False FlannelMismatch"))
	told := conditions.GetMessage(state.Config, bootstrapv1.DataSecretAvailableCondition)
	if !strings.Contains(told, "kubectl patch configmap -n kube-flannel kube-flannel-cfg --type merge -p '{") {
		t.Errorf("no command is told: %s", told)
	}
	s.vms(t)
	world.Change(t, s.Client, settings, func(o *corev1.ConfigMap) {
		o.Data["net-conf.json"] = `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`
	})
	m.Await(t, "a running VM", world.Windows("Ready True Running"))
	for _, role := range nodes.Roles() {
		var binding rbacv1.ClusterRoleBinding
		expect.OK(t, s.Client.Get(t.Context(), client.ObjectKey{Name: string(role)}, &binding))
		expect.Same(t, "the group of "+string(role), "system:nodes", binding.Subjects[0].Name)
	}
}

// TestClusterNetworkBeforeItsMachines: while the Cluster's CIDRs overlap nothing is made of a pool, and all of its objects say
// why. Once the Cluster is mended the pool goes on by itself.
func TestClusterNetworkBeforeItsMachines(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	setServices := func(cidr string) {
		world.Change(t, s.Client, s.Cluster(t.Context(), t), func(c *clusterv1.Cluster) {
			c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.244.0.0/16"}
			c.Spec.ClusterNetwork.Services.CIDRBlocks = []string{cidr}
		})
	}
	setServices("10.244.8.0/24")
	s.start(t)
	overlay := s.machine("cidrs")
	overlay.Config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
	pool := s.createPool(t, overlay)
	s.shownByPool(t, pool, "BootstrapConfigReady: Cluster spec.clusterNetwork.services.cidrBlocks: 10.244.8.0/24 overlaps the "+
		"pods' 10.244.0.0/16; use CIDRs that do not overlap; the control plane keeps ")
	m := s.NewMachine(s.machinesOf(t, pool, isOne)[0])
	state := m.Await(t, "the machine's word", world.Windows("Ready False ClusterNetworkInvalid"),
		world.Windows("Stalled True ClusterNetworkInvalid"), world.Config("Stalled True ClusterNetworkInvalid"))
	if state.Data != nil || len(state.Tokens)+len(state.Config.Finalizers)+len(state.Windows.Finalizers) > 0 {
		t.Errorf("something was made for it:\n%s", state)
	}
	s.vms(t)
	setServices("10.96.0.0/12")
	m.Await(t, "a running VM", world.Windows("Ready True Running"), world.Config("Stalled False NotStalled"))
}

// TestSecondKubeProxy: a machine whose node would have two kube-proxies is made, and its config warns. There are more DaemonSets
// than are read at once.
func TestSecondKubeProxy(t *testing.T) {
	s := ready(t)
	for i := range 21 {
		windows := i == 20
		set := daemonSet(fmt.Sprintf("kube-proxy-%02d", i), windows)
		expect.OK(t, s.Client.Create(t.Context(), set))
		t.Cleanup(func() { expect.Fine(t, s.Client.Delete(context.Background(), set)) })
	}
	m := s.machine("m")
	m.Config.Spec.Network.Mode, m.Config.Spec.Network.CNI = bootstrapv1.NetworkL2Bridge, bootstrapv1.CNICalico
	m.Config.Spec.Network.KubeProxy.Run = bootstrapv1.KubeProxyService
	m.Create(t)
	state := m.Await(t, "a running VM", world.Windows("Ready True Running"), world.Config("HasWarnings True WarningsGiven"))
	told := conditions.GetMessage(state.Config, bootstrapv1.HasWarningsCondition)
	if !strings.Contains(told, "the DaemonSet kube-system/kube-proxy-20 runs another kube-proxy on this node: ") {
		t.Errorf("the warning is missing: %s", told)
	}
}

// daemonSet runs kube-proxy on Windows, or else on Linux.
func daemonSet(name string, windows bool) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	names := map[string]string{"k8s-app": name}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: names}
	set.Spec.Template.Labels = names
	pod := &set.Spec.Template.Spec
	pod.Containers = []corev1.Container{{Name: "kube-proxy", Image: "example.com/kube-proxy:v1"}}
	pod.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	if windows {
		pod.NodeSelector["kubernetes.io/os"] = "windows"
	}
	return set
}
