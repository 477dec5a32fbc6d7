// Package vcenter is the vCenter of all tests: govmomi's simulator behind doors that tests can watch, hold and break.
//
//	vcenter.go  what is in it, who may log in, start and stop
//	owner.go    what its owner sees and does, past all doors
//	door.go     an address with TLS; guards stand in it and see each call
//	calls.go    the guard of the main door: counts calls, loses answers
//	hang.go     calls that hang while others answer
//	rest.go     the API beside SOAP, which the provider of Linux machines logs in to, too
//	sessions.go a limit of sessions for each user
//	view.go     a user who must not see the whole inventory
//	crowd.go    more VMs than the simulator has room for, told in pages
//	populate.go many VMs of other people
//	forget.go   tasks that have ended
//	templates.go
//	            what VMs are cloned from
//	clones.go   clones that take their time or fail, and other people's
//	drs.go      clones that are switched on in a task of their own
//	events.go   events that are forgotten
//	role.go     what our account may do, on which object; privileges.go is what each call takes, sight.go what is found, and
//	            complex.go which objects share their permissions
//	linux.go    what the provider of Linux machines takes
//	provider.go the user of the cloud controller manager
//	tools.go    what VMware Tools report
//	register.go VMs that are moved, and that are taken out of the inventory and put into it again
//	faults.go   what a vCenter says to its faults
//	networks.go networks of one name
//	reconfigure.go
//	            edits of VMs that take their time or fail
//	incremental.go, filter.go
//	            the property collector
//	abandon.go, destroy.go, extraconfig.go, index.go, making.go, race.go
//	            what the simulator (v0.56.0) does otherwise than a vCenter, each mended in a file of its own
//
// A new thing to play is a new file: what concerns the connection is a guard, what concerns the answer is one more line in
// VCenter.call or an object that takes the place of the simulator's, as in clones.go.
package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What is in the vCenter, besides the simulator's own inventory.
const (
	Datacenter   = "DC0"
	ResourcePool = "DC0_C0/Resources"
	Folder       = "windows"
	Template     = "windows-2022-v1.36.3"

	// Username and Password have what XML and URLs treat in a special way.
	Username = "capwin@vsphere.local"
	Password = "a pass/word & more"
	// Another is a user with the same rights and password.
	Another = "another@vsphere.local"

	// hypervisor is the user that plays the hosts. Its calls come through a door of its own and are not counted.
	hypervisor = "hypervisor@vsphere.local"
)

// VCenter is a running simulator. What is asked through its own door is counted.
type VCenter struct {
	*Door

	model *simulator.Model
	admin *vim25.Client       // in this process, without a session
	owned *simulator.Registry // what belongs to the owner's sessions; the simulator has one for all vCenters of a process
	own   *Door               // of the hypervisor
	calls calls
	hangs hangs
	limit sessionLimit
	gate  gate
	role  role

	waiting sync.Map // collectors that may wait for changes, by reference
}

// creating is held while an inventory is made: the simulator counts hosts in a package variable.
var creating sync.Mutex

