package tenants

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRoom: a namespace uses as many as it may have, twice as many for machines that may have a VM, and beyond that these take
// the place of one that has had it for a minute.
func TestRoom(t *testing.T) {
	limits := expect.Got(Parse([]string{"lifted:accounts=20"}))(t)
	for name, c := range map[string]struct {
		namespace string
		count     int
		forVM     bool
		idle      time.Duration
		want      Room
	}{
		"the first":                         {"team", 0, false, 0, FreeRoom},
		"the last":                          {"team", 15, false, 0, FreeRoom},
		"one more":                          {"team", 16, false, 0, NoRoom},
		"one more where others are idle":    {"team", 16, false, time.Hour, NoRoom},
		"one more, lifted":                  {"lifted", 16, false, 0, FreeRoom},
		"the last, lifted":                  {"lifted", 19, false, 0, FreeRoom},
		"one more than lifted":              {"lifted", 20, false, 0, NoRoom},
		"for a VM":                          {"team", 16, true, 0, FreeRoom},
		"for a VM, the last":                {"team", 31, true, time.Hour, FreeRoom},
		"for a VM, one more":                {"team", 32, true, 0, NoRoom},
		"for a VM, before a turn is over":   {"team", 32, true, time.Minute - 1, NoRoom},
		"for a VM, by turns":                {"team", 32, true, time.Minute, RoomByTurn},
		"for a VM, the last, lifted":        {"lifted", 39, true, 0, FreeRoom},
		"for a VM, by turns, lifted":        {"lifted", 40, true, time.Minute, RoomByTurn},
		"new, where those for VMs are more": {"team", 32, false, time.Hour, NoRoom},
	} {
		demand := Demand{Kind: Accounts, Count: c.count, ForVM: c.forVM, Idle: c.idle}
		expect.Same(t, name, c.want, limits.Room(c.namespace, demand))
	}
}

// TestWaiting: the machines of a namespace are taken once, and those that are remembered have a number.
func TestWaiting(t *testing.T) {
	var w Waiting
	expect.Same(t, "none", 0, len(w.Take("a")))
	for i := range 2 * MostWaiting {
		w.Add(types.NamespacedName{Namespace: "a", Name: fmt.Sprint(i)})
		w.Add(types.NamespacedName{Namespace: "b", Name: "the same"})
	}
	expect.Same(t, "of one namespace", MostWaiting, len(w.Take("a")))
	expect.Same(t, "wait still", []bool{false, true}, []bool{w.Waits("a"), w.Waits("b")})
	expect.Same(t, "of another one", []types.NamespacedName{{Namespace: "b", Name: "the same"}}, w.Take("b"))
	expect.Same(t, "namespaces that are kept", 0, len(w.machines))
}
