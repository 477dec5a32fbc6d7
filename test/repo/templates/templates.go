// Package templates writes random templates of pods, and the worlds of Windows Nodes that they are held against: what the verdict
// of internal/placement says of one, a real scheduler does, and the policies of internal/policies leave alone or change
// accordingly.
package templates

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Builds and pools of the Windows Nodes that random templates ask for.
var (
	builds = []string{"10.0.17763", "10.0.20348"}
	pools  = []string{"a", "b"}
)

// Classes are the RuntimeClasses of the cluster.
var Classes = []nodev1.RuntimeClass{
	class("windows", &nodev1.Scheduling{
		NodeSelector: map[string]string{corev1.LabelOSStable: "windows"},
		Tolerations: []corev1.Toleration{
			{Key: "os", Operator: corev1.TolerationOpEqual, Value: "windows", Effect: corev1.TaintEffectNoSchedule},
		},
	}),
	class("linux", &nodev1.Scheduling{NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}}),
	class("tolerant", &nodev1.Scheduling{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}),
	class("plain", nil),
}

func class(name string, scheduling *nodev1.Scheduling) nodev1.RuntimeClass {
	return nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: name, Scheduling: scheduling}
}

// LinuxNodes are two that a template may mean, beside the Windows Nodes.
var LinuxNodes = []placement.Node{
	{Name: "linux-0", Labels: map[string]string{
		corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux",
		corev1.LabelArchStable: "amd64", corev1.LabelHostname: "linux-0", "pool": "a", "size": "3",
	}},
	{Name: "linux-1", Labels: map[string]string{
		corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux",
		corev1.LabelArchStable: "arm64", corev1.LabelHostname: "linux-1", "gpu": "",
	}},
}

// Writer writes random templates. Each is one that an API server takes, but for what its RuntimeClass contradicts.
type Writer struct {
	*rand.Rand
	// Nodes are names of Nodes that it may mean.
	Nodes []string
}

// Workload is a workload of this name.
func (w Writer) Workload(name string) placement.Workload {
	spec := corev1.PodSpec{
		NodeSelector: w.selector(), Tolerations: w.tolerations(), Affinity: w.affinity(), HostNetwork: w.once(10),
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}},
	}
	if w.once(4) {
		spec.OS = &corev1.PodOS{Name: one(w, []corev1.OSName{corev1.Windows, corev1.Linux})}
	}
	if windows := spec.OS == nil || spec.OS.Name == corev1.Windows; windows && w.once(10) {
		options := &corev1.WindowsSecurityContextOptions{RunAsUserName: new("ContainerUser")}
		if w.once(2) {
			spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: options}
		} else {
			spec.Containers[0].SecurityContext = &corev1.SecurityContext{WindowsOptions: options}
		}
	}
	if w.once(7) {
		spec.RuntimeClassName = new(one(w, Classes).Name)
	}
	if w.once(25) {
		spec.NodeName = one(w, w.Nodes)
	}
	workload := placement.Workload{
		Kind: one(w, []string{"Deployment", "Deployment", "StatefulSet", "DaemonSet"}), Namespace: "default", Name: name,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: spec,
		},
	}
	if w.once(15) {
		workload.Annotations = map[string]string{placement.RunsOnAnnotation: one(w, []string{placement.RunsOnBoth, "linux"})}
	}
	return workload
}

// selector is that of a careless author, of one who knows that there is Windows, or anything.
func (w Writer) selector() map[string]string {
	selector := map[string]string{}
	switch w.IntN(8) {
	case 0, 1:
		selector[corev1.LabelOSStable] = "windows"
	case 2:
		selector[corev1.LabelOSStable] = "linux"
	case 3:
		selector[one(w, []string{"beta.kubernetes.io/os", "kubernetes.io/os"})] = one(w, []string{"windows", "linux"})
	}
	if w.once(6) {
		selector["pool"] = one(w, pools)
	}
	if w.once(12) {
		selector[corev1.LabelWindowsBuild] = one(w, builds)
	}
	if w.once(20) {
		selector[corev1.LabelHostname] = one(w, w.Nodes)
	}
	if w.once(25) {
		selector["gpu"] = ""
	}
	if len(selector) == 0 {
		return nil
	}
	return selector
}

// usual are tolerations that people write.
var usual = []corev1.Toleration{
	{Operator: corev1.TolerationOpExists},
	{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: "os", Operator: corev1.TolerationOpExists},
	{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule},
	{Key: "os", Operator: corev1.TolerationOpEqual, Value: "windows"},
	{Key: "os", Value: "Windows", Effect: corev1.TaintEffectNoSchedule},
	{Key: "dedicated", Operator: corev1.TolerationOpExists},
	{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoExecute},
	{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
	{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
	{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
}

func (w Writer) tolerations() []corev1.Toleration {
	var all []corev1.Toleration
	switch w.IntN(4) {
	case 0:
		all = append(all, usual[w.IntN(2)])
	case 1:
		all = append(all, usual[4])
	}
	for range w.IntN(3) {
		all = append(all, one(w, usual))
	}
	return all
}

func (w Writer) affinity() *corev1.Affinity {
	if !w.once(3) {
		return nil
	}
	affinity := &corev1.NodeAffinity{}
	if w.once(4) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
			{Weight: 50, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{w.expression()}}},
		}
	}
	required := &corev1.NodeSelector{}
	for range 1 + w.IntN(2) {
		term := corev1.NodeSelectorTerm{}
		for range w.IntN(3) {
			term.MatchExpressions = append(term.MatchExpressions, w.expression())
		}
		if w.once(6) {
			term.MatchFields = []corev1.NodeSelectorRequirement{{
				Key: "metadata.name", Operator: one(w, fieldOperators), Values: []string{one(w, w.Nodes)},
			}}
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
	affinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return &corev1.Affinity{NodeAffinity: affinity}
}

var (
	fieldOperators = []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}
	setOperators   = append(slices.Clone(fieldOperators), corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)
)

// values are those that an expression may ask of a label, that of no Node among them.
func (w Writer) values() map[string][]string {
	return map[string][]string{
		corev1.LabelOSStable: {"windows", "linux", "darwin"}, "beta.kubernetes.io/os": {"windows", "linux"},
		corev1.LabelArchStable: {"amd64", "arm64"}, corev1.LabelWindowsBuild: append(builds, "10.0.26100"),
		corev1.LabelHostname: w.Nodes, "pool": append(pools, "c"), "gpu": {"", "large"},
	}
}

func (w Writer) expression() corev1.NodeSelectorRequirement {
	if w.once(6) {
		operator := one(w, []corev1.NodeSelectorOperator{corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt})
		return corev1.NodeSelectorRequirement{Key: "size", Operator: operator, Values: []string{fmt.Sprint(w.IntN(6))}}
	}
	values := w.values()
	keys := []string{corev1.LabelOSStable, corev1.LabelOSStable}
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys) // the order of a map would make each run another one
	key := one(w, keys)
	r := corev1.NodeSelectorRequirement{Key: key, Operator: one(w, setOperators)}
	if r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn {
		for range 1 + w.IntN(2) {
			r.Values = append(r.Values, one(w, values[key]))
		}
	}
	return r
}

// once is true in one of so many cases.
func (w Writer) once(cases int) bool { return w.IntN(cases) == 0 }

func one[V any](w Writer, of []V) V { return of[w.IntN(len(of))] }
