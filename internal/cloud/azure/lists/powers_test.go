package lists

import (
	"fmt"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestNamesakesAreFew: of the VMs that have a machine's name, in however many groups, so many are kept as tell that they are too
// many. Of other names none is.
func TestNamesakesAreFew(t *testing.T) {
	p, shown := &Powers{}, []Shown{}
	for group := range 100 {
		for _, name := range []string{"WIN-1", "db"} {
			shown = append(shown, Shown{ID: arm.GroupID(armsim.Subscription, fmt.Sprint("g", group)).VM(name)})
		}
	}
	p.Take(shown, blue.Noon, blue.Noon, map[string]bool{"win-1": true})
	expect.Same(t, "names", 1, len(powersIn(p).namesakes))
	expect.Same(t, "VMs", MaxMoved+2, len(powersIn(p).namesakes["win-1"]))
}

// TestNamesakes: the VM itself is none of those in other groups, and the list has it or has not.
func TestNamesakes(t *testing.T) {
	red := arm.GroupID(armsim.Subscription, "red").VM("WIN-1")
	for _, c := range []struct {
		name  string
		shown []Shown
		home  bool
	}{
		{"both", []Shown{{ID: blue.VM}, {ID: red}}, true},
		{"the other alone", []Shown{{ID: red}}, false},
	} {
		p := &Powers{}
		p.Take(c.shown, blue.Noon, blue.Noon, map[string]bool{"win-1": true})
		found, home, listed := p.Namesakes(blue.VM)
		expect.Same(t, c.name, []arm.ID{red}, found)
		expect.Same(t, c.name+": at its place", c.home, home)
		expect.Same(t, c.name+": listed", blue.Noon, listed)
	}
}
