package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// mixed is an API server that is workload cluster and management cluster at once. No controller runs behind it.
type mixed struct {
	client.Client

	t                   *testing.T
	programs, file, raw string
}

func startMixed(t *testing.T) *mixed {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	programs := filepath.Dir(binaries.Path("kubectl"))
	environment := &envtest.Environment{
		BinaryAssetsDirectory: programs, CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: wait.Patience,
	}
	config := expect.Got(environment.Start())(t)
	expect.OK(t, servers.NoteStart("kube-apiserver"))
	t.Cleanup(func() { _ = environment.Stop() })
	config.QPS = -1 // no limit
	scheme := environment.Scheme
	for _, add := range []error{infrav1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)} {
		expect.OK(t, add)
	}
	m := &mixed{
		t: t, programs: programs, raw: string(environment.KubeConfig),
		Client: expect.Got(client.New(config, client.Options{Scheme: scheme}))(t),
	}
	m.file = inFile(t, "kubeconfig", m.raw)
	m.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	m.node("linux-0", map[string]string{corev1.LabelOSStable: "linux"})
	// As kubeadm v1.36.3 has them: internal/placement/testdata/workloads.json.
	m.workload("Deployment", "kube-system", "coredns", `nodeSelector: {kubernetes.io/os: linux}`, "k8s-app: kube-dns")
	m.workload("DaemonSet", "kube-system", "kube-proxy",
		`{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`, "")
	m.make(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: []corev1.ServicePort{{Port: 53}}},
	})
	return m
}

func (m *mixed) make(o client.Object) { expect.OK(m.t, m.Create(m.t.Context(), o)) }

func (m *mixed) node(name string, labels map[string]string, taints ...corev1.Taint) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
	m.make(node)
	node.Status.NodeInfo.KubeletVersion = "v1.36.3"
	expect.OK(m.t, m.Status().Update(m.t.Context(), node))
}

// workload makes one with this spec of its pods, and this label.
func (m *mixed) workload(kind, namespace, name, spec, label string) {
	m.t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
	if key, value, ok := strings.Cut(label, ": "); ok {
		template.Labels[key] = value
	}
	expect.OK(m.t, yaml.UnmarshalStrict([]byte(spec), &template.Spec))
	if len(template.Spec.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: name, Image: "example.com/" + name + ":v1.0.0"}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	switch kind {
	case "Deployment":
		m.make(&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}})
	case "DaemonSet":
		m.make(&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}})
	case "StatefulSet":
		m.make(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}})
	}
}
