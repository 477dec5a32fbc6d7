package frontdoor

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

// What Linux VMs are cloned from, and its system.
const (
	linuxTemplate = "ubuntu-2404-kube-v1.36.3"
	linuxGuest    = "ubuntu64Guest"
	linuxDiskGiB  = 20
)

// vsphere is the vCenter with its Windows VMs and its Linux VMs.
type vsphere struct {
	*vcenter.VCenter
	client *vim25.Client // of those who play the hosts
	// door is that of the user's account, and of the cloud provider's.
	door *vcenter.Door
	// capv is the path of the provider's own program; "" where the stand-in plays it.
	capv, components string

	mu        sync.Mutex
	addresses map[string]netip.Addr
	next      map[bool]netip.Addr // of Linux, and of Windows
}

func (w *world) startVSphere() *vsphere {
	w.Helper()
	s := &vsphere{
		VCenter: expect.Got(vcenter.Start())(w), capv: peers.Program(w.T, peers.CAPV), components: peers.Program(w.T, peers.CAPVYAML),
		addresses: map[string]netip.Addr{}, next: map[bool]netip.Addr{
			true: netip.MustParseAddr("198.51.100.130"), false: netip.MustParseAddr("198.51.100.10"),
		},
	}
	w.Cleanup(s.Stop)
	s.client = expect.Got(s.Hypervisor(w.Context()))(w)
	expect.OK(w, s.AddTemplate(w.Context(), linuxTemplate, linuxGuest, linuxDiskGiB))
	return s
}

// installCAPV installs the provider of the Linux VMs: its own program where REAL has it, or else its kinds alone, which the
// stand-in reconciles.
func (w *world) installCAPV(ctx context.Context, m *servers.Management) error {
	if w.vsphere.capv != "" {
		return servers.StartCAPV(ctx, m, w.vsphere.capv, w.vsphere.components)
	}
	return servers.InstallCAPV(ctx, m)
}

// played is who made the Linux VMs and their network.
func (w *world) played() string {
	cloud := "CAPZ: stand-in"
	switch {
	case w.azure != nil:
	case w.vsphere.capv != "":
		cloud = "CAPV: real " + peers.CAPVVersion
	default:
		cloud = "CAPV: stand-in"
	}
	if w.operator != "" {
		return cloud + ", Calico's operator: real " + peers.OperatorVersion
	}
	return cloud + ", Calico's operator: stand-in"
}

var cloned = regexp.MustCompile(`<_this[^>]* type="VirtualMachine"[^>]*>([^<]+)</_this>|<_this[^>]*>(vm-[^<]+)</_this>`)

// count notes the Windows VMs that are ordered, and those whose removal is: the account of the Linux VMs is the same.
func (w *world) count(method string, next http.Handler, rw http.ResponseWriter, r *http.Request) {
	if method == "CloneVM_Task" || method == "Destroy_Task" {
		body, _ := io.ReadAll(r.Body)
		found := cloned.FindSubmatch(body)
		switch {
		case found == nil:
			w.Errorf("%s has no VM: %s", method, body)
		case w.vsphere.isLinux(r.Context(), string(slices.Concat(found[1:]...))):
		case method == "CloneVM_Task":
			w.ordered()
		default:
			w.gone()
		}
	}
	next.ServeHTTP(rw, r)
}

// isLinux says whether a VM has Linux. One that is gone has nothing.
func (s *vsphere) isLinux(ctx context.Context, ref string) bool {
	var vm mo.VirtualMachine
	err := property.DefaultCollector(s.client).RetrieveOne(ctx, types.ManagedObjectReference{Type: "VirtualMachine", Value: ref},
		[]string{"config.guestId"}, &vm)
	return err == nil && vm.Config.GuestId == linuxGuest
}

// address is what DHCP gives a VM.
func (s *vsphere) address(name string, linux bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.addresses[name].IsValid() {
		s.addresses[name], s.next[linux] = s.next[linux], s.next[linux].Next()
	}
	return s.addresses[name].String()
}

