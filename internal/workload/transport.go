package workload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

// How long a call may take, in which the connection is made, and how large its answer may be. A bootstrap token
// has 1 KiB, a Node with the names of 50 images 40 KiB.
const (
	callTime    = 5 * time.Second
	connectTime = 3 * time.Second
	maxObject   = 256 << 10
	maxList     = 2 << 20
	maxRefusal  = 16 << 10
)

var limits = apiserver.Limits{Object: maxObject, List: maxList, Refusal: maxRefusal, Shape: shape}

// newClient makes a client that knows what we read and write without asking the server for its kinds. It speaks JSON, of which
// one can tell before it is decoded how large it will be.
func newClient(server string, web *http.Client, qps float32, burst int) (client.Client, error) {
	config := &rest.Config{Host: server, QPS: qps, Burst: burst, WarningHandler: rest.NoWarnings{}}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return client.New(config, client.Options{Mapper: newMapper(), HTTPClient: web})
}

// newMapper has the kinds of Clusters' own objects, those that give guests a place for their reports, those that give nodes
// rights, those that run programs on them, those of cluster DNS, those that keep workloads for Linux on Linux, and the pools of
// Calico.
func newMapper() meta.RESTMapper {
	rights, apps := rbacv1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	policies := admissionv1.SchemeGroupVersion
	nodes := nodev1.SchemeGroupVersion
	calico := []schema.GroupVersion{{Group: "crd.projectcalico.org", Version: "v1"}, {Group: "projectcalico.org", Version: "v3"}}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, rights, policies, apps, nodes})
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		rights.WithKind("Role"), rights.WithKind("RoleBinding"), apps.WithKind("DaemonSet"), apps.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Pod"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Node"), corev1.SchemeGroupVersion.WithKind("Namespace"),
		policies.WithKind("ValidatingAdmissionPolicy"), policies.WithKind("ValidatingAdmissionPolicyBinding"),
		policies.WithKind("MutatingAdmissionPolicy"), policies.WithKind("MutatingAdmissionPolicyBinding"),
		rights.WithKind("ClusterRole"), rights.WithKind("ClusterRoleBinding"), nodes.WithKind("RuntimeClass"),
		calico[0].WithKind("IPPool"), calico[1].WithKind("IPPool"),
	} {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	return mapper
}

// httpClient makes the only client that ever gets the credentials of a kubeconfig, and what closes its connections. It follows no
// redirect: guarded refuses the answer. Its own limit, which client-go takes over and tells the API server, comes after that of
// guarded: the error of a call that it ends would not be one of ours.
func (c *Clusters) httpClient(a access, k *cluster) (web *http.Client, shut func()) {
	wire := transport(a)
	return &http.Client{
		Transport: guarded{next: wire, line: k.line, namespace: k.namespace, clock: &k.clock, token: a.token, userAgent: c.UserAgent},
		Timeout:   callTime + patience,
	}, wire.CloseIdleConnections
}

func transport(a access) *http.Transport {
	wire := apiserver.NewTransport(a.tls, connectTime)
	wire.MaxConnsPerHost = mostCalls
	return wire
}

const (
	// mostFeeds are followed by one Watcher. They have connections of their own where HTTP/2 is not spoken.
	mostFeeds = 16
	// bytePace is how many bytes of a connection with watches are read in a second, and byteBurst how many at once: a list of 1,000
	// Nodes. It bounds what frames without events cost, too.
	bytePace, byteBurst = 1 << 20, 32 << 20
)

// watching is a transport for watches: by HTTP/2, if the API server speaks it, so that they share a connection.
func watching(a access) *http.Transport {
	wire := transport(a)
	wire.TLSClientConfig = a.tls.Clone()
	wire.TLSClientConfig.NextProtos = nil // the transport's own
	wire.Protocols = &http.Protocols{}
	wire.Protocols.SetHTTP1(true)
	wire.Protocols.SetHTTP2(true)
	wire.HTTP2 = &http.HTTP2Config{
		MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 512 << 10,
		SendPingTimeout: time.Minute, PingTimeout: callTime, WriteByteTimeout: callTime, StrictMaxConcurrentRequests: true,
	}
	wire.MaxConnsPerHost, wire.ResponseHeaderTimeout = mostFeeds, answerTime
	dial := wire.DialContext
	wire.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &pacedConn{Conn: conn, left: byteBurst, counted: time.Now()}, nil
	}
	return wire
}

// pacedConn is read no faster than bytePace, but for byteBurst. It is for one reader, as that of a transport.
type pacedConn struct {
	net.Conn
	left    int64 // of the burst, as it was when that was counted
	counted time.Time
}

// Read implements net.Conn.
func (c *pacedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	now := time.Now()
	more := int64(now.Sub(c.counted).Seconds() * bytePace)
	c.left, c.counted = min(c.left+more, byteBurst)-int64(n), now
	if c.left < 0 {
		<-time.After(time.Duration(-c.left) * time.Second / bytePace) // milliseconds: a read has some KiB
	}
	return n, err
}

// guarded passes calls to one cluster, ends them after callTime, and reads each answer to its end before anything decodes it.
type guarded struct {
	next      http.RoundTripper
	line      *line
	namespace *gate
	clock     *clock
	token     string
	userAgent string
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (response *http.Response, err error) {
	ctx := request.Context()
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := g.line.enter(bounded); err != nil {
		closeBody(request.Body)
		return nil, err
	}
	if err := g.namespace.enter(bounded); err != nil {
		g.line.giveUp()
		closeBody(request.Body)
		return nil, err
	}
	defer g.namespace.leave()
	err = errors.New("the call did not end") // unless it does
	defer func() { g.line.leave(ctx, err) }()
	response, err = g.call(request.WithContext(bounded))
	return response, err
}

// introduce says who calls.
func introduce(request *http.Request, userAgent, token string) {
	request.Header.Set("User-Agent", userAgent)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
}

func (g guarded) call(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	introduce(request, g.userAgent, g.token)
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, &UnreachableError{Why: away, cause: err.Error()}
	}
	defer closeBody(response.Body)
	response.Request = request // by which its limit is known
	body, err := read(response)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 { // what is not an API server's has none left
		g.clock.hear(response.Header)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// read returns an answer as it is, and what is refused in our words.
func read(response *http.Response) ([]byte, error) {
	if why := unusable(response); why != "" {
		return nil, &UnreachableError{Why: why}
	}
	body, err := limits.Read(response)
	if bad, is := errors.AsType[*apiserver.Error](err); is {
		if bad.Err != nil {
			return nil, &UnreachableError{Why: away, cause: bad.Err.Error()}
		}
		return nil, &UnreachableError{Why: bad.Why}
	}
	switch {
	case response.StatusCode >= http.StatusInternalServerError && !sound(body):
		return nil, &UnreachableError{Why: away, cause: response.Status} // a load balancer without an API server
	case response.StatusCode >= http.StatusBadRequest:
		return refusal(body), nil
	}
	return body, nil
}

// unusable says why an answer is not even read.
func unusable(response *http.Response) string {
	why := apiserver.Unusable(response)
	if response.StatusCode == http.StatusUnauthorized {
		return "does not accept the credentials in the Cluster's kubeconfig, which must be renewed"
	}
	return why
}

func closeBody(body io.Closer) {
	if body != nil {
		_ = body.Close() // what was read is used or not, and nothing was written
	}
}
