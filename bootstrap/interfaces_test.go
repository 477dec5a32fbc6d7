package bootstrap_test

import (
	"fmt"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var twoByDHCP = withAdapters(byDHCP, byDHCP)

// onAzureWith is a machine on Azure with adapters of these names.
func onAzureWith(names ...string) change {
	return all(onAzure, func(in *bootstrap.Input) {
		for _, name := range names {
			in.WindowsMachine.Spec.Azure.NetworkInterfaces = append(in.WindowsMachine.Spec.Azure.NetworkInterfaces,
				infrav1.AzureNetworkInterface{Name: name})
		}
	})
}

// withSecondary is a machine in Azure whose only adapter has so many secondary addresses.
func withSecondary(count int32) change {
	return all(onAzureWith("node"), func(in *bootstrap.Input) {
		in.WindowsMachine.Spec.Azure.NetworkInterfaces[0].SecondaryAddresses = count
	})
}

// adaptersOf are the steps that name adapters, then the adapter of the vSwitch.
func adaptersOf(t *testing.T, in bootstrap.Input) []string {
	t.Helper()
	var got []string
	for _, phase := range render(t, in).Plan().Phases {
		for _, one := range phase.Steps {
			switch one := one.(type) {
			case *plan.Adapter:
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s%s", one.MAC, one.Rename, one.Set)))
			case *plan.HNSNetwork:
				if one.Wait {
					continue // the CNI chooses its adapter
				}
				got = append(got, fmt.Sprintf("vSwitch %v", one.Request["NetworkAdapterName"]))
			}
		}
	}
	return got
}

// The adapter of the vSwitch is known on every cloud and in every language: by its name, or by a fact.
func TestInterface(t *testing.T) {
	const first, second = "00:50:56:28:00:01", "00:50:56:28:00:02"
	fact := fmt.Sprintf("vSwitch %v", plan.FactLeaf("adapter"))
	for name, test := range map[string]struct {
		change change
		want   []string
	}{
		"the template's own":        {inNetwork("L2Bridge", "Flannel"), []string{"adapter", fact}},
		"the template's own, named": {inNetwork("L2Bridge", "Flannel", withInterface("Ethernet0 2")), []string{"vSwitch Ethernet0 2"}},
		"the template's, to Calico": {inNetwork("Overlay", "Calico", withInterface("Ethernet0 2")), nil},
		"none listed":               {inNetwork("L2Bridge", "Flannel", withAdapters()), []string{"adapter", fact}},

		"one": {inNetwork("L2Bridge", "Flannel", withAdapters(byDHCP)), []string{"node", "vSwitch node"}},
		"one, chosen": {
			inNetwork("L2Bridge", "Flannel", withAdapters(byDHCP), withInterface("node")), []string{"node", "vSwitch node"},
		},
		"one with addresses": {
			inNetwork("L2Bridge", "Flannel", withAdapters(staticAdapter("10.0.0.5/24"))),
			[]string{"00:50:56:00:00:01 node", "vSwitch node"},
		},
		"two": {inNetwork("L2Bridge", "Flannel", twoByDHCP), []string{first + " node", second + " storage", "vSwitch node"}},
		"the second": {
			inNetwork("L2Bridge", "Flannel", twoByDHCP, withInterface("storage")),
			[]string{first + " node", second + " storage", "vSwitch storage"},
		},
		"to Calico":     {inNetwork("Overlay", "Calico", withAdapters(byDHCP)), []string{"node"}},
		"to Flannel":    {inNetwork("Overlay", "Flannel", withAdapters(byDHCP)), []string{"node"}},
		"two to Calico": {inNetwork("L2Bridge", "Calico", twoByDHCP), []string{first + " node", second + " storage"}},
		"the second, to Calico": {
			inNetwork("L2Bridge", "Calico", twoByDHCP, withInterface("storage")), []string{first + " node", second + " storage"},
		},
		"the CNI's vSwitch": {inNetwork("Overlay", "Flannel", twoByDHCP), []string{first + " node", second + " storage"}},
		"Open vSwitch":      {inNetwork("Transparent", "Antrea", withAdapters(byDHCP)), []string{"node"}},
		"of an unknown CNI": {inNetwork("Transparent", "", twoByDHCP), []string{first + " node", second + " storage"}},
		"of no CNI":         {inNetwork("None", "", twoByDHCP), []string{first + " node", second + " storage"}},
		"no network":        {twoByDHCP, []string{first + " node", second + " storage"}},

		"not a pod's": {
			inNetwork("L2Bridge", "Flannel", onAzureWith("nat-gateway")), []string{"nat-gateway", "vSwitch nat-gateway"},
		},

		"on Azure":      {inNetwork("L2Bridge", "Flannel", onAzure), []string{"adapter", fact}},
		"on Azure, one": {inNetwork("L2Bridge", "Flannel", onAzureWith("node")), []string{"node", "vSwitch node"}},
		"on Azure, chosen": {
			inNetwork("L2Bridge", "AzureCNI", vnet, onAzureWith("node"), withInterface("node")), []string{"node", "vSwitch node"},
		},
		"on Azure, two":       {inNetwork("L2Bridge", "Flannel", onAzureWith("node", "storage")), []string{"node", "vSwitch node"}},
		"on Azure, to Calico": {inNetwork("Overlay", "Calico", onAzureWith("node")), []string{"node"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Same(t, "adapters", test.want, adaptersOf(t, plainInput(t, test.change)))
		})
	}
}

func TestInterfaceRefused(t *testing.T) {
	const field = "WindowsBootstrapConfig spec.network.interface"
	refuse(t, []mistake{
		{
			"of one", field, inNetwork("Overlay", "Flannel", withAdapters(byDHCP), withInterface("Ethernet0")),
			`"Ethernet0" is not one of the machine's networkInterfaces; use node, or remove it to use node`,
		},
		{
			"of two", field, inNetwork("Overlay", "Calico", twoByDHCP, withInterface("Storage")),
			`"Storage" is not one of the machine's networkInterfaces; use node or storage, or remove it to use node`,
		},
		{
			"on Azure", field, inNetwork("Overlay", "Flannel", onAzureWith("node"), withInterface("Ethernet")),
			`"Ethernet" is not one of the machine's networkInterfaces; use node`,
		},
		{
			"the second on Azure", field, inNetwork("Overlay", "Flannel", onAzureWith("node", "storage"), withInterface("storage")),
			`"storage" is not the VM's primary adapter, the only one that pods can use on Azure; use node, or remove it`,
		},
	})
}

// A mode that puts a vSwitch on an adapter chooses it if the machine lists any; the others leave it to the CNI.
func TestVSwitchHasItsAdapter(t *testing.T) {
	for _, mode := range everyMode {
		for _, cni := range everyCNI {
			in := plainInput(t, inNetwork(mode, cni, twoByDHCP))
			if _, err := bootstrap.Render(in); err != nil {
				continue // not on vSphere
			}
			vSwitch := mode == "L2Bridge" && (cni == "AzureCNI" || cni == "Flannel")
			got := strings.Join(adaptersOf(t, in), " ")
			if chosen := strings.Contains(got, "vSwitch "); chosen != vSwitch || strings.Contains(got, "nil") {
				t.Errorf("%s %s with two adapters: %s", mode, cni, got)
			}
		}
	}
}
