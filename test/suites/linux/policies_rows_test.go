package linux_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	osKey    = corev1.LabelOSStable
	betaKey  = "beta.kubernetes.io/os"
	buildKey = corev1.LabelWindowsBuild
	hostKey  = corev1.LabelHostname
)

// row is a template.
type row struct {
	name string
	pod  corev1.PodSpec
	// runsOn is the annotation.
	runsOn string
	// namespace is kube-system if it is empty.
	namespace string
}

// toLinux select nothing, and get the selector of Linux.
var toLinux = []row{
	{name: "nothing"},
	{name: "tolerates every taint", namespace: agents, pod: corev1.PodSpec{Tolerations: everywhere}},
	{name: "tolerates each that binds", namespace: agents, pod: corev1.PodSpec{Tolerations: []corev1.Toleration{
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	}}},
	{name: "tolerates each that evicts", namespace: agents, pod: corev1.PodSpec{Tolerations: []corev1.Toleration{
		{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}}},
	{name: "says linux where the scheduler does not look", pod: corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Linux}}},
	{name: "preference for Windows", pod: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: ask(osKey, "In", "windows")},
		},
	}}}},
	{name: "affinity of other kinds", pod: corev1.PodSpec{Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{},
	}}},
	{name: "empty fields", pod: corev1.PodSpec{
		NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}, Affinity: &corev1.Affinity{},
		SecurityContext: &corev1.PodSecurityContext{}, InitContainers: []corev1.Container{},
	}},
	{name: "another annotation", runsOn: "linux"},
	{name: "annotation in capitals", runsOn: "Both"},
	{name: "namespace that selects nothing", namespace: "empty", pod: corev1.PodSpec{Tolerations: everywhere}},
}

// leftAlone select something, say something of Windows, or could not come to a Node with a taint.
var leftAlone = []row{
	{name: "no toleration", namespace: agents},
	{name: "tolerates a taint", namespace: agents, pod: corev1.PodSpec{Tolerations: []corev1.Toleration{
		{Key: "os", Operator: corev1.TolerationOpExists},
		{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule},
	}}},
	{name: "windows", pod: selecting(osKey, "windows")},
	{name: "linux", pod: selecting(osKey, "linux")},
	{name: "a system of no name", pod: selecting(osKey, "")},
	{name: "older label, linux", pod: selecting(betaKey, "linux")},
	{name: "build", pod: selecting(buildKey, "10.0.20348")},
	{name: "host", pod: selecting(hostKey, "win-0")},
	{name: "pool", pod: selecting("pool", "a")},
	{name: "architecture", pod: selecting(corev1.LabelArchStable, "amd64")},
	{name: "affinity to windows", pod: requiring(ask(osKey, "In", "windows"))},
	{name: "affinity to both", pod: requiring(ask(osKey, "In", "linux", "windows"))},
	{name: "affinity to no build", pod: requiring(ask(buildKey, "DoesNotExist"))},
	{name: "affinity to a pool", pod: requiring(ask("pool", "Exists"))},
	{name: "affinity to a name", pod: requiring(named("In", "win-0"))},
	{name: "affinity to more", pod: requiring(ask("size", "Gt", "3"))},
	{name: "affinity to nothing", pod: requiring(corev1.NodeSelectorTerm{})},
	{name: "os", pod: corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Windows}}},
	{name: "options of the pod", pod: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{WindowsOptions: asUser}}},
	{name: "empty options", pod: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{
		WindowsOptions: &corev1.WindowsSecurityContextOptions{},
	}}},
	{name: "options of a container", pod: corev1.PodSpec{
		Containers: []corev1.Container{container("a", nil), container("b", asUser)},
	}},
	{name: "options of an init container", pod: corev1.PodSpec{
		Containers: []corev1.Container{container("a", nil)}, InitContainers: []corev1.Container{container("b", asUser)},
	}},
	{name: "class", pod: corev1.PodSpec{RuntimeClassName: new("kata")}},
	{name: "both", runsOn: "both"},
	{name: "both, for all Nodes", runsOn: "both", namespace: agents, pod: corev1.PodSpec{Tolerations: everywhere}},
	{name: "name of a Node", pod: corev1.PodSpec{NodeName: "win-0"}},
	{name: "more tolerations than are read", pod: corev1.PodSpec{Tolerations: slices.Repeat(everywhere, 1001)}},
	{name: "namespace that selects Windows", namespace: "selecting", pod: corev1.PodSpec{Tolerations: everywhere}},
	{name: "project that selects Windows", namespace: "project", pod: corev1.PodSpec{Tolerations: everywhere}},
}

