package guest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// What the plan runs changes one key of tools.conf, and nothing else that the image has there.
func TestPlanKeepsToolsConf(t *testing.T) {
	t.Parallel()
	const nics = "vEthernet (nat)*,vEthernet (HNS*,vEthernet (cbr0*,vEthernet (Calico*,vEthernet (flannel*," +
		"vEthernet (antrea-gw*,vEthernet (*_ep*,*container vnic*"
	for name, c := range map[string]struct{ image, want string }{
		"of the image": {toolsConfOfImage, strings.Replace(toolsConfOfImage, "=vEthernet*", "="+nics, 1)},
		"no file":      {"", "[guestinfo]\nexclude-nics=" + nics + "\n"},
		"no key":       {"[guestinfo]\n[vmbackup]\na=b\n", "[guestinfo]\nexclude-nics=" + nics + "\n[vmbackup]\na=b\n"},
		"other section": {
			"[logging]\nexclude-nics=mine\n", "[logging]\nexclude-nics=mine\n\n[guestinfo]\nexclude-nics=" + nics + "\n",
		},
	} {
		m := expect.Got(windows.New(t.TempDir()))(t)
		if c.image != "" {
			expect.OK(t, m.Put(toolsConf, []byte(c.image)))
		}
		for range 2 {
			code := toolbox(t.Context(), &windows.Call{Machine: m, Argv: argvOfPlan(t, "vmware-tools")})
			expect.Same(t, name+": exit code", 0, code)
		}
		expect.Same(t, name, c.want, string(expect.Got(m.ReadFile(toolsConf))(t)))
	}
}

// argvOfPlan is what a step of the plain plan runs.
func argvOfPlan(t *testing.T, step string) []string {
	t.Helper()
	p := expect.Got(plan.Decode(expect.Got(os.ReadFile("../../../bootstrap/testdata/golden/vsphere.json"))(t)))(t)
	for _, phase := range p.Phases {
		i := slices.IndexFunc(phase.Steps, func(s plan.Step) bool { return s.Base().Name == step })
		if i < 0 {
			continue
		}
		run, ok := phase.Steps[i].(*plan.Run)
		if !ok {
			t.Fatalf("%s runs nothing", step)
		}
		var argv []string
		for _, value := range run.Argv {
			argv = append(argv, value.String())
		}
		return argv
	}
	t.Fatalf("no step %s", step)
	return nil
}

// A vSwitch takes the addresses from its adapter. VMware Tools as image-builder sets them up then report nothing; as the plan
// sets them up, the adapter of the vSwitch, and never those of pods.
func TestToolsReportTheVSwitch(t *testing.T) {
	t.Parallel()
	own := windows.Adapter{Index: 5, MAC: "00-50-56-01-02-03", Name: "node"}
	behind := windows.Adapter{Index: 105, MAC: own.MAC, Name: "vEthernet (node)", Virtual: true}
	pods := windows.Adapter{Index: 110, MAC: "00-15-5D-00-00-01", Name: "vEthernet (cbr0_ep)", Virtual: true}
	address := func(index int, text string) windows.Address {
		return windows.Address{Index: index, Address: text, Origin: "Dhcp"}
	}
	nic := Adapter{MAC: "00:50:56:01:02:03", Addresses: []string{"10.0.0.7"}}
	planned := strings.Replace(toolsConfOfImage, "=vEthernet*", "="+argvOfPlan(t, "vmware-tools")[5], 1)
	for name, c := range map[string]struct {
		conf      string
		addresses []windows.Address
		want      []Adapter
	}{
		"no vSwitch":        {toolsConfOfImage, []windows.Address{address(5, "10.0.0.7/24")}, []Adapter{nic}},
		"image's":           {toolsConfOfImage, []windows.Address{address(105, "10.0.0.7/24"), address(110, "10.244.1.2/24")}, nil},
		"plan's":            {planned, []windows.Address{address(105, "10.0.0.7/24"), address(110, "10.244.1.2/24")}, []Adapter{nic}},
		"no list of names":  {"[guestinfo]\npoll-interval=30\n", []windows.Address{address(105, "10.0.0.7/24")}, []Adapter{nic}},
		"in other sections": {"[guestinfo]\n[x]\nexclude-nics=*\n", []windows.Address{address(5, "10.0.0.7/24")}, []Adapter{nic}},
		"no address":        {planned, nil, nil},
	} {
		m := expect.Got(windows.New(t.TempDir()))(t)
		expect.OK(t, m.Setup(func(s *windows.State) {
			s.Adapters, s.Addresses = []windows.Adapter{own, behind, pods}, c.addresses
		}))
		expect.OK(t, m.Put(toolsConf, []byte(c.conf)))
		expect.Same(t, name, c.want, (&power{machine: m}).reported())
	}
}
