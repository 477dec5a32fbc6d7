package vcenter

import (
	"net/url"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestCloudProvider: the user of the cloud controller manager finds a VM by its UUID and reads what VMware Tools report, whatever
// our account may do, and changes nothing.
func TestCloudProvider(t *testing.T) {
	t.Parallel()
	v := New(t)
	owner := v.Owner(t)
	owner.Occupy("node")
	owner.Permit() // our account has no permission at all
	ctx := t.Context()
	at := expect.Got(url.Parse(v.URL + vim25.Path))(t)
	client := expect.Got(vim25.NewClient(ctx, soap.NewClient(at, true)))(t)
	expect.OK(t, session.NewManager(client).Login(ctx, url.UserPassword(CloudProvider, Password)))

	uuid := owner.Read("node", "config.uuid").Config.Uuid
	found := expect.Got(object.NewSearchIndex(client).FindByUuid(ctx, nil, uuid, true, nil))(t)
	if found == nil {
		t.Fatal("the VM is not found by its UUID")
	}
	for _, reported := range [][]types.GuestNicInfo{{{MacAddress: "00:50:56:00:00:01", IpAddress: []string{"10.0.0.1"}}}, {}} {
		v.ReportGuest(found.Reference(), "node", reported)
		var vm mo.VirtualMachine
		read := property.DefaultCollector(client)
		expect.OK(t, read.RetrieveOne(ctx, found.Reference(), []string{"guest"}, &vm))
		address := ""
		if len(reported) > 0 {
			address = reported[0].IpAddress[0]
		}
		expect.Same(t, "name and address", [2]string{"node", address}, [2]string{vm.Guest.HostName, vm.Guest.IpAddress})
		expect.Same(t, "adapters", len(reported), len(vm.Guest.Net))
	}

	_, err := object.NewVirtualMachine(client, found.Reference()).PowerOff(ctx)
	if !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("the user switches a VM off: %v", err)
	}
}
