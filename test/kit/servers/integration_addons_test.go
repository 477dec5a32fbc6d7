package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/addons"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// The Windows nodes of the addons' test: both have the taint of ours, and one has kube-proxy as its service.
const (
	windowsNode = "win-pods"
	serviceNode = "win-service"
)

// testAddons: what clusterctl windows addons prints is taken by API servers that refuse unknown fields and by Cluster API's
// webhooks. Its controller applies it to the workload cluster, where pods of kube-proxy come to the Windows node without the
// service and to no other, and again when the version has changed. A pod with a RuntimeClass of it alone comes to a tainted node.
func testAddons(t *testing.T, m *Management, w *Workload, key types.NamespacedName) {
	kubeadmProxy(t, w)
	for name, labels := range map[string]map[string]string{
		windowsNode: {}, serviceNode: {bootstrap.LabelKubeProxy: bootstrap.LabelService},
	} {
		addWindowsNode(t, w, name, labels)
	}
	workload := client.WithFieldValidation(expect.Got(client.New(w.Config, client.Options{}))(t), metav1.FieldValidationStrict)
	for _, one := range objectsOf(t, expect.Got(addonsOf(t, w.Version, true).Manifests())(t)) {
		expect.OK(t, workload.Create(t.Context(), one, client.DryRunAll))
	}
	api := expect.Got(m.client())(t)
	cluster := clusterv1.Cluster{}
	expect.OK(t, api.Get(t.Context(), key, &cluster))
	before := cluster.DeepCopy()
	cluster.Labels = addons.Label(addons.Cluster{Name: key.Name})
	expect.OK(t, api.Patch(t.Context(), &cluster, client.MergeFrom(before)))
	for _, version := range []string{w.Version, "v1.36.99"} {
		applySet(t, m, key, version)
		wait.Eventually(t, "kube-proxy "+version, func(ctx context.Context) error { return hasProxy(ctx, w, version) })
	}
	tryRuntimeClass(t, w)
}

func addonsOf(t *testing.T, version string, all bool) *addons.Addons {
	t.Helper()
	return expect.Got(addons.Build([]addons.Pool{{
		Version: version, HyperV: all,
		Network: bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNICalico},
	}}, addons.Options{CSIProxy: all}))(t)
}

func objectsOf(t *testing.T, text []byte) (all []*unstructured.Unstructured) {
	t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all
		}
		expect.OK(t, err)
		all = append(all, object)
	}
}

// applySet applies the ClusterResourceSet for a version, as kubectl does.
func applySet(t *testing.T, m *Management, key types.NamespacedName, version string) {
	t.Helper()
	api := client.WithFieldValidation(expect.Got(m.client())(t), metav1.FieldValidationStrict)
	text := expect.Got(addonsOf(t, version, false).ResourceSet(addons.Cluster{Namespace: key.Namespace, Name: key.Name}))(t)
	objects := objectsOf(t, text)
	if len(objects) != 2 {
		t.Fatalf("want a ConfigMap and a ClusterResourceSet, there are %d objects", len(objects))
	}
	for _, one := range objects {
		applied := client.ApplyConfigurationFromUnstructured(one)
		expect.OK(t, api.Apply(t.Context(), applied, client.FieldOwner("kubectl"), client.ForceOwnership))
	}
}

// kubeadmProxy makes what kubeadm leaves for kube-proxy, and this cluster lacks.
func kubeadmProxy(t *testing.T, w *Workload) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: bootstrap.KubeProxyNamespace, Name: "kube-proxy"}
	core, options := w.client.CoreV1(), metav1.CreateOptions{}
	account, settings := &corev1.ServiceAccount{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta}
	expect.Got(core.ServiceAccounts(meta.Namespace).Create(t.Context(), account, options))(t)
	expect.Got(core.ConfigMaps(meta.Namespace).Create(t.Context(), settings, options))(t)
}

func addWindowsNode(t *testing.T, w *Workload, name string, labels map[string]string) {
	t.Helper()
	kubelet := nodes.Linux(name, "", w.Version)
	kubelet.Info.OperatingSystem, kubelet.Labels = "windows", labels
	kubelet.Labels[corev1.LabelWindowsBuild] = "10.0.20348"
	kubelet.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
	expect.OK(t, kubelet.Register(t.Context(), w.client))
}

// hasProxy is an error until the DaemonSet has the version's image and its only pod is bound to the right node.
func hasProxy(ctx context.Context, w *Workload, version string) error {
	set, err := w.client.AppsV1().DaemonSets(bootstrap.KubeProxyNamespace).Get(ctx, "kube-proxy-windows", metav1.GetOptions{})
	if err != nil {
		return err
	}
	image := set.Spec.Template.Spec.Containers[0].Image
	if want := "sigwindowstools/kube-proxy:" + version + "-calico-hostprocess"; image != want {
		return fmt.Errorf("the image is %s, want %s", image, want)
	}
	pods, err := w.client.CoreV1().Pods(set.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy-windows"})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if at := pod.Spec.NodeName; at != "" && at != windowsNode {
			return wait.Final(fmt.Errorf("a pod of kube-proxy is on %s", at))
		}
	}
	seen := set.Status.ObservedGeneration == set.Generation && set.Status.DesiredNumberScheduled == 1
	if !seen || len(pods.Items) != 1 || pods.Items[0].Spec.NodeName == "" {
		return fmt.Errorf("%d pods, and the DaemonSet has the status %+v", len(pods.Items), set.Status)
	}
	return nil
}

// tryRuntimeClass: nothing but the RuntimeClass says that the pod is for Windows.
func tryRuntimeClass(t *testing.T, w *Workload) {
	t.Helper()
	for name, class := range map[string]*string{"with-class": new("windows-2022"), "without-class": nil} {
		expect.Got(w.client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{RuntimeClassName: class, Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}}},
		}, metav1.CreateOptions{}))(t)
	}
	wait.Eventually(t, "the pod with a RuntimeClass", func(ctx context.Context) error {
		pod, err := w.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, "with-class", metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName == "" {
			err = errors.New("it is not bound")
		}
		if err == nil && pod.Spec.NodeName != windowsNode && pod.Spec.NodeName != serviceNode {
			err = wait.Final(fmt.Errorf("it is bound to %s", pod.Spec.NodeName))
		}
		return err
	})
	wait.Eventually(t, "the pod without a RuntimeClass to be refused by all nodes", func(ctx context.Context) error {
		pod, err := w.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, "without-class", metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName != "" {
			return wait.Final(fmt.Errorf("it is bound to %s", pod.Spec.NodeName))
		}
		if err == nil && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		}) {
			err = errors.New("the scheduler has not said anything of it")
		}
		return err
	})
}
