package management

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/linux"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// page is how many objects are read at once.
const page = 500

// Placement reads from a workload cluster what decides where its pods go, and tries by dry runs whether its policies act. It
// changes nothing.
func Placement(ctx context.Context, config *rest.Config) (*linux.Cluster, error) {
	client, err := connect(config)
	if err != nil {
		return nil, err
	}
	r := &reading{client: client, into: &linux.Cluster{}}
	for _, one := range []func(context.Context) error{
		r.version, r.nodes, r.daemonSets, r.deployments, r.statefulSets, r.classes, r.dns, r.policies, r.probe, r.pools,
	} {
		if err := one(ctx); err != nil {
			return nil, fmt.Errorf("where pods go cannot be read from the cluster %s: %w", shown(config.Host), reason(err))
		}
	}
	if len(r.lacking) > 0 {
		return nil, fmt.Errorf("the user of this kubeconfig lacks rights in the cluster %s, so there are no verdicts: %s; a "+
			"ClusterRole must give them", shown(config.Host), strings.Join(r.lacking, ", "))
	}
	return r.into, nil
}

// reading reads a cluster.
type reading struct {
	client *rest.RESTClient
	into   *linux.Cluster
	// lacking are rights without which there is no verdict.
	lacking []string
}

// get decodes what is at a path, and says whether it is there.
func (r *reading) get(ctx context.Context, path string, into any) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return read(ctx, r.client, path, into)
}

// listed decodes a list page by page, and says whether the API server has the kind.
func listed[T any](ctx context.Context, r *reading, path string, each func(T)) (served bool, err error) {
	next := ""
	for {
		var list struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}
		served, err = listPage(ctx, r.client, path, next, &list)
		if err != nil || !served {
			return served, err
		}
		for _, one := range list.Items {
			each(one)
		}
		if next = list.Metadata.Continue; next == "" {
			return true, nil
		}
	}
}

func listPage(ctx context.Context, client *rest.RESTClient, path, next string, into any) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := client.Get().AbsPath(path).Param("limit", strconv.Itoa(page))
	if next != "" {
		request = request.Param("continue", next)
	}
	data, err := content(request.Do(ctx))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(data, into)
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
	_, err := r.get(ctx, "/version", &version)
	r.into.Version = version.GitVersion
	return err
}

func (r *reading) nodes(ctx context.Context) error {
	r.into.Kubelets, r.into.MaxPods = map[string]string{}, map[string]int{}
	_, err := listed(ctx, r, "/api/v1/nodes", func(node corev1.Node) {
		there := placement.There(node)
		if !there.IsWindows() {
			r.into.Linux = append(r.into.Linux, there)
			return
		}
		r.into.Windows = append(r.into.Windows, there)
		r.into.Kubelets[node.Name] = node.Status.NodeInfo.KubeletVersion
		r.into.MaxPods[node.Name] = int(node.Status.Capacity.Pods().Value())
	})
	return r.needed("list nodes", err)
}

func (r *reading) add(kind string, meta metav1.ObjectMeta, template corev1.PodTemplateSpec) {
	r.into.Workloads = append(r.into.Workloads, placement.Workload{
		Kind: kind, Namespace: meta.Namespace, Name: meta.Name, Annotations: meta.Annotations, Template: template,
	})
}

func (r *reading) daemonSets(ctx context.Context) error {
	_, err := listed(ctx, r, "/apis/apps/v1/daemonsets", func(o appsv1.DaemonSet) {
		r.add("DaemonSet", o.ObjectMeta, o.Spec.Template)
	})
	return r.needed("list daemonsets", err)
}

func (r *reading) deployments(ctx context.Context) error {
	_, err := listed(ctx, r, "/apis/apps/v1/deployments", func(o appsv1.Deployment) {
		r.add("Deployment", o.ObjectMeta, o.Spec.Template)
	})
	return r.needed("list deployments", err)
}

func (r *reading) statefulSets(ctx context.Context) error {
	_, err := listed(ctx, r, "/apis/apps/v1/statefulsets", func(o appsv1.StatefulSet) {
		r.add("StatefulSet", o.ObjectMeta, o.Spec.Template)
	})
	return r.needed("list statefulsets", err)
}

func (r *reading) classes(ctx context.Context) error {
	_, err := listed(ctx, r, "/apis/node.k8s.io/v1/runtimeclasses", func(o nodev1.RuntimeClass) {
		r.into.RuntimeClasses = append(r.into.RuntimeClasses, o)
	})
	return r.spared("RuntimeClasses", err)
}

// dns reads the Service whose pods are cluster DNS. One without a selector is there, but says nothing.
func (r *reading) dns(ctx context.Context) error {
	var service corev1.Service
	there, err := r.get(ctx, "/api/v1/namespaces/kube-system/services/kube-dns", &service)
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
		add := func(o metav1.PartialObjectMetadata) {
			if o.Labels[policies.Label] == policies.LabelValue {
				p.There = append(p.There, one.kind+" "+o.Name)
			}
		}
		var err error
		*one.served, err = listed(ctx, r, "/apis/admissionregistration.k8s.io/v1/"+one.resource, add)
		p.Hidden = p.Hidden || apierrors.IsForbidden(err)
		if err := r.spared(one.resource, err); err != nil {
			return err
		}
	}
	var param corev1.ConfigMap
	there, err := r.get(ctx, "/api/v1/namespaces/"+policies.ParamNamespace+"/configmaps/"+policies.ParamName, &param)
	if there {
		p.Param = &param
	}
	return r.spared("ConfigMap "+policies.ParamNamespace+"/"+policies.ParamName, err)
}
