package workload

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// mostDeployments are read at once.
	mostDeployments = 20
	// maxDNS is how much is kept of a cluster's DNS. That of a cluster from which 120 Nodes were read takes 70 KiB.
	maxDNS = 128 << 10
)

// dnsService is the Service whose address kubelets give to pods for their name server.
var dnsService = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}

// DNS is what a cluster has of cluster DNS, and the Nodes where it may run.
type DNS struct {
	// Deployments have the pods that the Service kube-dns selects. Of each its name, its annotations, its replicas, and what in its
	// template decides where pods go. There is none if there is no such Service, if it selects nothing, or if others have its pods.
	Deployments []appsv1.Deployment
	// RuntimeClasses are those that the Deployments name.
	RuntimeClasses []nodev1.RuntimeClass
	// Linux and Windows are Nodes with their taints, and of their labels those that the Deployments select.
	Linux, Windows Nodes
	// Refused is what the cluster does not show.
	Refused []string
}

// DNS returns the cluster DNS of a Cluster, as it was seconds ago.
func (c *Clusters) DNS(ctx context.Context, key client.ObjectKey) (DNS, error) {
	api, err := c.GetClient(ctx, key)
	if err != nil {
		return DNS{}, err
	}
	return c.cluster(key).dns.get(ctx, fresh, func(ctx context.Context) (DNS, error) { return readDNS(ctx, api) })
}

func readDNS(ctx context.Context, api client.Client) (found DNS, err error) {
	var service corev1.Service
	err = api.Get(ctx, dnsService, &service)
	switch {
	case apierrors.IsForbidden(err):
		return DNS{Refused: []string{"Service " + dnsService.String()}}, nil
	case client.IgnoreNotFound(err) != nil:
		return DNS{}, err
	case len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName:
		return DNS{}, nil // also where there is none
	}
	err = found.readDeployments(ctx, api, labels.SelectorFromSet(service.Spec.Selector))
	if err != nil || len(found.Deployments) == 0 {
		return found, err
	}
	if err := found.readRuntimeClasses(ctx, api); err != nil {
		return DNS{}, err
	}
	if err := found.readNodes(ctx, api); err != nil {
		return DNS{}, err
	}
	if kept, err := json.Marshal(found); err != nil || len(kept) > maxDNS {
		return DNS{}, &UnreachableError{Why: "answers with more about its cluster DNS than the manager reads"}
	}
	return found, nil
}

// readDeployments compares the pods' labels: a Deployment may have others.
func (d *DNS) readDeployments(ctx context.Context, api client.Client, pods labels.Selector) error {
	next := ""
	for range mostPages {
		var page appsv1.DeploymentList
		err := api.List(ctx, &page, client.InNamespace(dnsService.Namespace), client.Limit(mostDeployments), client.Continue(next))
		if apierrors.IsForbidden(err) {
			d.Refused = append(d.Refused, "the Deployments of "+dnsService.Namespace)
			return nil
		}
		if err != nil {
			return err
		}
		if len(page.Items) > mostDeployments {
			return &UnreachableError{Why: "answers with more Deployments than were requested"}
		}
		for _, item := range page.Items {
			if pods.Matches(labels.Set(item.Spec.Template.Labels)) {
				d.Deployments = append(d.Deployments, placing(item))
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	return nil
}

// placing is a Deployment without what does not matter to where its pods go.
func placing(full appsv1.Deployment) appsv1.Deployment {
	annotations := maps.Clone(full.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	kept := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, Annotations: annotations,
	}}
	kept.Spec.Replicas, kept.Status.AvailableReplicas = full.Spec.Replicas, full.Status.AvailableReplicas
	kept.Spec.Template.Spec = placed(full.Spec.Template.Spec)
	return kept
}

// placed is what decides where a pod goes.
func placed(spec corev1.PodSpec) (pod corev1.PodSpec) {
	pod.NodeName, pod.NodeSelector, pod.Tolerations = spec.NodeName, spec.NodeSelector, spec.Tolerations
	pod.OS, pod.RuntimeClassName = spec.OS, spec.RuntimeClassName
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	if spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil {
		pod.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: spec.SecurityContext.WindowsOptions}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			options := &corev1.SecurityContext{WindowsOptions: c.SecurityContext.WindowsOptions}
			pod.Containers = append(pod.Containers, corev1.Container{Name: c.Name, SecurityContext: options})
		}
	}
	return pod
}

// readRuntimeClasses reads those that are named, as they add selectors and tolerations. Pods that name one which is not there are
// refused by the API server, and so are names that no class can have: they would stand in sentences as ours.
func (d *DNS) readRuntimeClasses(ctx context.Context, api client.Client) error {
	names := map[string]bool{}
	for _, deployment := range d.Deployments {
		if name := deployment.Spec.Template.Spec.RuntimeClassName; name != nil && len(validation.IsDNS1123Subdomain(*name)) == 0 {
			names[*name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var class nodev1.RuntimeClass
		err := api.Get(ctx, client.ObjectKey{Name: name}, &class)
		switch {
		case apierrors.IsForbidden(err):
			d.Refused = append(d.Refused, "RuntimeClass "+name)
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		default:
			class.ObjectMeta = metav1.ObjectMeta{Name: name}
			d.RuntimeClasses = append(d.RuntimeClasses, class)
		}
	}
	return nil
}

func (d *DNS) readNodes(ctx context.Context, api client.Client) (err error) {
	selected := d.selectedLabels()
	keep := func(node corev1.Node) corev1.Node {
		kept := brief(node)
		kept.Spec.Taints, kept.Labels = node.Spec.Taints, maps.Clone(node.Labels)
		maps.DeleteFunc(kept.Labels, func(key, _ string) bool { return !selected[key] })
		return kept
	}
	if d.Linux, err = readLinux(ctx, api, keep); err != nil {
		return err
	}
	var next string
	d.Windows.Found, next, err = readPage(ctx, api, keep, onWindows)
	d.Windows.More = next != ""
	return err
}

// selectedLabels are the labels that decide where the pods may go, and that of the system.
func (d *DNS) selectedLabels() map[string]bool {
	selected := map[string]bool{corev1.LabelOSStable: true}
	add := func(selector map[string]string) {
		for key := range selector {
			selected[key] = true
		}
	}
	for _, class := range d.RuntimeClasses {
		if class.Scheduling != nil {
			add(class.Scheduling.NodeSelector)
		}
	}
	for _, deployment := range d.Deployments {
		pod := deployment.Spec.Template.Spec
		add(pod.NodeSelector)
		if pod.Affinity == nil || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			continue
		}
		for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, requirement := range term.MatchExpressions {
				selected[requirement.Key] = true
			}
		}
	}
	return selected
}
