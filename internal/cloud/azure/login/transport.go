package login

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // counts where the system has no CA certificates, as in our image

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
)

// limits are what an answer may have. The author of a Secret may choose the server, so an answer can be anything.
type limits struct {
	bytes int64 // after unpacking
	wait  time.Duration
	// unread leaves it to the caller to read the answer: he may have to wait for room.
	unread bool
}

var (
	// calls are those of Azure Resource Manager: a page of 250 VMs with their views has about 4 MiB.
	calls = limits{bytes: 16 << 20, wait: time.Minute, unread: true}
	// tokens have a few KiB.
	tokens = limits{bytes: 256 << 10, wait: 30 * time.Second}
)

// The causes of errors that are the answer's fault.
var (
	errElsewhere = errors.New("the address is not one of the cloud's hosts")
	errRedirect  = errors.New("the answer is a redirect")
	errTooLarge  = errors.New("the answer is too large")
)

const (
	maxHeader  = 64 << 10
	tlsWait    = 10 * time.Second
	idleWait   = 90 * time.Second
	idleAtHost = 8
	// maxUnread is what is taken of an answer before somebody reads it.
	maxUnread = 256 << 10
)

// transport sends requests to the hosts of one cloud, and has each answer read within the limits.
type transport struct {
	client *http.Client
	hosts  []string // empty: any, over any scheme
	limits limits
}

func newTransport(hosts []string, roots *x509.CertPool, bounds limits) *transport {
	return &transport{hosts: hosts, limits: bounds, client: client(bounds, &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		ForceAttemptHTTP2: true, TLSHandshakeTimeout: tlsWait, MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleWait,
		MaxIdleConnsPerHost: idleAtHost, DialContext: (&net.Dialer{Timeout: tlsWait}).DialContext,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: maxUnread},
	})}
}

// newLocalTransport is for managed identities, whose address is the node's or from the manager's environment, and without TLS.
func newLocalTransport() *transport {
	return &transport{limits: tokens, client: client(tokens, &http.Transport{
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleWait, DialContext: (&net.Dialer{Timeout: tlsWait}).DialContext,
	})}
}

func client(bounds limits, base *http.Transport) *http.Client {
	return &http.Client{
		Transport: base, Timeout: bounds.wait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// trust makes the pool of a cloud's own certificates; nil is the system's.
func trust(azure clouds.Cloud) (*x509.CertPool, error) {
	if azure.CABundle == "" {
		return nil, nil //nolint:nilnil // because nil stands for the system's in crypto/tls
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(azure.CABundle)) {
		return nil, rejected("the cloud %s has no certificate in its %s: correct it", azure, keyCABundle)
	}
	return roots, nil
}

// Do is part of policy.Transporter.
func (t *transport) Do(r *http.Request) (*http.Response, error) {
	answer, err := t.send(r)
	if l, ok := r.Context().Value(outcomeKey{}).(*outcome); ok {
		l.note(answer, err)
	}
	return answer, err
}

// CloseIdleConnections ends what no request uses.
func (t *transport) CloseIdleConnections() { t.client.CloseIdleConnections() }

func (t *transport) send(r *http.Request) (*http.Response, error) {
	host := strings.TrimSuffix(strings.ToLower(r.URL.Host), ":443")
	if len(t.hosts) > 0 && (r.URL.Scheme != "https" || r.URL.User != nil || !slices.Contains(t.hosts, host)) {
		return nil, errElsewhere
	}
	answer, err := t.client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 3 && answer.StatusCode != http.StatusNotModified {
		_ = answer.Body.Close()
		return nil, errRedirect
	}
	answer.Body = &bounded{ReadCloser: answer.Body, left: t.limits.bytes}
	if t.limits.unread {
		return answer, nil
	}
	defer func(body io.Closer) { _ = body.Close() }(answer.Body)
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(content))
	return answer, nil
}

// bounded is the body of an answer that fails where it is too large.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read is part of io.Reader.
func (b *bounded) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

type outcomeKey struct{}

// outcome is what became of the last request of a context: the SDK reports it in its own words, which may quote anything.
type outcome struct {
	status  int
	header  http.Header
	content []byte
	err     error
}

func remember(ctx context.Context) (context.Context, *outcome) {
	l := &outcome{}
	return context.WithValue(ctx, outcomeKey{}, l), l
}

func (l *outcome) note(answer *http.Response, err error) {
	*l = outcome{err: err}
	if err != nil {
		return
	}
	l.status, l.header = answer.StatusCode, answer.Header
	if answer.StatusCode >= http.StatusBadRequest {
		l.content, _ = io.ReadAll(answer.Body) // in memory
		answer.Body = io.NopCloser(bytes.NewReader(l.content))
	}
}
