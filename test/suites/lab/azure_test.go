package lab_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// azureModes need Azure's own CNI. The lab has no Azure, so their nodes get what is rendered for Azure without our
// controllers: the guest takes it as it takes vSphere's, and joins the same cluster.
var azureModes = []mode{
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, daemons: pods.NoDaemons,
		programs:      []string{"azure-vnet", "azure-vnet-ipam"},
		configuration: "10-azure.conflist", network: "azure", external: "ext", kind: "L2Bridge", proxied: true,
		booted: true,
	},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, daemons: pods.NoDaemons,
		programs:      []string{"azure-vnet", "azure-vnet-ipam", "azure-vnet-ipamv6"},
		configuration: "10-azure.conflist", network: "azure", external: "ext", kind: "L2Bridge", proxied: true,
		booted: true, dual: true,
	},
}

const azureToken = "azure0.0123456789abcdef"

// assertAzureModes joins a node for each mode of Azure, starts it once more, and looks again.
func (j *joins) assertAzureModes(ctx context.Context) {
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-azure0"},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": azureToken[:6], "token-secret": azureToken[7:], "usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
		},
	}
	j.must(j.lab.WorkloadClient.Create(ctx, token))
	for i, m := range azureModes {
		j.playAzure(ctx, m, fmt.Sprintf("198.51.101.%d", 10+i))
	}
	for _, m := range azureModes {
		j.must(j.lab.WorkloadClient.Create(ctx, podOn(azureName(m))))
		j.assertAzure(ctx, m, 1)
		j.must(j.guest(azureName(m)).Restart(ctx))
	}
	for _, m := range azureModes {
		j.assertAzure(ctx, m, 2)
	}
}

// podOn is a user's pod on a node, which no cloud controller has to know.
func podOn(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: node},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:   []corev1.Container{{Name: "iis", Image: "example.com/iis"}},
		},
	}
}

// azureName is that of a mode's machine.
func azureName(m mode) string {
	if m.dual {
		return "az-dual"
	}
	return "az-" + strings.ToLower(string(m.mode))
}

// playAzure lets a guest live with the user data of its mode until the test ends.
func (j *joins) playAzure(ctx context.Context, m mode, address string) {
	j.Helper()
	name := azureName(m)
	rendered, err := bootstrap.Render(j.azureInput(ctx, m, name))
	j.must(err)
	g := &guest.Simulated{Dir: filepath.Join(j.lab.GuestsDir(), name), Address: address}
	leftovers(g)
	bring(g, m.programs...)
	j.guests.Store(name, g)
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- g.Boot(ctx, guest.NewMemoryVM(name, name, rendered.Bytes())) }()
	j.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			j.Error(err)
		}
	})
}

func (j *joins) azureInput(ctx context.Context, m mode, name string) bootstrap.Input {
	j.Helper()
	in := bootstrap.Input{
		Cluster: &clusterv1.Cluster{},
		Machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name, UID: types.UID("uid-" + name)},
			Spec:       clusterv1.MachineSpec{Version: j.lab.Workload.Version},
		},
		WindowsMachine: &infrav1.WindowsMachine{
			Spec:   infrav1.WindowsMachineSpec{ProviderID: "azure:///" + name, Azure: &infrav1.AzureVM{}},
			Status: infrav1.WindowsMachineStatus{ComputerName: name},
		},
		Config:    &bootstrapv1.WindowsBootstrapConfig{Spec: *m.config()},
		ClusterCA: j.lab.Workload.CA, Token: azureToken,
	}
	j.must(j.lab.Client.Get(ctx, client.ObjectKey{Namespace: lab.Namespace, Name: lab.ClusterName}, in.Cluster))
	if m.dual {
		ranges := &in.Cluster.Spec.ClusterNetwork
		ranges.Pods.CIDRBlocks = append(ranges.Pods.CIDRBlocks, "fd00:10:244::/56")
		ranges.Services.CIDRBlocks = append(ranges.Services.CIDRBlocks, "fd00:10:96::/112")
	}
	return in
}

// assertAzure waits until the node is Ready since this start of its Windows, with a Pod that this start has made.
func (j *joins) assertAzure(ctx context.Context, m mode, starts int) {
	j.Helper()
	name, start := azureName(m), strconv.Itoa(starts+rebootsOfImage)
	wanted := []string{
		"cni 10-azure.conflist", "endpoint of a pod", "kube-proxy of " + name + " in azure", "network azure of L2Bridge",
		"network ext of L2Bridge",
		"network nat of NAT", "route 0.0.0.0/0 via 198.51.101.1", "route 168.63.129.16/32 via 198.51.101.1",
		"route 169.254.169.254/32 via 198.51.101.1",
	}
	if m.dual {
		wanted = append(wanted, "a pod has fd00:10:244::9")
		slices.Sort(wanted)
	}
	j.until(name+" to join", func() (any, bool) {
		report, err := j.report(name)
		if err != nil || report.State != plan.StateSucceeded {
			return []any{report, err}, false
		}
		if starts > 1 && (report.Boot == nil || report.Boot.State != plan.StateSucceeded) {
			return report.Boot, false
		}
		node := &corev1.Node{}
		j.must(j.lab.WorkloadClient.Get(ctx, client.ObjectKey{Name: name}, node))
		diff := cmp.Diff(wanted, j.azureEnd(name))
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		boot := node.Status.NodeInfo.BootID
		return []string{boot, diff}, diff == "" && ready && boot >= start
	}, func() { j.showGuest(name) })
}

// azureEnd is what is there of networks and of the ways to the cloud.
func (j *joins) azureEnd(name string) []string {
	state, err := j.state(name)
	if err != nil {
		return []string{err.Error()}
	}
	lines := append(hnsLines(state), j.filesOf(name)...)
	for i := range lines {
		if strings.HasPrefix(lines[i], "endpoint pod-") {
			lines[i] = "endpoint of a pod"
		}
	}
	for _, route := range state.Routes {
		lines = append(lines, "route "+route.To+" via "+route.Via)
	}
	for _, item := range state.HNS {
		if six := item["IPv6Address"]; six != nil {
			lines = append(lines, fmt.Sprintf("a pod has %v", six))
		}
	}
	slices.Sort(lines)
	return lines
}
