package hypervisor_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
)

// azureStage is a simulated Azure whose VMs are played until stop.
type azureStage struct {
	*armsim.Cloud
	stop func()
}

func startAzure(t *testing.T, play func(ctx context.Context, vm *hypervisor.AzureVM)) *azureStage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	s := &azureStage{Cloud: armsim.New(t)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		hypervisor.RunAzure(ctx, s.Cloud, play)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-over
	})
	t.Cleanup(s.stop)
	wait.Until(t, "the hosts", func() (any, bool) {
		there := false
		s.Change(func(in *armsim.Inside) { there = in.Compute.Guest != nil })
		return nil, there
	})
	return s
}

const azurePassword = "A <long> & s3cret word"

// put makes the VM w1 and lets the time pass until it is on.
func (s *azureStage) put(t *testing.T, customData string) {
	t.Helper()
	profile := doc.Object{"computerName": "w1", "adminUsername": "capwin", "adminPassword": azurePassword}
	if customData != "" {
		profile["customData"] = base64.StdEncoding.EncodeToString([]byte(customData))
	}
	adapter := doc.Object{"name": "w1", "properties": doc.Object{"primary": true, "ipConfigurations": []any{doc.Object{
		"name": "primary", "properties": doc.Object{"primary": true, "subnet": doc.Object{"id": armsim.SubnetID}},
	}}}}
	body := doc.Object{"location": armsim.Location, "properties": doc.Object{
		"hardwareProfile": doc.Object{"vmSize": "Standard_D4s_v5"},
		"storageProfile": doc.Object{
			"imageReference": doc.Object{"id": armsim.ManagedImage},
			"osDisk":         doc.Object{"createOption": "FromImage", "deleteOption": "Delete"},
		},
		"osProfile":          profile,
		"networkProfile":     doc.Object{"networkApiVersion": "2020-11-01", "networkInterfaceConfigurations": []any{adapter}},
		"diagnosticsProfile": doc.Object{"bootDiagnostics": doc.Object{"enabled": true}},
	}}
	s.Change(func(in *armsim.Inside) {
		if _, refused := in.Compute.Put(compute.Request{ID: armsim.VMID("w1"), Body: body, Version: "2024-11-01"}); refused != nil {
			t.Errorf("the VM is refused: %+v", refused)
		}
	})
	s.Advance(2 * time.Minute)
}

// state is the provisioning state of the VM, and why it failed.
func (s *azureStage) state() (state, why string) {
	s.Change(func(in *armsim.Inside) {
		r := in.World.Find(armsim.VMID("w1"))
		if r == nil {
			return
		}
		state = doc.Text(r.Body, "properties", "provisioningState")
		if cause := in.Compute.Failure(armsim.VMID("w1")); cause != nil {
			why = cause.Code + ": " + cause.Message
		}
	})
	return state, why
}

func (s *azureStage) awaitState(t *testing.T, want string) (why string) {
	t.Helper()
	wait.Until(t, "the state "+want, func() (any, bool) {
		state, cause := s.state()
		why = cause
		return state + " " + cause, state == want
	})
	return why
}

func (s *azureStage) bootLog() (text string) {
	s.Change(func(in *armsim.Inside) { text = string(in.Compute.BootLog(armsim.VMID("w1"))) })
	return text
}