// selectors are the annotations by which namespaces select Nodes for their pods.
var selectors = map[string]map[string]string{
	"selecting": {"scheduler.alpha.kubernetes.io/node-selector": "kubernetes.io/os=windows"},
	"project":   {"openshift.io/node-selector": "kubernetes.io/os=windows"},
	"empty":     {"openshift.io/node-selector": ""},
}

func selecting(key, value string) corev1.PodSpec {
	return corev1.PodSpec{NodeSelector: map[string]string{key: value}}
}

func requiring(terms ...corev1.NodeSelectorTerm) corev1.PodSpec {
	return corev1.PodSpec{Affinity: affine(terms...)}
}

func named(operator corev1.NodeSelectorOperator, name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: operator, Values: []string{name}},
	}}
}

var asUser = &corev1.WindowsSecurityContextOptions{RunAsUserName: new("ContainerUser")}

func container(name string, options *corev1.WindowsSecurityContextOptions) corev1.Container {
	made := corev1.Container{Name: name, Image: "registry.k8s.io/pause:3.10"}
	if options != nil {
		made.SecurityContext = &corev1.SecurityContext{WindowsOptions: options}
	}
	return made
}

var kinds = []string{"DaemonSet", "Deployment", "StatefulSet"}

// rows: each template as each kind gets the selector, or the server warns of it; or it stays as it is, without a word.
func (p *policed) rows() {
	p.Helper()
	for name, annotations := range selectors {
		expect.OK(p, p.api.Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}))
	}
	for wanted, rows := range map[bool][]row{true: toLinux, false: leftAlone} {
		for i, r := range rows {
			for _, kind := range kinds {
				p.row(r, workload(kind, orKubeSystem(r.namespace), fmt.Sprintf("row-%d", i), *r.pod.DeepCopy()), wanted)
			}
		}
	}
	unnamed := workload("DaemonSet", agents, "", corev1.PodSpec{Tolerations: everywhere})
	unnamed.SetGenerateName("agent-")
	p.row(row{name: "a name that the server makes"}, unnamed, true)
	p.Logf("%d templates of each kind get the selector, %d are left alone", len(toLinux), len(leftAlone))
}

func (p *policed) row(r row, object client.Object, wanted bool) {
	p.Helper()
	if r.runsOn != "" {
		object.SetAnnotations(map[string]string{"capwin.io/runs-on": r.runsOn})
	}
	selector := maps.Clone(template(object).Spec.NodeSelector)
	got, warned := p.try(p.ctx, object)
	if p.wants(got, warned) != wanted && selector[osKey] != "linux" {
		p.Errorf("%s (%T): wanted on Linux: %t, want %t; warned of %v", r.name, object, !wanted, wanted, warned)
	}
	if wanted && p.mutates {
		if selector == nil {
			selector = map[string]string{}
		}
		selector[osKey] = "linux"
	}
	if now := template(got).Spec.NodeSelector; !maps.Equal(selector, now) {
		p.Errorf("%s (%T): the selector is %v, want %v", r.name, object, now, selector)
	}
	if p.mutates && wantsLinux(warned) {
		p.Errorf("%s (%T): warned of what was changed: %v", r.name, object, warned)
	}
}

func orKubeSystem(namespace string) string {
	if namespace == "" {
		return metav1.NamespaceSystem
	}
	return namespace
}

