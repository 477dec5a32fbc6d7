package vcenter

import "github.com/vmware/govmomi/vim25/types"

// ReportGuest shows of a VM what VMware Tools report: the name of its Windows, and its adapters with their addresses. The first
// of these is the VM's address. A VM that is gone has no more to show.
func (v *VCenter) ReportGuest(vm types.ManagedObjectReference, hostname string, adapters []types.GuestNicInfo) {
	object := v.model.Map().Get(vm)
	if object == nil {
		return
	}
	address := ""
	for _, adapter := range adapters {
		if address == "" && len(adapter.IpAddress) > 0 {
			address = adapter.IpAddress[0]
		}
	}
	ctx := v.model.Service.Context
	ctx.WithLock(object, func() {
		ctx.Update(object, []types.PropertyChange{
			{Name: "guest.hostName", Val: hostname},
			{Name: "summary.guest.hostName", Val: hostname},
			{Name: "guest.net", Val: adapters},
			{Name: "guest.ipAddress", Val: address},
			{Name: "summary.guest.ipAddress", Val: address},
		})
	})
}
