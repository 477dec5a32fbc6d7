package hypervisor_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// start runs a vCenter whose VMs are played until stop.
func start(t *testing.T, play hypervisor.Play) (ctx context.Context, v *vcenter.Owner, stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	v = vcenter.New(t).Owner(t)
	over := make(chan error, 1)
	go func() { over <- hypervisor.Run(ctx, v.VCenter, play) }()
	stop = sync.OnceFunc(func() {
		cancel()
		expect.Fine(t, <-over)
	})
	t.Cleanup(stop)
	return ctx, v, stop
}

// clone makes the VM w1 as a cloud would: one clone that switches on.
func clone(v *vcenter.Owner) {
	v.Clone("w1", types.VirtualMachineCloneSpec{PowerOn: true, Config: &types.VirtualMachineConfigSpec{
		NumCPUs: 4, MemoryMB: 16384, ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.userdata", Value: "data"}},
	}})
}

// TestVMIsPlayedWhileItIsOn goes through a VM's life.
func TestVMIsPlayedWhileItIsOn(t *testing.T) {
	type sight struct {
		Name     string
		Hardware guest.Hardware
		UserData string
		Off      bool
	}
	seen := make(chan sight, 2)
	_, v, stop := start(t, func(on context.Context, vm *hypervisor.VM) {
		hardware, err := vm.Hardware(on)
		expect.Fine(t, err)
		name, err := vm.Name(on)
		expect.Fine(t, err)
		data, _, err := vm.Guestinfo(on, "guestinfo.userdata")
		expect.Fine(t, err)
		expect.Fine(t, vm.SetGuestinfo(on, "guestinfo.capwin.report", "hello"))
		seen <- sight{Name: name, Hardware: hardware, UserData: data}
		<-on.Done()
		seen <- sight{Off: true}
	})
	clone(v)
	if got := <-seen; got.UserData != "data" || got.Hardware.CPUs != 4 || got.Hardware.MemoryMiB != 16384 || got.Name != "w1" {
		t.Errorf("the guest sees %+v", got)
	}
	v.PowerOff("w1")
	if got := <-seen; !got.Off {
		t.Error("the guest plays on though its VM is off")
	}
	expect.Same(t, "VMs", []string{"w1"}, v.VMs())
	if calls := v.Calls(); len(calls) != 0 {
		t.Errorf("what the owner and the hypervisor do themselves is counted: %v", calls)
	}
	stop()
}

// TestWatchHearsWhatItAsksFor watches VMs as our controllers do: one comes, its guest writes, it goes.
func TestWatchHearsWhatItAsksFor(t *testing.T) {
	written := make(chan struct{})
	ctx, v, stop := start(t, func(on context.Context, vm *hypervisor.VM) {
		defer close(written)
		for _, key := range []string{"guestinfo.nobody.asks", "guestinfo.asked"} {
			expect.Fine(t, vm.SetGuestinfo(on, key, "hello"))
		}
	})
	heard, over := make(chan string, 100), make(chan error, 1)
	go func() { over <- watch(ctx, v, heard) }()
	if got := <-heard; got != "enter "+vcenter.Template {
		t.Errorf("the watch begins with %q", got)
	}
	clone(v)
	for _, want := range []string{"enter w1", "asked hello"} {
		await(ctx, t, heard, want)
	}
	<-written // the watch may have what the guest writes before the guest has its answer
	v.Remove("w1")
	await(ctx, t, heard, "leave")
	if calls := v.Calls(); calls["Login"] != 1 || calls["WaitForUpdatesEx"] < 3 || calls["CloneVM_Task"] != 0 {
		t.Errorf("the calls of the watch count, and no others: %v", calls)
	}
	stop()
	expect.Fine(t, <-over)
}

// await skips what comes again: the simulator tells some things twice.
func await(ctx context.Context, t *testing.T, heard <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-heard:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("%q was not heard", want)
		}
	}
}

// watch tells what it hears until ctx ends.
func watch(ctx context.Context, v *vcenter.Owner, heard chan<- string) error {
	at, err := url.Parse(v.URL + vim25.Path)
	if err != nil {
		return err
	}
	at.User = url.UserPassword(vcenter.Username, vcenter.Password)
	c, err := govmomi.NewClient(ctx, at, true)
	if err != nil {
		return err
	}
	asked := []string{"name", `config.extraConfig["guestinfo.asked"]`}
	return vcenter.WatchVMs(ctx, c.Client, asked, func(update types.ObjectUpdate) error {
		if update.Kind == types.ObjectUpdateKindLeave {
			heard <- "leave"
		}
		for _, change := range update.ChangeSet {
			switch value := change.Val.(type) {
			case string:
				heard <- string(update.Kind) + " " + value
			case types.OptionValue:
				heard <- fmt.Sprintf("asked %v", value.Value)
			}
		}
		return nil
	})
}
