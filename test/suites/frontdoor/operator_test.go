package frontdoor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/peers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// calicoKinds is the chart of Calico's kinds. With the real operator it has those that are in its program, 2.9 MB of them, as
// upstream's chart has; without it the few that the stand-in needs.
func (w *world) calicoKinds() fs.FS {
	w.Helper()
	chart := os.DirFS(filepath.Join("testdata", "charts", crdChart))
	if w.operator == "" {
		return chart
	}
	return fstest.MapFS{
		"Chart.yaml":           {Data: expect.Got(fs.ReadFile(chart, "Chart.yaml"))(w)},
		"templates/kinds.yaml": {Data: expect.Got(w.printKinds(w.Context(), "all"))(w)},
	}
}

// printKinds has the operator print kinds of Calico.
func (w *world) printKinds(ctx context.Context, which string, environment ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, w.operator, "-print-calico-crds", which)
	command.Env = append(os.Environ(), environment...)
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("print the kinds of Calico: %w", err)
	}
	return out, nil
}

// calicoPrograms are what containers of Calico on Linux machines do where its real operator runs: the operator, and the server of
// its API. All others only have to be there.
func (w *world) calicoPrograms(ctx context.Context, p *pods.Process) (is bool, err error) {
	workload, api := w.demo().Workload()
	if w.operator == "" || workload == nil {
		return false, nil
	}
	switch image := p.Container.Image; {
	case strings.Contains(image, "/tigera/operator:"):
		environment, err := operatorEnvironment(ctx, api, p)
		if err != nil {
			return true, err
		}
		p.Started()
		return true, workload.RunProgram(ctx, servers.PodProgram{
			Name: peers.Operator, Path: w.operator, Args: []string{"-enable-leader-election=false"}, Env: environment,
		})
	case strings.Contains(image, "/calico/apiserver:"):
		own, err := client.New(workload.Config, client.Options{})
		if err != nil {
			return true, err
		}
		repeat(ctx, p, func() error { return w.serveCalico(ctx, own) })
		return true, nil
	}
	return false, nil
}

// operatorEnvironment is that of the operator's container: what the kubelet tells all containers of the API server, the
// ConfigMaps of envFrom, and env.
func operatorEnvironment(ctx context.Context, api kubernetes.Interface, p *pods.Process) ([]string, error) {
	all := []string{"KUBERNETES_SERVICE_HOST=" + servicesHost, "KUBERNETES_SERVICE_PORT=" + servicesPort}
	for _, from := range p.Container.EnvFrom {
		found, err := api.CoreV1().ConfigMaps(p.Pod.Namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil && (!apierrors.IsNotFound(err) || from.ConfigMapRef.Optional == nil || !*from.ConfigMapRef.Optional) {
			return nil, err
		}
		for name, value := range found.Data {
			all = append(all, name+"="+value)
		}
	}
	for _, one := range p.Container.Env {
		value := one.Value
		if one.ValueFrom != nil {
			value = p.Pod.Name // the only field that the chart asks for
		}
		all = append(all, one.Name+"="+value)
	}
	return all, nil
}

// The address of the API server that kubelets tell containers: the first of kubeadm's range of Services.
const (
	servicesHost = "10.96.0.1"
	servicesPort = "443"
)

// serveCalico stands in for the pods of Calico's API server, as far as the operator asks it for Windows: there is the kind
// IPAMConfiguration of projectcalico.org/v3, and its object has what the IPAMConfig behind it has. Here the API server of the
// cluster serves the kind. So its APIService must not name the pods, and the operator must leave that alone.
func (w *world) serveCalico(ctx context.Context, api client.Client) error {
	if err := w.defineIPAMConfiguration(ctx, api); err != nil {
		return err
	}
	stored := ipamConfig()
	if err := api.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	served := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "projectcalico.org/v3", "kind": "IPAMConfiguration", "metadata": map[string]any{"name": stored.GetName()},
		"spec": stored.Object["spec"],
	}}
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(served), client.FieldOwner(apiServerName), client.ForceOwnership)
}

