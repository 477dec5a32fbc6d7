package bootstrap

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// withFlannel has a config that makes flanneld and kube-proxy services of its node.
func withFlannel(r *room) {
	r.config.Spec.Network.Mode, r.config.Spec.Network.CNI = bootstrapv1.NetworkOverlay, bootstrapv1.CNIFlannel
	r.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.244.0.0/16"}
	r.cluster.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"10.96.0.0/12"}
}

// settings are those of Flannel's Linux nodes.
func settings(namespace, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-flannel-cfg"}, Data: map[string]string{"net-conf.json": text},
	}
}

const (
	stockFlannel = `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan"}}`
	goodFlannel  = `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`
)

// TestFlannelIsCompared: while the Linux nodes' settings do not fit there is neither user data nor token, and people are told the
// command that mends them. Then the config goes on by itself.
func TestFlannelIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		objects []*corev1.ConfigMap
		says    string // nothing when empty
	}{
		"not there":           {nil, ""},
		"another namespace":   {[]*corev1.ConfigMap{settings("cni", stockFlannel)}, ""},
		"good":                {[]*corev1.ConfigMap{settings("kube-flannel", goodFlannel)}, ""},
		"good, and old stock": {[]*corev1.ConfigMap{settings("kube-flannel", goodFlannel), settings("kube-system", stockFlannel)}, ""},
		"stock":               {[]*corev1.ConfigMap{settings("kube-flannel", stockFlannel)}, "VNI 1, Port 8472"},
		"old stock":           {[]*corev1.ConfigMap{settings("kube-system", stockFlannel)}, "patch configmap -n kube-system "},
		"unreadable":          {[]*corev1.ConfigMap{settings("kube-flannel", "Network: 10.244.0.0/16")}, "cannot be read"},
		"without the key":     {[]*corev1.ConfigMap{settings("kube-flannel", "")}, "cannot be read"},
	} {
		r := newRoom(t, withFlannel)
		for _, object := range c.objects {
			expect.OK(t, r.workload.Create(t.Context(), object))
		}
		result, err := r.look(t)
		expect.OK(t, err)
		expect.Same(t, name+": user data", c.says == "", r.data(t) != nil)
		if c.says == "" {
			continue
		}
		told := conditions.Get(r.now(t), bootstrapv1.DataSecretAvailableCondition)
		expect.Same(t, name, "FlannelMismatch", told.Reason)
		expect.Says(t, name, errors.New(told.Message), c.says)
		expect.Same(t, name+": Stalled", "FlannelMismatch", conditions.GetReason(r.now(t), bootstrapv1.StalledCondition))
		expect.Same(t, name+": tokens and finalizers", 0, len(r.tokens(t))+len(r.now(t).Finalizers))
		expect.Same(t, name+": the next look", 5*time.Second, result.RequeueAfter)
		roomChange(t, r, r.workload, c.objects[0], func(o *corev1.ConfigMap) {
			o.Data = map[string]string{"net-conf.json": goodFlannel}
		})
		r.made(t)
	}
}

// TestNodesGetRights: a node has its rights before its user data are made. While they are refused, none are made, and people are
// told why.
func TestNodesGetRights(t *testing.T) {
	r := newRoom(t, withFlannel)
	r.fail = func(call string) error {
		if call == "workload get ClusterRoleBinding" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "clusterrolebindings"}, "x", errors.New("no right"))
		}
		return nil
	}
	_, err := r.look(t)
	expect.OK(t, err)
	told := conditions.Get(r.now(t), bootstrapv1.ReadyCondition)
	expect.Same(t, "Ready", "DaemonRightsRefused", told.Reason)
	expect.Says(t, "Ready", errors.New(told.Message), "nodes cannot get the ClusterRole capwin-kube-proxy in the workload cluster: ")
	expect.Same(t, "user data, tokens and finalizers", 0, len(r.tokens(t))+len(r.now(t).Finalizers))
	r.fail, r.clock = nil, r.clock.Add(time.Minute)
	r.made(t)
	expect.Same(t, "bindings", []string{"capwin-flannel", "capwin-kube-proxy"}, r.bindings(t))
	if given := slices.Index(r.calls, "workload get ClusterRole"); given > slices.Index(r.calls, "workload create Secret") {
		t.Errorf("the token comes before the rights: %q", r.calls)
	}
	expect.Same(t, "reads for rights", 4, len(slices.DeleteFunc(slices.Clone(r.calls), func(call string) bool {
		return !strings.HasPrefix(call, "workload get ClusterRole")
	})))
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "m" })
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "calls to the workload cluster once it has joined", []string{
		"workload get Secret", "workload delete Secret",
	}, slices.DeleteFunc(slices.Clone(r.calls), func(call string) bool { return !strings.HasPrefix(call, "workload") }))
}

