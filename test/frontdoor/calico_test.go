package frontdoor

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/lab/pods"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

const calicoSystem = "calico-system"

// calico does what Calico's operator does once its pod runs (tigera/operator 03e702b, pkg/controller/installation:
// core_controller.go, windows_controller.go, validation.go), as far as Windows waits for it.
type calico struct {
	client   client.Client
	workload *servers.Workload
	// byName says that the address of the API server is a name, as in Azure.
	byName bool
}

// degraded is what the operator tells in its TigeraStatus.
type degraded struct{ reason, message string }

func (d degraded) Error() string { return d.message }

func (c *calico) run(ctx context.Context, tell func(error)) {
	for tick := time.NewTicker(time.Second / 2); ; {
		if err := c.reconcile(ctx); err != nil && ctx.Err() == nil {
			tell(err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (c *calico) reconcile(ctx context.Context) error {
	var running corev1.PodList
	err := c.client.List(ctx, &running, client.InNamespace("tigera-operator"), client.MatchingLabels{"k8s-app": "tigera-operator"})
	if err != nil || len(running.Items) == 0 || running.Items[0].Status.Phase != corev1.PodRunning {
		return err
	}
	if operator := &running.Items[0].Spec; c.byName && !resolves(operator) {
		return fmt.Errorf("the policy %s of the operator's pod asks cluster DNS, which has no network yet", operator.DNSPolicy)
	}
	installation := operatorObject("Installation", "default")
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(installation), installation); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.core(ctx, installation, &running.Items[0].Spec); err != nil {
		return err
	}
	dataplane, _, _ := unstructured.NestedString(installation.Object, "spec", "calicoNetwork", "windowsDataplane")
	if dataplane != "HNS" {
		return nil
	}
	err = c.windows(ctx, installation)
	if d, is := err.(degraded); is || err == nil { //nolint:errorlint // because it is our own and never wrapped
		return c.tell(ctx, d)
	}
	return err
}

// resolves says whether a pod in the network of its machine finds names before there is cluster DNS (projectcalico/calico issue
// 9536). Kubelets give it cluster DNS, and with it the name servers of its own, if its policy says so.
func resolves(pod *corev1.PodSpec) bool {
	return pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || pod.DNSConfig != nil && len(pod.DNSConfig.Nameservers) > 0
}

// core is the network of Linux, and what Windows' controller waits for. Calico's pods on the machines ask for names as their
// operator does.
func (c *calico) core(ctx context.Context, installation *unstructured.Unstructured, operator *corev1.PodSpec) error {
	labels := map[string]string{"k8s-app": "calico-node"}
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	ipam := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"autoAllocateBlocks": true, "strictAffinity": false},
	}}
	ipam.SetGroupVersionKind(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: "IPAMConfig"})
	ipam.SetName("default")
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: calicoSystem}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: calicoSystem, Name: "calico-node"}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: calicoSystem, Name: "calico-node"}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}, Tolerations: everything, HostNetwork: true,
				ServiceAccountName: "calico-node", PriorityClassName: "system-node-critical",
				DNSPolicy: operator.DNSPolicy, DNSConfig: operator.DNSConfig,
				Containers: []corev1.Container{{Name: "calico-node", Image: "quay.io/calico/node:v3.32.1"}},
			}},
		}},
		ipam,
	} {
		if err := c.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if _, has := installation.Object["status"]; has {
		return nil
	}
	installation.Object["status"] = map[string]any{"variant": "Calico"}
	return c.client.Status().Update(ctx, installation)
}

