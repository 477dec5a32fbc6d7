package credentials

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestMaxKept has one namespace write large Secrets. What is more than 4 MiB is refused, to the byte, and no other namespace is.
func TestMaxKept(t *testing.T) {
	k := newKeeping(t)
	names := make([]types.NamespacedName, 5)
	set := func(i, size int) {
		k.change(t, names[i], func(s *corev1.Secret) {
			s.Data = map[string][]byte{"password": []byte(strings.Repeat("x", size-len("password")))}
		})
	}
	for i := range names {
		names[i] = types.NamespacedName{Namespace: "bad", Name: fmt.Sprint("s-", i)}
		k.put(t, names[i], "x")
		set(i, 1<<20)
	}
	set(4, 9)
	for i := range names {
		k.saw(machine(fmt.Sprint("m-", i), names[i]))
		k.pass(t, time.Second) // in this order
	}
	k.put(t, vcenter("good"), "one")
	k.saw(machine("good", vcenter("good")))
	k.pass(t, time.Second)
	refused := func() (all []int) {
		for i, name := range names {
			if _, err := k.Of(name, name); err != nil {
				all = append(all, i)
			}
		}
		return all
	}
	expect.Same(t, "refused, one byte too many", []int{4}, refused())
	_, err := k.Of(names[4], names[4])
	want := phase.Stall(infrav1.CredentialsTooLargeReason, "the Secrets that identityRef of the machines of namespace bad names "+
		"have more than 4194304 bytes together; keep nothing but credentials in them, or use fewer Secrets")
	expect.Same(t, "stop", phase.Of(want), phase.Of(err))
	if good := expect.Got(k.of(machine("good", vcenter("good"))))(t); good.Data == nil {
		t.Error("another namespace's Secret is not kept")
	}
	k.pass(t, reads.Interval)
	k.woken()
	k.pass(t, reads.Interval)
	expect.Same(t, "woken by the same refusal", []string{}, k.woken())
	set(0, 1<<20-9)
	k.pass(t, 2*reads.Interval)
	expect.Same(t, "refused, when there is room to the byte", []int(nil), refused())
	expect.Same(t, "woken", []string{"m-0", "m-4"}, k.woken())
	set(4, 10)
	k.pass(t, 2*reads.Interval)
	expect.Same(t, "refused, again", []int{4}, refused())
	expect.Same(t, "woken by that", []string{"m-4"}, k.woken())
	expect.Same(t, "bytes that are kept", 4<<20-9, k.kept("bad"))
}

// TestNoneIsRefusedForNothing: an empty Secret that is refused beside full ones is news when it is not any more.
func TestNoneIsRefusedForNothing(t *testing.T) {
	k := newKeeping(t)
	k.saw(machine("m", vcenter("a")))
	k.pass(t, time.Second)
	k.woken()
	s := k.secrets[vcenter("a")]
	s.err = phase.Stall(infrav1.CredentialsTooLargeReason, "too large")
	k.pass(t, reads.Interval)
	expect.Same(t, "woken", []string{"m"}, k.woken())
}
