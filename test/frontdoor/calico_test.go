package frontdoor

import (
	"context"
	"fmt"
	"slices"
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

const (
	calicoSystem      = "calico-system"
	calicoWindows     = "calico-node-windows"
	apiServerName     = "calico-apiserver"
	endpointConfigMap = "kubernetes-services-endpoint"
)

// calico does what Calico's operator does once its pod runs (tigera/operator v1.42.3, which the chart has; core_controller.go,
// windows_controller.go and validation.go in pkg/controller/installation, and pkg/render/apiserver.go), as far as Windows waits
// for it.
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
	if err := c.apiServer(ctx); err != nil {
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
	ipam, felix := ipamConfig(), felixConfiguration()
	ipam.Object["spec"] = map[string]any{"autoAllocateBlocks": true, "strictAffinity": false}
	felix.Object["spec"] = map[string]any{"vxlanVNI": int64(4096)}
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
		ipam, felix,
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

// apiServer is the controller of Calico's API server, which serves IPAMConfiguration. The object APIServer asks for it.
func (c *calico) apiServer(ctx context.Context) error {
	wanted := operatorObject("APIServer", "default")
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(wanted), wanted); err != nil {
		return client.IgnoreNotFound(err)
	}
	labels := map[string]string{"k8s-app": apiServerName, "apiserver": "true"}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: calicoSystem, Name: apiServerName}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: calicoSystem, Name: apiServerName}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelOSStable: "linux"}, ServiceAccountName: apiServerName,
				Tolerations: []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}},
				Containers:  []corev1.Container{{Name: apiServerName, Image: "quay.io/calico/apiserver:v3.32.1"}},
			}},
		}},
	} {
		if err := c.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// windows asks in the order of windows_controller.go, and makes the DaemonSet once nothing is missing.
func (c *calico) windows(ctx context.Context, installation *unstructured.Unstructured) error {
	endpoint := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: "tigera-operator", Name: endpointConfigMap}, endpoint); err != nil {
		return degraded{"ResourceReadError", fmt.Sprintf("Error reading services endpoint configmap: %v", err)}
	}
	services, _, _ := unstructured.NestedStringSlice(installation.Object, "spec", "serviceCIDRs")
	if why := invalid(installation, endpoint, services); why != "" {
		return degraded{"InvalidConfigurationError", "Invalid Installation provided: " + why}
	}
	if err := c.strictAffinity(ctx); err != nil {
		return err
	}
	dns := &corev1.Service{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}, dns); err != nil {
		return degraded{"ResourceNotFound", fmt.Sprintf("kube-dns service not found: %v", err)}
	}
	felix := felixConfiguration()
	err := c.client.Get(ctx, client.ObjectKeyFromObject(felix), felix)
	if _, has, _ := unstructured.NestedInt64(felix.Object, "spec", "vxlanVNI"); err != nil || !has {
		return degraded{"ResourceReadError", "Error reading VXLANVNI from FelixConfiguration: " +
			"VXLANVNI not specified in FelixConfigurationSpec"}
	}
	set := &appsv1.DaemonSet{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: calicoSystem, Name: calicoWindows}, set); err == nil {
		return nil
	}
	mtu, _, _ := unstructured.NestedInt64(installation.Object, "spec", "calicoNetwork", "mtu")
	cluster := pods.Cluster{Config: c.workload.Config, Version: c.workload.Version, Host: endpoint.Data["KUBERNETES_SERVICE_HOST"]}
	if _, err := fmt.Sscan(endpoint.Data["KUBERNETES_SERVICE_PORT"], &cluster.Port); err != nil {
		return fmt.Errorf("read port of the endpoint: %w", err)
	}
	return cluster.CalicoForWindows(ctx, pods.CalicoNetwork{DNS: dns.Spec.ClusterIP, Services: services[0], MTU: mtu})
}

// invalid is the part of validation.go about Windows.
func invalid(installation *unstructured.Unstructured, endpoint *corev1.ConfigMap, services []string) string {
	if endpoint.Data["KUBERNETES_SERVICE_HOST"] == "" || endpoint.Data["KUBERNETES_SERVICE_PORT"] == "" {
		return "services endpoint configmap '" + endpointConfigMap + "' does not have all required information for Calico Windows " +
			"daemonset configuration"
	}
	if len(services) == 0 {
		return "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows"
	}
	pools, _, _ := unstructured.NestedSlice(installation.Object, "spec", "calicoNetwork", "ipPools")
	for _, one := range pools {
		if pool, ok := one.(map[string]any); ok && pool["encapsulation"] != "VXLAN" && pool["encapsulation"] != "None" {
			return fmt.Sprintf("IPv4 IPPool encapsulation %v is not supported by Calico for Windows", pool["encapsulation"])
		}
	}
	return ""
}

// strictAffinity is asked of Calico's API server, once that serves.
func (c *calico) strictAffinity(ctx context.Context) error {
	var servers corev1.PodList
	err := c.client.List(ctx, &servers, client.InNamespace(calicoSystem), client.MatchingLabels{"k8s-app": apiServerName})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(servers.Items, func(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }) {
		return degraded{"ResourceNotReady", "Waiting for IPAMConfiguration watch to be established"}
	}
	ipam := ipamConfig()
	err = c.client.Get(ctx, client.ObjectKeyFromObject(ipam), ipam)
	if strict, _, _ := unstructured.NestedBool(ipam.Object, "spec", "strictAffinity"); err == nil && strict {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return degraded{"ResourceReadError", fmt.Sprintf("Unable to read IPAMConfiguration: %v", err)}
	}
	return degraded{"ResourceReadError", "Invalid StrictAffinity, it must be set to 'true' when using Calico IPAM on Windows: " +
		"StrictAffinity is false, it must be set to 'true' in the default IPAMConfiguration when using Calico IPAM on Windows"}
}

func ipamConfig() *unstructured.Unstructured { return calicoObject("IPAMConfig") }

func felixConfiguration() *unstructured.Unstructured { return calicoObject("FelixConfiguration") }

func calicoObject(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: kind})
	object.SetName("default")
	return object
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
