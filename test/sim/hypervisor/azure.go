package hypervisor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
)

// RunAzure plays the VMs of the simulated Azure that are switched on from now on, until ctx ends.
func RunAzure(ctx context.Context, cloud *armsim.Cloud, play func(ctx context.Context, vm *AzureVM)) {
	var guests sync.WaitGroup
	hosts := &azureHosts{on: map[string]context.CancelFunc{}, play: func(vm *AzureVM) (stop func()) {
		on, stop := context.WithCancel(ctx)
		guests.Go(func() { play(on, vm) })
		return stop
	}}
	cloud.Change(func(w *armsim.Inside) { w.Compute.Guest = hosts })
	<-ctx.Done()
	cloud.Change(func(w *armsim.Inside) { w.Compute.Guest = nil })
	guests.Wait()
}

// azureHosts are called under the lock of the cloud.
type azureHosts struct {
	play func(vm *AzureVM) (stop func())
	on   map[string]context.CancelFunc
}

var _ compute.Guest = (*azureHosts)(nil)

// Boot is part of compute.Guest.
func (a *azureHosts) Boot(host compute.Host) {
	a.on[host.ID] = a.play(&AzureVM{host: host})
}

// Halt is part of compute.Guest.
func (a *azureHosts) Halt(vm string) {
	if stop := a.on[vm]; stop != nil {
		stop()
		delete(a.on, vm)
	}
}

var _ guest.AzureHost = (*AzureVM)(nil)

// AzureVM is what a guest can see and do of the VM in Azure that it runs in.
type AzureVM struct{ host compute.Host }

// Name of the VM.
func (v *AzureVM) Name() string { return path.Base(v.host.ID) }

// Address of the first adapter; "" while there is none.
func (v *AzureVM) Address() string {
	if address := v.host.Address(); address.IsValid() {
		return address.String()
	}
	return ""
}

// Hardware is what firmware tells.
func (v *AzureVM) Hardware(context.Context) (guest.Hardware, error) {
	return guest.Hardware{UUID: v.host.VMID, CPUs: v.host.CPUs, MemoryMiB: v.host.MemoryMiB}, nil
}

// Guestinfo is part of guest.VM. No host in Azure has any.
func (v *AzureVM) Guestinfo(context.Context, string) (value string, found bool, err error) {
	return "", false, nil
}

// SetGuestinfo is part of guest.VM.
func (v *AzureVM) SetGuestinfo(context.Context, string, string) error { return errNoTools }

// SetNetwork is part of guest.VM. Azure knows the addresses that it gave.
func (v *AzureVM) SetNetwork(context.Context, string, []guest.Adapter) error { return nil }

var errNoTools = errors.New("the host is not VMware's")

// Drive is the drive of the provisioning: a CD with ovf-env.xml, and with CustomData.bin if there are such data.
func (v *AzureVM) Drive() (environment, customData []byte) {
	escape := func(text string) string {
		var out bytes.Buffer
		_ = xml.EscapeText(&out, []byte(text)) // a bytes.Buffer takes everything
		return out.String()
	}
	data := ""
	if len(v.host.CustomData) > 0 {
		customData = v.host.CustomData
		data = "<CustomData>" + base64.StdEncoding.EncodeToString(customData) + "</CustomData>"
	}
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="utf-8"?>
<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1" xmlns:wa="http://schemas.microsoft.com/windowsazure">
 <wa:ProvisioningSection><wa:Version>1.0</wa:Version>
  <WindowsProvisioningConfigurationSet xmlns="http://schemas.microsoft.com/windowsazure">
   <ConfigurationSetType>WindowsProvisioningConfiguration</ConfigurationSetType>
   <ComputerName>%s</ComputerName><AdminUsername>%s</AdminUsername><AdminPassword>%s</AdminPassword>%s
  </WindowsProvisioningConfigurationSet>
 </wa:ProvisioningSection>
</Environment>
`, escape(v.host.ComputerName), escape(v.host.AdminUsername), escape(v.host.AdminPassword), data), customData
}

// Instance is part of guest.AzureHost.
func (v *AzureVM) Instance() string { return strings.ToLower(v.host.VMID) + "._" + v.Name() }

// Serial is part of guest.AzureHost.
func (v *AzureVM) Serial(text []byte) { v.host.Write(text) }

// Health is part of guest.AzureHost.
func (v *AzureVM) Health(ready bool, description string) { v.host.Report(ready, description) }
