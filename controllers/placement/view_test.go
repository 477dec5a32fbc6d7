package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

func event(t *testing.T, what watch.EventType, object any) workload.Event {
	t.Helper()
	return workload.Event{Type: what, Object: expect.Got(json.Marshal(object))(t)}
}

// agent is a DaemonSet as an API server shows it.
func agent(name string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{}
	set.Namespace, set.Name = "team", name
	set.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1000), verdict.RunsOnAnnotation: verdict.RunsOnBoth,
	}
	set.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	set.Spec.Template.Labels = map[string]string{"k8s-app": "kube-dns", "app": name}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "main", Image: "agent:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}},
		{Name: "main", Image: "registry.k8s.io/kube-proxy:v1.36.3"},
		{Name: "win", SecurityContext: &corev1.SecurityContext{
			WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true), GMSACredentialSpec: new("long")},
		}},
	}
	return set
}

// TestViewOfWorkloads: what decides of a workload is kept, and nothing else.
func TestViewOfWorkloads(t *testing.T) {
	v := newView()
	v.take(daemonSets, event(t, watch.Added, agent("a")))
	var got []verdict.Workload
	for w := range v.workloads() {
		got = append(got, w)
	}
	want := verdict.Workload{
		Kind: "DaemonSet", Namespace: "team", Name: "a", Annotations: map[string]string{verdict.RunsOnAnnotation: verdict.RunsOnBoth},
	}
	want.Template.Labels = map[string]string{"k8s-app": "kube-dns"}
	want.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	want.Template.Spec.Containers = []corev1.Container{
		{Name: "main", Image: "registry.k8s.io/kube-proxy:v1.36.3"},
		{Name: "win", SecurityContext: &corev1.SecurityContext{
			WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true)},
		}},
	}
	expect.Same(t, "workloads", []verdict.Workload{want}, got)
}

// TestBriefIsJudgedAlike: the verdict on what is kept of a workload is that on the whole.
func TestBriefIsJudgedAlike(t *testing.T) {
	cluster := verdict.Cluster{
		Windows: []verdict.Node{{Name: "win-0", Labels: map[string]string{"kubernetes.io/os": "windows", "pool": "w"}}},
		Linux:   []verdict.Node{{Name: "linux-0", Labels: map[string]string{"kubernetes.io/os": "linux", "pool": "l"}}},
	}
	verdicts := map[verdict.Verdict]int{}
	for _, spec := range []string{
		`{}`, `{os: {name: windows}}`, `{os: {name: linux}}`, `{nodeName: win-0}`, `{nodeSelector: {kubernetes.io/os: linux}}`,
		`{nodeSelector: {pool: w}}`, `{runtimeClassName: gone}`, `{securityContext: {windowsOptions: {}}}`,
		`{initContainers: [{name: a, securityContext: {windowsOptions: {gmsaCredentialSpecName: a}}}]}`,
		`{containers: [{name: a, securityContext: {windowsOptions: {}}}]}`,
		`{affinity: {podAffinity: {}}}`, `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
		  {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [l]}]}]}}}}`,
		`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
		  {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [win-0]}]}]}}}}`,
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
		expect.OK(t, yaml.UnmarshalStrict([]byte(spec), &set.Spec.Template.Spec))
		v := newView()
		v.take(statefulSets, event(t, watch.Added, set))
		for kept := range v.workloads() {
			whole := verdict.Workload{Kind: "StatefulSet", Namespace: "team", Name: "app", Template: set.Spec.Template}
			want := cluster.Judge(whole)
			expect.Same(t, spec, want, cluster.Judge(kept))
			verdicts[want.Verdict]++
		}
	}
	expect.Same(t, "verdicts", map[verdict.Verdict]int{verdict.StaysAway: 3, verdict.ForWindows: 7, verdict.Lands: 3}, verdicts)
}

