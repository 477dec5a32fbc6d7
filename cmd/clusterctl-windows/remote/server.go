// Package remote is the plugin's only way to API servers. It does not trust what answers at the address of a kubeconfig: a
// workload cluster belongs to a tenant, and so may its kubeconfig. It promises:
//
//   - No redirect is followed, and no login goes in the clear to another computer.
//   - An answer is read within limits of bytes, of time, and of time without progress; a list has at most so many pages.
//   - What is asked of a kubelet is bounded in the same way: its log, its statistics, and the stream of a program.
//
// Its errors and answers quote untrusted text. cmd/clusterctl-windows/screen cleans what is printed.
package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

const (
	// silence is how long an API server may send no byte: a user at a terminal sees within 10 seconds that it is dead.
	silence = 8 * time.Second
	// kubeletSilence is that of a kubelet, which the API server asks. One of Windows counts its pods for seconds.
	kubeletSilence = 15 * time.Second
	// answerTime is how long an answer may take that goes on.
	answerTime = 30 * time.Second
	// page is how many objects are read at once, and mostPages how many pages a list may have.
	page, mostPages = 100, 200
)

// limits have room for a page of Nodes with 80 KiB each, and for the largest object that etcd takes. A Node with the names of 50
// images has 40 KiB, and 1,000 values at most.
var limits = apiserver.Limits{
	Object: 2 << 20, List: 8 << 20, Refusal: 64 << 10,
	Shape: apiserver.Shape{Depth: 64, Objects: 60_000, Values: 120_000, OnTop: page + 20},
}

// Server is an API server that the plugin asks.
type Server struct {
	config *rest.Config
	named  string
	wire   *http.Transport
	// objects asks the API server itself, kubelets through it a kubelet.
	objects, kubelets *rest.RESTClient
}

// New returns the server of a kubeconfig. named is what a user calls that: "--kubeconfig FILE".
func New(config *rest.Config, named string) (*Server, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{} // one call at a time, of a command that ends
	if err := checkAddress(config); err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	s := &Server{config: config, named: named}
	var err error
	if s.wire, err = wireOf(config); err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	if s.objects, err = s.client(guarded{next: s.wire, silence: silence}); err != nil {
		return nil, fmt.Errorf("%s: %w", named, err)
	}
	s.config.AcceptContentTypes = "application/json, */*"
	s.kubelets, err = s.client(guarded{next: s.wire, silence: kubeletSilence, text: true})
	return s, err
}

// checkAddress is an error for an address by which a login would go through a network in the clear. On this computer itself,
// kubectl proxy speaks plain HTTP.
func checkAddress(config *rest.Config) error {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	host := net.ParseIP(address.Hostname())
	if address.Scheme == "https" || address.Hostname() == "localhost" || host != nil && host.IsLoopback() {
		return nil
	}
	return fmt.Errorf("the server %s is plain HTTP, by which anybody on the way reads your login and writes the answers; use the "+
		"cluster's https:// address, or kubectl proxy and http://127.0.0.1:8001", address.Redacted())
}

// wireOf takes from a kubeconfig of a user what belongs to the transport: certificates, and the proxy. A dialer is the caller's.
func wireOf(config *rest.Config) (*http.Transport, error) {
	wanted, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	secure, err := transport.TLSConfigFor(wanted)
	if err != nil {
		return nil, err
	}
	if secure == nil { // the CAs of this computer are those that count
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	secure.MinVersion, secure.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
	wire := apiserver.NewTransport(secure, 2*silence) // guarded ends a call before
	if wanted.Proxy != nil {
		wire.Proxy = wanted.Proxy
	}
	if wanted.DialHolder != nil { // no kubeconfig can name one
		wire.DialContext = wanted.DialHolder.Dial
	}
	return wire, nil
}

// client logs in with the kubeconfig, outside of the guard of the answers: an answer that leads elsewhere does not reach the
// login.
func (s *Server) client(guard guarded) (*rest.RESTClient, error) {
	web, err := rest.HTTPWrappersForConfig(s.config, guard)
	if err != nil {
		return nil, err
	}
	return apiserver.NewREST(s.config, &http.Client{Transport: web})
}

// String is the address without a password.
func (s *Server) String() string {
	if address, err := url.Parse(s.config.Host); err == nil {
		return address.Redacted()
	}
	return "of the kubeconfig"
}

// Get decodes the object at a path, and reports whether it exists.
func (s *Server) Get(ctx context.Context, path string, object any) (found bool, err error) {
	return s.Reader().Get(ctx, path, object)
}

// Reader reads lists.
func (s *Server) Reader() apiserver.Reader {
	return apiserver.Reader{REST: s.objects, Page: page, MostPages: mostPages}
}

// Post sends an object, and decodes what comes back.
func (s *Server) Post(ctx context.Context, path string, query url.Values, object, answer any) error {
	return s.send(ctx, s.objects.Post().AbsPath(path), query, object, answer)
}

// Delete deletes what is at a path.
func (s *Server) Delete(ctx context.Context, path string, options metav1.DeleteOptions) error {
	var ignored json.RawMessage
	return s.send(ctx, s.objects.Delete().AbsPath(path), nil, options, &ignored)
}

func (s *Server) send(ctx context.Context, request *rest.Request, query url.Values, object, answer any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	request = apiserver.With(request, query).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	data, err := apiserver.Content(request.Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, answer)
}

// Ask returns what a kubelet answers at a path of the API server's.
func (s *Server) Ask(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return apiserver.Content(apiserver.With(s.kubelets.Get().AbsPath(path), query).Do(ctx))
}

// List decodes a list page by page, and reports whether the API server has the kind.
func List[T any](ctx context.Context, s *Server, path string, query url.Values, visit func(T) error) (served bool, err error) {
	return apiserver.List(ctx, s.Reader(), path, query, visit)
}
