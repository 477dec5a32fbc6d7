package linux_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestKeeperOfManyDaemonSets: a cluster with 2,000 DaemonSets costs the manager no more than 20 MiB, while they are read and
// later. Garbage is collected as the manager does it, and nothing else runs beside it.
func TestKeeperOfManyDaemonSets(t *testing.T) {
	if !*everything {
		t.Skip("make test-linux measures it")
	}
	const sets, most = 2000, 20
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	s := startKept(t, true)
	s.populate()
	var makes errgroup.Group
	makes.SetLimit(16)
	for i := range sets {
		makes.Go(func() error {
			set := newAgent(fmt.Sprintf("agent-of-a-team-%d", i))
			set.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 3000)}
			return s.api.Create(t.Context(), set, client.FieldOwner("helm"))
		})
	}
	expect.OK(t, makes.Wait())
	before := s.memory()
	keeper, end := s.keep()
	peak := before
	for begin := time.Now(); time.Since(begin) < 15*time.Second; {
		peak = max(peak, resident(t))
		<-time.After(50 * time.Millisecond)
		keeper.Kept(s.cluster)
	}
	expect.Same(t, "warning", "", s.await(keeper))
	after := s.memory()
	t.Logf("%d DaemonSets: resident memory grew from %.1f MiB by at most %.1f MiB while they were read, and by %.1f MiB after it",
		sets, before, peak-before, after-before)
	if peak-before > most {
		t.Errorf("that is more than %d MiB", most)
	}
	end()
}

// memory is what the process has in memory, in MiB, without what it has only not given back.
func (s *keptServer) memory() float64 {
	s.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	return resident(s)
}

// resident is VmRSS in MiB.
func resident(t testing.TB) float64 {
	t.Helper()
	var kib float64
	for line := range bytes.Lines(expect.Got(os.ReadFile("/proc/self/status"))(t)) {
		if rest, is := bytes.CutPrefix(line, []byte("VmRSS:")); is {
			expect.Got(fmt.Sscan(string(rest), &kib))(t)
		}
	}
	return kib / 1024
}
