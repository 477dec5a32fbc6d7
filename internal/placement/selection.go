package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// selection is what a pod requires of a Node, by its nodeSelector and its required node affinity.
type selection struct {
	// alternatives are the terms of the affinity, each with the nodeSelector; without an affinity, the nodeSelector alone.
	alternatives []alternative
	// node is for questions to the scheduler's code, which wants a whole object: one for all questions.
	node *corev1.Node
}

// alternative is met by a Node that meets all its requirements.
type alternative struct {
	requirements []requirement
	// onLinux: a Linux Node of the cluster meets it.
	onLinux bool
}

// requirement is one that a pod has of a label or the name of a Node.
type requirement struct {
	corev1.NodeSelectorRequirement

	// selector is the scheduler's code for it alone.
	selector interface {
		Match(node *corev1.Node) (bool, error)
	}
}

func selectionOf(spec *corev1.PodSpec) selection {
	s := selection{node: &corev1.Node{}}
	var selects []requirement
	for _, key := range sortedKeys(spec.NodeSelector) {
		value := spec.NodeSelector[key]
		selects = append(selects, requirement{
			corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
			nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{key: value}}}),
		})
	}
	required := requiredOf(spec)
	if required == nil {
		s.alternatives = []alternative{{requirements: selects}}
		return s
	}
	for _, term := range required.NodeSelectorTerms {
		requirements := slices.Clone(selects)
		for _, expression := range term.MatchExpressions {
			single := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expression}}
			requirements = append(requirements, requirementOf(expression, single))
		}
		for _, field := range term.MatchFields {
			single := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{field}}
			requirements = append(requirements, requirementOf(field, single))
		}
		if len(requirements) > len(selects) { // a term without requirements selects nothing, as in the scheduler's code
			s.alternatives = append(s.alternatives, alternative{requirements: requirements})
		}
	}
	return s
}

func requiredOf(spec *corev1.PodSpec) *corev1.NodeSelector {
	if affinity := spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// requirementOf reads one; alone is a term that has nothing else.
func requirementOf(expression corev1.NodeSelectorRequirement, term corev1.NodeSelectorTerm) requirement {
	return requirement{expression, nodeaffinity.NewLazyErrorNodeSelector(&corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
	})}
}

// fits reports whether a Node is one that the pod selects.
func (s *selection) fits(n *Node) bool {
	return slices.ContainsFunc(s.alternatives, func(a alternative) bool { return s.unmet(a, n) == nil })
}

// unmet is the first requirement that a Node does not meet.
func (s *selection) unmet(a alternative, n *Node) *requirement {
	index := slices.IndexFunc(a.requirements, func(r requirement) bool { return !s.met(r, n) })
	if index < 0 {
		return nil
	}
	return &a.requirements[index]
}

// met reports whether a Node meets a requirement. A label that is not known yet may get any value.
func (s *selection) met(r requirement, n *Node) bool {
	s.node.Name, s.node.Labels = n.Name, n.Labels
	met, _ := r.selector.Match(s.node) // as in the scheduler, what cannot be read selects nothing
	return met || slices.Contains(n.Unknown, r.Key)
}

// textsOf are all requirements, each once.
func textsOf(alternatives ...alternative) (texts []string) {
	for _, a := range alternatives {
		for _, r := range a.requirements {
			if text := r.String(); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// String writes a requirement as kubectl does.
func (r requirement) String() string {
	key, operator, values := Named(r.Key), Named(string(r.Operator)), allNamed(r.Values)
	switch {
	case r.Operator == corev1.NodeSelectorOpIn && len(values) == 1:
		return key + "=" + values[0]
	case len(values) == 0:
		return key + " " + operator
	}
	return fmt.Sprintf("%s %s (%s)", key, operator, strings.Join(values, ", "))
}

// sign is by what the pod is for Windows, where it comes to this Node. It is empty if nothing shows that: neither what a Linux
// Node has as well is a sign, nor a toleration. An alternative counts as a whole: if each of its requirements is met by some
// Linux Node, but all of them by none, the pod is for Windows.
func (p *pod) sign(n *Node) string {
	switch os := p.spec.OS; {
	case os != nil && os.Name == corev1.Linux:
		return "" // whatever else it has
	case os != nil && os.Name == corev1.Windows:
		return "spec.os.name is windows"
	case hasWindowsOptions(&p.spec):
		return "it has windowsOptions"
	case p.workload.Annotations[RunsOnAnnotation] == RunsOnBoth:
		return "it has the annotation " + RunsOnAnnotation + ": " + RunsOnBoth
	case p.spec.NodeName != "" && p.spec.NodeName == n.Name && p.selection.fits(n):
		return "spec.nodeName is " + Named(n.Name)
	}
	return p.selects(n)
}

// selects is the sign in what the pod selects.
func (p *pod) selects(n *Node) string {
	for _, a := range p.selection.alternatives {
		fits := p.selection.unmet(a, n) == nil
		index := slices.IndexFunc(a.requirements, func(r requirement) bool { return r.namesWindows() && p.selection.met(r, n) })
		switch {
		case index >= 0 && (fits || p.spec.NodeName != ""): // a pod that names its Node need not fit
			return "it selects " + a.requirements[index].String()
		case fits && !a.onLinux && p.selection.unmet(a, p.cluster.asLinux(n)) != nil:
			return "it selects " + List(textsOf(a)) + ", which no Linux Node has"
		}
	}
	return ""
}

func hasWindowsOptions(spec *corev1.PodSpec) bool {
	ofAll := spec.SecurityContext
	return ofAll != nil && ofAll.WindowsOptions != nil ||
		slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
			return c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil
		})
}

// namesWindows reports whether a requirement that a Windows Node meets names Windows, whatever the labels of others are.
func (r requirement) namesWindows() bool {
	switch r.Key {
	case corev1.LabelOSStable, betaOS:
		return slices.Contains(r.Values, windows) // by In: the Node, which runs Windows, does not meet NotIn
	case corev1.LabelWindowsBuild:
		return r.Operator != corev1.NodeSelectorOpNotIn && r.Operator != corev1.NodeSelectorOpDoesNotExist
	}
	return false
}

// common are the labels that give each Node's architecture and place, whatever its system: a pod for one zone is not for Windows
// because the only Node there runs Windows.
var common = append([]string{corev1.LabelArchStable, betaArch}, ofCloud...)

// asLinux is the Node that such a machine would be with Linux: what is common stays as it is. Where no Linux Node is known, all
// but the system does: nobody knows which labels are for Windows alone.
func (c Cluster) asLinux(n *Node) *Node {
	differs := func(key string) bool { return len(c.Linux) > 0 && !slices.Contains(common, key) }
	similar := &Node{Name: n.Name, Labels: map[string]string{}, Unknown: slices.DeleteFunc(slices.Clone(n.Unknown), differs)}
	if len(c.Linux) > 0 {
		similar.Name = "-" // a pod may select a Node by its name, and this has none
	}
	maps.Copy(similar.Labels, n.Labels)
	maps.DeleteFunc(similar.Labels, func(key, _ string) bool { return differs(key) })
	similar.Labels[corev1.LabelOSStable], similar.Labels[betaOS] = linux, linux
	return similar
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
