package vsphere

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

func TestMain(m *testing.M) { wait.Main(m, 8) }

// stage is a vCenter of a test's own.
type stage struct {
	*vcenter.Owner
	t *testing.T
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{vcenter.New(t).Owner(t), t}
}

// spec that the vCenter can carry out.
func (s *stage) spec() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{
		Datacenter:   vcenter.Datacenter,
		Image:        infrav1.VSphereImage{Template: vcenter.Template},
		Folder:       vcenter.Folder,
		ResourcePool: vcenter.ResourcePool,
		CPUs:         4,
		MemoryMiB:    8192,
	}}
}

// account connects to the vCenter, long after the last process did.
func (s *stage) account() *account {
	s.t.Helper()
	c, err := Provider{}.Connect("", s.Credentials())
	s.Must(err)
	a := prompt(c)
	a.opened = time.Time{}
	s.t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

// prompt returns the account that was connected. It gathers for a moment only, so that no test waits for that. Where requests are
// counted, a test says how long it gathers.
func prompt(c cloud.Cloud) *account {
	a, _ := c.(*account)
	a.gathered = func() <-chan time.Time { return time.After(50 * time.Millisecond) }
	return a
}

// holdLists has an account list nothing new until the returned function is called, and then at once, so that no request for that
// comes between those that are counted.
func holdLists(a *account) (release func()) {
	held := make(chan time.Time)
	a.gathered = func() <-chan time.Time { return held }
	return func() { close(held) }
}

// gathersAsMade has an account gather for as long as the product does.
func gathersAsMade(a *account) *account {
	a.gathered = gathered
	return a
}

func (s *stage) machine(name string) cloud.Machine {
	s.t.Helper()
	m := machines.VSphere(name)
	m.Spec = s.spec()
	return m
}

// sum of the calls of some methods, or of all.
func sum(calls map[string]int, names ...string) int {
	n := 0
	for name, times := range calls {
		if len(names) == 0 || slices.Contains(names, name) {
			n += times
		}
	}
	return cmp.Or(n, 0)
}
