package arm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	someSubscription = "11111111-2222-3333-4444-55555555555a"
	theGroup         = "/subscriptions/" + someSubscription + "/resourceGroups/Win_(1).x"
)

func TestParse(t *testing.T) {
	group := GroupID(someSubscription, "Win_(1).x")
	for _, test := range []struct {
		name, text string
		want       ID
		ok         bool
	}{
		{"a group", theGroup, group, true},
		{"a VM", theGroup + "/providers/Microsoft.Compute/virtualMachines/win-1", group.VM("win-1"), true},
		{"a disk", theGroup + "/providers/Microsoft.Compute/disks/win-1-os", group.Disk("win-1-os"), true},
		{"an adapter", theGroup + "/providers/Microsoft.Network/networkInterfaces/a", group.Adapter("a"), true},
		{"a subnet", theGroup + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s", group.Subnet("v", "s"), true},
		{"a pool", theGroup + "/providers/Microsoft.Network/loadBalancers/l/backendAddressPools/p", group.Pool("l", "p"), true},
		{"any case of the fixed words", strings.Replace(theGroup, "resourceGroups", "RESOURCEGROUPS", 1), group, true},
		{"an empty text", "", ID{}, false},
		{"a subscription alone", "/subscriptions/" + someSubscription, ID{}, false},
		{"a subscription that is not a UUID", "/subscriptions/mine/resourceGroups/g", ID{}, false},
		{"a UUID with a wrong dash", "/subscriptions/11111111-2222-3333-44444-5555555555a/resourceGroups/g", ID{}, false},
		{"a UUID with a wrong letter", "/subscriptions/g1111111-2222-3333-4444-55555555555a/resourceGroups/g", ID{}, false},
		{"without the first slash", theGroup[1:], ID{}, false},
		{"a group without a name", "/subscriptions/" + someSubscription + "/resourceGroups/", ID{}, false},
		{"a group that ends with a dot", theGroup + ".", ID{}, false},
		{"a group of 91 characters", "/subscriptions/" + someSubscription + "/resourceGroups/" + strings.Repeat("g", 91), ID{}, false},
		{"another word than providers", theGroup + "/provider/Microsoft.Compute/disks/d", ID{}, false},
		{"a type without a name", theGroup + "/providers/Microsoft.Compute/disks", ID{}, false},
		{"a provider alone", theGroup + "/providers/Microsoft.Compute", ID{}, false},
		{"an empty name", theGroup + "/providers/Microsoft.Compute/disks/", ID{}, false},
		{"a name that climbs", theGroup + "/providers/Microsoft.Compute/disks/..", ID{}, false},
		{"a name with a query", theGroup + "/providers/Microsoft.Compute/disks/d?x=y", ID{}, false},
		{"a name with an escape", theGroup + "/providers/Microsoft.Compute/disks/%2e", ID{}, false},
		{"a text without end", theGroup + strings.Repeat("/providers/a/b/c", 100), ID{}, false},
	} {
		got, ok := Parse(test.text)
		if ok != test.ok || !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v, %s", test.name, ok, cmp.Diff(test.want, got))
		}
		if ok && !SameID(got.String(), test.text) {
			t.Errorf("%s: %s was read from %s", test.name, got, test.text)
		}
	}
}

func TestIDsAreComparedWithoutCase(t *testing.T) {
	vm := GroupID(someSubscription, "Nodes").VM("win-1")
	shouting, _ := Parse(strings.ToUpper(vm.String()))
	if vm.Key() != shouting.Key() || !SameID(vm.String(), shouting.String()) {
		t.Errorf("%s and %s are the same VM", vm, shouting)
	}
	if SameID("", "") {
		t.Error("no ID is the same as no ID")
	}
	if other := vm.Parent().VM("win-2"); SameID(vm.String(), other.String()) || vm.Key() == other.Key() {
		t.Errorf("%s and %s are two VMs", vm, other)
	}
	if !shouting.HasType("Microsoft.Compute/virtualMachines") || shouting.HasType("Microsoft.Compute/disks") {
		t.Errorf("%s is a VM", shouting)
	}
	if vm.Parent().Name() != "Nodes" || vm.Name() != "win-1" {
		t.Errorf("names of %s: %q and %q", vm, vm.Parent().Name(), vm.Name())
	}
}

func TestPartsDoNotShareMemory(t *testing.T) {
	network := GroupID(someSubscription, "g").child(networks, "virtualNetworks", "v")
	one, other := network.part("subnets", "one"), network.part("subnets", "other")
	if one.Name() != "one" || other.Name() != "other" {
		t.Errorf("%s and %s", one, other)
	}
}

func TestProviderID(t *testing.T) {
	vm := GroupID(strings.ToUpper(someSubscription), "Nodes").VM("WIN-1")
	want := "azure:///subscriptions/" + someSubscription + "/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/win-1"
	if got := ProviderID(vm); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	back, ok := ReadProviderID(want)
	if !ok || back.Key() != vm.Key() {
		t.Errorf("read %v, %s", ok, back)
	}
	longest := ProviderID(GroupID(someSubscription, strings.Repeat("g", 90)).VM(strings.Repeat("w", 15)))
	if len(longest) > maxTagValue {
		t.Errorf("the longest providerID has %d bytes and does not fit a tag", len(longest))
	}
}

func TestReadProviderIDRefuses(t *testing.T) {
	good := "azure:///subscriptions/" + someSubscription + "/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/win-1"
	for name, text := range map[string]string{
		"nothing":                 "",
		"another cloud":           "vsphere://4215f6b0-1b7d-5c5a-9d4e-0123456789ab",
		"no scheme":               strings.TrimPrefix(good, "azure://"),
		"upper case in the group": strings.Replace(good, "nodes", "Nodes", 1),
		"upper case in the VM":    strings.Replace(good, "win-1", "WIN-1", 1),
		"lower case elsewhere":    strings.Replace(good, "Microsoft", "microsoft", 1),
		"a scale set":             strings.Replace(good, "virtualMachines", "virtualMachineScaleSets", 1),
		"a part of a VM":          good + "/extensions/e",
		"a slash at the end":      good + "/",
	} {
		if vm, ok := ReadProviderID(text); ok {
			t.Errorf("%s: %q is read as %s", name, text, vm)
		}
	}
}