// windowsPods: the server warns of what is for Windows and stays Pending on tainted Nodes.
func (p *policed) windowsPods() {
	p.Helper()
	const pending = "add tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]"
	tolerating := func(pod corev1.PodSpec, one corev1.Toleration) corev1.PodSpec {
		pod.Tolerations = []corev1.Toleration{one}
		return pod
	}
	placed := selecting(osKey, "windows")
	placed.NodeName = "win-1"
	classed := corev1.PodSpec{RuntimeClassName: new("windows-2022")}
	for _, c := range []struct {
		name string
		pod  corev1.PodSpec
		want []string
	}{
		{"linux", selecting(osKey, "linux"), nil},
		{"on both", requiring(ask(osKey, "In", "linux", "windows")), nil},
		{"on one of two", requiring(ask(osKey, "In", "windows"), ask("pool", "In", "a")), nil},
		{"windows", selecting(osKey, "windows"), []string{pending}},
		{"windows, with the API server's toleration", tolerating(selecting(osKey, "windows"), corev1.Toleration{
			Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists,
		}), []string{pending}},
		{"windows, with one of another cloud", tolerating(selecting(osKey, "windows"), corev1.Toleration{
			Key: "node.kubernetes.io/os", Operator: corev1.TolerationOpExists,
		}), nil},
		{"windows, with all", tolerating(selecting(osKey, "windows"), corev1.Toleration{Operator: corev1.TolerationOpExists}), nil},
		{"windows, on a Node", placed, nil},
		{"older label", selecting(betaKey, "windows"), []string{pending}},
		{"build", selecting(buildKey, "10.0.20348"), []string{pending}},
		{"affinity", requiring(ask(osKey, "In", "windows"), ask(buildKey, "Exists")), []string{pending}},
		{"options", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{WindowsOptions: asUser}}, []string{pending}},
		{"named", corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Windows}}, []string{pending}},
	} {
		for _, kind := range allKinds {
			p.warnsOfWindows(c.name, kind, c.pod, c.want...)
			taint := corev1.Toleration{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
			p.warnsOfWindows(c.name+", tolerant", kind, tolerating(c.pod, taint))
		}
	}
	for _, kind := range allKinds { // the class may tolerate for all but these
		var want []string
		if kind == "DaemonSet" || kind == "Pod" {
			want = []string{pending}
		}
		p.warnsOfWindows("class", kind, classed, want...)
	}
	owned := ofAnyKind("Pod", selecting(osKey, "windows"))
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "x", UID: "y"}})
	_, warned := p.try(p.ctx, owned)
	expect.Same(p, "warnings of what a controller makes", []string(nil), warned)
}

// allKinds are those whose pods the policy looks at.
var allKinds = append([]string{"Pod", "Job", "CronJob"}, kinds...)

// warnsOfWindows: a write of such a kind gets these warnings about Windows, and no other.
func (p *policed) warnsOfWindows(name, kind string, pod corev1.PodSpec, want ...string) {
	p.Helper()
	_, warned := p.try(p.ctx, ofAnyKind(kind, *pod.DeepCopy()))
	said, missing := strings.Join(warned, "\n"), false
	for _, one := range want {
		missing = missing || !strings.Contains(said, one)
	}
	if got := strings.Count(said, "ValidatingAdmissionPolicy 'capwin-windows-pods'"); missing || got != len(want) {
		p.Errorf("%s as %s: warned of %q, want %q", name, kind, said, want)
	}
}

// ofAnyKind is one whose pods say no more than that.
func ofAnyKind(kind string, pod corev1.PodSpec) client.Object {
	meta := metav1.ObjectMeta{Namespace: agents, Name: "kind"}
	if len(pod.Containers) == 0 {
		pod.Containers = []corev1.Container{container("main", nil)}
	}
	once := batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: *pod.DeepCopy()}}
	once.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	switch kind {
	case "Pod":
		return &corev1.Pod{ObjectMeta: meta, Spec: pod}
	case "Job":
		return &batchv1.Job{ObjectMeta: meta, Spec: once}
	case "CronJob":
		return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
			Schedule: "0 0 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: once},
		}}
	}
	return workload(kind, agents, "kind", pod)
}
