package azure

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
)

// TestNextSizeAfterARefusal has Azure refuse the first size at once, which makes nothing: the next size is asked for in the same
// breath, and another machine does not try the first.
func TestNextSizeAfterARefusal(t *testing.T) {
	for name, harm := range map[string]func(*armsim.Inside){
		"no quota for its family": func(in *armsim.Inside) {
			in.Compute.Faults.Cores = map[string]int{"standardDSv5Family": 0}
		},
		"it is sold out": func(in *armsim.Inside) {
			in.Compute.Faults.Full = func(size, _ string) string {
				return map[string]string{"Standard_D4s_v5": "SkuNotAvailable"}[size]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.Change(harm)
			a := s.watched()
			for _, test := range []struct {
				name string
				puts int
			}{{"m", 2}, {"another", 1}} {
				m := s.machine(test.name)
				m.Spec.Azure.FallbackVMSizes = []string{"Standard_D4as_v5"}
				vm := expect.Got(a.Ensure(t.Context(), m))(t)
				expect.Same(t, "state", cloud.Creating, vm.State)
				expect.Same(t, "requests for "+test.name, test.puts, s.OfVM(m.Name)["PUT vm"])
				s.Change(func(in *armsim.Inside) {
					size := doc.Text(in.World.Find(armsim.VMID(m.Name)).Body, "properties", "hardwareProfile", "vmSize")
					expect.Same(t, "size of "+test.name, "Standard_D4as_v5", size)
				})
			}
		})
	}
}
