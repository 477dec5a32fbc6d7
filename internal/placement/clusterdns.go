package placement

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	dnsService = "Service " + metav1.NamespaceSystem + "/kube-dns"
	// dnsLabel is what kubeadm gives the pods of cluster DNS, and what our policies look for.
	dnsLabel, dnsValue = "k8s-app", "kube-dns"
	// mostUnkept are the workloads of cluster DNS that are reported. No cluster has as many.
	mostUnkept = 200
)

// takeDNS notes a workload of cluster DNS. The policies look for Deployments and DaemonSets of kube-system whose pods have the
// label of kubeadm's.
func (s *Seen) takeDNS(w Workload) {
	if w.Namespace != metav1.NamespaceSystem || len(s.DNS) == 0 ||
		!labels.SelectorFromSet(s.DNS).Matches(labels.Set(w.Template.Labels)) {
		return
	}
	s.hasDNS = true
	kept := w.Kind != "StatefulSet" && w.Template.Labels[dnsLabel] == dnsValue
	if kept || len(s.unkept) >= mostUnkept {
		return
	}
	finding := Finding{Of: "cluster DNS " + w.String(), Problem: DNSNotKept, Why: fmt.Sprintf("%s is cluster DNS, and no policy "+
		"refuses an update that removes its Linux selection: the policies look for Deployments and DaemonSets whose pods have the "+
		"label %s: %s; keep kubernetes.io/os=linux in its pod template", w, dnsLabel, dnsValue)}
	if w.Template.Labels[dnsLabel] == "" && w.Kind != "StatefulSet" {
		finding.Mend = w.patch(map[string]any{"metadata": map[string]any{"labels": map[string]string{dnsLabel: dnsValue}}})
	}
	s.unkept = append(s.unkept, finding)
}

func (s *Seen) ofDNS() []Finding {
	problem := " has no selector, so the pods of cluster DNS cannot be found, and nothing keeps them on Linux"
	switch {
	case s.DNS == nil || s.hasDNS:
		return s.unkept
	case len(s.DNS) > 0:
		problem = " selects no Deployment, DaemonSet or StatefulSet of kube-system, so nothing keeps cluster DNS on Linux"
	}
	return []Finding{{
		Of: dnsService, Problem: DNSNotKept, Why: dnsService + problem + "; see to it that its pods select kubernetes.io/os=linux",
	}}
}