// runGuests lets the VMs live until ctx ends.
func (w *world) runGuests(ctx context.Context) error {
	return hypervisor.Run(ctx, w.vsphere.VCenter, func(ctx context.Context, vm *hypervisor.VM) {
		name, err := vm.Name(ctx)
		if err != nil {
			return
		}
		linux := w.vsphere.isLinux(ctx, vm.Reference().Value)
		address := w.vsphere.address(name, linux)
		if !linux {
			w.boot(ctx, vm, name, address)
			return
		}
		if err := w.bootLinux(ctx, vm, address); err != nil && ctx.Err() == nil {
			w.tell("the guest of VM %s ends: %v", name, err)
		}
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

// bootLinux is cloud-init with VMware's data source (cloudinit/sources/DataSourceVMware.py): it takes the name and the user data
// from guestinfo. The VM is a node until ctx ends, which switches it off.
func (w *world) bootLinux(ctx context.Context, vm *hypervisor.VM, address string) error {
	metadata, err := guestinfo(ctx, vm, "metadata")
	if err != nil {
		return err
	}
	var is struct {
		Name string `json:"local-hostname"`
	}
	if err := yaml.Unmarshal(metadata, &is); err != nil || is.Name == "" {
		return fmt.Errorf("read name in guestinfo.metadata: %w: %s", err, metadata)
	}
	userData, err := guestinfo(ctx, vm, "userdata")
	if err != nil {
		return err
	}
	hardware, err := vm.Hardware(ctx)
	if err != nil {
		return err
	}
	adapters := []guest.Adapter{{MAC: hardware.MACs[0], Addresses: []string{address, "fe80::1"}}}
	if err := vm.SetNetwork(ctx, is.Name, adapters); err != nil {
		return err
	}
	w.vms.Ensure(linuxvm.Spec{
		Name: is.Name, Cluster: client.ObjectKey{Namespace: namespace, Name: "demo"}, UserData: userData, Address: address,
		SystemUUID: systemUUID(hardware.UUID),
	})
	<-ctx.Done()
	return w.vms.Remove(is.Name)
}

// guestinfo is a value that the provider wrote, in the encoding that it names.
func guestinfo(ctx context.Context, vm *hypervisor.VM, key string) ([]byte, error) {
	text, found, err := vm.Guestinfo(ctx, "guestinfo."+key)
	if err != nil || !found {
		return nil, fmt.Errorf("read guestinfo.%s, which is there: %t: %w", key, found, err)
	}
	encoding, _, err := vm.Guestinfo(ctx, "guestinfo."+key+".encoding")
	if err != nil || encoding != "base64" {
		return []byte(text), err
	}
	return io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(text))))
}

// systemUUID is what Linux sees of the UUID that a vCenter shows: firmware writes the first three groups in another order.
func systemUUID(bios string) string {
	id := uuid.MustParse(bios)
	for _, group := range [][]byte{id[0:4], id[4:6], id[6:8]} {
		slices.Reverse(group)
	}
	return strings.ToUpper(id.String())
}

// clusterOnVSphere has a Cluster and its VSphereCluster, by the login of the cluster demo.
func (w *world) clusterOnVSphere(name string) string {
	return strings.NewReplacer("NAME", name, "SERVER", w.vsphere.door.Listener.Addr().String(),
		"THUMBPRINT", soap.ThumbprintSHA256(w.vsphere.door.Certificate())).Replace(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: NAME}
  controlPlaneEndpoint: {host: 192.0.2.10, port: 6443}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereCluster
metadata: {name: NAME, namespace: default}
spec:
  server: SERVER
  thumbprint: THUMBPRINT
  controlPlaneEndpoint: {host: 192.0.2.10, port: 6443}
  identityRef: {kind: Secret, name: demo}
`)
}
