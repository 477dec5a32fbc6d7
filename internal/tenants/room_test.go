package tenants

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestBound: a namespace uses as many as it may have, and twice as many for machines that may have a VM.
func TestBound(t *testing.T) {
	limits := expect.Got(Parse([]string{"lifted:accounts=20"}))(t)
	for _, c := range []struct {
		namespace string
		forVM     bool
		want      int
	}{{"team", false, 16}, {"team", true, 32}, {"lifted", false, 20}, {"lifted", true, 40}} {
		expect.Same(t, fmt.Sprint(c.namespace, c.forVM), c.want, limits.Bound(c.namespace, Accounts, c.forVM))
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
