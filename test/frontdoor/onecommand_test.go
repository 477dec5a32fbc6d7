package frontdoor

import (
	"context"
	"crypto/sha1" //nolint:gosec // because vSphere's provider and its cloud provider name certificates by it
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

const kubernetesVersion = "v1.36.3"

// endpointIP is the address that kube-vip takes, on loopback: one of each process of tests.
func endpointIP() string { return fmt.Sprintf("127.77.%d.%d", os.Getpid()>>8&0xff, os.Getpid()&0xff) }

// One command of clusterctl makes a cluster in which a Windows pod runs.
func TestOneCommand(t *testing.T) {
	t.Run("vsphere", func(t *testing.T) {
		w := newWorld(t)
		w.onVSphere()
		m := w.newManagement("management")
		w.oneCommand(m, w.vsphereVariables())
	})
	t.Run("azure", func(t *testing.T) {
		w := newWorld(t)
		w.inAzure()
		m := w.newManagement("management")
		w.shell(m, servicePrincipal, w.azureVariables()...)
		w.oneCommand(m, w.azureVariables())
	})
}

func (w *world) onVSphere() {
	w.Helper()
	w.vsphere = expect.Got(startVSphere(w.Context()))(w)
	w.Cleanup(w.vsphere.Stop)
	w.background(func(ctx context.Context) {
		if err := w.runGuests(ctx); err != nil && ctx.Err() == nil {
			w.tell("the guests end: %v", err)
		}
	})
}

// vsphereVariables are those that the head of the flavor asks for.
func (w *world) vsphereVariables() []string {
	w.Helper()
	server := w.vsphere.Listener.Addr().String()
	host, port, err := net.SplitHostPort(server)
	expect.OK(w, err)
	certificate := w.vsphere.Certificate().Raw
	colons := func(sum []byte) string { return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":") }
	short, long := sha1.Sum(certificate), sha256.Sum256(certificate) //nolint:gosec // as above
	return []string{
		"WINDOWS_CLOUD=vsphere", "KUBERNETES_VERSION=" + kubernetesVersion, "VCENTER=" + host, "VSPHERE_PORT=" + port,
		"VSPHERE_SERVER=" + server, "VSPHERE_USERNAME=" + vcenter.Username, "VSPHERE_PASSWORD=" + vcenter.Password,
		"VSPHERE_TLS_THUMBPRINT=" + colons(short[:]), "VSPHERE_TLS_THUMBPRINT_SHA256=" + colons(long[:]),
		"VSPHERE_DATACENTER=" + vcenter.Datacenter, "VSPHERE_DATASTORE=LocalDS_0", "VSPHERE_FOLDER=" + vcenter.Folder,
		"VSPHERE_NETWORK=VM Network", "VSPHERE_RESOURCE_POOL=" + vcenter.ResourcePool, "VSPHERE_TEMPLATE=" + linuxTemplate,
		"VSPHERE_SSH_AUTHORIZED_KEY=ssh-ed25519 AAAA admin@example.com", "VSPHERE_WINDOWS_TEMPLATE=" + vcenter.Template,
		"CONTROL_PLANE_ENDPOINT_IP=" + endpointIP(),
	}
}

// The commands in the head of the flavor, and the one.
const (
	vsphereSecrets = `kubectl create secret generic demo --from-literal=server="$VSPHERE_SERVER" --from-literal=username="$VSPHERE_USERNAME" \
  --from-literal=password="$VSPHERE_PASSWORD" --from-literal=thumbprint="$VSPHERE_TLS_THUMBPRINT_SHA256"
kubectl create secret generic vsphere-cloud-secret --namespace kube-system --dry-run=client --output yaml \
  --from-literal=server_1="$VCENTER" --from-literal=username_1="$VSPHERE_USERNAME" \
  --from-literal=password_1="$VSPHERE_PASSWORD" |
  kubectl create secret generic demo-vsphere-cloud-secret --type addons.cluster.x-k8s.io/resource-set --from-file=secret.yaml=/dev/stdin
`
	generate = "clusterctl generate cluster demo -i windows --flavor windows | kubectl apply -f -"
)

// oneCommand makes the cluster, and waits until a Windows pod runs in it.
func (w *world) oneCommand(m *management, variables []string) {
	w.Helper()
	if w.vsphere != nil {
		w.shell(m, vsphereSecrets, variables...)
	}
	w.tell("the one command")
	w.tell("%s", w.shell(m, generate, variables...))
	w.watch(m)
	cluster := w.demo()
	w.background(func(ctx context.Context) {
		expect.OK(w, wait.Poll(ctx, func(context.Context) error {
			if api, _ := cluster.Workload(); api == nil {
				return fmt.Errorf("no API server")
			}
			return nil
		}))
		workload, _ := cluster.Workload()
		operator := &calico{client: expect.Got(client.New(workload.Config, client.Options{}))(w), workload: workload}
		operator.run(ctx, func(err error) { w.tell("calico: %v", err) })
	})
	w.until("an API server", func() (any, bool) {
		_, api := cluster.Workload()
		return nil, api != nil
	})
	_, api := cluster.Workload()
	if w.azure != nil {
		w.background(func(ctx context.Context) {
			w.azure.cloudProvider(ctx, api, func(err error) { w.tell("cloud provider: %v", err) })
		})
	}
	w.windowsPodRuns(api)
}

// windowsPodRuns makes a pod with nothing but a RuntimeClass, and waits until it runs.
func (w *world) windowsPodRuns(api kubernetes.Interface) {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "iis"},
		Spec: corev1.PodSpec{
			RuntimeClassName: new("windows-2022"), Containers: []corev1.Container{{Name: "iis", Image: "example.com/iis"}},
		},
	}
	w.until("the pod to be taken", func() (any, bool) {
		_, err := api.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{})
		return err, err == nil
	})
	w.until("the pod to run", func() (any, bool) {
		found := expect.Got(api.CoreV1().Pods(namespace).Get(w.Context(), pod.Name, metav1.GetOptions{}))(w)
		return found.Status, found.Status.Phase == corev1.PodRunning
	})
	w.tell("a Windows pod runs")
}
