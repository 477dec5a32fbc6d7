package placement

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

const (
	// mostMinorsOlder is how much older than the API server a kube-proxy may be
	// (https://kubernetes.io/releases/version-skew-policy/#kube-proxy).
	mostMinorsOlder = 3
	// mostProxies are DaemonSets that run kube-proxy, of which the Nodes are kept. No cluster needs as many.
	mostProxies = 50

	service = "the Windows service kube-proxy"
)

// proxy is what runs kube-proxy on Windows Nodes: a DaemonSet, or the service of a Node.
type proxy struct {
	runner, version string
	nodes           []string
}

// imageVersion is the version that the tag of an image begins with: sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess.
var imageVersion = regexp.MustCompile(`:v?(\d+\.\d+\.\d+)[^/:@]*$`)

// takeProxy notes a DaemonSet of kube-proxy on the Nodes for which its pods are meant: one that lands does not run there, and is
// reported as what it is.
func (s *Seen) takeProxy(w Workload, meant []reason) {
	index := slices.IndexFunc(w.Template.Spec.Containers, bootstrap.RunsKubeProxy)
	if w.Kind != daemonSet || index < 0 || len(meant) == 0 || len(s.proxies) >= mostProxies {
		return
	}
	p := proxy{runner: w.String()}
	if found := imageVersion.FindStringSubmatch(w.Template.Spec.Containers[index].Image); found != nil {
		p.version = "v" + found[1]
	}
	for _, r := range meant {
		p.nodes = append(p.nodes, r.node.Name)
	}
	p.nodes = slices.Compact(p.nodes)
	s.proxies = append(s.proxies, p)
}

// wrong is what is wrong with the kube-proxy of Nodes. The sentence has the Nodes between its two parts.
type wrong struct {
	problem              Problem
	subject, begin, rest string
}

// ofProxies are findings on the Windows Nodes that are there. What counts is which DaemonSets make pods for a Node, not whether
// these run.
func (s *Seen) ofProxies() (findings []Finding) {
	byNode, found := s.proxiesOfNodes(), map[wrong][]string{}
	for _, node := range slices.Sorted(maps.Keys(s.Kubelets)) {
		for _, fault := range append(s.wrongNumber(node, byNode[node]), s.wrongVersions(byNode[node])...) {
			found[fault] = append(found[fault], node)
		}
	}
	for _, fault := range slices.SortedFunc(maps.Keys(found), func(a, b wrong) int {
		return cmp.Or(cmp.Compare(a.problem, b.problem), cmp.Compare(a.subject, b.subject))
	}) {
		nodes := found[fault]
		named := allNamed(nodes[:min(len(nodes), mostNodes)])
		findings = append(findings, Finding{
			Of: fault.subject, Problem: fault.problem, Nodes: named,
			Why: fmt.Sprintf("%s Windows Nodes (%s)%s", fault.begin, listOf(named, len(nodes)), fault.rest),
		})
	}
	return findings
}

// proxiesOfNodes are those of each Windows Node.
func (s *Seen) proxiesOfNodes() map[string][]proxy {
	byNode := map[string][]proxy{}
	for _, n := range s.Windows {
		if n.Labels[bootstrap.LabelKubeProxy] == bootstrap.LabelService {
			byNode[n.Name] = []proxy{{runner: service, version: s.Kubelets[n.Name]}}
		}
	}
	for _, p := range s.proxies {
		for _, node := range p.nodes {
			byNode[node] = append(byNode[node], p)
		}
	}
	return byNode
}

// missing is what brings a kube-proxy to Nodes without one.
var missing = map[bootstrapv1.KubeProxyRun]string{
	bootstrapv1.KubeProxyDaemonSet: "no DaemonSet that runs one makes pods for them, so Services do not work there; " +
		"clusterctl windows addons prints the one that they need, and kubeProxy.run: None in their config declares that none is needed",
	bootstrapv1.KubeProxyService: "by their config it is a service of the node, but the Nodes have no label " +
		bootstrap.LabelKubeProxy + "=" + bootstrap.LabelService + ", so they joined without it or lost the label; replace " +
		"their Machines",
}

// wrongNumber reports a Node with none, or with two.
func (s *Seen) wrongNumber(node string, proxies []proxy) []wrong {
	switch run, ok := s.ProxyRuns[node]; {
	case len(proxies) == 0 && !ok:
		return []wrong{{"", "kube-proxy", "kube-proxy is not seen on", ", and their configs are not known: with a CNI that does its " +
			"work, such as Antrea, that is right; with any other, Services do not work there"}}
	case len(proxies) == 0 && run != bootstrapv1.KubeProxyNone:
		return []wrong{{KubeProxyMissing, "kube-proxy: " + string(run), "kube-proxy is missing on", ": " + missing[run]}}
	case len(proxies) < 2:
		return nil
	}
	mend := "keep one of the two, and have the other leave out these Nodes" // nobody but their owner knows which to keep
	if proxies[0].runner == service {
		mend = "have the DaemonSet leave out Nodes with the label " + bootstrap.LabelKubeProxy + "=" + bootstrap.LabelService
	}
	pair := proxies[0].runner + " and " + proxies[1].runner
	return []wrong{{KubeProxyTwice, "kube-proxy: " + pair, "kube-proxy runs twice on", ": " + pair + "; each removes the other's " +
		"load balancers from HNS when it starts, and both need port 10256; " + mend}}
}

// wrongVersions compares with the API server. What has no version, such as an image with a digest alone, is not reported.
func (s *Seen) wrongVersions(proxies []proxy) (faults []wrong) {
	server, err := version.ParseGeneric(s.Version)
	if err != nil {
		return nil
	}
	for _, p := range proxies {
		parsed, err := version.ParseGeneric(p.version)
		problem, rule := KubeProxyTooNew, "it must not be newer"
		switch {
		case err == nil && parsed.Minor() > server.Minor():
		case err == nil && parsed.Minor()+mostMinorsOlder < server.Minor():
			problem, rule = KubeProxyTooOld, fmt.Sprintf("it may be at most %d minor versions older", mostMinorsOlder)
		default:
			continue
		}
		mend := "give the DaemonSet an image of the API server's version"
		if p.runner == service {
			mend = "the service has its kubelet's version, so give their Machines another one"
		}
		faults = append(faults, wrong{
			problem, fmt.Sprintf("kube-proxy: %s %s", p.runner, Named(p.version)), "kube-proxy of",
			fmt.Sprintf(" is %s (%s), and the API server is %s: %s; %s", Named(p.version), p.runner, Named(s.Version), rule, mend),
		})
	}
	return faults
}
