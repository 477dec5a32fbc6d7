// Package summary writes the few lines that a reviewer reads first: what a node gets, what its machine waits for before there is
// a VM, and how long its bootstrap may take. All of it is read from what the plan is made of, or from the plan itself.
package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/words"
)

// Row is a line of the summary.
type Row struct{ Name, Value string }

// Rows returns the rows of a machine whose plan can be shown.
func Rows(m *preview.Machine) []Row {
	kubelet := kubeletOf(m.Shown.Plan)
	return []Row{
		{"VM", vm(m.Windows.Spec)},
		{"Image", image(m.Windows.Spec)},
		{"Network", network(m)},
		{"Pods", kubelet.pods()},
		{"Reserved", kubelet.reserved()},
		{"Labels", kubelet.nodeLabels()},
		{"Taints", kubelet.taints()},
		{"Before the VM", "waits for " + strings.Join(waits(m), "; ")},
		{"Time limit", words.Limit(m.Shown.Plan)},
		{"Longest steps", words.Longest(m.Shown.Plan)},
	}
}

// Text is a sentence about the machine, and the rows below each other.
func Text(m *preview.Machine) string {
	var text strings.Builder
	p := m.Shown.Plan
	fmt.Fprintf(&text, "Machine %s/%s of Cluster %s becomes Node %s with Kubernetes %s.", p.Machine.Namespace, p.Machine.Name,
		p.Machine.Cluster, p.Machine.Node, m.Owner.Spec.Version)
	if m.Provisional {
		text.WriteString(" The name of the Node is an example.")
	}
	text.WriteString("\n")
	for _, row := range Rows(m) {
		fmt.Fprintf(&text, "  %-15s%s\n", row.Name, strings.Join(strings.Fields(row.Value), " ")) // one line, whatever a name has
	}
	return text.String()
}

func vm(spec infrav1.WindowsMachineSpec) string {
	if v := spec.VSphere; v != nil {
		return "vSphere, " + sized(v.CPUs, "CPUs", "CPUs") + ", " + sized(v.MemoryMiB, "MiB memory", "memory")
	}
	a := spec.Azure
	parts := []string{"Azure, " + cmp.Or(a.VMSize, "no vmSize yet")}
	if len(a.FallbackVMSizes) > 0 {
		parts = append(parts, "or "+strings.Join(a.FallbackVMSizes, ", "))
	}
	if a.Priority != "" {
		parts = append(parts, "priority "+string(a.Priority))
	}
	if len(a.Zones) > 0 {
		parts = append(parts, "zones "+strings.Join(a.Zones, ", "))
	}
	return strings.Join(parts, ", ")
}

// sized is an amount of something; without one, the VM has as much as its template.
func sized(amount int32, unit, subject string) string {
	if amount == 0 {
		return subject + " of the template"
	}
	return fmt.Sprintf("%d %s", amount, unit)
}

func image(spec infrav1.WindowsMachineSpec) string {
	if v := spec.VSphere; v != nil {
		return "template " + v.Image.Template
	}
	switch i := spec.Azure.Image; {
	case i.ID != "":
		return i.ID
	case i.ComputeGallery.Name != "":
		return "gallery " + joined(i.ComputeGallery.Gallery, i.ComputeGallery.Name, i.ComputeGallery.Version)
	case i.CommunityGallery.Name != "":
		return "community gallery " + joined(i.CommunityGallery.Gallery, i.CommunityGallery.Name, i.CommunityGallery.Version)
	default:
		return "marketplace " + joined(i.Marketplace.Publisher, i.Marketplace.Offer, i.Marketplace.SKU, i.Marketplace.Version)
	}
}

// joined leaves out empty parts, such as a version: then the newest one is taken.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "/")
}

func network(m *preview.Machine) string {
	spec := m.Config().Network
	if spec.Mode == "" {
		return "spec.network is not set: only the kubelet's port and the node's address are prepared"
	}
	text := "mode " + string(spec.Mode)
	if spec.CNI != "" {
		text += ", CNI " + string(spec.CNI)
	}
	return text + ", kube-proxy: " + string(bootstrap.KubeProxyRun(spec))
}
