package cloudtest

import (
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Registered checks what a cloud registers, with a spec for it: it is chosen by that and by no other, reads and writes nothing
// but its own part, and has words for people.
func Registered(t *testing.T, r cloud.Registration, spec infrav1.WindowsMachineSpec) {
	t.Helper()
	expect.Same(t, "chosen by its spec", true, r.Chosen(spec))
	expect.Same(t, "chosen by another", false, r.Chosen(infrav1.WindowsMachineSpec{}))
	m := &infrav1.WindowsMachine{Spec: spec}
	before := m.DeepCopy()
	expect.Same(t, "part of a new machine: place", (*cloud.Place)(nil), r.Part(m).Place)
	if r.Show != nil {
		r.Show(&m.Status, cloud.VM{State: cloud.Running, ImageVersion: "1"})
	}
	expect.Same(t, "a machine that is only read", before, m)
	_, place := r.Provider.(cloud.Placer)
	expect.Same(t, "lacks nothing, or has a place", true, place || r.Part(m).Lacks == "")
	expect.Same(t, "the Cluster in what brings it", 1, strings.Count(r.Initializer.Brings, "%s"))
	expect.Same(t, "what initializes Nodes", true, r.Initializer.Reads != "")
	expect.Same(t, "found", r.Provider.Name(), cloud.Registry{r}.Find(m).Provider.Name())
	expect.Same(t, "found for another cloud", true, cloud.Registry{r}.Find(&infrav1.WindowsMachine{}).Provider == nil)
}
