package azure

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestMovedAfterASearch: a search that found nothing, when Azure did not show a VM for a while, says nothing of a VM that was
// seen since. Here somebody moves it later, and another VM gets its name.
func TestMovedAfterASearch(t *testing.T) {
	p := newProof(t, false)
	p.runs()
	_, _, listed := p.a.lists.AllPowers()[0].Namesakes(arm.ID{})
	expect.Same(t, "a list has no other VM of its name", true, listed.After(time.Time{}))
	p.live(p.a, time.Minute)
	p.runs()
	p.MoveVM(armsim.VMID(p.m.Name), otherName)
	p.foreign(p.m.Name, nil)
	p.live(p.a, 5*time.Minute)
	told := p.refusals(20*time.Minute, p.remove)
	expect.Same(t, "told", true, told[infrav1.VMMovedReason] != "")
	expect.Same(t, "it is there", true, p.vmExists())
}

// TestMovedAndNotProved: a machine comes back from a backup without its Secret, and its VM is moved to another group. All marks
// are on the VM and nothing proves them, so the machine is told where the VM is, and is not let go.
func TestMovedAndNotProved(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		p := newProof(t, false)
		p.runs()
		there := p.MoveVM(armsim.VMID(p.m.Name), otherName)
		p.m.UID, p.m.Proof, p.m.Record = "restored", cloud.Proof{Asked: cloud.Existed}, cloud.Record{}
		p.restart()
		pass := p.remove
		if !deleted {
			pass = func() error { return expect.ErrorOf(p.ensure()) }
		}
		told := p.refusals(20*time.Minute, pass)
		expect.Same(t, "told", []string{infrav1.VMMovedReason}, reasons(told))
		for _, says := range []string{fmt.Sprintf("%q", otherName), "nothing proves", "restore the bootstrap Secret"} {
			expect.Says(t, "the sentence", errors.New(told[infrav1.VMMovedReason]), says)
		}
		expect.Same(t, "nothing is known of it", infrav1.AzureRecord{}, p.m.Record.Azure)
		expect.Same(t, "it is there", true, p.vmExists())
		p.Vanish(there) // as the sentence says
		expect.Same(t, "it goes then", true, p.goes())
	}
}

// TestMovedAmongMany: only some VMs of a machine's name in other groups are looked at. If there are more, and none of those is
// the machine's, then one of the others may be.
func TestMovedAmongMany(t *testing.T) {
	for name, c := range map[string]struct {
		groups, ours int
		says         string
		elsewhere    string
	}{
		"none is":                  {groups: lists.MaxMoved},
		"the last is":              {groups: lists.MaxMoved, ours: lists.MaxMoved, elsewhere: fmt.Sprint("g", lists.MaxMoved)},
		"one of too many is":       {groups: lists.MaxMoved + 1, ours: 1, elsewhere: "g1"},
		"one that is not asked is": {groups: lists.MaxMoved + 1, ours: lists.MaxMoved + 1, says: "more than 5 VMs"},
	} {
		of := func(group int, id string) string {
			vm := arm.GroupID(armsim.Subscription, fmt.Sprint("g", group)).VM("win-1")
			return fmt.Sprintf(`{"id":%q,"properties":{"vmId":%q}}`, vm.String(), id)
		}
		a, m := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			var all []string
			for group := 1; group <= c.groups; group++ {
				vm := of(group, "22222222-aaaa-bbbb-cccc-555555555555")
				if group == c.ours {
					vm = of(group, blue.ID)
				}
				if strings.Contains(r.URL.Path, fmt.Sprintf("/g%d/", group)) {
					return http.StatusOK, vm
				}
				all = append(all, vm)
			}
			return http.StatusOK, `{"value":[` + strings.Join(all, ",") + `]}`
		})), blue.Machine()
		m.Record.Azure.VMID = blue.ID
		a.ledger.note(m, blue.Noon, func(*work) {})
		p := pursued(a, m)
		_ = expect.Got(a.listPowers(t.Context(), p.scope.Power))(t)
		_, err := p.perform(t.Context(), next.Step{Act: next.Seek})
		w := a.ledger.recall(m)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": elsewhere", next.Elsewhere{Group: c.elsewhere}, w.Elsewhere)
		expect.Same(t, name+": the search counts", c.says == "", !w.Sought.IsZero())
		if c.says != "" {
			cloudtest.WantError(t, err, cloud.Exhausted, infrav1.VMMovedReason)
		}
	}
}

// TestMovedAndGone: a VM of the machine's name that the list has in another group, and that is gone when it is looked at, is not
// the machine's. What cannot be looked at may be.
func TestMovedAndGone(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		says   string
	}{
		"gone":              {http.StatusNotFound, "ResourceNotFound", ""},
		"gone with a group": {http.StatusNotFound, "ResourceGroupNotFound", ""},
		"not to be seen":    {http.StatusForbidden, "AuthorizationFailed", "no"},
		"no VM at all":      {http.StatusOK, "", ""},
	} {
		there := blue.OtherGroup.VM("win-1")
		a, m := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			switch {
			case !strings.Contains(r.URL.Path, "/other/"):
				return http.StatusOK, fmt.Sprintf(`{"value":[{"id":%q,"properties":{"vmId":%q}}]}`, there.String(), blue.ID)
			case c.code == "":
				return http.StatusOK, `{"id":"x"}`
			}
			return c.status, blue.Fault(c.code)
		})), blue.Machine()
		m.Record.Azure.VMID = blue.ID
		a.ledger.note(m, blue.Noon, func(*work) {})
		p := pursued(a, m)
		_ = expect.Got(a.listPowers(t.Context(), p.scope.Power))(t)
		expect.Says(t, name, p.seek(t.Context()), c.says)
		w := a.ledger.recall(m)
		expect.Same(t, name+": elsewhere", next.Elsewhere{}, w.Elsewhere)
		expect.Same(t, name+": the search counts", c.says == "", !w.Sought.IsZero())
	}
}

// TestNameTakenAfterTheRequest: minutes after Azure accepted the VM, somebody removes it, and another VM gets its name. The
// machine is deleted then: the other VM stays.
func TestNameTakenAfterTheRequest(t *testing.T) {
	p := newProof(t, false)
	p.m.Spec.Azure.NetworkInterfaces[0].PublicIP = ""
	expect.Got(p.ensure())(t)
	vm := p.m.Record.Azure.VMID
	expect.Same(t, "its ID is known", true, vm != "")
	p.a.ledger.note(p.m, p.a.now(), func(w *work) { // as after the look of another VM that has the name
		record := knownOf(p.m, *w)
		record.VMID = blue.ID
		w.record = &record
	})
	p.m.Record = p.known()
	p.ReplaceTags(armsim.VMID(p.m.Name), map[string]string{"owner": "finance"})
	p.live(p.a, time.Minute)
	expect.Same(t, "it goes", true, p.goes())
	expect.Same(t, "the other VM is there", true, p.vmExists())
}
