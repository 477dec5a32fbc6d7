package charts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

var demo = types.NamespacedName{Namespace: "team-a", Name: "demo"}

// Cluster API's add-on provider installs the chart of vSphere's cloud provider, from the URL that users write, in the cluster
// that a HelmChartProxy selects, with values of that Cluster. It names a version that is not there, and what it installed goes
// with the HelmChartProxy.
func TestInstallsCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	m, w := startClusters(t)
	repositories := expect.Got(Upstream(t.Context()))(t)
	repositories[ours] = expect.Got(Repository(small))(t)
	repositories[calico] = expect.Got(Repository(
		os.DirFS(filepath.Join(calicoCharts, "crd.projectcalico.org.v1")), os.DirFS(filepath.Join(calicoCharts, "tigera-operator")),
	))(t)
	server := expect.Got(Start(t.TempDir(), repositories))(t)
	t.Cleanup(func() { expect.Fine(t, server.Close()) })
	expect.OK(t, servers.StartCAAPH(t.Context(), m, t.Output(), server.Environment...))
	api, workload := clientFor(t, m), expect.Got(client.New(w.Config, client.Options{}))(t)
	_, version, err := servers.Chart(t.Context(), servers.CloudProviderChart)
	expect.OK(t, err)

	missing := proxyOf("missing", "99.0.0")
	own := proxyOf("small", "1.2.3")
	expect.OK(t, unstructured.SetNestedField(own.Object, ours, "spec", "repoURL"))
	expect.OK(t, unstructured.SetNestedField(own.Object, "small", "spec", "chartName"))
	expect.OK(t, api.Create(t.Context(), own))
	expect.OK(t, api.Create(t.Context(), missing))
	wait.Eventually(t, "the sentence about the version", func(ctx context.Context) error {
		said, err := ready(ctx, api, missing)
		if err == nil && !strings.Contains(said, "99.0.0") {
			err = errors.New(said)
		}
		return err
	})

	wanted := proxyOf("cloud-provider", version)
	expect.OK(t, api.Create(t.Context(), wanted))
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "vsphere-cpi"}}
	wait.Eventually(t, "the chart to be installed", func(ctx context.Context) error {
		if said, err := ready(ctx, api, wanted); err != nil || said != "" {
			return errors.Join(err, errors.New(said))
		}
		return workload.Get(ctx, client.ObjectKeyFromObject(set), set)
	})
	expect.Same(t, "a value of the Cluster", "demo at "+w.Host, set.Spec.Template.Annotations["example.com/cluster"])
	image := "registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v" + version
	expect.Same(t, "image", image, set.Spec.Template.Spec.Containers[0].Image)
	wait.Eventually(t, "its pod to be bound to the Linux node", func(ctx context.Context) error { return bound(ctx, workload) })
	config := &corev1.ConfigMap{}
	wait.Eventually(t, "the chart that was packed here", func(ctx context.Context) error {
		return workload.Get(ctx, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "small"}, config)
	})
	expect.Same(t, "version of the app", "4.5.6", config.Data["version"])
	for _, asked := range []string{"/index.yaml", "/charts/vsphere-cpi-" + version + ".tgz"} {
		if !slices.Contains(server.Asked(), CloudProviderVSphere+asked) {
			t.Errorf("%s was not asked for, but %v", asked, server.Asked())
		}
	}

	expect.OK(t, api.Delete(t.Context(), wanted))
	wait.Eventually(t, "the chart to be removed", func(ctx context.Context) error {
		err := workload.Get(ctx, client.ObjectKeyFromObject(set), set)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("the DaemonSet is there"))
	})
	comesAfterItsKinds(t, m, w)
}

// startClusters starts a management cluster, and a workload cluster that it knows by a label.
func startClusters(t *testing.T) (*servers.Management, *servers.Workload) {
	t.Helper()
	binaries := expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	dir := func(name string) string { return filepath.Join(t.TempDir(), name) }
	m := expect.Got(servers.StartManagement(t.Context(), servers.ManagementOptions{Binaries: binaries, Dir: dir("management")}))(t)
	t.Cleanup(func() { expect.Fine(t, m.Stop()) })
	expect.OK(t, servers.InstallCAPI(t.Context(), m, servers.CAPIOptions{CoreOnly: true}))
	w := expect.Got(servers.StartWorkload(t.Context(), servers.WorkloadOptions{Binaries: binaries, Dir: dir("workload")}))(t)
	t.Cleanup(func() { expect.Fine(t, w.Stop()) })
	expect.OK(t, servers.JoinAsCluster(t.Context(), m, w, servers.JoinOptions{
		Namespace: demo.Namespace, Name: demo.Name, Initialized: true,
	}))
	cluster := &clusterv1.Cluster{}
	api := clientFor(t, m)
	expect.OK(t, api.Get(t.Context(), demo, cluster))
	before := cluster.DeepCopy()
	cluster.Labels = map[string]string{"example.com/cloud": "vsphere"}
	expect.OK(t, api.Patch(t.Context(), cluster, client.MergeFrom(before)))
	return m, w
}

func clientFor(t *testing.T, m *servers.Management) client.Client {
	t.Helper()
	api := expect.Got(client.New(m.Config, client.Options{}))(t)
	expect.OK(t, clusterv1.AddToScheme(api.Scheme()))
	return api
}

func proxyOf(name, version string) *unstructured.Unstructured {
	proxy := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"clusterSelector": map[string]any{"matchLabels": map[string]any{"example.com/cloud": "vsphere"}},
		"chartName":       servers.CloudProviderChart, "repoURL": CloudProviderVSphere, "version": version,
		"releaseName": name, "namespace": metav1.NamespaceSystem,
		"valuesTemplate": `daemonset:
  podAnnotations:
    example.com/cluster: "{{ .Cluster.metadata.name }} at {{ .Cluster.spec.controlPlaneEndpoint.host }}"
`,
	}}}
	proxy.SetGroupVersionKind(servers.HelmChartProxy)
	proxy.SetNamespace(demo.Namespace)
	proxy.SetName(name)
	return proxy
}

// ready is nothing when a HelmChartProxy is ready in one cluster, and what it says of that when it is not.
func ready(ctx context.Context, api client.Client, proxy *unstructured.Unstructured) (said string, err error) {
	if err := api.Get(ctx, client.ObjectKeyFromObject(proxy), proxy); err != nil {
		return "", err
	}
	conditions, _, err := unstructured.NestedSlice(proxy.Object, "status", "conditions")
	for _, condition := range conditions {
		condition, _ := condition.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" {
			return "", err
		}
		said += fmt.Sprintf("%v=%v %v: %v; ", condition["type"], condition["status"], condition["reason"], condition["message"])
	}
	return "not ready: " + said, err
}

func bound(ctx context.Context, workload client.Client) error {
	pods := &corev1.PodList{}
	labels := client.MatchingLabels{"app": "vsphere-cpi"}
	if err := workload.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), labels); err != nil {
		return err
	}
	if len(pods.Items) != 1 || pods.Items[0].Spec.NodeName == "" {
		return fmt.Errorf("there are %d pods, or one is not bound", len(pods.Items))
	}
	return nil
}
