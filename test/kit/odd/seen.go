package odd

import (
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Seen is what is known of a cluster, with Nodes of one name at times.
func (s *Source) Seen() placement.Seen {
	seen := placement.Seen{
		Cluster: placement.Cluster{Windows: s.Nodes(4), Linux: s.Nodes(3), RuntimeClasses: s.Classes()},
		Version: One(s, "v1.36.3", s.Text()), Mutates: s.Once(2),
	}
	if s.Once(2) {
		seen.DNS = s.Labels()
	}
	if s.Once(6) {
		return seen
	}
	seen.Kubelets, seen.ProxyRuns = map[string]string{}, map[string]bootstrapv1.KubeProxyRun{}
	for _, n := range seen.Windows {
		if !s.Once(4) {
			seen.Kubelets[n.Name] = One(s, "v1.36.3", s.Text())
		}
		if s.Once(2) {
			seen.ProxyRuns[n.Name] = One(s, bootstrapv1.KubeProxyDaemonSet, bootstrapv1.KubeProxyService,
				bootstrapv1.KubeProxyNone) // as the config's type has it
		}
	}
	return seen
}

// Workloads are some.
func (s *Source) Workloads() (all []placement.Workload) {
	for range s.N(5) {
		all = append(all, s.Workload())
	}
	return all
}

// Fuzz checks with bytes that choose many different things, and with others where Go is told to fuzz.
func Fuzz(f *testing.F, check func(*testing.T, *Source)) {
	f.Helper()
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, &Source{Bytes: data}) })
}

func seeds() (all [][]byte) {
	for n := range 60 {
		seed := make([]byte, 60+n*5)
		state := uint32(n + 1)
		for i := range seed {
			state = state*1664525 + 1013904223
			seed[i] = byte(state >> 24)
		}
		all = append(all, seed)
	}
	return all
}
