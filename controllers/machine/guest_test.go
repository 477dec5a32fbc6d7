package machine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Adapters of a spec, with and without a pool, and what the pool gave.
var (
	pooled   = infrav1.VSphereNetworkInterface{Name: "nodes", AddressesFromPools: []infrav1.IPPoolReference{{Name: "pool"}}}
	dhcp     = infrav1.VSphereNetworkInterface{Name: "storage"}
	fromPool = []infrav1.MachineNetworkInterface{{Name: "nodes", Addresses: []infrav1.NetworkAddress{{Address: "10.0.0.5/24"}}}}
)

func adapters(all ...infrav1.VSphereNetworkInterface) func(*facts) {
	return func(f *facts) {
		f.windows.Spec.VSphere = &infrav1.VSphereVM{NetworkInterfaces: all}
		if len(all) > 0 {
			f.interfaces = fromPool
		}
	}
}

// tells has the guest tell addresses.
func tells(ips ...string) func(*facts) {
	return func(f *facts) {
		f.vm = &cloud.VM{State: cloud.Running, Addresses: []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "x"}}}
		for _, ip := range ips {
			f.vm.Addresses = append(f.vm.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
		}
	}
}

// toldBefore has the guest have told addresses before.
func toldBefore(ips ...string) func(*facts) {
	return func(f *facts) {
		for _, ip := range ips {
			f.windows.Status.Addresses = append(f.windows.Status.Addresses, clusterv1.MachineAddress{
				Type: clusterv1.MachineInternalIP, Address: ip,
			})
		}
	}
}

func TestAddresses(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("192.0.2.%d", i))
	}
	cases := map[string]struct {
		reason string
		facts  *facts
		want   string
	}{
		"no pools":   {"the guest's word is all there is", world(tells("10.0.0.9", "fd00::9")), "10.0.0.9 fd00::9"},
		"only pools": {"it has no others", world(adapters(pooled), tells("10.0.0.9")), "10.0.0.5"},
		"silent":     {"what is known is known", world(adapters(pooled, dhcp), tells("fe80::1")), "10.0.0.5"},
		"one with a pool": {
			"what is known comes first", world(adapters(pooled, dhcp), tells("10.1.0.9", "10.0.0.5")), "10.0.0.5 10.1.0.9",
		},
		"twice": {"each is told once", world(tells("10.0.0.9", "::ffff:10.0.0.9", "10.0.0.9")), "10.0.0.9"},
		"none": {
			"nothing is reached there",
			world(tells("127.0.0.1", "::1", "0.0.0.0", "169.254.1.1", "fe80::1%x", "fd00::1%x", "224.0.0.1", "10.0.0.9%;rm", "x", "")), "",
		},
		"another machine's": {
			"a pool gave it to another", world(tells("10.0.0.7", "10.0.0.9"), func(f *facts) {
				f.rivals = []netip.Addr{netip.MustParseAddr("10.0.0.7")}
			}), "10.0.0.9",
		},
		"the endpoint": {
			"it is the API server's", world(tells("10.0.0.1", "::ffff:10.0.0.1", "10.0.0.9"), func(f *facts) {
				f.cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.1"
			}), "10.0.0.9",
		},
		"very many": {
			"the known one stays, and 29 others with two names", world(adapters(pooled, dhcp), tells(many...)),
			"10.0.0.5 " + strings.Join(many[:29], " "),
		},
		"behind a vSwitch": {
			"the adapter still has it, but it is not told any more", world(toldBefore("10.0.0.9", "fd00::9"), tells()), "10.0.0.9 fd00::9",
		},
		"one of two behind a vSwitch": {
			"it stands where it stood", world(toldBefore("10.0.0.9", "10.1.0.9"), tells("10.1.0.9")), "10.0.0.9 10.1.0.9",
		},
		"one family behind a vSwitch": {
			"families come and go apart", world(toldBefore("10.0.0.9", "fd00::9"), tells("fd00::a")), "10.0.0.9 fd00::a",
		},
		"one replaced, another behind a vSwitch": {
			"what is told stands", world(toldBefore("10.0.0.9", "fd00::9"), tells("10.0.0.10", "10.0.0.9")), "10.0.0.9 fd00::9 10.0.0.10",
		},
		"only pools, lost": {
			"the guest's word is all there is",
			world(adapters(pooled), tells("10.0.0.9"), func(f *facts) { f.interfaces = nil }), "10.0.0.9",
		},
		"the Cluster is gone": {
			"there is no endpoint", world(tells("10.0.0.9"), func(f *facts) { f.cluster = nil }), "10.0.0.9",
		},
		"as many as we look at": {
			"with the name they are 64", world(tells(append(slices.Repeat([]string{"x"}, 62), "10.0.0.9")...)), "10.0.0.9",
		},
		"more than we look at": {
			"a guest may tell any number", world(tells(append(slices.Repeat([]string{"x"}, 63), "10.0.0.9")...)), "",
		},
		"another lease": {"the old address may be another machine's", world(toldBefore("10.0.0.9"), tells("10.0.0.10")), "10.0.0.10"},
		"another order": {
			"nothing is missing", world(toldBefore("10.0.0.9", "10.1.0.9"), tells("10.1.0.9", "10.0.0.9")), "10.1.0.9 10.0.0.9",
		},
		"one more": {"nothing is missing", world(toldBefore("10.0.0.9"), tells("10.1.0.9", "10.0.0.9")), "10.1.0.9 10.0.0.9"},
		"switched off": {
			"its lease may go to another machine", world(toldBefore("10.0.0.9"), tells(), func(f *facts) {
				f.vm.State, f.vm.Addresses = cloud.Stopped, []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: "m-abc"}}
			}), "",
		},
		"behind a vSwitch, another machine's": {
			"a pool has given it to another since", world(toldBefore("10.0.0.7", "10.0.0.9"), tells(), func(f *facts) {
				f.rivals = []netip.Addr{netip.MustParseAddr("10.0.0.7")}
			}), "10.0.0.9",
		},
		"behind a vSwitch, the endpoint": {
			"it is the API server's now", world(toldBefore("10.0.0.1", "10.0.0.9"), tells(), func(f *facts) {
				f.cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.1"
			}), "10.0.0.9",
		},
		"names": {
			"only we give names", world(func(f *facts) {
				f.vm = &cloud.VM{State: cloud.Running}
				for _, kind := range []clusterv1.MachineAddressType{
					clusterv1.MachineHostName, clusterv1.MachineInternalDNS, clusterv1.MachineExternalDNS, clusterv1.MachineExternalIP, "x",
				} {
					f.vm.Addresses = append(f.vm.Addresses, clusterv1.MachineAddress{Type: kind, Address: "10.9.9.9"})
				}
			}), "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, nil)
			want := []clusterv1.MachineAddress{
				{Type: clusterv1.MachineHostName, Address: "m-abc"}, {Type: clusterv1.MachineInternalDNS, Address: "m-abc"},
			}
			for ip := range strings.FieldsSeq(c.want) {
				want = append(want, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
			}
			expect.Same(t, c.reason, want, c.facts.windows.Status.Addresses)
		})
	}
}

