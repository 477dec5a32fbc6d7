package servers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

const joiningNode = "win-0"

// testNodeCertificate does what a joining kubelet does: with the token it asks for a certificate, which the controllers
// approve and sign; with that certificate it may make its own node and no other.
func testNodeCertificate(t *testing.T, w *Workload) {
	own := clientOf(t, asNode(t, w, bootstrapToken(t, w))).CoreV1().Nodes()
	if _, err := own.Create(t.Context(), newNode("other"), metav1.CreateOptions{}); err == nil {
		t.Error("a node may make another node")
	}
	if _, err := own.Create(t.Context(), newNode(joiningNode), metav1.CreateOptions{}); err != nil {
		t.Errorf("a node may not make itself: %v", err)
	}
	if err := own.Delete(t.Context(), joiningNode, metav1.DeleteOptions{}); err == nil {
		t.Error("a node may delete itself")
	}
	expect.Fine(t, w.client.CoreV1().Nodes().Delete(t.Context(), joiningNode, metav1.DeleteOptions{}))
}

// asToken logs in with a bootstrap token.
func asToken(w *Workload, token string) *rest.Config {
	config := rest.AnonymousClientConfig(w.Config)
	config.BearerToken = token
	return config
}

// asNode logs in with the certificate that a node gets for its token.
func asNode(t *testing.T, w *Workload, token string) *rest.Config {
	t.Helper()
	certificate, key, err := nodes.ClientCertificate.Request(t.Context(), clientOf(t, asToken(w, token)), joiningNode)
	expect.OK(t, err)
	config := rest.AnonymousClientConfig(w.Config)
	config.CertData, config.KeyData = certificate, key
	return config
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	return expect.Got(kubernetes.NewForConfig(config))(t)
}

func bootstrapToken(t *testing.T, w *Workload) string {
	t.Helper()
	secrets, err := w.client.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{
		FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken),
	})
	expect.OK(t, err)
	if len(secrets.Items) != 1 {
		t.Fatalf("%d bootstrap tokens, want the one of kubeadm", len(secrets.Items))
	}
	data := secrets.Items[0].Data
	return string(data["token-id"]) + "." + string(data["token-secret"])
}
