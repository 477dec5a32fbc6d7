package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// landing reports how pods come to the first of the Nodes, why nothing keeps them off, and what does.
func (p *pod) landing(reasons []reason) Finding {
	w, nodes := p.workload, names(reasons)
	finding := Finding{Of: w.String(), Verdict: Lands, Problem: PodsLand, Nodes: nodes, Why: fmt.Sprintf(
		"%s may run on Windows (%s): %s, and %s; add the nodeSelector %s: %s to its pod template", w, listOf(nodes, len(reasons)),
		p.getsTo(reasons[0].node), p.saysNothing(), corev1.LabelOSStable, linux)}
	spec := map[string]any{"nodeSelector": map[string]string{corev1.LabelOSStable: linux}}
	if p.spec.NodeName != "" {
		finding.Why += ", and remove spec.nodeName"
		spec["nodeName"] = nil
	}
	finding.Mend = w.patch(map[string]any{"spec": spec})
	if p.spec.OS == nil || p.spec.OS.Name != corev1.Linux { // else the annotation changes nothing
		finding.Allow = w.kubectl("annotate", "--overwrite "+RunsOnAnnotation+"="+RunsOnBoth)
	}
	return finding
}

// getsTo is what of the pod passes the first taint of a Node.
func (p *pod) getsTo(n *Node) string {
	if name := p.spec.NodeName; name != "" {
		return "spec.nodeName binds its pods to " + Named(name)
	}
	for i := range n.Taints {
		taint := &n.Taints[i]
		for _, t := range p.spec.Tolerations {
			if keepsAway(taint) && t.ToleratesTaint(logr.Discard(), taint, true) {
				return fmt.Sprintf("its toleration of %s passes the taint %s", tolerated(t), taintText(taint))
			}
		}
	}
	return Named(n.Name) + " has no taint that keeps pods off"
}

// saysNothing is why what the pod selects does not keep it off.
func (p *pod) saysNothing() string {
	spec, selects := &p.spec, textsOf(p.selection.alternatives...)
	switch {
	case spec.OS != nil && spec.OS.Name == corev1.Linux:
		return "spec.os.name: linux does not keep them off, as the scheduler does not look at it"
	case spec.NodeName != "" && len(selects) > 0:
		return "the scheduler does not check whether the Node has what they select"
	case len(selects) > 0:
		return "Windows Nodes, too, have what it selects (" + List(selects) + ")"
	}
	return "it selects no operating system"
}

// stayingAway reports what keeps the pods off. Those of a workload for Windows need a toleration.
func (p *pod) stayingAway(reasons []reason) Finding {
	pending := slices.IndexFunc(reasons, func(r reason) bool { return r.sign != "" })
	switch {
	case len(reasons) == 0:
		return p.workload.staysAway("there are none")
	case pending < 0:
		return p.workload.staysAway(p.keeps(reasons[0]))
	}
	r, subject := reasons[pending], p.workload.String()
	return Finding{Of: subject, Verdict: StaysAway, Pending: true, Why: fmt.Sprintf(
		"%s is for Windows (%s), but no Windows Node takes its pods: they do not tolerate the taint %s of %s; add %s to its pod "+
			"template", subject, r.sign, taintText(r.taint), Named(r.node.Name), tolerationOf(r.taint))}
}

func (w Workload) staysAway(cause string) Finding {
	return Finding{Of: w.String(), Verdict: StaysAway, Why: w.String() + " stays away from Windows Nodes: " + cause}
}

// tolerationOf writes the toleration of a taint as YAML, if the taint is such as an API server takes.
func tolerationOf(t *corev1.Taint) string {
	text := fmt.Sprintf("the toleration {key: %q, value: %q, effect: %s}", Named(t.Key), Named(t.Value), Named(string(t.Effect)))
	if strings.Contains(text, notAName) {
		return "a toleration of it"
	}
	return text
}

// keeps is what keeps the pod off one Node.
func (p *pod) keeps(r reason) string {
	switch name := p.spec.NodeName; {
	case r.taint != nil:
		return "nothing but the taint " + taintText(r.taint) + " keeps its pods off"
	case name != "" && name != r.node.Name:
		return "spec.nodeName is " + Named(name)
	case len(p.selection.alternatives) == 0:
		return "its required node affinity selects no Node"
	}
	return "it selects " + p.selection.unmet(p.selection.alternatives[0], r.node).String()
}

// tolerated is what a toleration is for, in the form of a taint.
func tolerated(t corev1.Toleration) string {
	switch {
	case t.Key == "" && t.Effect == "":
		return "every taint"
	case t.Key == "":
		return "every " + Named(string(t.Effect)) + " taint"
	}
	return strings.TrimSuffix(taintText(&corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}), ":")
}

// maxListed is how many things a sentence names.
const maxListed = 3

// List names the first of them.
func List(items []string) string { return listOf(items, len(items)) }

// listOf names the first of so many.
func listOf(first []string, total int) string {
	if total > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(first[:maxListed], ", "), total-maxListed)
	}
	return strings.Join(first, ", ")
}
