package addresses

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/calls"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// withMAC is a machine of which more is known with each change.
func withMAC(name string, changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1000, 0)}}
	m.Spec.IdentityRef.Name, m.Spec.VSphere = "vcenter", &infrav1.VSphereVM{Datacenter: "DC0"}
	m.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{
		{Name: "first", Network: "dhcp"}, {Name: "second", Network: "nodes"},
	}
	m.Status.NetworkInterfaces = []infrav1.MachineNetworkInterface{
		{Name: "first"},
		{Name: "second", MACAddress: "00:50:56:04:00:05", Addresses: []infrav1.NetworkAddress{{Address: "10.20.0.5/24"}}},
	}
	for _, change := range changes {
		change(m)
	}
	return m
}

func TestHasMAC(t *testing.T) {
	otherMAC := func(m *infrav1.WindowsMachine) { m.Status.NetworkInterfaces[1].MACAddress = "00:50:56:04:00:06" }
	renamed := func(m *infrav1.WindowsMachine) {
		m.Spec.VSphere.NetworkInterfaces[1].Name, m.Status.NetworkInterfaces[1].Name = "storage", "storage"
	}
	moved := func(m *infrav1.WindowsMachine) { m.Status.NetworkInterfaces = m.Status.NetworkInterfaces[1:] }
	elsewhere := func(m *infrav1.WindowsMachine) { m.Spec.VSphere.NetworkInterfaces[1].Network = "storage" }
	withoutIdentity := func(m *infrav1.WindowsMachine) { m.Spec.IdentityRef.Name = "" }
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
		"another place":       {withMAC("other", moved), true},
		"another MAC":         {withMAC("other", otherMAC), false},
		"another network":     {withMAC("other", elsewhere), false},
		"another name":        {withMAC("other", renamed), true},
		"another vCenter":     {withMAC("other", withoutIdentity), false},
		"another Secret":      {withMAC("other", at("uuid"), withoutIdentity), true},
		"the Secret changed":  {withMAC("other", at("another")), false},
		"another datacenter":  {withMAC("other", func(m *infrav1.WindowsMachine) { m.Spec.VSphere.Datacenter = "DC1" }), false},
		"another cloud":       {withMAC("other", func(m *infrav1.WindowsMachine) { m.Spec.VSphere = nil }), false},
		"no addresses so far": {withMAC("other", func(m *infrav1.WindowsMachine) { m.Status.NetworkInterfaces = nil }), false},
	} {
		if hasMAC(c.other, &infrav1.WindowsMachine{}, ours.Status.NetworkInterfaces[1]) {
			t.Errorf("%s: a machine of another cloud has no adapters in a vCenter", name)
		}
		if hasMAC(c.other, ours, ours.Status.NetworkInterfaces[0]) {
			t.Errorf("%s: an adapter by DHCP has no MAC of ours", name)
		}
		if got := hasMAC(c.other, ours, ours.Status.NetworkInterfaces[1]); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestSameDatacenter has machines of which it is not known yet on which server their VMs will be.
func TestSameDatacenter(t *testing.T) {
	another := func(m *infrav1.WindowsMachine) { m.Spec.IdentityRef.Name = "another" }
	expect.Same(t, "with the same Secret", true, sameDatacenter(withMAC("a"), withMAC("b")))
	expect.Same(t, "with another Secret", false, sameDatacenter(withMAC("a"), withMAC("b", another)))
}

// TestMacsOf: an adapter without a MAC of ours is not looked for.
func TestMacsOf(t *testing.T) {
	expect.Same(t, "MACs", []string{"00:50:56:04:00:05"}, macsOf(withMAC("m")))
}

// Of two, one keeps its MAC, whichever is asked.
func TestKeepsMAC(t *testing.T) {
	older := func(m *infrav1.WindowsMachine) { m.CreationTimestamp = metav1.Unix(999, 0) }
	younger := func(m *infrav1.WindowsMachine) { m.CreationTimestamp = metav1.Unix(1001, 0) }
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }
	going := func(m *infrav1.WindowsMachine) { m.DeletionTimestamp = new(metav1.Unix(2000, 0)) }
	for name, c := range map[string]struct {
		other *infrav1.WindowsMachine
		want  bool
	}{
		"of the same age, by name":      {withMAC("a"), true},
		"of the same age, behind":       {withMAC("z"), false},
		"of the same name":              {withMAC("m"), false},
		"younger, and ahead by name":    {withMAC("a", younger), false},
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

func TestMACTaken(t *testing.T) {
	for _, c := range []struct {
		adapter infrav1.MachineNetworkInterface
		want    string
	}{
		{
			infrav1.MachineNetworkInterface{Name: "node", MACAddress: "m"},
			"MAC m of network interface node is made from the VM's identity, and WindowsMachine other happens to have the same MAC " +
				"on the same network; delete the Machine to get a new one",
		},
		{
			infrav1.MachineNetworkInterface{Name: "node", MACAddress: "m", Addresses: []infrav1.NetworkAddress{{Address: "10.0.0.5/24"}}},
			"MAC m of network interface node is made from address 10.0.0.5/24, and WindowsMachine other has the same MAC on the same " +
				"network: their addresses have the same last 18 bits; correct the pools, then delete the Machine",
		},
	} {
		got := phase.Of(macTaken(c.adapter, "other"))
		if got.Message != c.want || got.Reason != infrav1.MACTakenReason || !got.Stalled {
			t.Errorf("%s %q, want %q", got.Reason, got.Message, c.want)
		}
	}
}

// oneMAC is withMAC without the adapter that has none.
func oneMAC(name string, changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := withMAC(name, func(m *infrav1.WindowsMachine) { m.Namespace = "a" })
	m.Spec.VSphere.NetworkInterfaces = m.Spec.VSphere.NetworkInterfaces[1:]
	m.Status.NetworkInterfaces = m.Status.NetworkInterfaces[1:]
	for _, change := range changes {
		change(m)
	}
	return m
}

// TestDistinct has a machine beside one that is older and has one of its MACs.
func TestDistinct(t *testing.T) {
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }
	unwritten := func(m *infrav1.WindowsMachine) { m.Status.NetworkInterfaces = nil }
	elsewhere := func(m *infrav1.WindowsMachine) { m.Spec.VSphere.Datacenter = "DC1" }
	pooled := func(m *infrav1.WindowsMachine) {
		m.Spec.VSphere.NetworkInterfaces[0].AddressesFromPools = []infrav1.IPPoolReference{{Name: "pool"}}
	}
	for name, c := range map[string]struct {
		ours, other *infrav1.WindowsMachine
		interfaces  int
		fails       error
		want        string
	}{
		"not written yet":      {oneMAC("m", unwritten, pooled), oneMAC("a"), 1, nil, infrav1.WaitingForIPAddressReason},
		"none, nothing to say": {oneMAC("m", unwritten, pooled), oneMAC("a"), 0, nil, ""},
		"in another place":     {oneMAC("m"), oneMAC("a", elsewhere), 1, nil, ""},
		"taken":                {oneMAC("m"), oneMAC("a"), 1, nil, infrav1.MACTakenReason},
		"of a younger one":     {oneMAC("m"), oneMAC("z"), 1, nil, ""},
		"has its VM":           {oneMAC("m", held), oneMAC("a"), 1, nil, ""},
		"none":                 {oneMAC("m", unwritten), oneMAC("a"), 0, nil, ""},
		"others not listed":    {oneMAC("m"), oneMAC("a"), 1, errAway, "InternalError"},
		"in another namespace": {oneMAC("m"), oneMAC("a", func(m *infrav1.WindowsMachine) { m.Namespace = "b" }), 1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			expect.OK(t, infrav1.AddToScheme(scheme))
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.ours, c.other).
				WithIndex(&infrav1.WindowsMachine{}, byMAC, macsOf).
				WithInterceptorFuncs(calls.Ask(func(calls.Call) error { return c.fails })).Build()
			interfaces := oneMAC("m").Status.NetworkInterfaces[:c.interfaces]
			stop := phase.Of((&Pools{Client: api}).Distinct(t.Context(), c.ours, interfaces))
			expect.Same(t, "reason", c.want, stop.Reason)
			if c.want == infrav1.WaitingForIPAddressReason { // our own write of the status wakes us
				expect.Same(t, "wait", phase.Stop{Reason: c.want, Message: stop.Message, Wakes: phase.Self}, stop)
			}
		})
	}
}