// A guest is heard again when its time has come, and until then nothing of what it tells changes the status.
func TestPace(t *testing.T) {
	const atOnce = 0
	next, rebooting := reported("Running", "3/5 join", atEnd), reported("Rebooting", "3/5 join", atEnd)
	cases := map[string]struct {
		reason string
		facts  *facts
		before string // heard at the beginning
		now    string
		waits  time.Duration
	}{
		"first report":             {"people wait for it", world(), "", running, atOnce},
		"next phase":               {"there is one before long", world(), running, next, 10 * time.Second},
		"failure":                  {"people wait for it", world(), running, failed, atOnce},
		"success":                  {"people wait for it", world(), running, succeeded, atOnce},
		"going on after a failure": {"or a guest could fail without end", world(), failed, running, time.Minute},
		"another failure":          {"it has failed", world(), failed, strings.Replace(failed, "kubeadm", "other", 1), time.Minute},
		"a node that works":        {"it has little to tell", world(withNode), running, next, time.Minute},
		"a node that fails":        {"people wait for it", world(withNode), running, failed, atOnce},
		"first start":              {"people wait for it", world(withNode), succeeded, bootRunning, atOnce},
		"end of a start":           {"people wait for it", world(withNode), bootRunning, bootFailed, atOnce},
		"next start":               {"or a guest could start without end", world(withNode), bootFailed, bootRunning, time.Minute},
		"nonsense":                 {"it changes the sentence", world(), running, "{", 10 * time.Second},
		"after a reboot":           {"it goes on", world(), rebooting, next, 10 * time.Second},
		"nonsense before any word": {"it is the first change", world(), "", "{", atOnce},
		"nonsense after a failure": {"the sentence stands", world(), failed, "{", atOnce},
		"the same":                 {"nothing changes", world(), running, running, atOnce},
		"later":                    {"time alone is no news", world(), running, strings.Replace(running, "12,", "13,", 1), atOnce},
		"a clock that hurries":     {"so does the pace", world(func(f *facts) { f.speed = 10 }), running, "{", time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			vm(cloud.Running, c.before)(f)
			report(f, nil)
			heard := f.windows.Status.DeepCopy()
			reads(f, c.now)
			report(f, nil)
			if f.heldBack != c.waits {
				t.Errorf("%s: it waits for %s, want %s", c.reason, f.heldBack, c.waits)
			}
			if c.waits > 0 {
				expect.Same(t, "status meanwhile", heard, &f.windows.Status)
			}
			f.now = f.now.Add(c.waits)
			f.heldBack = 0
			report(f, nil)
			if f.heldBack != 0 {
				t.Errorf("%s: it still waits for %s", c.reason, f.heldBack)
			}
		})
	}
}

