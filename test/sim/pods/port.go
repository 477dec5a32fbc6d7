package pods

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// PortNumber is the kubelet's.
const PortNumber = 10250

// Port is where a kubelet answers the API server (kubernetes v1.36.3, pkg/kubelet/server): logs, exec, forwarded ports and
// metrics. It listens on loopback, to which the proxy of the cluster's network leads those who dial the node's address.
type Port struct {
	Cluster *traffic.Cluster
	Host    *traffic.Host
	// ClientCA (PEM) has issued the certificates of those who may ask; AlwaysAllow asks the API server for nobody's rights.
	ClientCA    []byte
	AlwaysAllow bool
	// Certificate is the kubelet's own. An error ends the handshake: there is none yet.
	Certificate func() (*tls.Certificate, error)
	Capacity    corev1.ResourceList
	// Tell writes to the kubelet's log.
	Tell func(format string, args ...any)
}

// SelfSigned is what a kubelet makes for itself unless serverTLSBootstrap has it ask the cluster for one
// (cmd/kubelet/app/server.go). Here the key is one that takes no time to make, when somebody asks for it.
func SelfSigned(node, address string) func() (*tls.Certificate, error) {
	return sync.OnceValues(func() (*tls.Certificate, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		template := &x509.Certificate{
			SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprintf("%s@%d", node, now.Unix())},
			NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{node},
			IPAddresses: []net.IP{net.ParseIP(address)},
		}
		signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		return &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, err
	})
}

// serve answers until ctx ends.
func (p *Port) serve(ctx context.Context, k *Kubelet) {
	if err := p.listen(ctx, k); err != nil && ctx.Err() == nil {
		p.Tell("E0101 failed to listen and serve: %v", err)
	}
}

func (p *Port) listen(ctx context.Context, k *Kubelet) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	end, err := p.Cluster.Listen(traffic.Place{Host: p.Host}, PortNumber, listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer end()
	server := &http.Server{
		Handler: p.authorized(k, p.routes(k)), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Certificate() },
		},
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.ServeTLS(listener, "", "")
}

func (p *Port) routes(k *Kubelet) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /stats/summary", func(w http.ResponseWriter, _ *http.Request) { p.stats(w, k) })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		p.logs(w, r, k)
	})
	for _, method := range []string{"GET", "POST"} {
		for _, path := range []string{"/exec/{namespace}/{pod}/{container}", "/exec/{namespace}/{pod}/{uid}/{container}"} {
			mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) { p.exec(w, r, k) })
		}
		for _, path := range []string{"/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"} {
			mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) { p.forward(w, r, k) })
		}
	}
	return mux
}

// authorized lets those in whose certificate is of the cluster's authority, and who have the right on the Node (auth.go).
func (p *Port) authorized(k *Kubelet, next http.Handler) http.Handler {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.ClientCA)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		client := r.TLS.PeerCertificates[0]
		_, err := client.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if err != nil {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		user, part := client.Subject.CommonName, subresource(r.URL.Path)
		allowed, err := p.allows(r, k, client, part)
		switch {
		case err != nil:
			http.Error(w, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", user, verb(r), part),
				http.StatusInternalServerError)
		case !allowed:
			http.Error(w, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=[%s])", user, verb(r), part),
				http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (p *Port) allows(r *http.Request, k *Kubelet, client *x509.Certificate, part string) (bool, error) {
	if p.AlwaysAllow {
		return true, nil
	}
	answer, err := k.Client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: client.Subject.CommonName, Groups: append([]string{"system:authenticated"}, client.Subject.Organization...),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb(r), Version: "v1", Resource: "nodes", Subresource: part, Name: k.Node,
			},
		},
	}, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed, err
}

func verb(r *http.Request) string {
	if r.Method == http.MethodPost {
		return "create"
	}
	return "get"
}

// subresource is that of a Node that a path needs.
func subresource(path string) string {
	switch {
	case strings.HasPrefix(path, "/stats"):
		return "stats"
	case path == "/healthz":
		return "healthz"
	}
	return "proxy"
}

// disabled is what a kubelet with enableDebuggingHandlers: false says (server.go, InstallDebuggingDisabledHandlers).
func disabled(w http.ResponseWriter) {
	http.Error(w, "Debug endpoints are disabled.", http.StatusMethodNotAllowed)
}

// logs of a container, as PodLogOptions ask for them.
func (p *Port) logs(w http.ResponseWriter, r *http.Request, k *Kubelet) {
	name := r.PathValue("pod")
	if p.Cluster.Faults(k.Node, name).LogsRefused {
		disabled(w)
		return
	}
	found := k.find(r.PathValue("namespace"), name)
	if found == nil {
		http.Error(w, fmt.Sprintf("pod %q does not exist", name), http.StatusNotFound)
		return
	}
	container := r.PathValue("container")
	log, has := found.logs[container]
	if !has {
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", container, name), http.StatusNotFound)
		return
	}
	query, err := readLogQuery(r, k.Clock.Now())
	if err == nil {
		err = found.hasLog(container, query.previous)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_ = log.copyTo(r.Context(), flushing{w, http.NewResponseController(w)}, query) // whom it is for is gone
}

// hasLog says why there is no log (pkg/kubelet/kubelet_pods.go, validateContainerLogStatus).
func (l *life) hasLog(container string, previous bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.status.containers[container]
	if last := c.LastTerminationState.Terminated; previous && last == nil {
		return fmt.Errorf("previous terminated container %q in pod %q not found", container, l.pod.Name)
	}
	waits := c.State.Waiting
	if waits == nil || c.LastTerminationState.Terminated != nil {
		return nil
	}
	why := map[string]string{"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
	reason, known := why[waits.Reason]
	if !known {
		reason = waits.Reason
	}
	return fmt.Errorf("container %q in pod %q is waiting to start: %s", container, l.pod.Name, reason)
}

func readLogQuery(r *http.Request, now time.Time) (logQuery, error) {
	values := r.URL.Query()
	query := logQuery{
		follow: values.Get("follow") == "true", previous: values.Get("previous") == "true",
		timestamps: values.Get("timestamps") == "true", tail: -1, limit: -1,
	}
	for name, number := range map[string]*int64{"tailLines": &query.tail, "limitBytes": &query.limit} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 {
			return query, errors.New(`{"message": "Unable to decode query."}`)
		}
		*number = value
	}
	if seconds, err := strconv.ParseInt(values.Get("sinceSeconds"), 10, 64); err == nil {
		query.since = now.Add(-time.Duration(seconds) * time.Second)
	}
	return query, nil
}

// flushing sends each write at once: who follows a log reads it when it is written.
type flushing struct {
	http.ResponseWriter

	control *http.ResponseController
}

func (f flushing) Write(text []byte) (int, error) {
	count, err := f.ResponseWriter.Write(text)
	if err == nil {
		err = f.control.Flush()
	}
	return count, err
}
