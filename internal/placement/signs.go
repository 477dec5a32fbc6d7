package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// sign says by what the pod tells that it is for Windows, where it comes to this Node. It is empty if nothing does: what Linux
// Nodes meet as well is no sign, and neither is a toleration.
func (p *pod) sign(n *Node) string {
	spec := &p.object.Spec
	switch {
	case spec.OS != nil && spec.OS.Name == corev1.Linux:
		return "" // whatever else it says
	case spec.OS != nil && spec.OS.Name == corev1.Windows:
		return "spec.os.name is windows"
	case hasWindowsOptions(spec):
		return "it has windowsOptions"
	case p.workload.Annotations[RunsOnAnnotation] == RunsOnBoth:
		return "it has the annotation " + RunsOnAnnotation + ": " + RunsOnBoth
	case spec.NodeName != "" && spec.NodeName == n.Name && p.fits(n):
		return "spec.nodeName is " + Named(n.Name)
	}
	for _, r := range p.selects {
		if r.namesWindows(n) {
			return "it selects " + r.text
		}
	}
	for _, t := range p.terms {
		if at := slices.IndexFunc(t.requirements, func(r requirement) bool { return r.namesWindows(n) }); at >= 0 && t.matches(n) {
			return "its required node affinity has " + t.requirements[at].text
		}
	}
	return ""
}

func hasWindowsOptions(spec *corev1.PodSpec) bool {
	if spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil {
		return true
	}
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
		return c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil
	})
}

// term is one of those of a required node affinity: all its requirements must be met.
type term struct{ requirements []requirement }

func (t term) matches(n *Node) bool {
	return len(t.requirements) > 0 && !slices.ContainsFunc(t.requirements, func(r requirement) bool { return !r.met(n) })
}

// requirement is one that a pod has of Nodes.
type requirement struct {
	key, text string
	selector  *nodeaffinity.LazyErrorNodeSelector
	node      *corev1.Node // the pod's
	// byName: it names Windows, whatever the labels of Nodes are.
	byName bool
	// onLinux: a Linux Node of the cluster meets it, or may.
	onLinux bool
}

func (p *pod) readRequirements() {
	selector := p.object.Spec.NodeSelector
	for _, key := range sortedKeys(selector) {
		one := corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{selector[key]}}
		p.selects = append(p.selects, p.requirement(one, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{one},
		}))
	}
	required := requiredOf(p.object)
	if required == nil {
		return
	}
	for _, t := range required.NodeSelectorTerms {
		var read term
		for _, one := range t.MatchExpressions {
			read.requirements = append(read.requirements, p.requirement(one, corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{one},
			}))
		}
		for _, one := range t.MatchFields {
			read.requirements = append(read.requirements, p.requirement(one, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{one},
			}))
		}
		p.terms = append(p.terms, read)
	}
}

// requirement reads one; alone is a term that has nothing else.
func (p *pod) requirement(one corev1.NodeSelectorRequirement, alone corev1.NodeSelectorTerm) requirement {
	r := requirement{key: one.Key, text: textOf(one), byName: namesWindows(one), node: p.node}
	r.selector = nodeaffinity.NewLazyErrorNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{alone}})
	// Where no Linux Node is known, labels but those of the system say nothing.
	silent := len(p.cluster.Linux) == 0 && one.Key != corev1.LabelOSStable && one.Key != betaOS
	r.onLinux = silent || slices.ContainsFunc(p.cluster.Linux, func(n Node) bool { return r.met(&n) })
	return r
}

// met says whether a Node meets it, or may once all its labels are known.
func (r requirement) met(n *Node) bool {
	return slices.Contains(n.Unknown, r.key) || n.matches(r.node, r.selector)
}

// namesWindows says whether the requirement, met by this Node, tells that Windows is meant: it says so, or no Linux Node meets
// it.
func (r requirement) namesWindows(n *Node) bool {
	return r.met(n) && (r.byName || !r.onLinux && !r.met(asLinux(n)))
}

func namesWindows(r corev1.NodeSelectorRequirement) bool {
	switch r.Key {
	case corev1.LabelOSStable, betaOS:
		return r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, windows)
	case corev1.LabelWindowsBuild:
		return r.Operator != corev1.NodeSelectorOpNotIn && r.Operator != corev1.NodeSelectorOpDoesNotExist
	}
	return false
}

// common are the labels with which each Node says what and where it is, whatever its system: a pod for one zone is not for
// Windows because the only Node there runs Windows.
var common = append([]string{corev1.LabelArchStable, betaArch}, ofCloud...)

// asLinux is the Node that such a machine would be with Linux: what is common stays as it is.
func asLinux(n *Node) *Node {
	labels := maps.Clone(n.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return !slices.Contains(common, key) })
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelOSStable], labels[betaOS] = linux, linux
	unknown := slices.DeleteFunc(slices.Clone(n.Unknown), func(key string) bool { return !slices.Contains(common, key) })
	return &Node{Name: "-", Labels: labels, Unknown: unknown} // a pod may select a Node by its name, and this has none
}

// textOf writes a requirement as kubectl does.
func textOf(r corev1.NodeSelectorRequirement) string {
	key, operator, values := Named(r.Key), Named(string(r.Operator)), allNamed(r.Values)
	switch {
	case r.Operator == corev1.NodeSelectorOpIn && len(values) == 1:
		return key + "=" + values[0]
	case len(values) == 0:
		return fmt.Sprintf("%s %s", key, operator)
	}
	return fmt.Sprintf("%s %s (%s)", key, operator, strings.Join(values, ", "))
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
