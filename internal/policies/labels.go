package policies

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Any stands for all values of a label's key and, in the place of the key, for all labels.
const Any = "*"

// The param is bounded, as each look into it costs what an API server limits. What would be more becomes Any, so that the policy
// leaves more templates alone.
const (
	mostValues = 100  // of a key
	mostLabels = 1000 // with their values
)

// WindowsLabels are the labels by which a pod can say that it is for Windows: those that Windows Nodes have, and no Linux Node,
// by the rule of internal/placement. The value is Any where no Linux Node has the key. The labels of the system and the name of
// the Node are not among them: the policies know them.
func WindowsLabels(windows, linux []placement.Node) map[string][]string {
	onLinux := map[string]map[string]bool{}
	for i := range linux {
		for key, value := range linux[i].Labels {
			add(onLinux, key, value)
		}
	}
	found := map[string]map[string]bool{}
	for i := range windows {
		for key, value := range windows[i].Labels {
			if placement.SaysNothing(key) || isKnown(key) || onLinux[key][value] || isNoLabel(key, value) {
				continue
			}
			if onLinux[key] == nil {
				value = Any
			}
			add(found, key, value)
		}
		for _, key := range windows[i].Unknown {
			if !placement.SaysNothing(key) && !isKnown(key) && !isNoLabel(key, "") {
				add(found, key, Any)
			}
		}
	}
	return bounded(found)
}

// isNoLabel says that a param would be read with other labels: no API server of Kubernetes takes such a one.
func isNoLabel(key, value string) bool {
	return key == "" || strings.ContainsAny(key, "=\n") || strings.Contains(value, "\n")
}

func add(to map[string]map[string]bool, key, value string) {
	if to[key] == nil {
		to[key] = map[string]bool{}
	}
	to[key][value] = true
}

func bounded(found map[string]map[string]bool) map[string][]string {
	labels, total := map[string][]string{}, 0
	for key, values := range found {
		labels[key] = sorted(values)
		if values[Any] || len(values) > mostValues {
			labels[key] = []string{Any}
		}
		total += len(labels[key])
	}
	if total > mostLabels {
		return map[string][]string{Any: {Any}}
	}
	return labels
}

// isKnown says whether the policies know without a param what a pod says that selects the label.
func isKnown(key string) bool { return key == corev1.LabelHostname || placement.NamesSystem(key) }

// WindowsClasses are the names of the RuntimeClasses that select Windows Nodes, or may: some select one Node.
func WindowsClasses(classes []nodev1.RuntimeClass, windowsLabels map[string][]string) []string {
	found := map[string]bool{}
	for i := range classes {
		if classes[i].Scheduling == nil {
			continue
		}
		for key, value := range classes[i].Scheduling.NodeSelector {
			if selectsWindows(key, value, windowsLabels) {
				found[classes[i].Name] = true
			}
		}
	}
	return sorted(found)
}

func selectsWindows(key, value string, windowsLabels map[string][]string) bool {
	if isKnown(key) {
		return key == corev1.LabelHostname || placement.SelectsWindows(key, value)
	}
	values := slices.Concat(windowsLabels[key], windowsLabels[Any])
	return slices.Contains(values, value) || slices.Contains(values, Any)
}
