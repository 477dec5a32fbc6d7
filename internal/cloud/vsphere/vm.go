package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// The marks on a VM say which machine it belongs to. They are not guestinfo keys, because those are what a guest can write.
const (
	markOwner      = "capwin.owner"
	markProviderID = "capwin.providerID"

	// markCluster names the Cluster and the management cluster that made the VM; markDigest is that of the user data it was made
	// with.
	markCluster = "capwin.cluster"
	markDigest  = "capwin.userDataDigest"

	// markUserData says what became of the user data: given with the clone, and taken away once.
	markUserData        = "capwin.userData"
	given, taken        = "given", "taken"
	userDataKey         = "guestinfo.userdata"
	userDataEncodingKey = "guestinfo.userdata.encoding"

	// reportKey is where the guest reports on its bootstrap.
	reportKey = "guestinfo.capwin.report"

	// diskUUIDKey shows the guest the ids of its disks. The CSI driver of vSphere finds no volume in the guest without them.
	diskUUIDKey = "disk.EnableUUID"
)

func extraConfig(key string) string { return `config.extraConfig["` + key + `"]` }

// sighting is what was last seen of a VM of any owner, cut to what a VM of ours can have.
type sighting struct {
	ref        types.ManagedObjectReference
	parent     string // the reference to its folder
	name       string
	id         string
	owner      string
	providerID string
	cluster    string
	digest     string
	power      types.VirtualMachinePowerState
	connection types.VirtualMachineConnectionState
	address    string
	nics       []string // their addresses
	report     string
	withheld   int       // bytes of a report that found no room
	partial    bool      // something of what all VMs are asked for is not known
	guest      bool      // what only ours are asked for is known
	came       time.Time // when it was first told of, if the list of all VMs was complete then
	byRecord   bool      // a machine's record names it
	userData   bool      // given and not taken away yet
}

// What is kept of a VM. A name has 80 characters in vSphere, a mark is a namespace and a name, and no node has more addresses.
const (
	maxName      = 80 * 4
	maxMark      = 512
	maxAddresses = 256
	maxReference = 128
)

// setters set the properties of a VM that are read and watched; a nil value means that the property has no value now. Of
// extraConfig we read single keys, because the whole holds the user data and would be sent again with each change.
//
// All VMs are asked for the first, which say whose a VM is and whether it runs. Only ours are asked for what their guests report.
var setters = map[string]func(*sighting, any){
	"parent":                    func(s *sighting, v any) { s.parent = parentOf(v) },
	"name":                      func(s *sighting, v any) { s.name = short[string](v, maxName) },
	"config.instanceUuid":       func(s *sighting, v any) { s.id = short[string](v, maxMark) },
	"runtime.powerState":        func(s *sighting, v any) { s.power = short[types.VirtualMachinePowerState](v, maxMark) },
	"runtime.connectionState":   func(s *sighting, v any) { s.connection = short[types.VirtualMachineConnectionState](v, maxMark) },
	extraConfig(markOwner):      func(s *sighting, v any) { s.owner = short[string](option(v), maxMark) },
	extraConfig(markProviderID): func(s *sighting, v any) { s.providerID = short[string](option(v), maxMark) },
	extraConfig(markCluster):    func(s *sighting, v any) { s.cluster = short[string](option(v), maxMark) },
	extraConfig(markDigest):     func(s *sighting, v any) { s.digest = short[string](option(v), maxMark) },
}

var guestSetters = map[string]func(*sighting, any){
	"guest.ipAddress":         func(s *sighting, v any) { s.address = short[string](v, maxMark) },
	"guest.net":               func(s *sighting, v any) { s.nics = addressesOf(v) },
	extraConfig(reportKey):    func(s *sighting, v any) { s.report, s.withheld = bounded(option(v)), 0 },
	extraConfig(markUserData): func(s *sighting, v any) { s.userData = option(v) == given },
}

var (
	paths      = slices.Sorted(maps.Keys(setters))
	guestPaths = slices.Sorted(maps.Keys(guestSetters))
)

func (s *sighting) set(path string, value any) {
	set := setters[path]
	if set == nil {
		set = guestSetters[path]
	}
	if set != nil {
		set(s, value)
	}
}

// short is a text that is not longer than such a text is; a longer one counts as none. The copy lets go of the answer.
func short[T ~string](value any, most int) T {
	text, _ := value.(T)
	if len(text) > most {
		return ""
	}
	return T(strings.Clone(string(text)))
}

// tooLong stands for all reports that no guest of ours writes.
var tooLong = strings.Repeat("x", cloud.MaxReport+1)

func bounded(report string) string {
	if len(report) > cloud.MaxReport {
		return tooLong
	}
	return strings.Clone(report)
}

func parentOf(value any) string {
	ref, _ := value.(types.ManagedObjectReference)
	if ref.Type != "Folder" { // a VM in a vApp has none
		return ""
	}
	return short[string](ref.Value, maxReference)
}

func addressesOf(nics any) (all []string) {
	list, _ := nics.(types.ArrayOfGuestNicInfo)
	for _, nic := range list.GuestNicInfo {
		for _, ip := range nic.IpAddress {
			if len(all) < maxAddresses {
				all = append(all, short[string](ip, maxMark))
			}
		}
	}
	return all
}

