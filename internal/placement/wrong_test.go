package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// manyNodes is a cluster with 100 Windows Nodes that need no kube-proxy.
func manyNodes() placement.Seen {
	s := proxied("")
	s.Windows, s.Kubelets = nil, map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("win-%03d", i)
		s.Windows = append(s.Windows, node(name, osTaint, nil))
		s.Kubelets[name], s.ProxyRuns[name] = "v1.36.3", bootstrapv1.KubeProxyNone
	}
	return s
}

// TestWrong: of workloads that come one after the other, those that are wrong are found, and what they mean to the cluster.
func TestWrong(t *testing.T) {
	agent := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	agent.Name = "agent"
	dns := workload(t, "Deployment", `nodeSelector: {kubernetes.io/os: linux}`)
	dns.Namespace, dns.Name, dns.Template.Labels = "kube-system", "coredns", map[string]string{"dns": "yes", "k8s-app": "kube-dns"}
	stays := workload(t, "DaemonSet", `{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`)
	ofDNS := map[string]string{"dns": "yes"}
	two := []placement.Workload{proxySet(t, "proxy", "a/kube-proxy:v1.36.3"), proxySet(t, "another", "a")}
	for name, c := range map[string]struct {
		workloads []placement.Workload
		dns       map[string]string
		want      []placement.Problem
	}{
		"nothing":                    {nil, nil, nil},
		"one that stays":             {[]placement.Workload{stays}, nil, nil},
		"one that lands":             {[]placement.Workload{stays, agent}, nil, []placement.Problem{placement.PodsLand}},
		"two kube-proxies":           {two, nil, []placement.Problem{placement.KubeProxyTwice}},
		"no cluster DNS":             {[]placement.Workload{stays}, ofDNS, []placement.Problem{placement.DNSNotKept}},
		"cluster DNS, and one lands": {[]placement.Workload{dns, agent}, ofDNS, []placement.Problem{placement.PodsLand}},
	} {
		s := manyNodes()
		s.DNS = c.dns
		wrong := placement.NewWrong(s)
		for _, one := range c.workloads {
			wrong.Take(one)
		}
		var got []placement.Problem
		for _, finding := range wrong.Findings() {
			got = append(got, finding.Problem)
		}
		expect.Same(t, name, c.want, got)
		ofWorkloads := slices.DeleteFunc(slices.Clone(c.want), func(p placement.Problem) bool { return p != placement.PodsLand })
		expect.Same(t, name+": of workloads", len(ofWorkloads), len(wrong.OfWorkloads()))
	}
}

// TestWrongWithPolicy: where the policy acts, a finding has that.
func TestWrongWithPolicy(t *testing.T) {
	s := manyNodes()
	s.Mutates = true
	wrong := placement.NewWrong(s)
	wrong.Take(workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`))
	if found := wrong.Findings(); len(found) != 1 || !strings.HasSuffix(found[0].Why, "when the template changes next") {
		t.Error(found)
	}
}

// TestManyWrong: whatever a cluster has, a bounded number of findings is kept.
func TestManyWrong(t *testing.T) {
	wrong := placement.NewWrong(manyNodes())
	agent := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	for i := range 1500 {
		agent.Name = fmt.Sprint("agent-", i)
		wrong.Take(agent)
	}
	expect.Same(t, "findings", 1000, len(wrong.Findings()))
}
