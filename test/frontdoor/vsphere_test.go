package frontdoor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/lab/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

// linuxTemplate is what Linux VMs are cloned from.
const linuxTemplate = "ubuntu-2404-kube-v1.36.3"

// vsphere is the vCenter as its Linux VMs see it; the Windows VMs are those of the lab.
type vsphere struct {
	*vcenter.VCenter
	client *vim25.Client // of those who play the hosts
	// door is that of the user's account, and of the cloud provider's.
	door *vcenter.Door

	mu    sync.Mutex
	linux map[string]netip.Addr
	next  netip.Addr
}

func startVSphere(ctx context.Context) (*vsphere, error) {
	v, err := vcenter.Start()
	if err != nil {
		return nil, err
	}
	s := &vsphere{VCenter: v, linux: map[string]netip.Addr{}, next: netip.MustParseAddr("198.51.100.130")}
	if s.client, err = v.Hypervisor(ctx); err != nil {
		return nil, err
	}
	template, err := s.clone(ctx, linuxTemplate, vcenter.Template, false)
	if err != nil {
		return nil, err
	}
	return s, template.MarkAsTemplate(ctx)
}

// Login is part of linuxvm.VSphere: the provider knows the certificate by its SHA-1.
func (s *vsphere) Login(ctx context.Context, server, thumbprint, username, password string) error {
	at := &url.URL{Scheme: "https", Host: server, Path: vim25.Path}
	connection := soap.NewClient(at, false)
	connection.SetThumbprint(server, thumbprint)
	client, err := vim25.NewClient(ctx, connection)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", server, err)
	}
	manager := session.NewManager(client)
	if err := manager.Login(ctx, url.UserPassword(username, password)); err != nil {
		return fmt.Errorf("log in to %s: %w", server, err)
	}
	return manager.Logout(ctx)
}

// Ensure is part of linuxvm.VSphere.
func (s *vsphere) Ensure(ctx context.Context, name, template string) (bios, system, address string, err error) {
	vm, err := find.NewFinder(s.client).VirtualMachine(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder+"/"+name)
	if missing := (*find.NotFoundError)(nil); errors.As(err, &missing) {
		vm, err = s.clone(ctx, name, template, true)
	}
	if err != nil {
		return "", "", "", err
	}
	bios = vm.UUID(ctx)
	id, err := uuid.Parse(bios)
	if err != nil {
		return "", "", "", fmt.Errorf("read UUID of VM %s: %w", name, err)
	}
	for _, group := range [][]byte{id[0:4], id[4:6], id[6:8]} { // as firmware writes them
		slices.Reverse(group)
	}
	address = s.address(name).String()
	s.ReportGuest(vm.Reference(), name, []types.GuestNicInfo{{
		Network: "VM Network", MacAddress: "00:50:56:00:00:01", IpAddress: []string{address}, Connected: true, DeviceConfigId: 4000,
	}})
	return bios, strings.ToUpper(id.String()), address, nil
}

func (s *vsphere) address(name string) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.linux[name].IsValid() {
		s.linux[name], s.next = s.next, s.next.Next()
	}
	return s.linux[name]
}

func (s *vsphere) isLinux(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.linux[name].IsValid()
}

func (s *vsphere) clone(ctx context.Context, name, template string, on bool) (*object.VirtualMachine, error) {
	s.address(name) // the hosts must know that it is none of Windows
	finder := find.NewFinder(s.client)
	at := "/" + vcenter.Datacenter + "/vm/" + template
	if template == linuxTemplate {
		at = "/" + vcenter.Datacenter + "/vm/" + vcenter.Folder + "/" + template
	}
	source, err := finder.VirtualMachine(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("find template: %w", err)
	}
	folder, err := finder.Folder(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder)
	if err != nil {
		return nil, err
	}
	pool, err := finder.ResourcePool(ctx, "/"+vcenter.Datacenter+"/host/"+vcenter.ResourcePool)
	if err != nil {
		return nil, err
	}
	spec := types.VirtualMachineCloneSpec{PowerOn: on}
	spec.Location.Pool = new(pool.Reference())
	task, err := source.Clone(ctx, folder, name, spec)
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", name, err)
	}
	made, err := task.WaitForResult(ctx)
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", name, err)
	}
	reference, ok := made.Result.(types.ManagedObjectReference)
	if !ok {
		return nil, fmt.Errorf("clone %s: the result is %v", name, made.Result)
	}
	return object.NewVirtualMachine(s.client, reference), nil
}

// Destroy is part of linuxvm.VSphere.
func (s *vsphere) Destroy(ctx context.Context, name string) error {
	vm, err := find.NewFinder(s.client).VirtualMachine(ctx, "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder+"/"+name)
	if missing := (*find.NotFoundError)(nil); errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if task, err := vm.PowerOff(ctx); err == nil {
		_ = task.Wait(ctx) // one that is off is fine
	}
	task, err := vm.Destroy(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// runGuests lets the Windows VMs live until ctx ends.
func (w *world) runGuests(ctx context.Context) error {
	var mu sync.Mutex
	next, known := netip.MustParseAddr("198.51.100.10"), map[string]netip.Addr{}
	return hypervisor.Run(ctx, w.vsphere.VCenter, func(ctx context.Context, vm *hypervisor.VM) {
		name, err := vm.Name(ctx)
		if err != nil || w.vsphere.isLinux(name) {
			return
		}
		mu.Lock()
		if !known[name].IsValid() {
			known[name], next = next, next.Next()
		}
		address := known[name]
		mu.Unlock()
		w.boot(ctx, vm, name, address.String())
	})
}

func (w *world) boot(ctx context.Context, vm guest.VM, name, address string) {
	simulated := &guest.Simulated{Dir: filepath.Join(w.dir, "guests", name), Address: address, Network: w.network, Speed: guestSpeed}
	if err := simulated.Boot(ctx, vm); err != nil && ctx.Err() == nil {
		w.tell("the guest of VM %s ends: %v", name, err)
	}
}

// guestSpeed is how many seconds pass in a guest in one of the test: it waits for what in the lab takes no time.
const guestSpeed = 4
