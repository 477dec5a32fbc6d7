package placement

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// dnsLabel is what kubeadm gives the pods of cluster DNS, and what our policies look for.
const (
	dnsLabel = "k8s-app"
	dnsValue = "kube-dns"
)

const dnsService = "Service " + metav1.NamespaceSystem + "/kube-dns"

// ofDNS tells of cluster DNS that the policies do not know: they look for Deployments and DaemonSets of kube-system whose pods
// have the label of kubeadm's.
func (s Seen) ofDNS() (all []Finding) {
	if s.DNS == nil {
		return nil
	}
	if len(s.DNS) == 0 {
		return []Finding{{
			Of: dnsService, Problem: DNSNotKept,
			Why: dnsService + " has no selector, so nobody knows which pods are cluster DNS, and nothing keeps them on Linux; " +
				"see to it that their templates select kubernetes.io/os=linux",
		}}
	}
	pods, found := labels.SelectorFromSet(s.DNS), false
	for _, w := range s.Workloads {
		if w.Namespace != metav1.NamespaceSystem || !pods.Matches(labels.Set(w.Template.Labels)) {
			continue
		}
		if found = true; !isKeptDNS(w) {
			all = append(all, unkeptDNS(w))
		}
	}
	if !found {
		all = append(all, Finding{
			Of: dnsService, Problem: DNSNotKept,
			Why: fmt.Sprintf("%s selects %s, which no Deployment, DaemonSet or StatefulSet of kube-system has in its pod template, so "+
				"nothing keeps cluster DNS on Linux; see to it that its pods select kubernetes.io/os=linux", dnsService, labelsText(s.DNS)),
		})
	}
	return all
}

// labelsText writes labels as kubectl does, always in the same order.
func labelsText(all map[string]string) string {
	var texts []string
	for _, key := range sortedKeys(all) {
		texts = append(texts, Named(key)+"="+Named(all[key]))
	}
	return strings.Join(texts, ",")
}

func isKeptDNS(w Workload) bool {
	return w.Kind != statefulSet && w.Template.Labels[dnsLabel] == dnsValue
}

const statefulSet = "StatefulSet"

func unkeptDNS(w Workload) Finding {
	finding := Finding{Of: "cluster DNS " + w.String(), Problem: DNSNotKept}
	why := fmt.Sprintf("its pod template has no label %s: %s", dnsLabel, dnsValue)
	switch {
	case w.Kind == statefulSet:
		why = "the policies know it as a Deployment or a DaemonSet only"
	case w.Template.Labels[dnsLabel] != "":
		why = fmt.Sprintf("its pods have the label %s: %s instead of %s", dnsLabel, Named(w.Template.Labels[dnsLabel]), dnsValue)
	default:
		finding.Mend = w.kubectl("patch", "--type merge -p "+quoted(map[string]any{
			"spec": map[string]any{"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]string{dnsLabel: dnsValue}},
			}},
		}))
	}
	finding.Why = fmt.Sprintf("%s is cluster DNS, and no policy refuses an update that takes its Linux selection away: %s; "+
		"keep kubernetes.io/os=linux in its pod template", w, strings.TrimSpace(why))
	return finding
}
