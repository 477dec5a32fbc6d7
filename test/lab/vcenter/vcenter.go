// Package vcenter runs govmomi's vCenter simulator for the lab, with a Windows template in it, and tells of VMs that are
// switched on and off, as the hypervisor would start and stop their guests.
package vcenter

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// What is in the vCenter, besides the simulator's own inventory.
const (
	Datacenter   = "DC0"
	ResourcePool = "DC0_C0/Resources"
	Folder       = "windows"
	Template     = "windows-2022-v1.36.3"

	username = "capwin@vsphere.local"
	password = "lab-only"
)

// VCenter is a running simulator. There can be one in a process: the simulator has package variables.
type VCenter struct {
	model  *simulator.Model
	server *simulator.Server
	client *govmomi.Client // the hypervisor's own session

	mu    sync.Mutex
	calls map[string]int
	lab   string // key of the hypervisor's session, whose calls do not count
}

// Start runs a vCenter with TLS, a user, a folder and a Windows template.
func Start(ctx context.Context) (*VCenter, error) {
	model := simulator.VPX()
	model.Host, model.Cluster, model.ClusterHost = 0, 1, 2
	model.Machine, model.Autostart = 1, false
	if err := model.Create(); err != nil {
		return nil, fmt.Errorf("create vcenter: %w", err)
	}
	model.Service.TLS = new(tls.Config)
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(username, password)}
	v := &VCenter{model: model, calls: map[string]int{}}
	model.Map().Handler = v.call
	v.server = model.Service.NewServer()
	if err := v.prepare(ctx); err != nil {
		v.Stop()
		return nil, fmt.Errorf("prepare vcenter: %w", err)
	}
	return v, nil
}

// Stop ends the simulator.
func (v *VCenter) Stop() {
	v.server.Close()
	v.model.Remove()
}

// Credentials are the data of the Secret that machines refer to.
func (v *VCenter) Credentials() map[string][]byte {
	certificate := v.server.Certificate()
	sum := sha256.Sum256(certificate.Raw)
	return map[string][]byte{
		"server":     []byte(v.server.URL.Host),
		"username":   []byte(username),
		"password":   []byte(password),
		"thumbprint": []byte(hex.EncodeToString(sum[:])),
	}
}

// call is asked for every call: it counts those of others than the hypervisor, and gives the search index patience.
func (v *VCenter) call(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Session != nil {
		v.narrow(ctx, method)
	}
	if ctx.Session == nil || ctx.Session.Key != v.lab {
		v.calls[method.Name]++
	}
	// A session prefers what is in its own registry, even to a handler that is returned here.
	if index, ok := ctx.Map.Get(method.This).(*simulator.SearchIndex); ok && ctx.Session != nil && ctx.Session.Registry.Get(method.This) == nil {
		ctx.Session.Registry.Put(&patientIndex{index})
	}
	return nil, nil
}

// Calls made by others than the lab, by method.
func (v *VCenter) Calls() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.calls)
}

func (v *VCenter) prepare(ctx context.Context) error {
	if err := v.login(ctx); err != nil {
		return err
	}
	finder := find.NewFinder(v.client.Client)
	datacenter, err := finder.Datacenter(ctx, Datacenter)
	if err != nil {
		return err
	}
	finder.SetDatacenter(datacenter)
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return err
	}
	if _, err := folders.VmFolder.CreateFolder(ctx, Folder); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	vm, err := finder.VirtualMachine(ctx, "DC0_C0_RP0_VM0")
	if err != nil {
		return err
	}
	return makeTemplate(ctx, vm)
}

func (v *VCenter) login(ctx context.Context) error {
	client, err := vim25.NewClient(ctx, soap.NewClient(v.server.URL, true))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	v.client = &govmomi.Client{Client: client, SessionManager: session.NewManager(client)}
	if err := v.client.Login(ctx, v.server.URL.User); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	own, err := v.client.SessionManager.UserSession(ctx)
	if err != nil {
		return fmt.Errorf("read own session: %w", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lab, v.calls = own.Key, map[string]int{}
	return nil
}

// makeTemplate turns a VM of the simulator into one as image-builder makes it.
func makeTemplate(ctx context.Context, vm *object.VirtualMachine) error {
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{
		Name: Template, GuestId: "windows2019srvNext_64Guest", NumCPUs: 2, MemoryMB: 8192,
	})
	if err != nil {
		return fmt.Errorf("reconfigure template: %w", err)
	}
	if err := task.Wait(ctx); err != nil {
		return fmt.Errorf("reconfigure template: %w", err)
	}
	if err := vm.MarkAsTemplate(ctx); err != nil {
		return fmt.Errorf("mark as template: %w", err)
	}
	return nil
}

// VMs are the names of all VMs but the template.
func (v *VCenter) VMs(ctx context.Context) ([]string, error) {
	views, err := view.NewManager(v.client.Client).CreateContainerView(ctx, v.client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, fmt.Errorf("view of VMs: %w", err)
	}
	defer func() { _ = views.Destroy(ctx) }() // a view that stays goes with the session
	var vms []mo.VirtualMachine
	if err := views.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms); err != nil {
		return nil, fmt.Errorf("list VMs: %w", err)
	}
	var names []string
	for _, vm := range vms {
		if vm.Name != Template {
			names = append(names, vm.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
