package placement

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// mostMinorsOlder is how much older than the API server a kube-proxy may be
// (https://kubernetes.io/releases/version-skew-policy/#kube-proxy).
const mostMinorsOlder = 3

// proxy is a kube-proxy of a Windows Node: a service of the Node, or the pod that a DaemonSet makes for it.
type proxy struct {
	// set and image are empty for a service.
	set        *Workload
	container  string
	image, tag string
	version    string
}

func (p proxy) String() string {
	if p.set == nil {
		return "the Windows service kube-proxy"
	}
	return p.set.String()
}

// ofProxies tells of Windows Nodes that are there. What counts is which DaemonSets make pods for a Node, not whether these run.
func (s Seen) ofProxies() (all []Finding) {
	proxies := s.proxies()
	groups := groups{}
	for _, node := range slices.Sorted(maps.Keys(s.Kubelets)) {
		on := proxies[node]
		switch run, known := s.ProxyRuns[node]; {
		case len(on) == 0 && !known:
			groups.add(group{}, node)
		case len(on) == 0 && run != bootstrapv1.KubeProxyNone:
			groups.add(group{problem: KubeProxyMissing, of: string(run)}, node)
		case len(on) > 1:
			groups.add(group{problem: KubeProxyTwice, of: fmt.Sprintf("%s and %s", on[0], on[1])}, node)
		}
		for _, one := range on {
			if problem := s.skew(one.version); problem != "" {
				groups.add(group{problem: problem, of: one.String(), version: one.version}, node)
			}
		}
	}
	for _, g := range groups.sorted() {
		all = append(all, s.toldProxy(g, groups[g], proxies[groups[g][0]]))
	}
	return all
}

// group is Nodes of which the same is told.
type group struct {
	problem Problem
	// of is what runs kube-proxy, or should.
	of, version string
}

type groups map[group][]string

func (g groups) add(of group, node string) { g[of] = append(g[of], node) }

func (g groups) sorted() []group {
	return slices.SortedFunc(maps.Keys(g), func(a, b group) int {
		return strings.Compare(fmt.Sprint(a.problem, a.of, a.version), fmt.Sprint(b.problem, b.of, b.version))
	})
}

// proxies are those of each Windows Node that is there. A DaemonSet counts where it is for Windows: a kube-proxy that lands does
// not run there, and is told as what it is.
func (s Seen) proxies() map[string][]proxy {
	all := map[string][]proxy{}
	for _, n := range s.Windows {
		if kubelet, there := s.Kubelets[n.Name]; there && n.Labels[bootstrap.LabelKubeProxy] == bootstrap.LabelService {
			all[n.Name] = append(all[n.Name], proxy{version: kubelet})
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		at := slices.IndexFunc(w.Template.Spec.Containers, bootstrap.RunsKubeProxy)
		if w.Kind != daemonSet || at < 0 {
			continue
		}
		_, found, _ := s.sort(*w)
		for _, r := range found.meant {
			if _, there := s.Kubelets[r.node.Name]; there {
				all[r.node.Name] = append(all[r.node.Name], proxyOf(w, w.Template.Spec.Containers[at]))
			}
		}
	}
	return all
}

// imageVersion is the version that the tag of an image begins with: sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess.
var imageVersion = regexp.MustCompile(`:(v?(\d+\.\d+\.\d+))[^/:@]*$`)

// plainImage has no character that means something to a shell.
var plainImage = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

func proxyOf(w *Workload, c corev1.Container) proxy {
	p := proxy{set: w, container: c.Name, image: c.Image}
	if found := imageVersion.FindStringSubmatch(c.Image); found != nil {
		p.tag, p.version = found[1], "v"+found[2]
	}
	return p
}

// skew compares with the API server. What has no version, such as an image with a digest alone, is not told.
func (s Seen) skew(of string) Problem {
	server, err := version.ParseGeneric(s.Version)
	if err != nil {
		return ""
	}
	one, err := version.ParseGeneric(of)
	switch {
	case err != nil:
		return ""
	case one.Minor() > server.Minor():
		return KubeProxyTooNew
	case one.Minor()+mostMinorsOlder < server.Minor():
		return KubeProxyTooOld
	}
	return ""
}

// toldProxy says what is wrong with the kube-proxy of Nodes; on is that of the first.
func (s Seen) toldProxy(g group, nodes []string, on []proxy) Finding {
	finding := Finding{Problem: g.problem, Nodes: allNamed(nodes)}
	finding.Of = strings.TrimRight(fmt.Sprintf("kube-proxy: %s %s", g.of, Named(g.version)), ": ")
	which := fmt.Sprintf("Windows Nodes (%s)", list(finding.Nodes))
	switch g.problem {
	case KubeProxyMissing:
		finding.Why = fmt.Sprintf("kube-proxy is missing on %s: %s", which, missing[bootstrapv1.KubeProxyRun(g.of)])
	case KubeProxyTwice:
		finding.Why = fmt.Sprintf("kube-proxy runs twice on %s: %s; each removes the other's load balancers from HNS when it starts, "+
			"and both want port 10256", which, g.of)
		finding.Mend, finding.Why = onlyOne(finding.Why, on)
	case KubeProxyTooNew, KubeProxyTooOld:
		rule := "it must not be newer"
		if g.problem == KubeProxyTooOld {
			rule = fmt.Sprintf("it may be at most %d minor versions older", mostMinorsOlder)
		}
		finding.Why = fmt.Sprintf("kube-proxy of %s is %s (%s), and the API server is %s: %s", which, Named(g.version), g.of,
			Named(s.Version), rule)
		finding.Mend, finding.Why = s.otherVersion(finding.Why, g, nodes, on)
	default:
		finding.Why = fmt.Sprintf("kube-proxy is not seen on %s, and their configs are not known: with a CNI that does its work, such "+
			"as Antrea, that is right; with any other, Services do not work there", which)
	}
	return finding
}

// missing says what brings a kube-proxy to Nodes without one.
var missing = map[bootstrapv1.KubeProxyRun]string{
	bootstrapv1.KubeProxyDaemonSet: "no DaemonSet that runs one makes pods for them, so Services do not work there; " +
		"clusterctl windows addons prints the one that they need, and kubeProxy.run: None in their config says that none is wanted",
	bootstrapv1.KubeProxyService: "their config says that it is a service of the node, but the Nodes have no label " +
		bootstrap.LabelKubeProxy + "=" + bootstrap.LabelService + ", so they joined without it or lost the label; replace " +
		"their Machines",
}

// onlyOne has the DaemonSet leave out the Nodes that have the service. Of two DaemonSets nobody but their owner knows which to
// keep.
func onlyOne(why string, on []proxy) (mend, told string) {
	at := slices.IndexFunc(on, func(p proxy) bool { return p.set != nil })
	if at < 0 || on[0].set != nil {
		return "", why + "; keep one of the two, and have the other leave out these Nodes"
	}
	set, told := on[at].set, why+"; have the DaemonSet leave out Nodes with the label "+bootstrap.LabelKubeProxy+"="+
		bootstrap.LabelService
	terms := withoutService(set)
	if !areNamed(terms) {
		return "", told
	}
	return set.kubectl("patch", "--type merge -p "+quoted(map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"affinity": map[string]any{
			"nodeAffinity": map[string]any{
				"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": terms},
			},
		}}}},
	})), told
}

