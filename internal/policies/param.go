package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ParamNamespace and ParamName are where the policies look for the param.
const (
	ParamNamespace = metav1.NamespaceSystem
	ParamName      = "capwin-linux-first"
)

// The keys of the param. Each has one item a line, as CEL can split a text, and a label's key is no key of a ConfigMap.
const (
	labelsKey  = "windowsLabels"
	classesKey = "runtimeClasses"
	sparedKey  = "spared"
)

// Params is what the policies are told of a cluster.
type Params struct {
	// WindowsLabels are labels that Windows Nodes have, or will have, and no Linux Node has, as WindowsLabels returns them: a pod
	// that selects one of them is for Windows.
	WindowsLabels map[string][]string
	// RuntimeClasses are the names of those that select Windows Nodes, as WindowsClasses returns them.
	RuntimeClasses []string
	// Spared had Ready pods on Windows Nodes when the mutating policy was first written. SparedKnown says that this was found out,
	// even if there was none: it must not be found out again.
	Spared      []Ref
	SparedKnown bool
}

// Ref is a workload.
type Ref struct{ Kind, Namespace, Name string }

// String is what the policies call it: DaemonSet/kube-system/kube-proxy.
func (r Ref) String() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// Param is the object with the params. The same params make the same object, in whatever order they come.
func Param(p Params) *corev1.ConfigMap {
	var labels, spared []string
	for key, values := range p.WindowsLabels {
		for _, value := range values {
			labels = append(labels, key+"="+value)
		}
	}
	for _, ref := range p.Spared {
		spared = append(spared, ref.String())
	}
	data := map[string]string{labelsKey: lines(labels), classesKey: lines(slices.Clone(p.RuntimeClasses))}
	if p.SparedKnown || len(spared) > 0 {
		data[sparedKey] = lines(spared)
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ParamNamespace, Name: ParamName, Labels: map[string]string{Label: LabelValue, managedByLabel: managedBy},
		},
		Data: data,
	}
}

func lines(items []string) string {
	slices.Sort(items)
	return strings.Join(slices.Compact(items), "\n")
}

// ReadParams reads what Param wrote.
func ReadParams(object *corev1.ConfigMap) (Params, error) {
	var p Params
	labels := split(object.Data[labelsKey])
	if len(labels) > mostLabels {
		return Params{}, unreadable(object, labelsKey, labels[mostLabels], fmt.Sprintf("at most %d lines", mostLabels))
	}
	for _, line := range labels {
		key, value, found := strings.Cut(line, "=")
		if !found || key == "" {
			return Params{}, unreadable(object, labelsKey, line, "KEY=VALUE of a label")
		}
		if p.WindowsLabels == nil {
			p.WindowsLabels = map[string][]string{}
		}
		p.WindowsLabels[key] = append(p.WindowsLabels[key], value)
	}
	p.RuntimeClasses = split(object.Data[classesKey])
	spared, known := object.Data[sparedKey]
	refs, wrong := readRefs(spared)
	if wrong != "" {
		return Params{}, unreadable(object, sparedKey, wrong, "KIND/NAMESPACE/NAME of a workload")
	}
	p.Spared, p.SparedKnown = refs, known
	return p, nil
}

// longestRef is as much as is shown of what is no workload.
const longestRef = 400

// readRefs reads workloads, and returns the first line that is none.
func readRefs(text string) (refs []Ref, wrong string) {
	if len(text) > maxTold {
		return nil, text[:min(len(text), longestRef)] // Param never has more to spare
	}
	for _, line := range split(text) {
		parts := strings.Split(line, "/")
		if len(parts) != 3 || slices.Contains(parts, "") {
			return nil, line
		}
		refs = append(refs, Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]})
	}
	return refs, ""
}

func split(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}

func unreadable(object *corev1.ConfigMap, key, line, want string) error {
	return fmt.Errorf("ConfigMap %s/%s: data.%s has the line %q, want %s", object.Namespace, object.Name, key, line, want)
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
