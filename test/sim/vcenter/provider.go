package vcenter

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// CloudProvider is the user of vSphere's cloud controller manager. He has the role Read-only on all that there is, which is what
// that manager asks for (kubernetes/cloud-provider-vsphere v1.36.0, docs/book/vcp_roles.md). What our account may do is nothing
// to him.
const CloudProvider = "cloud-provider@vsphere.local"

// searches of that manager which ours does not make take System.View, too (vSphere Web Services API, SearchIndex).
var searches = []string{"FindByDnsName", "FindByIp"}

// readOnly refuses what takes more than System.Anonymous, System.View and System.Read.
func (v *VCenter) readOnly(method *simulator.Method) types.BaseMethodFault {
	all := v.takenBy(method)
	if slices.Contains(searches, method.Name) {
		return nil
	}
	if len(all) == 0 {
		return denied("whatever "+method.Name+" takes: it is not in Needs", method.This)
	}
	for _, one := range all {
		if !strings.HasPrefix(one.privilege, "System.") {
			return denied(one.privilege, one.on)
		}
	}
	return nil
}
