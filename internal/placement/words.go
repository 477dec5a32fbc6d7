package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// toldLands says how pods come to the first of the Nodes, and why nothing keeps them off.
func (p *pod) toldLands(reasons []reason) Finding {
	all := names(reasons)
	return Finding{
		Verdict: Lands, Problem: PodsLand, Nodes: all, Mend: p.onLinuxCommand(), Allow: p.allowCommand(),
		Why: fmt.Sprintf("%s may run on Windows (%s): %s, and %s; add the nodeSelector %s: %s to its pod template",
			p.workload, listOf(all, len(reasons)), p.getsTo(reasons[0].node), p.saysNothing(), corev1.LabelOSStable,
			linux) + p.leavesOutName(),
	}
}

// getsTo says what of the pod passes the taints of a Node.
func (p *pod) getsTo(n *Node) string {
	if name := p.object.Spec.NodeName; name != "" {
		return fmt.Sprintf("spec.nodeName binds its pods to %s", Named(name))
	}
	var passes []string
	for i := range n.Taints {
		taint := &n.Taints[i]
		if !keepsAway(taint) {
			continue
		}
		at := slices.IndexFunc(p.object.Spec.Tolerations, func(t corev1.Toleration) bool {
			_, kept := untolerated([]corev1.Taint{*taint}, []corev1.Toleration{t})
			return !kept
		})
		passes = append(passes, fmt.Sprintf("its toleration of %s passes the taint %s",
			tolerated(p.object.Spec.Tolerations[at]), taintText(taint)))
	}
	if len(passes) == 0 {
		return fmt.Sprintf("%s has no taint that keeps pods off", Named(n.Name))
	}
	return list(passes)
}

// saysNothing says why what the pod selects does not keep it off.
func (p *pod) saysNothing() string {
	spec := &p.object.Spec
	var selects []string
	for _, r := range p.selects {
		selects = append(selects, r.text)
	}
	for _, t := range p.terms {
		for _, r := range t.requirements {
			selects = append(selects, r.text)
		}
	}
	switch {
	case spec.OS != nil && spec.OS.Name == corev1.Linux:
		return "spec.os.name: linux does not keep them off, as the scheduler does not look at it"
	case spec.NodeName != "" && len(selects) > 0:
		return "the scheduler is not asked whether the Node has what they select"
	case len(selects) > 0:
		return "Windows Nodes, too, have what it selects (" + list(selects) + ")"
	}
	return "it selects no operating system"
}

func (p *pod) leavesOutName() string {
	if p.object.Spec.NodeName == "" {
		return ""
	}
	return ", and remove spec.nodeName"
}

// toldMeant says by what the workload is for Windows.
func (p *pod) toldMeant(reasons []reason) Finding {
	return Finding{
		Verdict: ForWindows, Nodes: names(reasons), Why: fmt.Sprintf("%s is for Windows: %s", p.workload, reasons[0].text),
	}
}

// toldAway says what keeps the pods off. Those of a workload for Windows need a toleration.
func (p *pod) toldAway(reasons []reason) Finding {
	finding := Finding{Verdict: StaysAway}
	if len(reasons) == 0 {
		finding.Why = p.workload.String() + " stays away from Windows Nodes: there are none"
		return finding
	}
	pending := slices.IndexFunc(reasons, func(r reason) bool { return r.text != "" && r.kept.taint != nil })
	if pending >= 0 {
		r := reasons[pending]
		finding.Why = fmt.Sprintf("%s is for Windows (%s), but no Windows Node takes its pods: "+
			"they do not tolerate the taint %s of %s; add a toleration to its pod template",
			p.workload, r.text, taintText(r.kept.taint), Named(r.node.Name))
		finding.Mend = p.tolerateCommand(r.node)
		return finding
	}
	var keeps []string
	for _, r := range reasons {
		if text := p.keeps(r); !slices.Contains(keeps, text) {
			keeps = append(keeps, text)
		}
	}
	finding.Why = fmt.Sprintf("%s stays away from Windows Nodes: %s", p.workload, list(keeps))
	return finding
}

// keeps says what keeps the pod off one Node.
func (p *pod) keeps(r reason) string {
	switch {
	case r.kept.name != "":
		return "spec.nodeName is " + Named(r.kept.name)
	case r.kept.taint != nil:
		return "nothing but the taint " + taintText(r.kept.taint) + " keeps its pods off"
	}
	at := slices.IndexFunc(p.selects, func(one requirement) bool { return !one.met(r.node) })
	if at >= 0 {
		return "it selects " + p.selects[at].text
	}
	return "its required node affinity selects other Nodes"
}

// tolerated says what a toleration is for, in the form of a taint.
func tolerated(t corev1.Toleration) string {
	switch {
	case t.Key == "" && t.Effect == "":
		return "every taint"
	case t.Key == "":
		return fmt.Sprintf("every %s taint", Named(string(t.Effect)))
	}
	text := Named(t.Key)
	if t.Operator != corev1.TolerationOpExists {
		text += "=" + Named(t.Value)
	}
	if t.Effect != "" {
		text += ":" + Named(string(t.Effect))
	}
	return text
}

// most is how many things a sentence names.
const most = 3

func list(all []string) string { return listOf(all, len(all)) }

// listOf names the first of so many.
func listOf(first []string, of int) string {
	if of > most {
		return fmt.Sprintf("%s and %d more", strings.Join(first[:most], ", "), of-most)
	}
	return strings.Join(first, ", ")
}
