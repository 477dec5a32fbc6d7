package placement

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// Join is a Windows machine of a Cluster: the Node that it has made or will make, and its config.
type Join struct {
	Node   Node
	Config *bootstrapv1.WindowsBootstrapConfig
}

// JoinsOf are those of machines that are not being deleted and whose config is known, by name. A config that is refused makes no
// Node.
func JoinsOf(machines []infrav1.WindowsMachine, configs []bootstrapv1.WindowsBootstrapConfig) (joins []Join) {
	ofOwner := map[string]*bootstrapv1.WindowsBootstrapConfig{}
	for i := range configs {
		ofOwner[machineOf(&configs[i])] = &configs[i]
	}
	delete(ofOwner, "")
	for i := range machines {
		m := &machines[i]
		config := ofOwner[machineOf(m)]
		if config == nil || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if node, err := ToBeMade(config, m); err == nil {
			joins = append(joins, Join{node, config})
		}
	}
	slices.SortFunc(joins, func(a, b Join) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return joins
}

// machineOf is the name of the Machine of Cluster API that an object belongs to; empty if there is none.
func machineOf(o metav1.Object) string {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "Machine" {
			return ref.Name
		}
	}
	return ""
}

// Add adds what machines mean: who is to run kube-proxy on a Node, and the Nodes that are not there yet: of those that differ in
// their names alone, the first.
func (s *Seen) Add(joins []Join) {
	s.ProxyRuns = map[string]bootstrapv1.KubeProxyRun{}
	kinds := map[string]bool{}
	for _, j := range joins {
		s.ProxyRuns[j.Node.Name] = bootstrap.KubeProxyRun(j.Config.Spec.Network)
		if _, ok := s.Kubelets[j.Node.Name]; ok {
			continue
		}
		s.Joining++
		if kind := j.Node.Kind(); !kinds[kind] {
			kinds[kind] = true
			s.Windows = append(s.Windows, j.Node)
		}
	}
}