// bindings are those that give nodes rights.
func (r *room) bindings(t *testing.T) (names []string) {
	t.Helper()
	defer r.quietly()()
	var all rbacv1.ClusterRoleBindingList
	expect.OK(t, r.workload.List(t.Context(), &all))
	for _, one := range all.Items {
		names = append(names, one.Name)
	}
	return names
}

// TestNoRightsForNothing: a config without such services costs no call.
func TestNoRightsForNothing(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	expect.Same(t, "calls", false, slices.ContainsFunc(r.calls, func(call string) bool {
		return strings.Contains(call, "ClusterRole") || strings.Contains(call, "workload get ConfigMap") ||
			strings.Contains(call, "DaemonSet")
	}))
	expect.Same(t, "bindings", 0, len(r.bindings(t)))
}

// proxyPods is a DaemonSet that runs kube-proxy on Windows.
func proxyPods(namespace, name string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kube-proxy"}}
	return set
}

// TestRemovedGateIsTold: the config of a machine of 1.38 warns of a DaemonSet that gives kube-proxy a gate which is no more. That
// of an older machine does not look.
func TestRemovedGateIsTold(t *testing.T) {
	for version, told := range map[string]bool{"v1.36.3": false, "v1.38.0": true} {
		r := newRoom(t, func(r *room) {
			r.config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico}
			r.machine.Spec.Version, r.nodes[0] = version, roomNode(version)
		})
		set := proxyPods("kube-system", "b")
		set.Spec.Template.Spec.Containers[0].Args = []string{"--feature-gates=WinDSR=true,WinOverlay=true"}
		expect.OK(t, r.workload.Create(t.Context(), set))
		r.made(t)
		message := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
		expect.Same(t, version, told, strings.Contains(message, "kube-system/b gives kube-proxy the feature gate WinDSR, which"))
		expect.Same(t, version+": looks", told, slices.Contains(r.calls, "workload list DaemonSetList"))
	}
}

// TestSecondKubeProxyIsTold: the machine is made, and its config warns of a DaemonSet that would run another kube-proxy on its
// node. Who may not look is not warned, and a look that fails is done again.
func TestSecondKubeProxyIsTold(t *testing.T) {
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "daemonsets"}, "", errors.New("no right"))
	for name, c := range map[string]struct {
		namespace string
		fails     error
		told      bool
	}{
		"one":               {"kube-system", nil, true},
		"another namespace": {"other", nil, false},
		"may not look":      {"kube-system", refusal, false},
		"cannot look now":   {"kube-system", errRoom, true},
	} {
		r := newRoom(t, withFlannel)
		expect.OK(t, r.workload.Create(t.Context(), proxyPods(c.namespace, "b")))
		r.fail = func(call string) error {
			if call == "workload list DaemonSetList" {
				return c.fails
			}
			return nil
		}
		_, err := r.look(t)
		if errors.Is(c.fails, errRoom) {
			expect.Says(t, name, err, "list DaemonSets: boom")
			r.fail = nil
		}
		r.made(t)
		message := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
		expect.Same(t, name, c.told, strings.Contains(message, "the DaemonSet kube-system/b runs another kube-proxy on this node"))
	}
}