// TestViewOfNodes: Nodes come apart by their system. News are what decides, not each heartbeat of a kubelet.
func TestViewOfNodes(t *testing.T) {
	v, created := newView(), metav1.NewTime(time.Unix(1_700_000_000, 0))
	one := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "win-0", Labels: map[string]string{"kubernetes.io/os": "windows"}, CreationTimestamp: created,
	}}
	one.Spec.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &created}}
	one.Status.NodeInfo.KubeletVersion = "v1.36.3"
	one.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: created},
	}
	v.take(nodes, event(t, watch.Added, one))
	v.take(nodes, event(t, watch.Added, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "linux-0"}}))
	windows, linux := v.nodes()
	want := node{Ready: true, Kubelet: "v1.36.3", Created: created.Time}
	want.Name, want.Labels = "win-0", map[string]string{"kubernetes.io/os": "windows"}
	want.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
	expect.Same(t, "created", want.Created.Unix(), windows[0].Created.Unix())
	windows[0].Created = want.Created
	expect.Same(t, "Windows", []node{want}, windows)
	expect.Same(t, "others", "linux-0", linux[0].Name)
	changed := v.state().changed
	one.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
	v.take(nodes, event(t, watch.Modified, one))
	expect.Same(t, "changes by a heartbeat", changed, v.state().changed)
	one.Status.Conditions[0].Status = corev1.ConditionUnknown
	v.take(nodes, event(t, watch.Modified, one))
	expect.Same(t, "changes when it is not Ready", changed+1, v.state().changed)
}