// TestDistinctOfMany has a machine among 500 of the same namespace: those that do not have its MACs are not even listed.
func TestDistinctOfMany(t *testing.T) {
	scheme := runtime.NewScheme()
	expect.OK(t, infrav1.AddToScheme(scheme))
	own := withMAC("own", func(m *infrav1.WindowsMachine) { m.Status.NetworkInterfaces = m.Status.NetworkInterfaces[1:] })
	own.Spec.VSphere.NetworkInterfaces = own.Spec.VSphere.NetworkInterfaces[1:]
	objects := []client.Object{own}
	for i := range 500 {
		objects = append(objects, withMAC(fmt.Sprint("m-", i), func(m *infrav1.WindowsMachine) {
			m.Status.NetworkInterfaces[1].MACAddress = fmt.Sprintf("00:50:56:05:%02x:%02x", i>>8, i&0xff)
		}))
	}
	listed, lists := 0, 0
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&infrav1.WindowsMachine{}, byMAC, macsOf).
		WithInterceptorFuncs(interceptor.Funcs{List: func(
			ctx context.Context, api client.WithWatch, list client.ObjectList, o ...client.ListOption,
		) error {
			err := api.List(ctx, list, o...)
			listed += meta.LenList(list)
			lists++
			return err
		}}).Build()
	pools := &Pools{Client: api}
	withDHCP := append([]infrav1.MachineNetworkInterface{{Name: "dhcp"}}, own.Status.NetworkInterfaces...)
	expect.OK(t, pools.Distinct(t.Context(), own, withDHCP))
	expect.Same(t, "machines that were copied", 1, listed)
	expect.Same(t, "lists", 1, lists)
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} }
	expect.OK(t, api.Create(t.Context(), withMAC("a", held)))
	err := pools.Distinct(t.Context(), own, own.Status.NetworkInterfaces)
	expect.Says(t, "a machine with the same MAC", err, "and WindowsMachine a has")
}
