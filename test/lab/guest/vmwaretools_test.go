package guest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
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
			argv = append(argv, expect.Got(value.Resolve(nil))(t))
		}
		return argv
	}
	t.Fatalf("no step %s", step)
	return nil
}
