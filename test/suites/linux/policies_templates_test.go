package linux_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/repo/templates"
)

var (
	seed = flag.Uint64("policies.seed", 0, "of the random templates; 0 is the day's")
	many = flag.Int("policies.templates", 500, "how many random templates are given to each API server")
)

// tally is what became of the random templates.
type tally struct {
	verdicts, wanted map[placement.Verdict]int
}

// randomTemplates gives the server the templates that internal/placement gives to a scheduler, and compares: the policies want
// nothing on Linux that is for Windows, and what has become what they want stays away from Windows Nodes.
func (p *policed) randomTemplates() {
	p.Helper()
	if *seed == 0 {
		*seed = uint64(time.Now().YearDay()) //nolint:gosec // because it is 1 to 366
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	counts, worlds := tally{map[placement.Verdict]int{}, map[placement.Verdict]int{}}, templates.Worlds(p.T)
	for at, world := range worlds {
		cluster := world.Cluster()
		w := templates.Writer{Rand: random, Nodes: append(world.NodeNames(), "linux-0")}
		for i := range *many*(at+1)/len(worlds) - *many*at/len(worlds) {
			one := w.Workload(fmt.Sprintf("w-%d-%d", at, i))
			one.Namespace = []string{agents, metav1.NamespaceSystem}[i%2]
			p.compare(cluster, one, &counts)
		}
	}
	p.Logf("-policies.seed=%d: %d templates %v, of which the policies want on Linux %v",
		*seed, *many, counts.verdicts, counts.wanted)
	for _, verdict := range []placement.Verdict{placement.StaysAway, placement.ForWindows, placement.Lands} {
		if counts.verdicts[verdict] < *many/10 {
			p.Errorf("only %d of %d templates have the verdict %s", counts.verdicts[verdict], *many, verdict)
		}
	}
	if counts.wanted[placement.Lands] < *many/50 { // about a twentieth, whatever the seed
		p.Errorf("the policies want only %d of %d templates on Linux", counts.wanted[placement.Lands], *many)
	}
}

// compare holds what the policies make of a template against the verdict, and against what people are told of them beforehand.
func (p *policed) compare(cluster placement.Cluster, w placement.Workload, counts *tally) {
	p.Helper()
	verdict := cluster.Judge(w).Verdict
	object := workload(w.Kind, w.Namespace, w.Name, *w.Template.Spec.DeepCopy())
	object.SetAnnotations(w.Annotations)
	got, warned := p.try(p.ctx, object)
	counts.verdicts[verdict]++
	selector := maps.Clone(w.Template.Spec.NodeSelector)
	_, named := selector[osKey]
	wanted := !named && p.wants(got, warned)
	if said := cluster.GetsLinux(w); said != wanted {
		p.Errorf("%s: that the policies want it on Linux is %t, and people are told %t\n%s", w, wanted, said, w.Template.Spec.String())
	}
	if !wanted {
		if !maps.Equal(template(got).Spec.NodeSelector, selector) {
			p.Errorf("%s: the selector %v became %v", w, selector, template(got).Spec.NodeSelector)
		}
		return
	}
	counts.wanted[verdict]++
	if verdict == placement.ForWindows {
		p.Errorf("the policies want on Linux what is for Windows: %s\n%s", cluster.Judge(w).Why, w.Template.Spec.String())
	}
	selector = map[string]string{osKey: "linux"}
	w.Template.Spec.NodeSelector = selector
	if after := cluster.Judge(w); after.Verdict != placement.StaysAway {
		p.Errorf("the policies want %s", after.Why)
	}
	again := workload(w.Kind, w.Namespace, w.Name, *w.Template.Spec.DeepCopy())
	last, warned := p.try(p.ctx, again)
	if wantsLinux(warned) || !maps.Equal(template(last).Spec.NodeSelector, selector) {
		p.Errorf("%s once more: %v, warned of %v", w, template(last).Spec.NodeSelector, warned)
	}
}

// hostileTemplates are larger than anybody needs, or have null where something should be. None makes an expression fail, which
// noErrors sees.
func (p *policed) hostileTemplates() {
	p.Helper()
	for name, c := range map[string]struct {
		pod    corev1.PodSpec
		wanted bool
	}{
		"1,000 tolerations":  {corev1.PodSpec{Tolerations: slices.Repeat(everywhere, 1000)}, true},
		"30,000 tolerations": {corev1.PodSpec{Tolerations: slices.Repeat(everywhere, 30000)}, false},
		"5,000 keys":         {corev1.PodSpec{NodeSelector: keys(5000)}, false},
		"5,000 terms":        {requiring(slices.Repeat([]corev1.NodeSelectorTerm{ask("pool", "Exists")}, 5000)...), false},
		"5,000 expressions": {requiring(corev1.NodeSelectorTerm{
			MatchExpressions: slices.Repeat(ask("pool", "Exists").MatchExpressions, 5000),
		}), false},
		"5,000 names": {requiring(corev1.NodeSelectorTerm{
			MatchFields: slices.Repeat(named("NotIn", "x").MatchFields, 5000),
		}), false},
		"50,000 values":     {requiring(ask("pool", "In", slices.Repeat([]string{"a"}, 50000)...)), false},
		"5,000 containers":  {corev1.PodSpec{Containers: containers(5000)}, false},
		"500 containers":    {corev1.PodSpec{Containers: containers(500)}, true},
		"of Linux, by much": {requiring(slices.Repeat([]corev1.NodeSelectorTerm{ask(osKey, "In", "linux")}, 100)...), false},
	} {
		begin := time.Now()
		p.row(row{name: name}, workload("DaemonSet", metav1.NamespaceSystem, "large", c.pod), c.wanted)
		p.Logf("%s: takes %s", name, time.Since(begin).Round(time.Millisecond))
	}
	p.largeChanges()
	p.asDNS()
	p.nulls()
}

// largeChanges: of a template as large as an API server stores, too, it is known whether somebody has changed it.
func (p *policed) largeChanges() {
	p.Helper()
	pod := corev1.PodSpec{Tolerations: everywhere, Containers: containers(250)}
	for i := range pod.Containers {
		for j := range 40 {
			pod.Containers[i].Env = append(pod.Containers[i].Env, corev1.EnvVar{
				Name: fmt.Sprintf("VARIABLE_%d_%d", i, j), Value: "a value of some length",
			})
		}
	}
	set := workload("DaemonSet", agents, "large-changes", pod).(*appsv1.DaemonSet)
	expect.OK(p, p.api.Create(p.ctx, set))
	for _, wanted := range []bool{false, true} {
		set.Labels = map[string]string{"wanted": fmt.Sprint(wanted)}
		set.Spec.Template.Spec.NodeSelector = nil
		if wanted {
			set.Spec.Template.Spec.Containers[249].Env[39].Value = "another"
		}
		p.warnings.take()
		expect.OK(p, p.api.Update(p.ctx, set))
		if !p.mutates {
			expect.Same(p, "that a change is warned of", wanted, wantsLinux(p.warnings.take()))
		}
	}
	if p.mutates {
		expect.Same(p, "generation after a change", int64(2), set.Generation)
	}
}

// asDNS: the policies of cluster DNS read large templates, too.
func (p *policed) asDNS() {
	p.Helper()
	for _, pod := range []corev1.PodSpec{
		requiring(slices.Repeat([]corev1.NodeSelectorTerm{ask(osKey, "In", "linux")}, 5000)...),
		requiring(ask(osKey, "In", slices.Repeat([]string{"linux"}, 50000)...)),
		requiring(corev1.NodeSelectorTerm{MatchExpressions: slices.Repeat(ask(osKey, "Exists").MatchExpressions, 5000)}),
	} {
		object := workload("DaemonSet", metav1.NamespaceSystem, "large-dns", pod).(*appsv1.DaemonSet)
		object.Spec.Selector.MatchLabels["k8s-app"], object.Spec.Template.Labels["k8s-app"] = "kube-dns", "kube-dns"
		p.try(p.ctx, object)
	}
}

func keys(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("key-%d", i)] = "a"
	}
	return all
}

