package arm

import "strings"

const scheme = "azure://"

// ProviderID names a VM as Azure's cloud controller manager and our API do: subscription, group and VM in lower case, the rest as
// it is written here. The Node has it byte for byte.
func ProviderID(vm ID) string {
	return scheme + GroupID(strings.ToLower(vm.Subscription), strings.ToLower(vm.Group)).VM(strings.ToLower(vm.Name())).String()
}

// ReadProviderID is the inverse of ProviderID. It refuses what ProviderID would write in another way.
func ReadProviderID(text string) (ID, bool) {
	written, found := strings.CutPrefix(text, scheme)
	vm, ok := Parse(written)
	if !found || !ok || !vm.HasType(compute+"/virtualMachines") || ProviderID(vm) != text {
		return ID{}, false
	}
	return vm, true
}