// TestAzureVMIsPlayedWhileItIsOn goes through a VM's life: it boots with what was sent, is ready once the guest says so, boots
// again after it was stopped, and its guest ends when the VM is deleted.
func TestAzureVMIsPlayedWhileItIsOn(t *testing.T) {
	type sight struct {
		Name, Address, Instance, Data string
		Hardware                      guest.Hardware
		Guestinfo, Off                bool
	}
	seen := make(chan sight, 4)
	s := startAzure(t, func(on context.Context, vm *hypervisor.AzureVM) {
		hardware, err := vm.Hardware(on)
		expect.Fine(t, err)
		_, data := vm.Drive()
		_, found, err := vm.Guestinfo(on, "guestinfo.userdata")
		expect.Fine(t, err)
		seen <- sight{
			Name: vm.Name(), Address: vm.Address(), Instance: vm.Instance(), Data: string(data), Hardware: hardware, Guestinfo: found,
		}
		vm.Serial([]byte("hello\r\n"))
		vm.Health(true, "")
		<-on.Done()
		seen <- sight{Off: true}
	})
	s.put(t, "#cloud-config\n")
	first := <-seen
	if first.Data != "#cloud-config\n" || first.Hardware.CPUs != 4 || first.Hardware.MemoryMiB != 16384 || first.Name != "w1" ||
		first.Address == "" || first.Guestinfo || first.Instance != strings.ToLower(first.Hardware.UUID)+"._w1" {
		t.Errorf("the guest sees %+v", first)
	}
	s.awaitState(t, "Succeeded")
	if log := s.bootLog(); log != "" {
		t.Errorf("the boot log shows %q at once", log)
	}
	s.Advance(10 * time.Minute)
	expect.Same(t, "boot log", "hello\r\n", s.bootLog())

	s.Shutdown(armsim.VMID("w1"))
	expect.Same(t, "guest of a VM that is off", sight{Off: true}, <-seen)
	s.Change(func(in *armsim.Inside) {
		if _, refused, known := in.Compute.Act(armsim.VMID("w1"), "start"); refused != nil || !known {
			t.Errorf("the start is refused: %+v", refused)
		}
	})
	s.Advance(2 * time.Minute)
	expect.Same(t, "guest at the next boot", first, <-seen)
	s.Change(func(in *armsim.Inside) { in.Compute.Delete(armsim.VMID("w1"), true) })
	s.Advance(10 * time.Minute)
	expect.Same(t, "guest of a VM that is gone", sight{Off: true}, <-seen)
	expect.Same(t, "VMs that are left", 0, len(s.Names(armsim.Group, compute.VM)))
	s.stop()
	if state, _ := s.state(); state != "" {
		t.Errorf("the VM is %s", state)
	}
}

// TestAzureGuestsThatAreNotReady: one says why, one says nothing until Azure waits no more. What either says later counts
// for nothing.
func TestAzureGuestsThatAreNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		says  func(vm *hypervisor.AzureVM)
		after time.Duration
		want  []string
	}{
		"failing": {func(vm *hypervisor.AzureVM) {
			vm.Health(false, "CAPWIN kubeadm join failed")
			vm.Health(true, "")
		}, 0, []string{"OSProvisioningClientError", "CAPWIN kubeadm join failed"}},
		"silent": {func(*hypervisor.AzureVM) {}, 41 * time.Minute, []string{"OSProvisioningTimedOut"}},
	} {
		t.Run(name, func(t *testing.T) {
			booted := make(chan *hypervisor.AzureVM, 1)
			s := startAzure(t, func(on context.Context, vm *hypervisor.AzureVM) {
				c.says(vm)
				booted <- vm
				<-on.Done()
			})
			s.put(t, "")
			vm := <-booted
			s.Advance(c.after)
			why := s.awaitState(t, "Failed")
			if slices.ContainsFunc(c.want, func(text string) bool { return !strings.Contains(why, text) }) {
				t.Errorf("the cause is %q, want %q in it", why, c.want)
			}
			vm.Health(true, "")
			s.Advance(time.Minute)
			if state, again := s.state(); state != "Failed" || again != why {
				t.Errorf("after a late word, the VM is %s, %s", state, again)
			}
		})
	}
}

// TestAzureDrive reads ovf-env.xml as a program in the guest does: what the spec says is text, whatever it looks like.
func TestAzureDrive(t *testing.T) {
	for _, data := range []string{"#cloud-config\n", ""} {
		booted := make(chan *hypervisor.AzureVM, 1)
		s := startAzure(t, func(_ context.Context, vm *hypervisor.AzureVM) { booted <- vm })
		s.put(t, data)
		environment, file := (<-booted).Drive()
		var got struct {
			Name     string  `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>ComputerName"`
			User     string  `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>AdminUsername"`
			Password string  `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>AdminPassword"`
			Data     *string `xml:"ProvisioningSection>WindowsProvisioningConfigurationSet>CustomData"`
		}
		expect.OK(t, xml.Unmarshal(environment, &got))
		if got.Name != "w1" || got.User != "capwin" || got.Password != azurePassword || string(file) != data {
			t.Errorf("the drive has %+v and %q", got, file)
		}
		if (got.Data != nil) != (data != "") || got.Data != nil && *got.Data != base64.StdEncoding.EncodeToString([]byte(data)) {
			t.Errorf("the data in the file are %v for %q", got.Data, data)
		}
		if data == "" && file != nil {
			t.Errorf("there is a CustomData.bin with %q", file)
		}
		s.stop()
	}
}
