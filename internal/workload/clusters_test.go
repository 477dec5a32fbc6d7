package workload

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var key = client.ObjectKey{Namespace: "tenant", Name: "prod"}

// management is a management cluster with one Secret, and counts how often it is read.
type management struct {
	client.Reader
	kubeconfig string
	reads      int
	fails      error
}

// Get implements client.Reader.
func (m *management) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	m.reads++
	if m.fails != nil {
		return m.fails
	}
	secret, ok := o.(*corev1.Secret)
	if !ok || key.String() != "tenant/prod-kubeconfig" || m.kubeconfig == "" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	secret.Data = map[string][]byte{"value": []byte(m.kubeconfig)}
	return nil
}

// A kubeconfig that changes is used within minutes, and one that is mended within seconds.
func TestReread(t *testing.T) {
	ca := aCA(t)
	synctest.Test(t, func(t *testing.T) {
		m := &management{}
		c := &Clusters{Live: m}
		get := func() (client.Client, error) { return c.GetClient(t.Context(), key) }
		says := func(text string) {
			t.Helper()
			_, err := get()
			expect.Says(t, "kubeconfig", err, text)
		}
		says("is not known: Secret prod-kubeconfig with its kubeconfig does not exist")
		m.kubeconfig = text("http://127.0.0.1", ca)
		says("does not exist") // not read again at once
		later(rereadFailed)
		says("the kubeconfig in Secret prod-kubeconfig is refused: cluster.server is not an https URL")
		_, refused := get()
		later(rereadFailed)
		if _, again := get(); again != refused { //nolint:errorlint // because it is to be the same one
			t.Error("a refused kubeconfig that is the same was looked at again")
		}
		m.kubeconfig = text("https://127.0.0.1", ca)
		later(2 * rereadFailed)
		first := expect.Got(get())(t)
		later(reread)
		if same := expect.Got(get())(t); same != first {
			t.Error("the connection was made anew although the kubeconfig is the same")
		}
		closed, k := 0, c.clusters[key]
		shut := k.close
		k.close = func() { closed++; shut() }
		m.kubeconfig = text("https://127.0.0.2", ca)
		later(reread)
		if other := expect.Got(get())(t); other == first {
			t.Error("the changed kubeconfig is not used")
		}
		expect.Same(t, "old connections closed", 1, closed)
		expect.Same(t, "reads", 6, m.reads)
		expect.OK(t, c.clusters[key].line.enter(t.Context()))
		c.clusters[key].line.leave(t.Context(), errAway)
		says(cannotReach) // there is a client, and no use in it
		m.kubeconfig = ""
		later(rereadFailed)
		says("does not exist")
		m.kubeconfig = text("https://127.0.0.2", ca)
		later(rereadFailed)
		if back := expect.Got(get())(t); back == nil {
			t.Error("a kubeconfig that is there again is not used")
		}
		m.fails = errors.New("etcd is away")
		later(reread)
		says("get kubeconfig: etcd is away")
	})
}

// What no caller asks for is closed, and all is in the end.
func TestUnused(t *testing.T) {
	ca := aCA(t)
	synctest.Test(t, func(t *testing.T) {
		c := &Clusters{Live: &management{kubeconfig: text("https://127.0.0.1", ca)}}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { expect.Fine(t, c.Start(ctx)) })
		ask := func() { expect.Got(c.GetClient(t.Context(), key))(t) }
		count := func(want int) {
			t.Helper()
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			expect.Same(t, "clusters", want, len(c.clusters))
			expect.Same(t, "namespaces", want, len(c.gates))
		}
		ask()
		later(unused - time.Minute)
		ask()
		later(unused - time.Minute)
		count(1)
		later(2 * time.Minute)
		count(0)
		ask()
		count(1)
		end()
		running.Wait()
		count(0)
	})
}

// workloadCluster answers as said, and counts calls. It has one Node.
func workloadCluster(t *testing.T, answer http.HandlerFunc) (*Clusters, *atomic.Int32) {
	t.Helper()
	var calls atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	kubeconfig := text(server.URL, base64.StdEncoding.EncodeToString(ca))
	return &Clusters{Live: &management{kubeconfig: kubeconfig}, QPS: 1000, Burst: 1000, UserAgent: "us"}, &calls
}

const oneNode = `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"n","labels":{"a":"b"}},` +
	`"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"True"}],` +
	`"nodeInfo":{"kubeletVersion":"v1.36.3"}}}]}`

func showNode(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, oneNode)
}

// One reading of the Nodes serves all machines of a Cluster.
func TestControlPlane(t *testing.T) {
	var asked atomic.Pointer[http.Request]
	c, calls := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		showNode(w, r)
	})
	want := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	want.Status.NodeInfo.KubeletVersion = "v1.36.3"
	want.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			nodes, err := c.ControlPlane(t.Context(), key)
			expect.Fine(t, err)
			if diff := cmp.Diff([]corev1.Node{want}, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
	callers.Wait()
	if n := calls.Load(); n > 2 { // two if the machine is very busy
		t.Errorf("%d calls for 50 machines", n)
	}
	r := asked.Load()
	call := []string{r.Method, r.URL.Path, r.URL.Query().Get("limit"), r.UserAgent(), r.Header.Get("Authorization"), r.Proto}
	expect.Same(t, "call", "GET /api/v1/nodes 20 us Bearer t HTTP/1.1", strings.Join(call, " "))
	expect.Same(t, "what is understood", "application/json", r.Header.Get("Accept"))
}