// TestClusterNetworkComesFirst: CIDRs that no Windows node can have are told before anything that the Cluster lacks, and nothing
// is made while they stand. The config goes on by itself once the Cluster is mended.
func TestClusterNetworkComesFirst(t *testing.T) {
	four, six := []string{"10.244.0.0/16"}, []string{"fd00:1::/56"}
	for name, c := range map[string]struct {
		change func(*room)
		says   string
	}{
		"CIDRs that overlap": {
			func(r *room) { r.cluster.Spec.ClusterNetwork.Services.CIDRBlocks = four },
			"Cluster spec.clusterNetwork.services.cidrBlocks: 10.244.0.0/16 overlaps the pods' 10.244.0.0/16; use CIDRs that do not " +
				"overlap; ",
		},
		"pods of IPv6": {
			func(r *room) { r.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = six },
			"Cluster spec.clusterNetwork.pods.cidrBlocks: fd00:1::/56 is IPv6 only, which pods on Windows do not support; add an IPv4 " +
				"CIDR; ",
		},
		"pods of both families": {
			func(r *room) { r.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = slices.Concat(four, six) },
			"Overlay on Windows carries IPv4 only; use an IPv4 CIDR only, or mode L2Bridge",
		},
		"an API server among the pods": {
			func(r *room) { r.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"10.0.0.0/16"} },
			"10.0.0.0/16 contains 10.0.0.10, the host of the Cluster's spec.controlPlaneEndpoint",
		},
		"IPv6 without a network of ours": {
			func(r *room) {
				r.config.Spec.Network = bootstrapv1.Network{}
				r.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = six
			},
			"or set spec.network.mode of the WindowsBootstrapConfig to None",
		},
	} {
		for _, initialized := range []bool{false, true} {
			r := newRoom(t, withFlannel, c.change, func(r *room) {
				r.cluster.Status.Initialization.InfrastructureProvisioned = new(initialized)
				r.cluster.Status.Initialization.ControlPlaneInitialized = new(initialized)
			})
			_, err := r.look(t)
			expect.OK(t, err)
			for _, of := range []string{"Ready", bootstrapv1.DataSecretAvailableCondition, bootstrapv1.StalledCondition} {
				expect.Same(t, name+": "+of, "ClusterNetworkInvalid", conditions.GetReason(r.now(t), of))
			}
			told := errors.New(conditions.GetMessage(r.now(t), bootstrapv1.ReadyCondition))
			expect.Says(t, name, told, c.says)
			expect.Says(t, name, told, map[bool]string{
				true:  "; the control plane keeps the CIDRs that it was made with: if Cluster prod has others, correct it",
				false: "; change Cluster prod before its first control plane machine is made; after that its CIDRs are fixed",
			}[initialized])
			expect.Same(t, name+": tokens and finalizers", 0, len(r.tokens(t))+len(r.now(t).Finalizers))
			expect.Same(t, name+": user data", true, r.data(t) == nil)
			expect.Same(t, name+": calls to the workload cluster", false, slices.ContainsFunc(r.calls, func(call string) bool {
				return strings.HasPrefix(call, "workload")
			}))
			roomChange(t, r, r.management, r.cluster, func(cluster *clusterv1.Cluster) {
				cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = four
				cluster.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"10.96.0.0/12"}
				cluster.Status.Initialization.InfrastructureProvisioned = new(true)
				cluster.Status.Initialization.ControlPlaneInitialized = new(true)
			})
			r.made(t)
			expect.Same(t, name+": Stalled afterwards", "NotStalled", conditions.GetReason(r.now(t), bootstrapv1.StalledCondition))
		}
	}
}

// TestClusterNetworkOfTheLeaving: a Machine that is being deleted is told nothing of the Cluster's network, as it needs none.
func TestClusterNetworkOfTheLeaving(t *testing.T) {
	r := newRoom(t, withFlannel, func(r *room) {
		r.cluster.Spec.ClusterNetwork.Services = r.cluster.Spec.ClusterNetwork.Pods
		r.machine.DeletionTimestamp, r.machine.Finalizers = new(metav1.NewTime(roomStart)), []string{"test/held"}
	})
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "Ready", "Deleting", conditions.GetReason(r.now(t), bootstrapv1.ReadyCondition))
}
