package addresses

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestMACTakenAfterMove: a machine that was moved has no status, and still keeps its MAC.
func TestMACTakenAfterMove(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "one", "10.33.0.", "19")
	s.pool(t, "two", "10.37.0.", "19")
	first, second := s.machine("moved-first", "one"), s.machine("moved-second", "two")
	before := s.running(t, first)

	s.Pause(t, true)
	first.Await(t, "pause", world.Windows("Paused True Paused"), world.Config("Paused True Paused"))
	expect.OK(t, s.process.Stop())
	moved := first.Move(t)
	windows := first.Load(t).Windows
	claim := s.claim(t.Context(), t, "moved-first-0-0")
	world.Change(t, s.Client, claim, func(c *ipamv1.IPAddressClaim) {
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(windows, infrav1.GroupVersion.WithKind("WindowsMachine"))}
	})
	world.ChangeStatus(t, s.Client, claim, func(c *ipamv1.IPAddressClaim) { c.Status = ipamv1.IPAddressClaimStatus{} })
	s.Pause(t, false)
	gate := &world.Gate{}
	s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}, Gate: gate})
	first.Touch(t, moved.Core, "moved")
	after := first.Await(t, "addresses", world.Windows("Ready True Running"), func(s world.State) string {
		return cmp.Diff(before.Windows.Status.NetworkInterfaces, s.Windows.Status.NetworkInterfaces)
	})
	if after.Windows.Spec.ProviderID != before.Windows.Spec.ProviderID {
		t.Errorf("it is another VM: %s", after)
	}
	for _, effect := range gate.Effects() {
		if strings.Contains(effect, "ipaddress") {
			t.Errorf("claims are written for a VM that is there: %s", effect)
		}
	}

	second.Create(t)
	second.Await(t, "refusal", world.Windows("Ready False MACTaken"), world.Windows("Stalled True MACTaken"))
	for _, m := range []*world.Machine{second, first} {
		m.End(t)
	}
	s.released(t, "moved-first-0-0")
}

// TestMACsByDHCP: without any pool, each of two adapters has a MAC before there is a VM. A move loses the status, but not them.
func TestMACsByDHCP(t *testing.T) {
	s := newStage(t, nil)
	s.SetCredentials(t, datacenter.Credentials())
	m := s.machine("dhcp")
	m.Windows.Spec.VSphere.NetworkInterfaces = append(m.Windows.Spec.VSphere.NetworkInterfaces,
		infrav1.VSphereNetworkInterface{Name: "storage", Network: "DC0_DVPG0"})
	before := s.running(t, m)
	found := before.Windows.Status.NetworkInterfaces
	if len(found) != 2 || found[0].MACAddress == found[1].MACAddress {
		t.Fatalf("the adapters are %+v", found)
	}
	wantMACs(t, before.Windows.Status.ComputerName, found)

	s.Pause(t, true)
	m.Await(t, "pause", world.Windows("Paused True Paused"), world.Config("Paused True Paused"))
	expect.OK(t, s.process.Stop())
	moved := m.Move(t)
	s.Pause(t, false)
	s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}})
	m.Touch(t, moved.Core, "moved")
	m.Await(t, "MACs", world.Windows("Ready True Running"), func(s world.State) string {
		return cmp.Diff(found, s.Windows.Status.NetworkInterfaces)
	})
	m.End(t)
}

// TestNothingClaimed: a Machine that is deleted before its machine was looked at gets no address, however long a hook keeps it.
func TestNothingClaimed(t *testing.T) {
	s := quietStage(t)
	s.SetCredentials(t, datacenter.Credentials())
	s.pool(t, "nodes", "10.34.0.", "19")
	m := s.machine("leaving", "nodes")
	m.Core.Annotations = map[string]string{clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/test": ""}
	m.Create(t)
	m.Await(t, "owner", func(s world.State) string {
		if len(s.Windows.OwnerReferences) == 0 || len(s.Core.Finalizers) == 0 {
			return "Cluster API has not looked at it"
		}
		return ""
	})
	m.Delete(t)
	m.Await(t, "hook", func(s world.State) string {
		if c := conditions.Get(s.Core, clusterv1.MachineDeletingCondition); c == nil ||
			c.Reason != clusterv1.MachineDeletingWaitingForPreTerminateHookReason {
			return "Cluster API does not wait for the hook"
		}
		return ""
	})
	s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}})
	m.Await(t, "the end", world.Windows("Ready False Deleting"))
	if claim := s.claim(t.Context(), t, "leaving-0-0"); claim != nil {
		t.Errorf("an address is claimed: %+v", claim)
	}
	world.Change(t, s.Client, m.Load(t).Core, func(c *clusterv1.Machine) { c.Annotations = nil })
	m.Await(t, "end", world.Gone)
}