// TestFirstWords: addresses that change wait their time, the first report does not.
func TestFirstWords(t *testing.T) {
	f := world(tells("10.0.0.9"))
	report(f, nil)
	f.now = f.now.Add(time.Second)
	tells("10.0.0.10")(f)
	report(f, nil)
	expect.Same(t, "another address waits", 9*time.Second, f.heldBack)
	f.heldBack = 0
	reads(f, running)
	report(f, nil)
	expect.Same(t, "the first report waits", time.Duration(0), f.heldBack)
}

// TestStandsMeanwhile: while a guest's word waits, what it told before stands, as far as it may.
func TestStandsMeanwhile(t *testing.T) {
	next := reported("Running", "3/5 join", atEnd)
	f := world(tells())
	f.vm.Addresses[0] = clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: "10.0.0.7"} // alone
	reads(f, running)
	report(f, nil)
	heard := f.windows.Status.DeepCopy()
	f.rivals = []netip.Addr{netip.MustParseAddr("10.0.0.7")}
	reads(f, next)
	report(f, nil)
	expect.Same(t, "the next word waits", 10*time.Second, f.heldBack)
	heard.Addresses = heard.Addresses[:2]
	expect.Same(t, "the address of another is not shown", heard, &f.windows.Status)

	f = world(vm(cloud.Running, running), deadline(0))
	report(f, nil)
	f.now = f.now.Add(10 * time.Second)
	reads(f, "{")
	report(f, nil)
	heard = f.windows.Status.DeepCopy()
	reads(f, next)
	report(f, nil)
	expect.Same(t, "sense after nonsense waits", 10*time.Second, f.heldBack)
	expect.Same(t, "status meanwhile", heard, &f.windows.Status)
	withNode(f)
	report(f, nil)
	expect.Same(t, "sentence when the Node comes meanwhile", "the Node has joined; Bootstrap 2/5 kubelet, 12s of at most 30m",
		conditions.GetMessage(f.windows, infrav1.BootstrapSucceededCondition))
	expect.Same(t, "progress meanwhile", heard.Bootstrap, f.windows.Status.Bootstrap)
}

// TestNonsenseAtFirst: the pace begins with the first report, whatever it is.
func TestNonsenseAtFirst(t *testing.T) {
	f := world(vm(cloud.Running, "{"))
	report(f, nil)
	expect.Same(t, "time", metav1.NewTime(begin), f.windows.Status.LastGuestTime)
	reads(f, "")
	report(f, nil)
	expect.Same(t, "silence waits", 10*time.Second, f.heldBack)
	f = world(vm(cloud.Running, ""))
	report(f, nil)
	expect.Same(t, "time of a guest that has not reported", metav1.Time{}, f.windows.Status.LastGuestTime)
}

// TestSooner: the next look is at the time of the first thing that is to be done.
func TestSooner(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ after, heldBack, want time.Duration }{
		{0, 0, 0},
		{60 * s, 0, 60 * s},
		{0, 10 * s, 10 * s},
		{60 * s, 10 * s, 10 * s},
		{5 * s, 10 * s, 5 * s},
		{0, 1, 1},
		{60 * s, -s, 60 * s},
	} {
		expect.Same(t, "next look", c.want, sooner(c.after, c.heldBack))
	}
}

// A manager whose clock was set back hears guests all the same.
func TestClockSetBack(t *testing.T) {
	f := world()
	vm(cloud.Running, running)(f)
	report(f, nil)
	f.now = f.now.AddDate(-1, 0, 0)
	reads(f, reported("Running", "3/5 join", atEnd))
	report(f, nil)
	expect.Same(t, "wait", time.Duration(0), f.heldBack)
	expect.Same(t, "time", f.now.Truncate(time.Second), f.windows.Status.LastGuestTime.Time)
}