// areNamed says whether the terms are such as an API server takes.
func areNamed(terms []corev1.NodeSelectorTerm) bool {
	return !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(slices.Concat(t.MatchExpressions, t.MatchFields), func(r corev1.NodeSelectorRequirement) bool {
			return !isNamed(append(r.Values, r.Key, string(r.Operator))...)
		})
	})
}

// withoutService are the terms of the DaemonSet, each of which leaves out the Nodes with the service.
func withoutService(set *Workload) []corev1.NodeSelectorTerm {
	leaveOut := corev1.NodeSelectorRequirement{
		Key: bootstrap.LabelKubeProxy, Operator: corev1.NodeSelectorOpNotIn, Values: []string{bootstrap.LabelService},
	}
	required := requiredOf(&corev1.Pod{Spec: set.Template.Spec})
	if required == nil {
		return []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{leaveOut}}}
	}
	terms := required.DeepCopy().NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, leaveOut)
	}
	return terms
}

// otherVersion has the DaemonSet take the image of the kubelet's version, or of the API server's if that is no better. A service
// has the version of its Machine.
func (s Seen) otherVersion(why string, g group, nodes []string, on []proxy) (mend, told string) {
	at := slices.IndexFunc(on, func(p proxy) bool { return p.String() == g.of })
	if on[at].set == nil {
		return "", why + "; it is as old as its kubelet, so give their Machines another version"
	}
	wanted := s.Version
	for _, node := range nodes {
		kubelet, err := version.ParseGeneric(s.Kubelets[node])
		oldest, _ := version.ParseGeneric(wanted)
		if err == nil && s.skew(s.Kubelets[node]) == "" && kubelet.LessThan(oldest) {
			wanted = s.Kubelets[node]
		}
	}
	one := on[at]
	tag := one.tag[:len(one.tag)-len(strings.TrimPrefix(one.tag, "v"))] + strings.TrimPrefix(wanted, "v")
	image := strings.Replace(one.image, ":"+one.tag, ":"+tag, 1)
	if len(validation.IsDNS1123Label(one.container)) == 0 && plainImage.MatchString(image) {
		mend = one.set.kubectl("set image", one.container+"="+image)
	}
	return mend, why + "; give the DaemonSet the image of the Nodes' version"
}
