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

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

const (
	calicoSystem      = "calico-system"
	calicoWindows     = "calico-node-windows"
	calicoOnWindows   = "calico-windows"
	apiServerName     = "calico-apiserver"
	endpointConfigMap = "kubernetes-services-endpoint"
)

// calico does what Calico's operator does once its pod runs (tigera/operator v1.42.4, of which the chart has v1.42.3;
// core_controller.go and windows_controller.go in pkg/controller/installation, and pkg/render/apiserver.go), as far as Windows
// waits for it. test/kit/peers has the operator itself.
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
	operator := &running.Items[0].Spec
	if c.byName && !resolves(operator) {
		return fmt.Errorf("the policy %s of the operator's pod asks cluster DNS, which has no network yet", operator.DNSPolicy)
	}
	object := operatorObject("Installation", "default")
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	spec, err := readInstallation(object)
	if err != nil {
		return err
	}
	if err := c.report(ctx, "calico", c.core(ctx, object, spec, operator)); err != nil {
		return err
	}
	if err := c.apiServer(ctx, object); err != nil || !spec.onWindows() {
		return err
	}
	return c.report(ctx, calicoOnWindows, c.windows(ctx, object, spec))
}

// report writes how a part ended, if it is degraded or well; any other error is returned.
func (c *calico) report(ctx context.Context, part string, err error) error {
	d, is := err.(degraded) //nolint:errorlint // because it is our own and never wrapped
	if err != nil && !is {
		return err
	}
	return c.tell(ctx, part, d)
}

// resolves says whether a pod in the network of its machine finds names before there is cluster DNS (projectcalico/calico issue
// 9536). Kubelets give it cluster DNS, and with it the name servers of its own, if its policy says so.
func resolves(pod *corev1.PodSpec) bool {
	return pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || pod.DNSConfig != nil && len(pod.DNSConfig.Nameservers) > 0
}

// core is the network of Linux, and what Windows' controller waits for: nothing of it is made for an Installation that is
// invalid, be it for Windows alone. Calico's pods on the machines ask for names as their operator does.
func (c *calico) core(ctx context.Context, object *unstructured.Unstructured, spec installation, operator *corev1.PodSpec) error {
	endpoint := &corev1.ConfigMap{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: "tigera-operator", Name: endpointConfigMap}, endpoint)
	if apierrors.IsNotFound(err) {
		endpoint, err = endpointOfKubelets(), nil
	}
	if err != nil {
		return err
	}
	if why := invalid(spec, endpoint); why != "" {
		return degraded{"InvalidConfigurationError", "Invalid Installation provided: " + why}
	}
	labels := map[string]string{"k8s-app": "calico-node"}
	everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	ipam, felix := ipamConfig(), felixConfiguration()
	ipam.Object["spec"] = map[string]any{"autoAllocateBlocks": true, "strictAffinity": false} // calico-node's, with the first pod
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
	if _, has := object.Object["status"]; has {
		return nil
	}
	object.Object["status"] = map[string]any{"variant": "Calico"}
	return c.client.Status().Update(ctx, object)
}

// endpointOfKubelets is the address of the API server in the environment of all containers, which is the operator's until it has
// a ConfigMap (pkg/controller/k8sapi).
func endpointOfKubelets() *corev1.ConfigMap {
	return &corev1.ConfigMap{Data: map[string]string{
		"KUBERNETES_SERVICE_HOST": servicesHost, "KUBERNETES_SERVICE_PORT": servicesPort,
	}}
}

// apiServer is the controller of Calico's API server, which serves IPAMConfiguration. The object APIServer asks for it, and it
// waits for the variant in the status of the Installation.
func (c *calico) apiServer(ctx context.Context, object *unstructured.Unstructured) error {
	if _, has, _ := unstructured.NestedString(object.Object, "status", "variant"); !has {
		return nil
	}
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
func (c *calico) windows(ctx context.Context, object *unstructured.Unstructured, spec installation) error {
	endpoint := &corev1.ConfigMap{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: "tigera-operator", Name: endpointConfigMap}, endpoint)
	if apierrors.IsNotFound(err) { // the operator reads its cache, which names the kind
		err = apierrors.NewNotFound(schema.GroupResource{Resource: "ConfigMap"}, endpointConfigMap)
	}
	if err != nil {
		return degraded{"ResourceReadError", fmt.Sprintf("Error reading services endpoint configmap: %v", err)}
	}
	if _, has := object.Object["status"]; !has {
		return degraded{"ResourceNotReady", "InstallationStatus is empty: InstallationStatus is empty"}
	}
	if why := invalid(spec, endpoint); why != "" {
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
	err = c.client.Get(ctx, client.ObjectKeyFromObject(felix), felix)
	if _, has, _ := unstructured.NestedInt64(felix.Object, "spec", "vxlanVNI"); err != nil || !has {
		return degraded{"ResourceReadError", "Error reading VXLANVNI from FelixConfiguration: " +
			"VXLANVNI not specified in FelixConfigurationSpec"}
	}
	set := &appsv1.DaemonSet{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: calicoSystem, Name: calicoWindows}, set); err == nil {
		return nil
	}
	cluster := pods.Cluster{Config: c.workload.Config, Version: c.workload.Version, Host: endpoint.Data["KUBERNETES_SERVICE_HOST"]}
	if _, err := fmt.Sscan(endpoint.Data["KUBERNETES_SERVICE_PORT"], &cluster.Port); err != nil {
		return fmt.Errorf("read port of the endpoint: %w", err)
	}
	return cluster.CalicoForWindows(ctx, pods.CalicoNetwork{
		DNS: dns.Spec.ClusterIP, Services: spec.ServiceCIDRs[0], MTU: spec.CalicoNetwork.MTU,
	})
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
func (c *calico) tell(ctx context.Context, part string, d degraded) error {
	status := operatorObject("TigeraStatus", part)
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
