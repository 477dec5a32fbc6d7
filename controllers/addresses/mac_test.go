package addresses

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// withMAC is a machine of which more is known with each change.
func withMAC(name string, changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1000, 0)}}
	m.Spec.VSphere = &infrav1.VSphereVM{IdentityRef: infrav1.IdentityReference{Name: "vcenter"}, Datacenter: "DC0"}
	m.Status.Networks = []infrav1.MachineNetwork{
		{Name: "dhcp"},
		{Name: "nodes", MACAddress: "00:50:56:04:00:05", Addresses: []infrav1.NetworkAddress{{Address: "10.20.0.5/24"}}},
	}
	for _, change := range changes {
		change(m)
	}
	return m
}

func TestHasMAC(t *testing.T) {
	otherMAC := func(m *infrav1.WindowsMachine) { m.Status.Networks[1].MACAddress = "00:50:56:04:00:06" }
	at := func(server string) func(*infrav1.WindowsMachine) {
		return func(m *infrav1.WindowsMachine) { m.Annotations = map[string]string{infrav1.ServerAnnotation: server} }
	}
	ours := withMAC("ours", at("uuid"))
	for name, c := range map[string]struct {
		other *infrav1.WindowsMachine
		want  bool
	}{
		"itself":              {withMAC("ours"), false},
		"another's":           {withMAC("other"), true},
		"another place":       {withMAC("other", func(m *infrav1.WindowsMachine) { m.Status.Networks = m.Status.Networks[1:] }), true},
		"another MAC":         {withMAC("other", otherMAC), false},
		"another network":     {withMAC("other", func(m *infrav1.WindowsMachine) { m.Status.Networks[1].Name = "storage" }), false},
		"another vCenter":     {withMAC("other", func(m *infrav1.WindowsMachine) { m.Spec.VSphere.IdentityRef.Name = "" }), false},
		"another Secret":      {withMAC("other", at("uuid"), func(m *infrav1.WindowsMachine) { m.Spec.VSphere.IdentityRef.Name = "" }), true},
		"the Secret changed":  {withMAC("other", at("another")), false},
		"another datacenter":  {withMAC("other", func(m *infrav1.WindowsMachine) { m.Spec.VSphere.Datacenter = "DC1" }), false},
		"another cloud":       {withMAC("other", func(m *infrav1.WindowsMachine) { m.Spec.VSphere = nil }), false},
		"no addresses so far": {withMAC("other", func(m *infrav1.WindowsMachine) { m.Status.Networks = nil }), false},
	} {
		if hasMAC(c.other, ours, ours.Status.Networks[0]) {
			t.Errorf("%s: an adapter by DHCP has no MAC of ours", name)
		}
		if got := hasMAC(c.other, ours, ours.Status.Networks[1]); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// Of two, one keeps its MAC, whichever is asked.
func TestKeepsMAC(t *testing.T) {
	older := func(m *infrav1.WindowsMachine) { m.CreationTimestamp = metav1.Unix(999, 0) }
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }
	going := func(m *infrav1.WindowsMachine) { m.DeletionTimestamp = new(metav1.Unix(2000, 0)) }
	for name, c := range map[string]struct {
		other *infrav1.WindowsMachine
		want  bool
	}{
		"of the same age, by name":      {withMAC("a"), true},
		"of the same age, behind":       {withMAC("z"), false},
		"older":                         {withMAC("z", older), true},
		"younger, and may have its VM":  {withMAC("z", held), true},
		"older, and goes without a VM":  {withMAC("a", older, going), false},
		"goes, and its VM is there yet": {withMAC("z", held, going), true},
	} {
		if got := keepsMAC(c.other, withMAC("m")); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
