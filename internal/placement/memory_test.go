package placement_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestMemory: the same look twice reads nothing, and what has changed is judged again.
func TestMemory(t *testing.T) {
	s := proxied("")
	s.Windows = nil
	for i := range 100 {
		name := fmt.Sprintf("win-%03d", i)
		s.Windows = append(s.Windows, node(name, osTaint, nil))
		s.Kubelets[name], s.ProxyRuns[name] = "v1.36.3", bootstrapv1.KubeProxyNone
	}
	delete(s.Kubelets, "win-0")
	all, read := stored{}, 0
	for i := range 2000 {
		w := workload(t, "DaemonSet", `{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`)
		w.Name = fmt.Sprint("agent-", i)
		all[w.Name] = versioned{w, 1}
	}
	var m placement.Memory
	look := func(when string, reads int, want ...placement.Problem) []placement.Finding {
		t.Helper()
		read = 0
		start := time.Now()
		wrong := m.Wrong(s, all.seq(&read))
		t.Logf("%d DaemonSets and %d Windows Nodes %s: %s", len(all), len(s.Windows), when, time.Since(start))
		var got []placement.Problem
		for _, one := range wrong {
			got = append(got, one.Problem)
		}
		expect.Same(t, "problems "+when, want, got)
		expect.Same(t, "reads "+when, reads, read)
		return wrong
	}
	look("at first", 2000)
	look("again", 0)
	slices.Reverse(s.Windows)
	look("in another order", 0)
	agent := all["agent-7"].Workload
	agent.Template.Spec.NodeSelector = nil
	all["agent-7"] = versioned{agent, 2}
	expect.Same(t, "what it is about", "DaemonSet team/agent-7", look("with another version", 1, placement.PodsLand)[0].Of)
	s.Mutates = true
	mended := look("with a policy", 2000, placement.PodsLand)[0]
	if !strings.HasSuffix(mended.Why, "when the template changes next") {
		t.Error(mended.Why)
	}
	delete(all, "agent-7")
	look("when it is gone", 0)
	all["proxy"] = versioned{proxySet(t, "proxy", "a/kube-proxy:v1.36.3"), 1}
	all["another"] = versioned{proxySet(t, "another", "a"), 1}
	look("with two kube-proxies", 2, placement.KubeProxyTwice)
	look("that stay", 0, placement.KubeProxyTwice)
	s.DNS = map[string]string{"dns": "yes"}
	look("with a Service", 2001, placement.DNSNotKept, placement.KubeProxyTwice)
	dns := workload(t, "Deployment", `nodeSelector: {kubernetes.io/os: linux}`)
	dns.Namespace, dns.Name, dns.Template.Labels = "kube-system", "coredns", map[string]string{"dns": "yes", "k8s-app": "kube-dns"}
	all["coredns"] = versioned{dns, 1}
	look("with cluster DNS", 1, placement.KubeProxyTwice)
	look("that stays", 0, placement.KubeProxyTwice)
}

// stored are workloads with their versions.
type stored map[string]versioned

type versioned struct {
	placement.Workload

	version int
}

func (s stored) seq(read *int) iter.Seq[placement.Stored] {
	return func(yield func(placement.Stored) bool) {
		for _, name := range slices.Sorted(maps.Keys(s)) {
			one := placement.Stored{Name: name, Version: fmt.Sprint(s[name].version), Read: func() placement.Workload {
				*read++
				return s[name].Workload
			}}
			if !yield(one) {
				return
			}
		}
	}
}
