package check

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestParts: who waits for a check is told which part of it begins, of how many. A check that cannot go on after the login has no
// other part.
func TestParts(t *testing.T) {
	asApp(t)
	options := labOptions(t, armsim.New(t))
	setLogin(t, vcenter.New(t))
	azure := []string{
		"login", "resource group", "rights", "subnets", "rights on what the spec names", "providers", "sizes", "quota", "image",
	}
	elsewhere := strings.Replace(pool(1, whole("")), armsim.Subscription, "99999999-0000-4000-8000-000000000001", 1)
	for name, c := range map[string]struct {
		cloud, files string
		parts        []string // all of them
		begun        int
	}{
		"vSphere": {
			"vsphere", inVSphere(1), []string{"login", "clock", "places", "template", "free space", "privileges"}, 6,
		},
		"Azure":                {"azure", pool(1, whole("")), azure, 9},
		"another subscription": {"azure", elsewhere, azure, 1},
	} {
		files := expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(c.files)))(t)
		target := expect.Got(Gather(files, c.cloud, "", options))(t)
		var begun []string
		_, err := target.Run(t.Context(), func(part, parts int, what string) {
			begun = append(begun, what)
			expect.Same(t, name+": "+what, []int{len(begun), len(c.parts)}, []int{part, parts})
		})
		expect.OK(t, err)
		expect.Same(t, name, c.parts[:c.begun], begun)
	}
}
