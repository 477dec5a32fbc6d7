package release

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// badNetworks are CIDRs of pods and Services that no Windows node can have, and what is said of them.
var badNetworks = map[string]struct{ pods, services, says string }{
	"Services among the pods": {
		"10.0.0.0/8", "10.96.0.0/12", "services.cidrBlocks: 10.96.0.0/12 overlaps the pods' 10.0.0.0/8; use CIDRs that do not overlap",
	},
	"pods among the Services": {
		"10.96.0.0/16", "10.96.0.0/12",
		"services.cidrBlocks: 10.96.0.0/12 overlaps the pods' 10.96.0.0/16; use CIDRs that do not overlap",
	},
	"pods of IPv6": {
		"fd00::/48", "10.96.0.0/12", "pods.cidrBlocks: fd00::/48 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR",
	},
	"Services of IPv6": {
		"192.168.0.0/16", "fd00::/112",
		"services.cidrBlocks: fd00::/112 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR",
	},
}

// wantNetworksRefused: the API server refuses the Cluster of each flavor at once, in the words in which the bootstrap controller
// would tell it later. A Cluster that is moved, or that is only changed elsewhere, is taken.
func (u user) wantNetworksRefused(management *servers.Management) {
	u.t.Helper()
	for name, c := range badNetworks {
		told := bootstrap.CheckCluster(clusterWith(c.pods, c.services), overlayConfig, nil)
		expect.Same(u.t, name, "Cluster spec.clusterNetwork."+c.says, told.Error())
		for _, flavor := range []string{"windows vsphere", "windows azure", "windows-vsphere", "windows-azure"} {
			flavor, cloud, _ := strings.Cut(flavor, " ")
			u.variables = map[string]string{"POD_CIDR": c.pods, "SERVICE_CIDR": c.services, "WINDOWS_CLOUD": cloud}
			text := u.clusterOf(flavor, "networks")
			wantIn(u.t, u.refused(management, text, "apply", "--dry-run=server", "--validate=strict", "-f", "-"),
				"ValidatingAdmissionPolicy 'capwin-infrastructure-system-windows-clusters'", "spec.clusterNetwork."+c.says)
			u.kubectl(management, []byte(strings.Replace(text, "\nspec:\n", "\nspec:\n  paused: true\n", 1)),
				"apply", "--dry-run=server", "-f", "-")
			u.kubectl(management, []byte(strings.Replace(text, "    capwin.io/cloud:", "    other:", 1)),
				"apply", "--dry-run=server", "-f", "-")
		}
	}
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere", "POD_CIDR": "fd00::/48"}
	moved := strings.Replace(u.clusterAlone("moved"), "\nspec:\n", "\nspec:\n  paused: true\n", 1)
	u.kubectl(management, []byte(moved), "apply", "-f", "-")
	u.kubectl(management, nil, "patch", "cluster", "moved", "--type=merge", "-p", `{"spec":{"paused":false}}`)
	u.kubectl(management, nil, "label", "cluster", "moved", "team=a")
	u.kubectl(management, nil, "delete", "cluster", "moved", "--wait=false")
}

// clusterOf is the Cluster alone that a flavor prints.
func (u user) clusterOf(flavor, name string) string {
	u.t.Helper()
	if flavor == "windows" {
		return u.clusterAlone(name)
	}
	for text := range strings.SplitSeq(u.generate(name, "--flavor", flavor), "\n---\n") {
		if strings.Contains(text, clusterBegins) {
			return text + "\n"
		}
	}
	u.t.Fatalf("no Cluster in the flavor %s", flavor)
	return ""
}

var overlayConfig = func() *bootstrapv1.WindowsBootstrapConfig {
	config := &bootstrapv1.WindowsBootstrapConfig{}
	config.Spec.Network.Mode, config.Spec.Network.CNI = bootstrapv1.NetworkOverlay, bootstrapv1.CNICalico
	return config
}()

func clusterWith(pods, services string) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{}
	cluster.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{pods}
	cluster.Spec.ClusterNetwork.Services.CIDRBlocks = []string{services}
	return cluster
}
