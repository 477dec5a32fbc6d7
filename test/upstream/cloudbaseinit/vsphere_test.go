//go:build cloudbaseinit

package cloudbaseinit

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const patience = time.Minute

// cloned are machines that our provider makes in a simulated vCenter: their guestinfo is what stands on the VM there.
func cloned(t *testing.T, machines ...map[string]source) []product {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	v := vcenter.New(t)
	var all []product
	for _, sources := range machines {
		for name, userData := range sources {
			m := order(t, name, userData)
			all = append(all, product{
				machine: machine{
					Name: name, Cloud: onVSphere, ComputerName: imageName, Stdout: "CAPWIN uid=1 state=Running phase=join reason=\r\n",
				},
				userData: expect.Got(m.UserData(ctx))(t), computer: m.Name,
				instanceID: strings.TrimPrefix(m.ProviderID, "vsphere://"), boots: 3,
			})
			ensure(ctx, t, v, m)
		}
	}
	// Only now, for the simulator can lock up when one session looks while another one clones.
	seen := look(ctx, t, v, len(all))
	for i := range all {
		all[i].Guestinfo = seen[all[i].computer]
	}
	slices.SortFunc(all, func(a, b product) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// look returns the guestinfo of all VMs that are on, by their names.
func look(ctx context.Context, t *testing.T, v *vcenter.VCenter, count int) map[string]map[string]string {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type sight struct {
		name      string
		guestinfo map[string]string
	}
	sights, ended := make(chan sight, count), make(chan error, 1)
	go func() {
		ended <- hypervisor.Run(ctx, v, func(ctx context.Context, vm *hypervisor.VM) {
			name, err := vm.Name(ctx)
			expect.Fine(t, err)
			sights <- sight{name, read(ctx, t, vm)}
		})
	}()
	all := map[string]map[string]string{}
	for len(all) < count {
		select {
		case one := <-sights:
			all[one.name] = one.guestinfo
		case <-ctx.Done():
			t.Fatalf("%d VMs are on, want %d", len(all), count)
		}
	}
	stop()
	expect.OK(t, <-ended)
	return all
}

// read asks for what cloudbase-init asks for.
func read(ctx context.Context, t *testing.T, vm *hypervisor.VM) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range []string{
		"guestinfo.metadata", "guestinfo.metadata.encoding", "guestinfo.userdata", "guestinfo.userdata.encoding",
	} {
		value, found, err := vm.Guestinfo(ctx, key)
		expect.Fine(t, err)
		if found {
			all[key] = value
		}
	}
	return all
}

// order is what the controllers hand to the cloud.
func order(t *testing.T, name string, userData source) cloud.Machine {
	t.Helper()
	object := &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-of-" + name)},
	}
	object.Spec.VSphere = &infrav1.VSphereVM{
		Image:      infrav1.VSphereImage{Template: vcenter.Template},
		Datacenter: vcenter.Datacenter, Folder: vcenter.Folder, ResourcePool: vcenter.ResourcePool, CPUs: 4, MemoryMiB: 8192,
	}
	identity := expect.Got(vsphere.Provider{}.Identify(object))(t)
	object.Spec.ProviderID, object.Status.ComputerName = identity.ProviderID, identity.Name
	return cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: object.Namespace, Name: object.Name}, Spec: object.Spec,
		UserData: cloud.UserData(userData(t, object)).Read,
		Proof:    cloud.Proof{Own: true},
	}
}

// ensure calls our provider until the VM runs, as the controllers do, and ends its session.
func ensure(ctx context.Context, t *testing.T, v *vcenter.VCenter, m cloud.Machine) {
	t.Helper()
	account := expect.Got(vsphere.Provider{}.Connect("", v.Credentials()))(t)
	wait.Until(t, m.Name+" to run", func() (any, bool) {
		vm, err := account.Ensure(ctx, m)
		return []any{vm, err}, vm.State == cloud.Running
	})
	expect.Fine(t, account.Close(ctx))
}
