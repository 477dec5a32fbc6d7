package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/linux"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

const (
	// readTime is how long a cluster may take for all that is read of it.
	readTime = 5 * time.Minute
	// heaviest is how many objects and values the templates of all workloads may have. A template has 60 of them, and each takes as
	// much as a container: 1 KiB.
	heaviest = 1_000_000
)

// Placement reads from a workload cluster what decides where its pods go, and tries by dry runs whether its policies act. It
// changes nothing.
func Placement(ctx context.Context, server *remote.Server) (*linux.Cluster, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTime, errTime)
	defer cancel()
	r := &reading{server: server, into: &linux.Cluster{}}
	for _, one := range []func(context.Context) error{
		r.version, r.nodes, r.workloads("DaemonSet", "daemonsets"), r.workloads("Deployment", "deployments"),
		r.workloads("StatefulSet", "statefulsets"), r.classes, r.dns, r.policies, r.probe, r.pools,
	} {
		if err := one(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errTime) {
				err = errTime
			}
			return nil, fmt.Errorf("where pods go cannot be read from the cluster %s: %w", server, server.Reason(err))
		}
	}
	if len(r.lacking) > 0 {
		return nil, fmt.Errorf("the user of this kubeconfig lacks rights in the cluster %s, so there are no verdicts: %s; a "+
			"ClusterRole must give them", server, strings.Join(r.lacking, ", "))
	}
	return r.into, nil
}

var errTime = fmt.Errorf("it has not answered all within %s", readTime)

// reading reads a cluster.
type reading struct {
	server *remote.Server
	into   *linux.Cluster
	// weight is that of all templates so far.
	weight int
	// lacking are rights without which there is no verdict.
	lacking []string
}

// needed notes the right that is lacking, and passes every other error.
func (r *reading) needed(right string, err error) error {
	if apierrors.IsForbidden(err) {
		r.lacking = append(r.lacking, right)
		return nil
	}
	return err
}

// spared notes what is not shown, and passes every other error.
func (r *reading) spared(what string, err error) error {
	if apierrors.IsForbidden(err) {
		r.into.Refused = append(r.into.Refused, what)
		return nil
	}
	return err
}

func (r *reading) version(ctx context.Context) error {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	_, err := r.server.Get(ctx, "/version", &version)
	r.into.Version = version.GitVersion
	return err
}

func (r *reading) nodes(ctx context.Context) error {
	r.into.Kubelets, r.into.MaxPods = map[string]string{}, map[string]int{}
	_, err := remote.List(ctx, r.server, "/api/v1/nodes", nil, func(node corev1.Node) error {
		there := placement.There(node)
		if !there.IsWindows() {
			r.into.Linux = append(r.into.Linux, there)
			return nil
		}
		r.into.Windows = append(r.into.Windows, there)
		r.into.Kubelets[node.Name] = node.Status.NodeInfo.KubeletVersion
		r.into.MaxPods[node.Name] = int(node.Status.Capacity.Pods().Value())
		return nil
	})
	return r.needed("list nodes", err)
}

// templated is a Deployment, a DaemonSet or a StatefulSet. Its template is weighed before it is decoded.
type templated struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Template json.RawMessage `json:"template"`
	} `json:"spec"`
}

func (r *reading) workloads(kind, resource string) func(context.Context) error {
	add := func(o templated) error {
		if r.weight += apiserver.Weight(o.Spec.Template); r.weight > heaviest {
			return fmt.Errorf("its workloads have more than the %d fields that this program takes", heaviest)
		}
		found := placement.Workload{
			Kind: kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Annotations: o.Metadata.Annotations,
		}
		r.into.Workloads = append(r.into.Workloads, found)
		if o.Spec.Template == nil {
			return nil
		}
		return json.Unmarshal(o.Spec.Template, &r.into.Workloads[len(r.into.Workloads)-1].Template)
	}
	return func(ctx context.Context) error {
		_, err := remote.List(ctx, r.server, "/apis/apps/v1/"+resource, nil, add)
		return r.needed("list "+resource, err)
	}
}

func (r *reading) classes(ctx context.Context) error {
	_, err := remote.List(ctx, r.server, "/apis/node.k8s.io/v1/runtimeclasses", nil, func(o nodev1.RuntimeClass) error {
		r.into.RuntimeClasses = append(r.into.RuntimeClasses, o)
		return nil
	})
	return r.spared("RuntimeClasses", err)
}

// dns reads the Service whose pods are cluster DNS. One without a selector is there, but says nothing.
func (r *reading) dns(ctx context.Context) error {
	var service corev1.Service
	there, err := r.server.Get(ctx, "/api/v1/namespaces/kube-system/services/kube-dns", &service)
	if there && service.Spec.Type != corev1.ServiceTypeExternalName {
		r.into.DNS = map[string]string{}
		maps.Copy(r.into.DNS, service.Spec.Selector)
	}
	return r.spared("Service kube-system/kube-dns", err)
}

// policies reads which of ours are there.
func (r *reading) policies(ctx context.Context) error {
	p := &r.into.Policies
	for _, one := range []struct {
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
				p.There = append(p.There, one.kind+" "+o.Name)
			}
			return nil
		}
		var err error
		*one.served, err = remote.List(ctx, r.server, "/apis/admissionregistration.k8s.io/v1/"+one.resource, nil, add)
		p.Hidden = p.Hidden || apierrors.IsForbidden(err)
		if err := r.spared(one.resource, err); err != nil {
			return err
		}
	}
	return nil
}
