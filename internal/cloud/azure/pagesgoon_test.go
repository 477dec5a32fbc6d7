package azure

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// pageDoor tells after each page of a list of VMs.
type pageDoor struct {
	*door
	passed func(*http.Request)
}

func (d pageDoor) Do(request *http.Request) (*http.Response, error) {
	response, err := d.door.Do(request)
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/virtualMachines") {
		d.passed(request)
	}
	return response, err
}

// TestPagesGoOn: a list whose next page must wait for its turn goes on where it was, and counts as begun with its first page.
func TestPagesGoOn(t *testing.T) {
	s := &contractStage{stage: newStage(t)}
	for i := range 5 {
		s.put(s.machine(fmt.Sprintf("m%d", i)), fmt.Sprintf("vm-%d", i))
	}
	s.Change(func(in *armsim.Inside) { in.Faults.PageSize = 2 })
	var c *calls.Client
	var asked []string
	s.through = func(d *door) policy.Transporter {
		return pageDoor{d, func(r *http.Request) {
			if asked = append(asked, r.URL.Query().Encode()); len(asked) == 2 {
				scope := limiter.Scope{Principal: c.Principal.Name(), Subscription: armsim.Subscription}
				c.Limit.Settle(scope, limiter.ListVMs, limiter.Allowance{Silence: 30 * time.Second})
			}
		}}
	}
	who, err := s.login(s.credentials())
	expect.OK(t, err)
	c, err = calls.New(who, s.Now)
	expect.OK(t, err)
	defer c.Close()
	group := homeOf(s.machine("any")).Parent()
	began := s.Now()
	list := func() ([]calls.VM, calls.Answer) {
		return calls.Pages(t.Context(), c, c.VMsIn(group), &calls.Held{}, func(vm calls.VM) (calls.VM, int) { return vm, 1 })
	}
	_, a := list()
	wait, later := pauseOf(a.Err())
	if !later {
		t.Fatalf("a list that must wait ended with %v", a.Err())
	}
	s.Advance(wait)
	vms, a := list()
	expect.OK(t, a.Err())
	expect.Same(t, "VMs", 5, len(vms))
	expect.Same(t, "begun", began, a.Began)
	slices.Sort(asked)
	expect.Same(t, "pages that were asked for", 3, len(slices.Compact(asked)))
	expect.Same(t, "requests", 3, len(asked))
	vms, a = list()
	expect.OK(t, a.Err())
	expect.Same(t, "VMs of the next list", 5, len(vms))
	expect.Same(t, "requests for it, as nothing was kept", 6, len(asked))
}