// windows asks in the order of windows_controller.go, and makes the DaemonSet once nothing is missing.
func (c *calico) windows(ctx context.Context, installation *unstructured.Unstructured) error {
	endpoint := &corev1.ConfigMap{}
	const name = "kubernetes-services-endpoint"
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: "tigera-operator", Name: name}, endpoint); err != nil {
		return degraded{"ResourceReadError", fmt.Sprintf("Error reading services endpoint configmap: %v", err)}
	}
	services, _, _ := unstructured.NestedStringSlice(installation.Object, "spec", "serviceCIDRs")
	pools, _, _ := unstructured.NestedSlice(installation.Object, "spec", "calicoNetwork", "ipPools")
	invalid := ""
	switch {
	case endpoint.Data["KUBERNETES_SERVICE_HOST"] == "" || endpoint.Data["KUBERNETES_SERVICE_PORT"] == "":
		invalid = "services endpoint configmap '" + name + "' does not have all required information for Calico Windows daemonset " +
			"configuration"
	case len(services) == 0:
		invalid = "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows"
	default:
		for _, one := range pools {
			if pool, ok := one.(map[string]any); ok && pool["encapsulation"] != "VXLAN" && pool["encapsulation"] != "None" {
				invalid = fmt.Sprintf("IPv4 IPPool encapsulation %v is not supported by Calico for Windows", pool["encapsulation"])
			}
		}
	}
	if invalid != "" {
		return degraded{"InvalidConfigurationError", "Invalid Installation provided: " + invalid}
	}
	if strict, err := c.strictAffinity(ctx); err != nil || !strict {
		return degraded{"ResourceReadError", "Invalid StrictAffinity, it must be set to 'true' when using Calico IPAM on Windows: " +
			"StrictAffinity is false, it must be set to 'true' in the default IPAMConfiguration when using Calico IPAM on Windows"}
	}
	dns := &corev1.Service{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}, dns); err != nil {
		return degraded{"ResourceNotFound", fmt.Sprintf("kube-dns service not found: %v", err)}
	}
	set := &appsv1.DaemonSet{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: calicoSystem, Name: "calico-node-windows"}, set); err == nil {
		return nil
	}
	cluster := pods.Cluster{Config: c.workload.Config, Version: c.workload.Version, Host: endpoint.Data["KUBERNETES_SERVICE_HOST"]}
	if _, err := fmt.Sscan(endpoint.Data["KUBERNETES_SERVICE_PORT"], &cluster.Port); err != nil {
		return fmt.Errorf("read port of the endpoint: %w", err)
	}
	return cluster.CalicoForWindows(ctx, dns.Spec.ClusterIP, services[0])
}

func (c *calico) strictAffinity(ctx context.Context) (bool, error) {
	ipam := &unstructured.Unstructured{}
	ipam.SetGroupVersionKind(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: "IPAMConfig"})
	err := c.client.Get(ctx, client.ObjectKey{Name: "default"}, ipam)
	strict, _, _ := unstructured.NestedBool(ipam.Object, "spec", "strictAffinity")
	return strict, client.IgnoreNotFound(err)
}

// tell writes the TigeraStatus that kubectl get tigerastatus shows.
func (c *calico) tell(ctx context.Context, d degraded) error {
	status := operatorObject("TigeraStatus", "calico-windows")
	if err := c.client.Create(ctx, status); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(status), status); err != nil {
		return err
	}
	is := "False"
	if d.message != "" {
		is = "True"
	}
	before := status.DeepCopy()
	status.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Degraded", "status": is, "reason": d.reason, "message": d.message},
	}}
	return c.client.Status().Patch(ctx, status, client.MergeFrom(before))
}

func operatorObject(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.tigera.io", Version: "v1", Kind: kind})
	object.SetName(name)
	return object
}

// Before cluster DNS has a network, a pod in its machine's network finds a name by the machine's name server, or one of its own.
func TestResolves(t *testing.T) {
	own := &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.53"}}
	for want, pods := range map[bool][]corev1.PodSpec{
		true: {
			{DNSPolicy: corev1.DNSDefault},
			{DNSPolicy: corev1.DNSClusterFirst},
			{DNSPolicy: corev1.DNSNone, DNSConfig: own},
			{DNSPolicy: corev1.DNSClusterFirstWithHostNet, DNSConfig: own},
		},
		false: {
			{DNSPolicy: corev1.DNSClusterFirstWithHostNet},
			{DNSPolicy: corev1.DNSClusterFirstWithHostNet, DNSConfig: &corev1.PodDNSConfig{Searches: []string{"example.com"}}},
		},
	} {
		for _, pod := range pods {
			if got := resolves(&pod); got != want {
				t.Errorf("%s with %v resolves: %t", pod.DNSPolicy, pod.DNSConfig, got)
			}
		}
	}
}