func option(value any) string {
	o, ok := value.(types.BaseOptionValue)
	if v, plain := value.(types.OptionValue); plain {
		o, ok = &v, true
	}
	if !ok || o.GetOptionValue() == nil {
		return ""
	}
	text, _ := o.GetOptionValue().Value.(string)
	return text
}

// readVM reads one VM. If the VM is gone, the error is ManagedObjectNotFound; if the account may not see it, NoPermission.
func readVM(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (*sighting, error) {
	properties, err := readSeen(ctx, c, ref, slices.Concat(paths, guestPaths)...)
	s := &sighting{ref: ref}
	for path, value := range properties {
		s.set(path, value)
	}
	return s, err
}

// readSeen reads one object. An answer that leaves it out says that the account may not see it.
func readSeen(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, want ...string) (map[string]any, error) {
	all, err := session.Read(ctx, c, session.Source{Object: ref}, ref.Type, want...)
	if _, seen := all[ref]; err == nil && !seen {
		err = soap.WrapVimFault(&types.NoPermission{Object: &ref, PrivilegeId: "System.View"})
	}
	return all[ref], err
}

// readable says that the vCenter knows the VM's configuration. While a VM is being cloned, and while its host or datastore is
// away, the vCenter may know only the name, and cannot say which machine the VM belongs to.
func (s *sighting) readable() bool { return s.id != "" }

// belongsTo says that the VM has all marks of m. The two that are written on it are not enough: if a person clones our VM, the
// copy has them too, but the vCenter gives it an id of its own.
func (s *sighting) belongsTo(m cloud.Machine) bool { return s.id == idOf(m) && s.marked(m) }

// marked says that the VM has the marks that are written on it.
func (s *sighting) marked(m cloud.Machine) bool {
	return s.owner == m.Key.String() && s.providerID == m.ProviderID
}

// unlike says that the VM has a mark of another machine.
func (s *sighting) unlike(m cloud.Machine) bool {
	return s.owner != "" && s.owner != m.Key.String() || s.providerID != "" && s.providerID != m.ProviderID
}

// blank says that no mark is written on the VM.
func (s *sighting) blank() bool { return s.owner == "" && s.providerID == "" }

func (s *sighting) off() bool { return s.power == types.VirtualMachinePowerStatePoweredOff }

// started says that the VM is on or suspended.
func (s *sighting) started() bool { return s.power != "" && !s.off() }

// describe reports m's VM to the controllers. ran says that the VM was switched on before.
func describe(m cloud.Machine, s *sighting, ran bool) cloud.VM {
	vm := cloud.VM{
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineHostName, Address: m.Name},
			{Type: clusterv1.MachineInternalDNS, Address: m.Name},
		},
		UserData:  s.userData,
		Report:    s.report,
		AfterJoin: unaddressed(s),
	}
	switch {
	case s.power == types.VirtualMachinePowerStatePoweredOn:
		vm.State, vm.Detail = cloud.Running, cmp.Or(unreached(s), unmarked(m, s))
	case !ran:
		vm.State, vm.Detail = cloud.Creating, "made, but not yet switched on"
	case s.power == types.VirtualMachinePowerStateSuspended:
		vm.State, vm.Detail = cloud.Stopped, "suspended in the vCenter"
	default:
		vm.State, vm.Detail = cloud.Stopped, "switched off"
	}
	for _, ip := range s.ips() {
		vm.Addresses = append(vm.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
	}
	return vm
}

// unmarked says of a VM that is known by its reference alone that a person has changed its marks.
func unmarked(m cloud.Machine, s *sighting) string {
	if s.marked(m) {
		return ""
	}
	return fmt.Sprintf("marks are missing on the VM, and only its reference in this object's status says whose it is: set %s=%s "+
		"and %s=%s again in its advanced configuration", markOwner, m.Key, markProviderID, m.ProviderID)
}

// unaddressed says of a VM that its address is hidden from vSphere's cloud controller manager, which needs one and asks
// for it when it first sees the Node (kubernetes/cloud-provider-vsphere v1.36.0, pkg/cloudprovider/vsphere/nodemanager.go).
func unaddressed(s *sighting) string {
	if len(s.ips()) > 0 {
		return ""
	}
	return "VMware Tools report no address of the VM: if the Node has the taint node.cloudprovider.kubernetes.io/uninitialized, " +
		"vSphere's cloud controller manager takes it off only once they do; take the adapter's name out of exclude-nics in " +
		"tools.conf, restart the service VMTools, then that manager"
}

// unreached says of a VM that runs that the vCenter cannot reach it, as when its host is cut off: what is known of it may be old.
func unreached(s *sighting) string {
	if s.connection == "" || s.connection == types.VirtualMachineConnectionStateConnected {
		return ""
	}
	return reached(s).Error()
}

// ips lists each address once, beginning with the one that VMware Tools regard as the main address. It leaves out link-local
// addresses, which Windows makes up when there is no DHCP.
func (s *sighting) ips() []string {
	all := append([]string{s.address}, s.nics...)
	var good []string
	seen := map[netip.Addr]bool{}
	for _, text := range all {
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
