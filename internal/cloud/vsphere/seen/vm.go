// Package seen is a VM as a vCenter shows it: what is kept of its properties, whose it is, and what is reported of it. It reads
// the answers of a vCenter, and asks nothing.
package seen

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// The marks on a VM show which machine it belongs to. They are not guestinfo keys, because those are what a guest can write.
const (
	MarkOwner      = "capwin.owner"
	MarkProviderID = "capwin.providerID"

	// MarkCluster names the Cluster and the management cluster that made the VM; MarkDigest is that of the user data it was made
	// with.
	MarkCluster = "capwin.cluster"
	MarkDigest  = "capwin.userDataDigest"

	// MarkUserData holds what became of the user data: given with the clone, and taken away once.
	MarkUserData        = "capwin.userData"
	Given               = "given"
	Taken               = "taken"
	UserDataKey         = "guestinfo.userdata"
	UserDataEncodingKey = "guestinfo.userdata.encoding"

	// ReportKey is where the guest reports on its bootstrap.
	ReportKey = "guestinfo.capwin.report"

	// DiskUUIDKey shows the guest the ids of its disks. The CSI driver of vSphere finds no volume in the guest without them.
	DiskUUIDKey = "disk.EnableUUID"
)

// ExtraConfig is the path of the property that has one key of a VM's advanced configuration.
func ExtraConfig(key string) string { return `config.extraConfig["` + key + `"]` }

// VM is what was last seen of a VM of any owner, cut to what a VM of ours can have.
type VM struct {
	Ref        types.ManagedObjectReference
	Parent     string // the reference to its folder
	Name       string
	ID         string
	Owner      string
	ProviderID string
	Cluster    string
	Digest     string
	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState
	Address    string
	NICs       []string // their addresses
	Report     string
	Withheld   int       // bytes of a report that found no room
	Partial    bool      // something of what all VMs are asked for is not known
	Guest      bool      // what only ours are asked for is known
	Came       time.Time // when it first appeared, if the list of all VMs was complete then
	ByRecord   bool      // a machine's record names it
	UserData   bool      // given and not taken away yet
}

// What is kept of a VM. A name has 80 characters in vSphere, a mark is a namespace and a name, and no node has more addresses.
const (
	MaxName      = 80 * 4
	MaxMark      = 512
	MaxAddresses = 256
	MaxReference = 128
)

// setters set the properties of a VM that are read and watched; a nil value means that the property has no value now. Of
// ExtraConfig we read single keys, because the whole holds the user data and would be sent again with each change.
//
// The first are read of all VMs: they show whose a VM is and whether it runs. What guests report is read of our VMs only.
var setters = map[string]func(*VM, any){
	"parent":                    func(s *VM, v any) { s.Parent = parentOf(v) },
	"name":                      func(s *VM, v any) { s.Name = short[string](v, MaxName) },
	"config.instanceUuid":       func(s *VM, v any) { s.ID = short[string](v, MaxMark) },
	"runtime.powerState":        func(s *VM, v any) { s.Power = short[types.VirtualMachinePowerState](v, MaxMark) },
	"runtime.connectionState":   func(s *VM, v any) { s.Connection = short[types.VirtualMachineConnectionState](v, MaxMark) },
	ExtraConfig(MarkOwner):      func(s *VM, v any) { s.Owner = short[string](option(v), MaxMark) },
	ExtraConfig(MarkProviderID): func(s *VM, v any) { s.ProviderID = short[string](option(v), MaxMark) },
	ExtraConfig(MarkCluster):    func(s *VM, v any) { s.Cluster = short[string](option(v), MaxMark) },
	ExtraConfig(MarkDigest):     func(s *VM, v any) { s.Digest = short[string](option(v), MaxMark) },
}

var guestSetters = map[string]func(*VM, any){
	"guest.ipAddress":         func(s *VM, v any) { s.Address = short[string](v, MaxMark) },
	"guest.net":               func(s *VM, v any) { s.NICs = addressesOf(v) },
	ExtraConfig(ReportKey):    func(s *VM, v any) { s.Report, s.Withheld = bounded(option(v)), 0 },
	ExtraConfig(MarkUserData): func(s *VM, v any) { s.UserData = option(v) == Given },
}

// Paths are the properties that all VMs are asked for, and GuestPaths those that only ours are.
var (
	Paths      = slices.Sorted(maps.Keys(setters))
	GuestPaths = slices.Sorted(maps.Keys(guestSetters))
)

// Set takes over a property of the VM, by its path.
func (s *VM) Set(path string, value any) {
	set := setters[path]
	if set == nil {
		set = guestSetters[path]
	}
	if set != nil {
		set(s, value)
	}
}

