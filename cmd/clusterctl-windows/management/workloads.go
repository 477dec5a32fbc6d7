package management

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/linux"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/collect"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

const (
	// readTime is how long a cluster may take for all that is read of it.
	readTime = 5 * time.Minute
	// heaviest is how many objects and values the templates of all workloads may have. A template has 60 of them, and each takes as
	// much as a container: 1 KiB.
	heaviest = 1_000_000
	// mostOfNodes is how many bytes their labels and taints may have: those of 20,000 have 30 MiB.
	mostOfNodes = 64 << 20
)

// Placement reads from a workload cluster what decides where its pods go, and from where they get addresses, and tries by dry
// runs whether its policies act. It changes nothing.
func Placement(ctx context.Context, server *remote.Server) (*linux.Cluster, *addons.NodeAddresses, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTime, errTime)
	defer cancel()
	r := &reading{server: server, cluster: &linux.Cluster{}}
	r.found = collect.Collector{Server: server.Reader(), MostOfNodes: mostOfNodes}
	for _, read := range []func(context.Context) error{r.found.Read, r.workloads, r.policies, r.probe, r.pools} {
		if err := read(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errTime) {
				err = errTime
			}
			return nil, nil, fmt.Errorf("where pods go cannot be read from the cluster %s: %w", server, server.Reason(err))
		}
	}
	if len(r.found.Lacking) > 0 {
		return nil, nil, fmt.Errorf("the user of this kubeconfig lacks rights in the cluster %s, so there are no verdicts: %s; a "+
			"ClusterRole must give them", server, strings.Join(r.found.Lacking, ", "))
	}
	r.cluster.Seen, r.addresses.MaxPods = r.found.Seen, r.found.MaxPods
	r.cluster.Refused = append(r.found.Refused, r.cluster.Refused...)
	return r.cluster, &r.addresses, nil
}

var errTime = fmt.Errorf("it has not answered all within %s", readTime)

// reading reads a cluster.
type reading struct {
	server  *remote.Server
	found   collect.Collector
	cluster *linux.Cluster
	// addresses are those that Calico has for Windows Nodes.
	addresses addons.NodeAddresses
}

// optional notes what is not shown, and passes every other error.
func (r *reading) optional(subject string, err error) error {
	if apierrors.IsForbidden(err) {
		r.cluster.Refused = append(r.cluster.Refused, subject)
		return nil
	}
	return err
}

func (r *reading) workloads(ctx context.Context) error {
	weight := 0
	return r.found.Workloads(ctx, func(o collect.Workload) error {
		if weight += o.Weight(); weight > heaviest {
			return fmt.Errorf("its workloads have more than the %d fields that this program takes", heaviest)
		}
		workload, err := o.Decode()
		r.cluster.Workloads = append(r.cluster.Workloads, workload)
		return err
	})
}

// policies reads which of ours are there.
func (r *reading) policies(ctx context.Context) error {
	p := &r.cluster.Policies
	for _, kind := range []struct {
		kind, resource string
		served         *bool
	}{
		{"MutatingAdmissionPolicy", "mutatingadmissionpolicies", &p.ServesMutating},
		{"MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", new(bool)},
		{"ValidatingAdmissionPolicy", "validatingadmissionpolicies", &p.ServesValidating},
		{"ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", new(bool)},
	} {
		add := func(o metav1.PartialObjectMetadata) error {
			if o.Labels[policies.Label] == policies.LabelValue {
				p.Present = append(p.Present, kind.kind+" "+o.Name)
			}
			return nil
		}
		var err error
		*kind.served, err = remote.List(ctx, r.server, "/apis/admissionregistration.k8s.io/v1/"+kind.resource, nil, add)
		p.Hidden = p.Hidden || apierrors.IsForbidden(err)
		if err := r.optional(kind.resource, err); err != nil {
			return err
		}
	}
	return nil
}
