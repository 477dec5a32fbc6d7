package linux_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	// atOnce is how many Clusters the controller looks at together.
	atOnce = 10
	// page is how many objects of a list are read at once, and mostPages how many pages of it.
	page, mostPages = 20, 500
)

// startMeasured starts an API server for figures, which managers call at the pace of their flags.
func startMeasured(t *testing.T, names ...string) *keptServer {
	t.Helper()
	if !*everything {
		t.Skip("make bench-clusters measures it")
	}
	s := startKept(t, true)
	s.qps, s.burst, s.told = 20, 30, events.NewFakeRecorder(100_000)
	s.management = newManagement(s.environment.KubeConfig, names...)
	s.begin()
	return s
}

// TestKeeperOfManyClusters: what 200 clusters of one namespace cost that have 500 Nodes and 300 workloads each. One API server is
// that of all. Its calls are bounded by exact figures, and some for those that a busy machine answers too late; time and memory
// are printed.
func TestKeeperOfManyClusters(t *testing.T) {
	const many, nodes, sets, deployments, statefulSets = 200, 500, 60, 200, 40
	var names []string
	for i := range many {
		names = append(names, fmt.Sprint("c", i))
	}
	s := startMeasured(t, names...)
	s.makeNodes(nodes)
	s.makeWorkloads(map[string]int{"DaemonSet": sets, "Deployment": deployments, "StatefulSet": statefulSets})
	s.measure("at the first looks", names, 1, infrastructure, bootstrapping)
	s.clock = s.clock.Add(10 * time.Second)
	s.measure("at the first probes", names, 1, infrastructure, bootstrapping)
	calls := s.measure("in ten minutes at rest", names, 10, infrastructure)
	const found = (nodes+sets+deployments+statefulSets)/page + 4 // with Namespaces, RuntimeClasses, and the Service of DNS
	const kept = 10*4 + 3                                        // lists each minute, and a probe
	atMost(t, many*(found+kept), calls)
	atMost(t, many*10, s.measure("in ten minutes at rest", names, 10, bootstrapping))
}

// atMost allows one call more in each hundred.
func atMost(t *testing.T, most, calls int) {
	t.Helper()
	if calls > most+most/100 {
		t.Errorf("there are %d calls, at most %d are good", calls, most)
	}
}

// TestKeeperOfManyDaemonSets: of a cluster with 50,000 DaemonSets no more is read than the bound of a list, before the policies
// are there and for findings. People learn of it, the policies act, and no machine waits for longer than a look.
func TestKeeperOfManyDaemonSets(t *testing.T) {
	const sets, most = 50_000, 20
	s := startMeasured(t, "prod")
	began := time.Now() // a look ends its lists by the clock before it is ended itself
	s.managers[infrastructure].Now = func() time.Time { return s.clock.Add(time.Since(began)) }
	s.makeNodes(2)
	s.makeWorkloads(map[string]int{"DaemonSet": sets})
	s.measure("at the first look", []string{"prod"}, 1, infrastructure)
	lists := 0
	for _, c := range s.calls(infrastructure) {
		if c.what() == "list daemonsets" {
			lists++
		}
	}
	if lists > 2*mostPages || lists < 2 {
		t.Errorf("%d pages were read, and at most %d are read of a list", lists, mostPages)
	}
	s.expectTold("was not read completely") // after as many pages, or after the time that a look has for them
	expect.Same(t, "that the policy is there", true, s.read(policies.Mutating()[0]) != nil)
	expect.Same(t, "the warning", "", s.settle())
}

// makeNodes makes Nodes as large as those of a cloud, the first one with Windows.
func (s *keptServer) makeNodes(count int) {
	s.Helper()
	s.each(count, func(ctx context.Context, i int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("linux-", i), Labels: map[string]string{}}}
		for n := range 14 {
			node.Labels[fmt.Sprintf("example.com/label-of-a-cloud-%d", n)] = "some-value-of-that"
		}
		node.Labels[corev1.LabelOSStable] = "linux"
		if i == 0 {
			node.Name, node.Labels[corev1.LabelOSStable] = "win-0", "windows"
			node.Spec.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
		}
		if err := s.api.Create(ctx, node); err != nil {
			return err
		}
		node.Status.NodeInfo.KubeletVersion = "v1.36.3"
		for n := range 50 {
			name := fmt.Sprintf("registry.example.com/team/image-%d", n)
			node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
				Names: []string{name + "@sha256:" + strings.Repeat("0", 64), name + ":v1.2.3"}, SizeBytes: 1 << 25,
			})
		}
		return s.api.Status().Update(ctx, node)
	})
}

// makeWorkloads makes as many of each kind, which select Linux, with what kubectl apply writes beside them.
func (s *keptServer) makeWorkloads(counts map[string]int) {
	s.Helper()
	for kind, count := range counts {
		s.each(count, func(ctx context.Context, i int) error {
			one := workload(kind, metav1.NamespaceDefault, fmt.Sprint("one-of-a-team-", i), corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
			})
			one.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 3000)})
			return s.api.Create(ctx, one)
		})
	}
}

// each does something so many times, some of them at once.
func (s *keptServer) each(count int, do func(ctx context.Context, i int) error) {
	s.Helper()
	begin := time.Now()
	all, ctx := errgroup.WithContext(s.Context())
	all.SetLimit(atOnce)
	for i := range count {
		all.Go(func() error { return do(ctx, i) })
	}
	expect.OK(s, all.Wait())
	s.Logf("%d times in %.1f s", count, time.Since(begin).Seconds())
}

// measure has managers look at Clusters, once a minute, and returns their calls.
func (s *keptServer) measure(when string, names []string, minutes int, managers ...string) (calls int) {
	s.Helper()
	for _, manager := range managers {
		before := len(s.calls(manager))
		c := s.watched(func() {
			for range minutes {
				s.clock = s.clock.Add(time.Minute)
				s.each(len(names), func(_ context.Context, i int) error {
					_, err := s.reconcile(manager, names[i])
					return err
				})
			}
		})
		calls = len(s.calls(manager)) - before
		s.Logf("%s, %d clusters cost %s %d calls, %.1f s of the processor in %.0f s, and at most %.1f MiB of memory beside %.1f MiB",
			when, len(names), manager, calls, c.worked.Seconds(), c.took.Seconds(), c.peak-c.before, c.before)
	}
	return calls
}

// cost is what this process took while something was done: memory in MiB as the kernel counts it, and time of the processor.
type cost struct {
	before, peak float64
	worked, took time.Duration
}

// watched measures. Garbage is collected as the managers do it.
func (s *keptServer) watched(do func()) (c cost) {
	s.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	debug.FreeOSMemory()
	c.before = resident(s)
	ended, peak := make(chan struct{}), make(chan float64)
	go func() {
		highest := c.before
		for {
			select {
			case <-ended:
				peak <- highest
				return
			case <-time.After(50 * time.Millisecond):
				highest = max(highest, resident(s))
			}
		}
	}()
	begin, worked := time.Now(), processor(s)
	do()
	c.took, c.worked = time.Since(begin), processor(s)-worked
	close(ended)
	c.peak = <-peak
	return c
}

// processor is the time that this process had of it.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	expect.OK(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
