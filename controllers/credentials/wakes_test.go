package credentials

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestWakes has a tenant change the one Secret of many machines without pause: each change would have all of them looked at and
// written, before those of others. Another namespace's machines are woken as ever.
func TestWakes(t *testing.T) {
	k := newKeeping(t)
	const machines, changes = 2000, 12
	bad, good := vcenter("bad"), vcenter("good")
	k.put(t, bad, "0")
	k.put(t, good, "0")
	for i := range machines {
		k.saw(machine(fmt.Sprint("m-", i), bad))
	}
	k.saw(machine("good", good))
	k.pass(t, time.Second)
	expect.Same(t, "woken at once by the first read", machines+1, len(k.woken()))
	woken, began := 0, k.clock
	for i := range changes {
		k.set(t, bad, fmt.Sprint(i))
		k.pass(t, reads.Interval)
		woken += len(k.woken())
	}
	// The queue's clock goes as well, and may have woken some of those that wait.
	if most := 5000 - machines + int(k.clock.Sub(began).Seconds())*100; woken > most+most/10 {
		t.Errorf("%d machines were woken at once in %s, at most %d are allowed", woken, k.clock.Sub(began), most)
	}
	k.set(t, good, "1")
	k.pass(t, reads.Interval)
	if !slices.Contains(k.woken(), "good") {
		t.Error("the machine of the other namespace waits")
	}
}

// set writes another password.
func (k *keeping) set(t *testing.T, name types.NamespacedName, password string) {
	t.Helper()
	k.change(t, name, func(s *corev1.Secret) { s.Data["clientSecret"] = []byte(password) })
}
