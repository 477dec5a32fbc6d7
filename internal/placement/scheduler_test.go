package placement_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/repo/templates"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

var (
	seed = flag.Uint64("seed", 0, "of the random templates; 0 is the day's")
	many = flag.Int("templates", 500, "how many random templates are given to the scheduler")
)

// fewest is how many templates must have each verdict, and how many must be asked where all Nodes have taints, and where none
// has.
const fewest = 5 // one in

// TestScheduler gives random templates to a real kube-scheduler: it binds a pod to a Windows Node if, and only if, the verdict
// is not that it stays away, and to a Node that the finding names. Most are asked as a pod, as their controller would make it.
// Some are real DaemonSets, whose controller decides, too.
func TestScheduler(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().YearDay()) //nolint:gosec // because it is 1 to 366
	}
	t.Logf("-seed=%d", *seed)
	worlds := templates.Worlds(t)
	questions := ask(worlds, *many)
	l := startLab(t, worlds)
	count(t, questions)
	l.create(t, questions)
	for _, workload := range l.answers(t, questions) {
		t.Error(workload)
	}
	l.checkDaemonTolerations(t)
	l.checkCommands(t)
}

// question is one template in one world.
type question struct {
	workload placement.Workload
	world    templates.World
	finding  placement.Finding
	// refused: the API server takes no such pod.
	refused bool
}

// daemonSets are so many of the templates; each has pods for the Nodes of all worlds.
const daemonSets = 30

func ask(worlds []templates.World, many int) []*question {
	random := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // because the same seed must give the same templates
	var all []*question
	for i := range many {
		q := &question{world: worlds[i%len(worlds)]}
		w := templates.Writer{Rand: random, Nodes: append(q.world.NodeNames(), "linux-0")}
		cluster, wanted := q.world.Cluster(), wishes[i%len(wishes)]
		for range 50 {
			q.workload = w.Workload(fmt.Sprintf("w-%03d", i))
			if q.workload.Kind == "DaemonSet" && i >= daemonSets*4 {
				q.workload.Kind = "StatefulSet"
			}
			q.finding = cluster.Judge(q.workload)
			if wanted == "" || q.finding.Verdict == wanted {
				break
			}
		}
		all = append(all, q)
	}
	return all
}

// wishes see to it that each verdict is frequent, whatever the seed: of four templates the first ones are drawn until they have
// it.
var wishes = []placement.Verdict{placement.Lands, placement.ForWindows, placement.StaysAway, ""}

func count(t *testing.T, questions []*question) {
	t.Helper()
	verdicts, kinds, asked := map[placement.Verdict]int{}, map[string]int{}, map[string]int{}
	for _, q := range questions {
		verdicts[q.finding.Verdict]++
		kinds[q.workload.Kind]++
		switch {
		case q.world.Tainted:
			asked["taints on all Nodes"]++
		case q.world.Open:
			asked["on none"]++
		default:
			asked["on some"]++
		}
	}
	t.Logf("%d templates: %v, %v, %v", len(questions), verdicts, kinds, asked)
	for _, verdict := range []placement.Verdict{placement.StaysAway, placement.ForWindows, placement.Lands} {
		if verdicts[verdict] < len(questions)/fewest {
			t.Errorf("only %d of %d templates have the verdict %s", verdicts[verdict], len(questions), verdict)
		}
	}
}

// lab is a cluster with the Windows Nodes of all worlds.
type lab struct {
	client   kubernetes.Interface
	workload *servers.Workload
	kubectl  string
}

func startLab(t *testing.T, worlds []templates.World) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	start := time.Now()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	var profiles []string
	for _, w := range worlds {
		profiles = append(profiles, w.Name)
	}
	workload := expect.Got(servers.StartWorkload(t.Context(), servers.WorkloadOptions{
		Binaries: binaries, Dir: filepath.Join(t.TempDir(), "workload"), Profiles: profiles,
	}))(t)
	t.Cleanup(func() { _ = workload.Stop() })
	config := rest.CopyConfig(workload.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // no limit, and nothing about deprecated labels
	l := &lab{
		client: expect.Got(kubernetes.NewForConfig(config))(t), workload: workload, kubectl: filepath.Dir(binaries.Path("kubectl")),
	}
	for i := range classes {
		expect.Got(l.client.NodeV1().RuntimeClasses().Create(t.Context(), &classes[i], metav1.CreateOptions{}))(t)
	}
	for _, w := range worlds {
		for i := range w.Nodes {
			l.register(t, &w.Nodes[i])
		}
	}
	wait.Eventually(t, "Nodes with the taints of their worlds, and the account of pods", func(ctx context.Context) error {
		return l.settled(ctx, worlds)
	})
	t.Logf("the cluster runs after %s", time.Since(start).Round(10*time.Millisecond))
	return l
}

