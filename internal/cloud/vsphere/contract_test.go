package vsphere

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestContract has a manager whose clock is not the vCenter's.
func TestContract(t *testing.T) { // alone, for it counts the goroutines of the process
	for _, ahead := range proved.Clocks() {
		t.Run("clock "+ahead.String(), func(t *testing.T) { contract(t, ahead) })
	}
}

func contract(t *testing.T, ahead time.Duration) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Harness {
		v := newStage(t)
		return cloudtest.Harness{
			Provider:         contractProvider{ahead: ahead},
			Credentials:      v.Credentials(),
			WrongCredentials: with(v.Credentials(), "password", "wrong"),
			DeadCredentials:  with(v.Credentials(), "server", deadAddress(t)),
			AnotherServer:    func() map[string][]byte { return newStage(t).Credentials() },
			Spec:             v.spec(),
			Misspell:         func(s *infrav1.WindowsMachineSpec) { s.VSphere.Image.Template = "windows-2220" },
			Hold:             v.HoldClones,
			LoseAnswer:       v.LoseAnswer,
			Cut:              v.CloseClientConnections,
			Sessions:         func() int { return len(v.Sessions()) },
			VMs:              v.VMs,
			Inspect:          v.Inspect,
			Occupy:           v.Occupy,
			Copy:             func(name, as string) { markedCopy(v, name, as) },
			Unmark: func(name string) {
				v.SetExtra(name, seen.MarkOwner, "")
				v.SetExtra(name, seen.MarkProviderID, "")
			},
			Replace:       v.replace,
			Displace:      v.displace,
			Return:        v.putBack,
			PowerOff:      v.PowerOff,
			Remove:        v.Remove,
			Address:       func(name, value string) { v.SetExtra(name, "SET.guest.ipAddress", value) },
			Report:        func(name, value string) { v.SetExtra(name, seen.ReportKey, value) },
			WriteUserData: func(name, value string) { v.SetExtra(name, seen.UserDataKey, value) },
			Erasures:      func() int { return v.Calls()["ReconfigVM_Task"] },
			UserData:      func(name string) []byte { return v.Guestinfo(name, "userdata") },
			ComputerName: func(name string) string {
				var metadata map[string]string
				v.Must(json.Unmarshal(v.Guestinfo(name, "metadata"), &metadata))
				return metadata["local-hostname"]
			},
		}
	})
}

// replace puts a VM in the place of another one that was restored from a backup: it has the name and the advanced configuration,
// and the vCenter gives it an instance UUID of its own.
func (v *stage) replace(name string) {
	markedCopy(v, name, "restored")
	v.Remove(name)
	v.done(v.VM("restored").Rename(v.t.Context(), name))
	v.done(v.VM(name).PowerOn(v.t.Context()))
}

// discovered is the folder into which a vCenter puts the VMs that it finds on a host that is added. Each has a new reference ("If
// an ESXi host is removed from inventory and is then re-added, everything that was on it gets a new MoRef ID": Zerto, Resiliency
// to vSphere Environment Changes), and the marks that are in its file.
const discovered = "Discovered virtual machine"

// displace removes the host of a VM and adds it again.
func (v *stage) displace(name string) {
	v.t.Helper()
	above := expect.Got(find.NewFinder(v.Client).Folder(v.t.Context(), "/"+vcenter.Datacenter+"/vm"))(v.t)
	v.Unregister(name)(expect.Got(above.CreateFolder(v.t.Context(), discovered))(v.t).Reference())
}

// putBack registers the VM in its folder again.
func (v *stage) putBack(name string) {
	v.t.Helper()
	folder := expect.Got(find.NewFinder(v.Client).Folder(v.t.Context(), "/"+vcenter.Datacenter+"/vm/"+vcenter.Folder))(v.t)
	v.Unregister(name)(folder.Reference())
}

// contractProvider connects long after the last process did, so that no request of that one can arrive any more.
type contractProvider struct {
	Provider
	ahead time.Duration
}

func (p contractProvider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	c, err := p.Provider.Connect(namespace, credentials)
	if err == nil {
		a := prompt(c)
		a.opened, a.now = time.Time{}, proved.Clock(p.ahead)
	}
	return c, err
}

// deadAddress is one that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func with(credentials map[string][]byte, key, value string) map[string][]byte {
	credentials[key] = []byte(value)
	return credentials
}