// short is a text that is not longer than such a text is; a longer one counts as none. The copy lets go of the answer.
func short[T ~string](value any, limit int) T {
	text, _ := value.(T)
	if len(text) > limit {
		return ""
	}
	return T(strings.Clone(string(text)))
}

// TooLong stands for all reports that no guest of ours writes.
var TooLong = strings.Repeat("x", cloud.MaxReport+1)

func bounded(report string) string {
	if len(report) > cloud.MaxReport {
		return TooLong
	}
	return plan.Shorten(report)
}

func parentOf(value any) string {
	ref, _ := value.(types.ManagedObjectReference)
	if ref.Type != "Folder" { // a VM in a vApp has none
		return ""
	}
	return short[string](ref.Value, MaxReference)
}

func addressesOf(nics any) (addresses []string) {
	list, _ := nics.(types.ArrayOfGuestNicInfo)
	for _, nic := range list.GuestNicInfo {
		for _, ip := range nic.IpAddress {
			if len(addresses) < MaxAddresses {
				addresses = append(addresses, short[string](ip, MaxMark))
			}
		}
	}
	return addresses
}

func option(value any) string {
	o, _ := value.(types.OptionValue)
	text, _ := o.Value.(string)
	return text
}

// PoweredOff reports whether the VM is switched off.
func (s *VM) PoweredOff() bool { return s.Power == types.VirtualMachinePowerStatePoweredOff }

// Started reports whether the VM is on or suspended.
func (s *VM) Started() bool { return s.Power != "" && !s.PoweredOff() }

// Describe reports m's VM to the controllers. ran is true if the VM was switched on before.
func Describe(m cloud.Machine, s *VM, ran bool) cloud.VM {
	vm := cloud.VM{
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineHostName, Address: m.Name},
			{Type: clusterv1.MachineInternalDNS, Address: m.Name},
		},
		UserData: s.UserData,
		Report:   s.Report,
	}
	switch {
	case s.Power == types.VirtualMachinePowerStatePoweredOn:
		vm.State, vm.Detail = cloud.Running, flaw(m, s)
	case !ran:
		vm.State, vm.Detail = cloud.Creating, "made, but not yet switched on"
	case s.Power == types.VirtualMachinePowerStateSuspended:
		vm.State, vm.Detail = cloud.Stopped, "suspended in the vCenter"
	default:
		vm.State, vm.Detail = cloud.Stopped, "switched off"
	}
	ips := s.ips()
	if len(ips) == 0 {
		vm.AfterJoin = unaddressed
	}
	for _, ip := range ips {
		vm.Addresses = append(vm.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
	}
	return vm
}

// flaw is the sentence for a running VM that the vCenter cannot reach, as when its host is cut off: what is known of it may be
// old. It is also that for a VM that is known by its reference alone: a person has changed its marks.
func flaw(m cloud.Machine, s *VM) string {
	switch {
	case s.Connection != "" && s.Connection != types.VirtualMachineConnectionStateConnected:
		return Reached(s).Error()
	case s.Marked(m):
		return ""
	}
	return fmt.Sprintf("marks are missing on the VM, and only its reference in this object's status shows whose it is: set %s=%s "+
		"and %s=%s again in its advanced configuration", MarkOwner, m.Key, MarkProviderID, m.ProviderID)
}

// unaddressed is the sentence for a VM whose address is hidden from vSphere's cloud controller manager, which needs one and
// reads it when it first sees the Node (kubernetes/cloud-provider-vsphere v1.36.0, pkg/cloudprovider/vsphere/nodemanager.go).
const unaddressed = "VMware Tools report no address of the VM: if the Node has the taint " +
	"node.cloudprovider.kubernetes.io/uninitialized, vSphere's cloud controller manager takes it off only once they do; take the " +
	"adapter's name out of exclude-nics in tools.conf, restart the service VMTools, then that manager"

// ips lists each address once, beginning with the one that VMware Tools regard as the main address. It leaves out link-local
// addresses, which Windows makes up when there is no DHCP.
func (s *VM) ips() []string {
	addresses := append([]string{s.Address}, s.NICs...)
	var good []string
	seen := map[netip.Addr]bool{}
	for _, text := range addresses {
		ip, err := netip.ParseAddr(text)
		// A zone can be any text, and the guest chooses it.
		if ip = ip.Unmap(); err != nil || ip.Zone() != "" || seen[ip] || !ip.IsGlobalUnicast() {
			continue
		}
		seen[ip] = true
		good = append(good, ip.String())
	}
	return good
}

// maxState is longer than all states of a connection.
const maxState = 32

// Reached returns an error if the vCenter has no connection to the VM.
func Reached(s *VM) error {
	if s.Readable() && s.Connection == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter cannot reach the VM (%s): bring its host or datastore back", cloud.Clean(string(s.Connection), maxState))
}