func containers(n int) (all []corev1.Container) {
	for i := range n {
		all = append(all, corev1.Container{Name: fmt.Sprintf("c-%d", i), Image: "a"})
	}
	return all
}

// nulls are written into each place of a template. The server takes some for absent, and refuses the rest after the policies have
// seen it: also what no client sends.
func (p *policed) nulls() {
	p.Helper()
	full := corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "a"}, Tolerations: everywhere,
		Affinity: affine(ask("pool", "In", "a"), named("NotIn", "a")),
		OS:       &corev1.PodOS{Name: corev1.Linux}, SecurityContext: &corev1.PodSecurityContext{}, RuntimeClassName: new("kata"),
		Containers: []corev1.Container{container("a", asUser)}, InitContainers: []corev1.Container{container("b", nil)},
	}
	var taken, refused int
	for _, kind := range kinds {
		object := workload(kind, metav1.NamespaceSystem, "null", full)
		object.SetAnnotations(map[string]string{"a": "b"})
		object.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
		whole := expect.Got(runtime.DefaultUnstructuredConverter.ToUnstructured(object))(p)
		for _, empty := range []any{nil, map[string]any{}, []any{}} {
			for _, path := range pathsOf(whole, nil) {
				if slices.Contains([]any{"kind", "apiVersion", "namespace"}, path[len(path)-1]) || len(path) == 1 {
					continue // no client could send that
				}
				changed := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(whole)}
				put(changed.Object, path, empty)
				err := p.api.Create(p.ctx, changed, client.DryRunAll)
				switch {
				case err == nil:
					taken++
				case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
					refused++
				default:
					p.Errorf("%v at %v: %v", empty, path, err)
				}
			}
		}
	}
	p.warnings.take()
	p.Logf("null and empty in each place of a template: %d are taken, %d refused", taken, refused)
}

// pathsOf are those of all values in an object.
func pathsOf(value any, at []any) (all [][]any) {
	if len(at) > 0 {
		all = append(all, at)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, pathsOf(value[key], append(slices.Clone(at), key))...)
		}
	case []any:
		for i := range value {
			all = append(all, pathsOf(value[i], append(slices.Clone(at), i))...)
		}
	}
	return all
}

// put replaces the value at a path.
func put(into any, path []any, by any) {
	switch into := into.(type) {
	case map[string]any:
		key := path[0].(string)
		if len(path) == 1 {
			into[key] = by
			return
		}
		put(into[key], path[1:], by)
	case []any:
		if at := path[0].(int); len(path) == 1 {
			into[at] = by
		} else {
			put(into[at], path[1:], by)
		}
	}
}