// Start runs a vCenter with one cluster, a folder for VMs and a Windows template. The inventory can be changed before it is made.
func Start(change ...func(*simulator.Model)) (*VCenter, error) {
	v := &VCenter{model: simulator.VPX(), calls: calls{counts: map[string]int{}}}
	v.model.Host, v.model.Cluster, v.model.ClusterHost = 0, 1, 2
	v.model.Machine, v.model.Autostart = 1, false
	v.model.ServiceContent.About.InstanceUuid = uuid.NewString() // the simulator has one for all vCenters of a process
	v.model.ServiceContent.About.Version = "8.0.3"
	for _, c := range change {
		c(v.model)
	}
	creating.Lock()
	defer creating.Unlock()
	if err := v.model.Create(); err != nil {
		return nil, fmt.Errorf("create vcenter: %w", err)
	}
	service := v.model.Service
	service.RegisterSDK(v.model.Map())
	// The simulator refuses logins only when it has a user.
	service.Listen = &url.URL{User: url.UserPassword(Username, Password)}
	serveREST(service, v.model.Map())
	v.model.Map().SessionManager().ValidLogin = func(login *types.Login) bool {
		users := []string{Username, Another, Limited, CloudProvider, hypervisor}
		return slices.Contains(users, login.UserName) && login.Password == Password
	}
	if plain, ok := v.model.Map().Get(*v.model.ServiceContent.AuthorizationManager).(*simulator.AuthorizationManager); ok {
		v.model.Map().Put(&authorization{plain, v})
	}
	v.Door, v.own = v.Open(v.calls.guard, v.hangs.guard, v.limitSessions), v.Open()
	if err := v.prepare(context.Background()); err != nil {
		v.Stop()
		return nil, fmt.Errorf("prepare vcenter: %w", err)
	}
	v.owned, v.gate.making.vms = simulator.NewRegistry(), refs{}
	v.model.Map().AddHandler(&v.gate.making)
	v.model.Map().Handler = v.call
	return v, nil
}

// New starts a vCenter that ends with the test.
func New(t *testing.T, change ...func(*simulator.Model)) *VCenter {
	t.Helper()
	v := expect.Got(Start(change...))(t)
	t.Cleanup(v.Stop)
	return v
}

// Stop ends the simulator.
func (v *VCenter) Stop() {
	v.own.Close()
	v.Close()
	v.gate.making.stop()
	v.model.Remove()
}

// call is asked by the simulator before every call.
func (v *VCenter) call(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return nil, nil
	}
	if ctx.Session.UserName == "" { // the owner, who looks when all is quiet
		ctx.Session.Registry = v.owned
	}
	if fault := v.giveEditsAGate(ctx, method); fault != nil {
		return nil, fault
	}
	if fault := v.gate.making.refuse(ctx, method); fault != nil {
		return nil, fault
	}
	if ctx.Session.UserName != "" {
		v.giveCollectors(ctx, method)
		v.noteWaiting(ctx, method)
		v.giveIndexPatience(ctx, method)
		v.hideFromReaders(ctx, method)
		dropEmptyOptions(ctx, method)
		v.giveEventsAnEnd(ctx, method)
		if fault := v.beingSwitchedOn(method); fault != nil {
			return nil, fault
		}
		if refused := v.refusedRoot(ctx, method); refused != nil {
			return nil, refused
		}
		return nil, v.forbidden(ctx, method)
	}
	return nil, nil
}

// prepare makes the folder and the template.
func (v *VCenter) prepare(ctx context.Context) error {
	var err error
	if v.admin, err = vim25.NewClient(ctx, v.model.Service); err != nil {
		return err
	}
	finder := find.NewFinder(v.admin)
	datacenter, err := finder.Datacenter(ctx, Datacenter)
	if err != nil {
		return err
	}
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return err
	}
	if _, err := folders.VmFolder.CreateFolder(ctx, Folder); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	vm, err := finder.VirtualMachine(ctx, "/"+Datacenter+"/vm/DC0_C0_RP0_VM0")
	if err != nil {
		return err
	}
	return v.makeTemplate(ctx, vm, windowsTemplate(), templateDisk)
}

// Hypervisor logs in as those who play the hosts and the guests on them do: their calls are not counted.
func (v *VCenter) Hypervisor(ctx context.Context) (*vim25.Client, error) {
	at, err := url.Parse(v.own.URL + vim25.Path)
	if err != nil {
		return nil, err
	}
	client, err := vim25.NewClient(ctx, soap.NewClient(at, true))
	if err != nil {
		return nil, fmt.Errorf("connect to vcenter: %w", err)
	}
	if err := session.NewManager(client).Login(ctx, url.UserPassword(hypervisor, Password)); err != nil {
		return nil, fmt.Errorf("log in to vcenter: %w", err)
	}
	return client, nil
}
