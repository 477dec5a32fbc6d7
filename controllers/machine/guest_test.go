package machine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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
			world(tells("127.0.0.1", "::1", "0.0.0.0", "169.254.1.1", "fe80::1%x", "224.0.0.1", "10.0.0.9%;rm", "x", "")), "",
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
	next := reported("Running", "3/5 join", atEnd)
	cases := map[string]struct {
		reason string
		facts  *facts
		before string // heard at the beginning
		now    string
		waits  time.Duration
	}{
		"first report":             {"people wait for it", world(), "", running, atOnce},
		"next phase":               {"there is one before long", world(), running, next, pace},
		"failure":                  {"people wait for it", world(), running, failed, atOnce},
		"success":                  {"people wait for it", world(), running, succeeded, atOnce},
		"going on after a failure": {"or a guest could fail without end", world(), failed, running, slowPace},
		"another failure":          {"it has failed", world(), failed, strings.Replace(failed, "kubeadm", "other", 1), slowPace},
		"a node that works":        {"it has little to tell", world(withNode), running, next, slowPace},
		"a node that fails":        {"people wait for it", world(withNode), running, failed, atOnce},
		"first start":              {"people wait for it", world(withNode), succeeded, bootRunning, atOnce},
		"end of a start":           {"people wait for it", world(withNode), bootRunning, bootFailed, atOnce},
		"next start":               {"or a guest could start without end", world(withNode), bootFailed, bootRunning, slowPace},
		"nonsense":                 {"it changes the sentence", world(), running, "{", pace},
		"nonsense before any word": {"it is the first change", world(), "", "{", atOnce},
		"nonsense after a failure": {"the sentence stands", world(), failed, "{", atOnce},
		"the same":                 {"nothing changes", world(), running, running, atOnce},
		"later":                    {"time alone is no news", world(), running, strings.Replace(running, "12,", "13,", 1), atOnce},
		"a clock that hurries":     {"so does the pace", world(func(f *facts) { f.speed = 10 }), running, "{", pace / 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			f.vm = &cloud.VM{State: cloud.Running, Report: c.before}
			report(f, nil)
			heard := f.windows.Status.DeepCopy()
			f.vm.Report = c.now
			report(f, nil)
			if f.unheard != c.waits {
				t.Errorf("%s: it waits for %s, want %s", c.reason, f.unheard, c.waits)
			}
			if c.waits > 0 {
				expect.Same(t, "status meanwhile", heard, &f.windows.Status)
			}
			f.now = f.now.Add(c.waits)
			f.unheard = 0
			report(f, nil)
			if f.unheard != 0 {
				t.Errorf("%s: it still waits for %s", c.reason, f.unheard)
			}
		})
	}
}

// A manager whose clock was set back hears guests all the same.
func TestClockSetBack(t *testing.T) {
	f := world()
	f.vm = &cloud.VM{State: cloud.Running, Report: running}
	report(f, nil)
	f.now = f.now.AddDate(-1, 0, 0)
	f.vm.Report = reported("Running", "3/5 join", atEnd)
	report(f, nil)
	expect.Same(t, "wait", time.Duration(0), f.unheard)
	expect.Same(t, "time", f.now.Truncate(time.Second), f.windows.Status.LastGuestTime.Time)
}