func (w *world) defineIPAMConfiguration(ctx context.Context, api client.Client) error {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v3.projectcalico.org"},
	}}
	err := api.Get(ctx, client.ObjectKeyFromObject(service), service)
	if _, remote, _ := unstructured.NestedMap(service.Object, "spec", "service"); err != nil || !remote {
		return client.IgnoreNotFound(err)
	}
	text, err := w.printKinds(ctx, "ipamconfigurations", "CALICO_API_GROUP=projectcalico.org/v3")
	kind := &unstructured.Unstructured{}
	if err == nil {
		err = yaml.Unmarshal(text, &kind.Object)
	}
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(kind.Object, "status")
	if err := api.Create(ctx, kind); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return api.Patch(ctx, service, client.RawPatch(types.MergePatchType, []byte(
		`{"metadata":{"annotations":{"unsupported.operator.tigera.io/ignore":"true"}},"spec":{"service":null,"caBundle":null}}`)))
}

// assertLabsCalico compares what the real operator has made for Windows with what the lab plays: its own stand-in makes that.
func (w *world) assertLabsCalico() {
	w.Helper()
	workload, api := w.demo().Workload()
	config := rest.CopyConfig(workload.Config)
	config.WarningHandler = rest.NoWarnings{} // of ours, that its pods name no system: the operator does not write that
	own := expect.Got(client.New(config, client.Options{}))(w)
	installation := operatorObject("Installation", "default")
	expect.OK(w, own.Get(w.Context(), client.ObjectKeyFromObject(installation), installation))
	spec := expect.Got(readInstallation(installation))(w)
	endpoint := expect.Got(api.CoreV1().ConfigMaps("tigera-operator").Get(w.Context(), endpointConfigMap, metav1.GetOptions{}))(w)
	cluster := pods.Cluster{Config: workload.Config, Version: workload.Version, Host: endpoint.Data["KUBERNETES_SERVICE_HOST"]}
	expect.Got(fmt.Sscan(endpoint.Data["KUBERNETES_SERVICE_PORT"], &cluster.Port))(w)

	compared := 0
	for _, object := range expect.Got(cluster.CalicoObjects(pods.CalicoNetwork{MTU: spec.CalicoNetwork.MTU}))(w) {
		name := object.GetName()
		if name != calicoWindows && name != "cni-config-windows" {
			continue // accounts and certificates, which nobody reads here
		}
		made := object.DeepCopy()
		expect.OK(w, own.Get(w.Context(), client.ObjectKeyFromObject(made), made))
		if name == calicoWindows {
			object.SetName("lab") // a new one, so that the API server writes its defaults, as it has into the other
			expect.OK(w, own.Create(w.Context(), object, client.DryRunAll))
			expect.Same(w, "the DaemonSet of the operator and of the lab", windowsPods(w, made), windowsPods(w, object))
		} else {
			expect.Same(w, "the configuration of the operator and of the lab", configuration(w, made), configuration(w, object))
		}
		compared++
	}
	expect.Same(w, "objects that were compared", 2, compared)
}

// windowsPods is what of a DaemonSet matters: no hashes of what it mounts, no labels that only say who has made it, and no order
// of what has names.
func windowsPods(w *world, object *unstructured.Unstructured) appsv1.DaemonSetSpec {
	w.Helper()
	var set appsv1.DaemonSet
	expect.OK(w, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set))
	template := &set.Spec.Template
	template.Annotations, template.Labels = nil, map[string]string{"k8s-app": template.Labels["k8s-app"]}
	slices.SortFunc(template.Spec.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			slices.SortFunc(list[i].Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
			slices.SortFunc(list[i].VolumeMounts, func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
		}
	}
	return set.Spec
}

func configuration(w *world, object *unstructured.Unstructured) (content any) {
	w.Helper()
	text, _, _ := unstructured.NestedString(object.Object, "data", "config")
	expect.OK(w, json.Unmarshal([]byte(text), &content))
	return content
}

// watchCharts notes when the control plane was initialized, and when the add-on provider has installed each of Calico's charts.
func (w *world) watchCharts(ctx context.Context, m *management) {
	cluster := &clusterv1.Cluster{}
	err := m.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, cluster)
	if is := cluster.Status.Initialization.ControlPlaneInitialized; err == nil && is != nil && *is {
		w.mark(initialized)
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("addons.cluster.x-k8s.io/v1alpha1")
	list.SetKind("HelmReleaseProxyList")
	if err := m.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return
	}
	for _, one := range list.Items {
		chart, _, _ := unstructured.NestedString(one.Object, "spec", "chartName")
		step := map[string]string{crdChart: kindsInstalled, "tigera-operator": calicoInstalled}[chart]
		status, _, _ := unstructured.NestedString(one.Object, "status", "status")
		if step != "" && status == "deployed" {
			w.mark(step)
		}
	}
}
