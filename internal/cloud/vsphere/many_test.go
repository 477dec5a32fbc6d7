package vsphere

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestLedgerOfManyMachines: those that nobody asked for in a day are forgotten, once there are very many.
func TestLedgerOfManyMachines(t *testing.T) {
	t.Parallel()
	by := func(uid string) cloud.Machine {
		m := cloud.Machine{UID: types.UID(uid)}
		m.Record.VSphere = infrav1.VSphereRecord{Reference: "vm-" + uid, Folder: "group-1"}
		return m
	}
	has := func(l *ledger, uid string) []bool {
		return []bool{l.work[by(uid).ID()] != nil, len(l.ownersOf(seen.RefOf("vm-"+uid))) > 0}
	}
	var l ledger
	l.use(by("old"), noon.Add(-keptFor-2))
	l.use(by("asked for again"), noon.Add(-keptFor-2))
	l.use(by("day"), noon.Add(-keptFor))
	for i := range manyMachines - 3 {
		l.use(by(fmt.Sprint(i)), noon)
	}
	l.use(by("asked for again"), noon)
	expect.Same(t, "machines", manyMachines, len(l.work))
	expect.Same(t, "one that was not asked for in a day, while there is room", []bool{true, true}, has(&l, "old"))
	for _, uid := range []string{"one too many", "another", "another"} {
		l.use(by(uid), noon)
	}
	expect.Same(t, "machines after two too many", manyMachines+1, len(l.work))
	expect.Same(t, "one that was not asked for in a day", []bool{false, false}, has(&l, "old"))
	for _, uid := range []string{"day", "asked for again", "0", "another"} {
		expect.Same(t, uid, []bool{true, true}, has(&l, uid))
	}
}

// TestAskedForIsNoted: each pass notes when the machine was asked for.
func TestAskedForIsNoted(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	a.now = func() time.Time { return noon }
	expect.Got(a.Observe(t.Context(), m))(t)
	expect.Same(t, "when it was asked for", noon, a.ledger.recall(m).used)
}