// All kinds that we read and write in a cluster are known without asking it, also those that only guests' reports need.
func TestKinds(t *testing.T) {
	var asked []string
	c, _ := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	api := expect.Got(c.GetClient(t.Context(), key))(t)
	const core, rights, policies = "/api/v1/", "/apis/rbac.authorization.k8s.io/v1/", "/apis/admissionregistration.k8s.io/v1/"
	for path, kind := range map[string]client.Object{
		core + "namespaces/a/secrets/b":                  &corev1.Secret{},
		core + "namespaces/a/configmaps/b":               &corev1.ConfigMap{},
		rights + "namespaces/a/roles/b":                  &rbacv1.Role{},
		rights + "namespaces/a/rolebindings/b":           &rbacv1.RoleBinding{},
		core + "nodes/b":                                 &corev1.Node{},
		core + "namespaces/b":                            &corev1.Namespace{},
		policies + "validatingadmissionpolicies/b":       &admissionv1.ValidatingAdmissionPolicy{},
		policies + "validatingadmissionpolicybindings/b": &admissionv1.ValidatingAdmissionPolicyBinding{},
		"/apis/crd.projectcalico.org/v1/ippools/b":       anIPPool("crd.projectcalico.org/v1"),
		"/apis/projectcalico.org/v3/ippools/b":           anIPPool("projectcalico.org/v3"),
	} {
		asked = nil
		err := api.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "b"}, kind)
		expect.Same(t, path+" is asked for", true, apierrors.IsNotFound(err))
		expect.Same(t, "calls", []string{path}, asked)
	}
}

func anIPPool(version string) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": "IPPool"}}
}

// A cluster that fails is not asked again by each of its machines.
func TestOneFailureForAll(t *testing.T) {
	c, calls := workloadCluster(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://127.0.0.1:1")
		w.WriteHeader(http.StatusFound)
	})
	for range 20 {
		_, err := c.ControlPlane(t.Context(), key)
		expect.Says(t, "redirect", err, "answers with a redirect, which is not followed")
	}
	expect.Same(t, "calls", int32(1), calls.Load())
}

// A cluster that no longer accepts its kubeconfig is used again as soon as the kubeconfig is renewed.
func TestRenewed(t *testing.T) {
	c, calls := workloadCluster(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer renewed" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		showNode(w, r)
	})
	for range 5 {
		_, err := c.ControlPlane(t.Context(), key)
		expect.Says(t, "old token", err, "does not accept the credentials in the Cluster's kubeconfig, which must be renewed")
	}
	expect.Same(t, "calls with the old token", int32(1), calls.Load())
	m, ok := c.Live.(*management)
	expect.Same(t, "a management cluster", true, ok)
	m.kubeconfig = strings.Replace(m.kubeconfig, "token: t", "token: renewed", 1)
	c.clusters[key].read = c.clusters[key].read.Add(-rereadFailed)
	expect.Got(c.ControlPlane(t.Context(), key))(t)
}

// A server that speaks an old TLS only hears nothing.
func TestOldTLS(t *testing.T) {
	c, calls := workloadCluster(t, showNode)
	server := httptest.NewUnstartedServer(http.HandlerFunc(showNode))
	//nolint:gosec // because it plays an old server
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c.Live = &management{kubeconfig: text(server.URL, base64.StdEncoding.EncodeToString(ca))}
	_, err := c.ControlPlane(t.Context(), key)
	expect.Says(t, "old server", err, "cannot be reached")
	expect.Same(t, "calls", int32(0), calls.Load())
}

// TestIsUp: what is written into a workload cluster waits until that is there, and stops while a person has the Cluster paused,
// or it is being removed.
func TestIsUp(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*clusterv1.Cluster)
		want   bool
	}{
		"up":                     {func(*clusterv1.Cluster) {}, true},
		"paused by its spec":     {func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) }, false},
		"not paused by its spec": {func(c *clusterv1.Cluster) { c.Spec.Paused = new(false) }, true},
		"being removed":          {func(c *clusterv1.Cluster) { c.DeletionTimestamp = new(metav1.Now()) }, false},
		"paused by its annotation": {func(c *clusterv1.Cluster) {
			c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}, false},
		"without a control plane": {func(c *clusterv1.Cluster) {
			c.Status.Initialization.ControlPlaneInitialized = new(false)
		}, false},
		"of which nothing is known yet": {func(c *clusterv1.Cluster) { c.Status = clusterv1.ClusterStatus{} }, false},
	} {
		var cluster clusterv1.Cluster
		cluster.Status.Initialization.ControlPlaneInitialized = new(true)
		c.change(&cluster)
		expect.Same(t, what, c.want, IsUp(&cluster))
	}
}
