//go:build race

package vcenter

import "slices"

// oneAtATime keeps readers out while the simulator clones: it writes to the new VM without the lock that it reads it
// with, which the race detector would report instead of our own races. Without that detector, readers see VMs half made.
const oneAtATime = true

func (v *VCenter) readOneAtATime(method string) (done func()) {
	reads := []string{"RetrieveProperties", "RetrievePropertiesEx", "FindByUuid", "FindChild", "FindByInventoryPath"}
	if !slices.Contains(reads, method) {
		return func() {}
	}
	v.gate.busy.RLock()
	return v.gate.busy.RUnlock
}