// TestLists: a list replaces what was told before it, once it is complete; what the API server hides is not waited for.
func TestLists(t *testing.T) {
	v := newView()
	class := func(name string) workload.Event {
		return event(t, watch.Added, &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc"})
	}
	names := func() (all []string) {
		for _, c := range v.classes() {
			all = append(all, c.Name)
		}
		return all
	}
	for _, e := range []workload.Event{{Type: workload.Begun}, class("a"), class("b"), {Type: workload.Listed}} {
		v.take(classes, e)
	}
	expect.Same(t, "classes", []string{"a", "b"}, names())
	for _, e := range []workload.Event{{Type: workload.Begun}, class("b")} {
		v.take(classes, e)
	}
	expect.Same(t, "classes in a list that is not complete", []string{"a", "b"}, names())
	v.take(classes, workload.Event{Type: workload.Listed})
	expect.Same(t, "classes once it is", []string{"b"}, names())
	for resource := range v.stores {
		if resource != classes {
			v.take(resource, workload.Event{Type: workload.Begun})
			v.take(resource, workload.Event{Type: workload.Listed})
		}
	}
	expect.Same(t, "complete", true, v.state().complete)
	v.take(classes, workload.Event{Type: workload.Hidden, Why: errors.New("forbidden")})
	expect.Same(t, "classes that are hidden", 0, len(names()))
	expect.Same(t, "complete but for them", true, v.state().complete)
	expect.Same(t, "hidden", map[string]string{classes: "forbidden"}, v.state().hidden)
	v.take(classes, workload.Event{Type: workload.Begun})
	expect.Same(t, "complete when they are shown again", false, v.state().complete)
	v.take(nodes, workload.Event{Type: watch.Added, Object: []byte(`{"metadata":[]}`)})
	v.take(nodes, workload.Event{Type: workload.LeftOut})
	expect.Same(t, "left out", 2, v.state().leftOut)
	expect.Same(t, "bytes kept", 0, v.kept)
}

// TestViewIsBounded: one object, and all objects of a cluster, take no more than their share. What is left out is counted.
func TestViewIsBounded(t *testing.T) {
	v := newView()
	large := agent("large")
	large.Spec.Template.Spec.NodeSelector = map[string]string{"pool": strings.Repeat("x", maxBrief)}
	v.take(daemonSets, event(t, watch.Added, large))
	expect.Same(t, "left out", 1, v.state().leftOut)
	v.take(daemonSets, event(t, watch.Added, agent("grows")))
	v.take(daemonSets, workload.Event{Type: workload.LeftOut, Of: "team/grows"})
	v.take(daemonSets, workload.Event{Type: workload.LeftOut, Of: "team/grows"})
	expect.Same(t, "left out with one that grew, told twice", 2, v.state().leftOut)
	expect.Same(t, "kept of what grew", 0, len(v.texts(daemonSets)))
	v.take(daemonSets, workload.Event{Type: workload.LeftOut, Of: "team/grows", Gone: true})
	v.take(daemonSets, event(t, watch.Modified, agent("large")))
	expect.Same(t, "left out after one went, and one is small again", 0, v.state().leftOut)
	const each = 15 << 10
	for i := range 2 * maxKept / each {
		one := agent(fmt.Sprint("a", i))
		one.Spec.Template.Spec.NodeSelector = map[string]string{"pool": strings.Repeat("x", each)}
		v.take(daemonSets, event(t, watch.Added, one))
	}
	if v.kept > maxKept || v.kept < maxKept-maxBrief {
		t.Errorf("%d bytes are kept", v.kept)
	}
	t.Logf("%d bytes kept, %d objects left out", v.kept, v.state().leftOut)
	v.take(daemonSets, event(t, watch.Deleted, agent("a0")))
	v.take(daemonSets, event(t, watch.Added, agent("a0")))
	v.take(daemonSets, event(t, watch.Modified, agent("a1")))
	if v.kept > maxKept-2*each+2*maxBrief/10 {
		t.Errorf("%d bytes are kept after large ones went", v.kept)
	}
}

// TestGoneWhileUnread: an object that was too large to be kept is not missed any more once it is deleted, and that is news.
func TestGoneWhileUnread(t *testing.T) {
	v := newView()
	large := agent("large")
	large.Spec.Template.Spec.NodeSelector = map[string]string{"a": strings.Repeat("x", maxBrief)}
	for _, what := range []watch.EventType{watch.Added, watch.Modified} {
		v.take(daemonSets, event(t, what, large))
		expect.Same(t, "left out", 1, v.state().leftOut)
	}
	before := v.state().changed
	v.take(daemonSets, event(t, watch.Modified, large))
	expect.Same(t, "news of the same", before, v.state().changed)
	v.take(daemonSets, event(t, watch.Deleted, large))
	expect.Same(t, "left out once it is gone, and news", []any{0, before + 1}, []any{v.state().leftOut, v.state().changed})
	v.take(daemonSets, workload.Event{Type: watch.Deleted, Object: []byte(`{"metadata":{"name":7}}`)})
	expect.Same(t, "left out of what cannot be read, and is gone", 0, v.state().leftOut)
}

// TestUnreadDuringAList: while a list is told anew, it is not yet known that nothing is left out.
func TestUnreadDuringAList(t *testing.T) {
	v := newView()
	v.take(daemonSets, workload.Event{Type: workload.Begun})
	v.take(daemonSets, workload.Event{Type: workload.LeftOut})
	v.take(daemonSets, workload.Event{Type: workload.Listed})
	for range 2 { // the connection may end before the list does
		v.take(daemonSets, workload.Event{Type: workload.Begun})
		expect.Same(t, "may lack one", []any{true, 1}, []any{v.leavesOut("", daemonSets), v.state().leftOut})
	}
	before := v.state().changed
	v.take(daemonSets, workload.Event{Type: workload.Listed})
	expect.Same(t, "lacks one, and news", []any{false, 0, before + 1},
		[]any{v.leavesOut("", daemonSets), v.state().leftOut, v.state().changed})
}

// TestManySmallObjects: however small they are, not any number of them is kept.
func TestManySmallObjects(t *testing.T) {
	v := newView()
	for n := range mostObjects + 1 {
		v.take(nodes, workload.Event{Type: watch.Added, Object: fmt.Appendf(nil, `{"metadata":{"name":"%d"}}`, n)})
	}
	expect.Same(t, "left out", 1, v.state().leftOut)
	v.take(nodes, workload.Event{Type: watch.Added, Object: []byte(`{"metadata":{"name":"0","namespace":"not-of-a-node"}}`)})
	windows, linux := v.nodes()
	expect.Same(t, "Nodes", mostObjects, len(windows)+len(linux))
}
