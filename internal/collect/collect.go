// Package collect reads from an API server what decides where the pods of its cluster go. Managers and the plugin have no other
// reader of that. It changes nothing, and keeps of an object no more than decides.
package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Cluster is what an API server shows of its cluster.
type Cluster struct {
	placement.Seen

	// MaxPods is how many pods each Windows Node takes, by its name.
	MaxPods map[string]int
	// Refused is what the API server does not show, and that can be done without; Lacking are rights without which there is no
	// verdict.
	Refused, Lacking []string
}

// Collector reads one cluster.
type Collector struct {
	Server apiserver.Reader
	// MostOfNodes is how many bytes the labels and taints of all Nodes may have.
	MostOfNodes int

	Cluster
}

// Read reads all but the workloads.
func (c *Collector) Read(ctx context.Context) error {
	for _, next := range []func(context.Context) error{c.version, c.nodes, c.classes, c.Namespaces, c.dns} {
		if err := next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// note records what is not shown, and returns every other error.
func note(in *[]string, subject string, err error) error {
	if apierrors.IsForbidden(err) {
		*in = append(*in, subject)
		return nil
	}
	return err
}

func (c *Collector) version(ctx context.Context) error {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	_, err := c.Server.Get(ctx, "/version", &version)
	c.Version = version.GitVersion
	return err
}

func (c *Collector) nodes(ctx context.Context) error {
	c.Kubelets, c.MaxPods = map[string]string{}, map[string]int{}
	left := c.MostOfNodes
	_, err := apiserver.List(ctx, c.Server, "/api/v1/nodes", nil, func(node corev1.Node) error {
		entry := placement.There(node)
		if left -= size(entry); left < 0 {
			return fmt.Errorf("the labels and taints of its Nodes have more than %d KiB", c.MostOfNodes>>10)
		}
		if !entry.IsWindows() {
			c.Linux = append(c.Linux, entry)
			return nil
		}
		c.Windows = append(c.Windows, entry)
		c.Kubelets[node.Name] = node.Status.NodeInfo.KubeletVersion
		c.MaxPods[node.Name] = int(node.Status.Capacity.Pods().Value())
		return nil
	})
	return note(&c.Lacking, "list nodes", err)
}

func size(n placement.Node) int {
	bytes := len(n.Name)
	for key, value := range n.Labels {
		bytes += len(key) + len(value)
	}
	for _, taint := range n.Taints {
		bytes += len(taint.Key) + len(taint.Value)
	}
	return bytes
}

func (c *Collector) classes(ctx context.Context) error {
	_, err := apiserver.List(ctx, c.Server, "/apis/node.k8s.io/v1/runtimeclasses", nil, func(o nodev1.RuntimeClass) error {
		o.ObjectMeta = metav1.ObjectMeta{Name: o.Name}
		c.RuntimeClasses = append(c.RuntimeClasses, o)
		return nil
	})
	return note(&c.Refused, "RuntimeClasses", err)
}

// Namespaces reads which of them select Nodes for their pods.
func (c *Collector) Namespaces(ctx context.Context) error {
	c.Selectors = map[string]map[string]string{}
	_, err := apiserver.List(ctx, c.Server, "/api/v1/namespaces", nil, func(o metav1.PartialObjectMetadata) error {
		if selector := placement.SelectorOf(o.Annotations); selector != nil {
			c.Selectors[o.Name] = selector
		}
		return nil
	})
	return note(&c.Refused, "Namespaces", err)
}

// dns reads the Service whose pods are cluster DNS. One without a selector is there, and selects nothing.
func (c *Collector) dns(ctx context.Context) error {
	var service corev1.Service
	found, err := c.Server.Get(ctx, "/api/v1/namespaces/kube-system/services/kube-dns", &service)
	if found && service.Spec.Type != corev1.ServiceTypeExternalName {
		c.DNS = map[string]string{}
		maps.Copy(c.DNS, service.Spec.Selector)
	}
	return note(&c.Refused, "Service kube-system/kube-dns", err)
}

// Workload is a DaemonSet, a Deployment or a StatefulSet whose template is not decoded yet: that may take far more memory than it
// has bytes.
type Workload struct {
	Kind     string            `json:"-"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Template json.RawMessage `json:"template"`
	} `json:"spec"`
}

// Weight is how many objects and values its template has.
func (w Workload) Weight() int { return apiserver.Weight(w.Spec.Template) }

// Decode reads the template.
func (w Workload) Decode() (placement.Workload, error) {
	found := placement.Workload{
		Kind: w.Kind, Namespace: w.Metadata.Namespace, Name: w.Metadata.Name, Annotations: w.Metadata.Annotations,
	}
	if w.Spec.Template == nil {
		return found, nil
	}
	return found, json.Unmarshal(w.Spec.Template, &found.Template)
}

// Workloads calls visit with each workload.
func (c *Collector) Workloads(ctx context.Context, visit func(Workload) error) error {
	for _, list := range []struct{ kind, resource string }{
		{"DaemonSet", "daemonsets"}, {"Deployment", "deployments"}, {"StatefulSet", "statefulsets"},
	} {
		_, err := apiserver.List(ctx, c.Server, "/apis/apps/v1/"+list.resource, nil, func(w Workload) error {
			w.Kind = list.kind
			return visit(w)
		})
		if err := note(&c.Lacking, "list "+list.resource, err); err != nil {
			return err
		}
	}
	return nil
}