// register makes a Node that is Ready, with its status as a kubelet creates it.
func (l *lab) register(t *testing.T, node *corev1.Node) {
	t.Helper()
	expect.Got(l.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}))(t)
	go nodes.KeepLease(t.Context(), l.client, node.Name) // or the Node would be given up
}

// settled waits until Kubernetes has taken the taint from the Nodes that it gives those which have just come.
func (l *lab) settled(ctx context.Context, worlds []templates.World) error {
	for _, w := range worlds {
		for _, wanted := range w.Nodes {
			node, err := l.client.CoreV1().Nodes().Get(ctx, wanted.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(node.Spec.Taints) != len(wanted.Spec.Taints) {
				return fmt.Errorf("node %s has the taints %v", node.Name, node.Spec.Taints)
			}
		}
	}
	_, err := l.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	return err
}

// create makes a pod of each template, or a DaemonSet. That it refuses a pod is an answer, too.
func (l *lab) create(t *testing.T, questions []*question) {
	t.Helper()
	start := time.Now()
	calls, ctx := errgroup.WithContext(t.Context())
	calls.SetLimit(8)
	for _, q := range questions {
		calls.Go(func() error {
			err := l.createOne(ctx, q)
			if q.refused = apierrors.IsForbidden(err) && q.workload.Template.Spec.RuntimeClassName != nil; q.refused {
				return nil
			}
			return err
		})
	}
	expect.OK(t, calls.Wait())
	t.Logf("the API server has all templates after %s", time.Since(start).Round(10*time.Millisecond))
}

func (l *lab) createOne(ctx context.Context, q *question) error {
	template := *q.workload.Template.DeepCopy()
	template.Spec.SchedulerName = q.world.Name
	meta := metav1.ObjectMeta{Name: q.workload.Name, Namespace: q.workload.Namespace, Labels: template.Labels}
	if q.workload.Kind == "DaemonSet" {
		set := &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		}}
		_, err := l.client.AppsV1().DaemonSets(meta.Namespace).Create(ctx, set, metav1.CreateOptions{})
		return err
	}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}
	_, err := l.client.CoreV1().Pods(meta.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// answers waits until the scheduler has looked at each pod, and says where it decided otherwise than the package.
func (l *lab) answers(t *testing.T, questions []*question) []string {
	t.Helper()
	start := time.Now()
	var different []string
	var bound int
	wait.Eventually(t, "an answer for each template", func(ctx context.Context) error {
		s, err := l.look(ctx)
		if err != nil {
			return err
		}
		different, bound = nil, 0
		for _, q := range questions {
			nodes, answered := s.of(q)
			if !answered {
				return fmt.Errorf("no answer for %s", q.workload)
			}
			bound += min(len(nodes), 1)
			if text := q.compare(nodes); text != "" {
				different = append(different, text)
			}
		}
		return nil
	})
	t.Logf("the scheduler has answered after %s: pods of %d templates are bound to Windows Nodes, %d differences",
		time.Since(start).Round(10*time.Millisecond), bound, len(different))
	return different
}

// compare says what the scheduler did otherwise.
func (q *question) compare(nodes []string) string {
	for _, node := range nodes {
		if !slices.Contains(q.finding.Nodes, node) && q.finding.Verdict != placement.Lands {
			return fmt.Sprintf("in %s a pod is bound to %s: %+v\n%s", q.world.Name, node, q.finding, q.workload.Template.Spec.String())
		}
	}
	if len(nodes) == 0 && q.finding.Verdict != placement.StaysAway {
		return fmt.Sprintf("in %s no pod is bound: %+v\n%s", q.world.Name, q.finding, q.workload.Template.Spec.String())
	}
	return ""
}
