package summary

import (
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
)

// wait is for something that must exist before a machine gets its VM.
type wait struct {
	// reasons are those of the conditions of the machine, or of its config, that wait for it.
	reasons []string
	// subject is what it waits for; empty if this machine does not wait for it.
	subject func(m *preview.Machine) string
}

// allWaits are in the order in which they usually end. A test compares the reasons with those of the APIs.
var allWaits = []wait{
	{[]string{infrav1.WaitingForClusterInfrastructureReason}, named("the Cluster's infrastructure")},
	{[]string{infrav1.WaitingForControlPlaneReason, bootstrapv1.WaitingForControlPlaneVersionReason}, controlPlane},
	{[]string{infrav1.WaitingForLinuxNodeReason}, named("a Ready Linux Node")},
	{
		[]string{infrav1.WaitingForPlacementReason, infrav1.WaitingForClusterDNSReason},
		named("cluster DNS that answers from Linux Nodes"),
	},
	{[]string{infrav1.WaitingForCNIReason}, named("")}, // only where machines that have joined lack one
	{[]string{infrav1.WaitingForLinuxPoliciesReason}, named("policies that keep pods for Linux off Windows")},
	{[]string{bootstrapv1.WaitingForClusterCAReason}, authority},
	{[]string{bootstrapv1.WaitingForSourcesReason}, sources},
	{[]string{infrav1.WaitingForIPAddressReason, bootstrapv1.WaitingForMachineAddressesReason}, addresses},
}

func named(subject string) func(*preview.Machine) string {
	return func(*preview.Machine) string { return subject }
}

func controlPlane(m *preview.Machine) string {
	return "its control plane of " + m.Owner.Spec.Version + " or newer"
}

func waits(m *preview.Machine) (subjects []string) {
	for _, w := range allWaits {
		if subject := w.subject(m); subject != "" {
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// authority is not needed by a node that gets a kubeconfig with a CA.
func authority(m *preview.Machine) string {
	if m.Config().Discovery.KubeconfigFrom.Secret.Name != "" {
		return ""
	}
	return "Secret " + m.Owner.Spec.ClusterName + "-ca"
}

// sources are the Secrets and ConfigMaps that the config refers to.
func sources(m *preview.Machine) string {
	var names []string
	seen := map[string]bool{}
	for _, source := range bootstrap.Sources(m.Config()) {
		name := source.Kind + " " + source.Name
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return strings.Join(names, "; ")
}

func addresses(m *preview.Machine) string {
	if m.Windows.Spec.VSphere == nil {
		return ""
	}
	var pools []string
	for _, adapter := range m.Windows.Spec.VSphere.NetworkInterfaces {
		for _, pool := range adapter.AddressesFromPools {
			pools = append(pools, fmt.Sprintf("an address of %s %s", pool.Kind, pool.Name))
		}
	}
	return strings.Join(pools, "; ")
}
