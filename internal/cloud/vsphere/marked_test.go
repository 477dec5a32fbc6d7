package vsphere

import (
	"context"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// markedCopy clones a VM as a person does in the vCenter: the clone has its advanced configuration, which the simulator leaves to
// us, and an id of its own.
func markedCopy(v *stage, name, as string) {
	v.t.Helper()
	ctx, finder := context.Background(), find.NewFinder(v.Client)
	folder := expect.Got(finder.Folder(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder))(v.t)
	pool := expect.Got(finder.ResourcePool(ctx, "/"+vcenter.Datacenter+"/host/"+vcenter.ResourcePool))(v.t)
	task := expect.Got(v.VM(name).Clone(ctx, folder, as, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: new(pool.Reference())},
		Config:   &types.VirtualMachineConfigSpec{ExtraConfig: v.Read(name, "config.extraConfig").Config.ExtraConfig},
	}))(v.t)
	v.Must(task.Wait(ctx))
	was, is := v.Read(name, "config.instanceUuid").Config, v.Read(as, "config.instanceUuid").Config
	if v.Extra(as)[seen.MarkOwner] == "" || was.InstanceUuid == is.InstanceUuid {
		v.t.Fatalf("the copy has the id %s and %v, so it shows nothing", is.InstanceUuid, v.Extra(as))
	}
}
