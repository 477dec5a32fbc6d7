package workload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
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
	"k8s.io/client-go/util/flowcontrol"
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

// newClients makes a client that knows what we read and write without asking the server for its kinds, and one for paths. Both
// use JSON, whose size in memory can be estimated before it is decoded.
func newClients(server string, web *http.Client, qps float32, burst int) (client.Client, *rest.RESTClient, error) {
	config := &rest.Config{Host: server, WarningHandler: rest.NoWarnings{}}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(cmp.Or(qps, rest.DefaultQPS), cmp.Or(burst, rest.DefaultBurst))
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	objects, err := client.New(config, client.Options{Mapper: newMapper(), HTTPClient: web})
	if err != nil {
		return nil, nil, err
	}
	paths, err := apiserver.NewREST(config, web)
	return objects, paths, err
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

// httpClient makes the only client that ever gets the credentials of a kubeconfig, and what closes its connections. It follows
// no redirect: guarded refuses the answer. Its own limit, which client-go takes over and sends to the API server, comes after
// that of guarded: the error of a call that it ends would not be one of ours.
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
	defer func() { g.line.leave(ctx, failure(ctx, err)) }()
	response, err = g.call(request.WithContext(bounded))
	return response, err
}

// ofGuest marks the context of a call for an object that a guest writes.
type ofGuest struct{}

// OfGuest returns a context for calls of objects that guests write. A guest may make its object larger than what is read. That is
// no failure of the API server: calls of others do not wait for it.
func OfGuest(ctx context.Context) context.Context { return context.WithValue(ctx, ofGuest{}, true) }

// failure is an error of a call for which the next calls wait. A cluster that answers with too long a page of a list is there: a
// caller may ask for less.
func failure(ctx context.Context, err error) error {
	bad, ok := errors.AsType[*UnreachableError](err)
	if ok && (bad.tooLong || bad.answered && ctx.Value(ofGuest{}) != nil) {
		return nil
	}
	return err
}

func (g guarded) call(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", g.userAgent)
	if g.token != "" {
		request.Header.Set("Authorization", "Bearer "+g.token)
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, &UnreachableError{Why: cannotReach, cause: plain(err.Error())}
	}
	defer closeBody(response.Body)
	response.Request = request // by which its limit is known
	body, err := read(response)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 { // what is not an API server's has none left
		g.clock.set(response.Header)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// read returns an answer as it is, and what is refused in our words.
func read(response *http.Response) ([]byte, error) {
	if reason := unusable(response); reason != "" {
		return nil, &UnreachableError{Why: reason}
	}
	body, err := limits.Read(response)
	if bad, ok := errors.AsType[*apiserver.Error](err); ok {
		if bad.Err != nil {
			return nil, &UnreachableError{Why: cannotReach, cause: bad.Err.Error()}
		}
		long := isPage(response) && errors.Is(bad, apiserver.ErrTooLong)
		return nil, &UnreachableError{Why: bad.Why, answered: true, tooLong: long}
	}
	switch {
	case response.StatusCode >= http.StatusInternalServerError && !sound(body):
		return nil, &UnreachableError{Why: cannotReach, cause: response.Status} // a load balancer without an API server
	case response.StatusCode >= http.StatusBadRequest:
		return refusal(body), nil
	}
	return body, nil
}

// isPage reports whether a part of a list was requested.
func isPage(response *http.Response) bool {
	return response.Request != nil && response.Request.URL.Query().Has("limit") && response.StatusCode < http.StatusBadRequest
}

// unusable returns why an answer is not even read.
func unusable(response *http.Response) string {
	reason := apiserver.Unusable(response)
	if response.StatusCode == http.StatusUnauthorized {
		return "does not accept the credentials in the Cluster's kubeconfig, which must be renewed"
	}
	return reason
}

func closeBody(body io.Closer) {
	if body != nil {
		_ = body.Close() // what was read is used or not, and nothing was written
	}
}
