package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

// maxStream is how much is read of a connection to a program, with all that the connection itself needs.
const maxStream = 256 << 10

// The protocols of streams, of which the newest is chosen that a server has: it has v5 from Kubernetes 1.31 on, and hands v4 to
// the kubelet, as every server does.
var streamProtocols = []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}

// The first byte of a message is the number of its stream (https://pkg.go.dev/k8s.io/kubelet/pkg/cri/streaming/remotecommand).
const (
	streamStdout = 1
	streamStderr = 2
	streamStatus = 3
)

// Run runs a program in a container, given by the path of a pod's exec and the query, and returns what it has printed.
// client-go's executors read from a connection that has no bound.
func (s *Server) Run(ctx context.Context, path string, query url.Values) (printed string, err error) {
	address, _, err := rest.DefaultServerUrlFor(s.config)
	if err != nil {
		return "", err
	}
	address = address.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	dialing := &dialing{wire: s.wire}
	login, err := rest.HTTPWrappersForConfig(s.config, dialing)
	if err != nil {
		return "", err
	}
	response, err := login.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer closeBody(response.Body)
	defer closeBody(dialing.conn)
	stop := context.AfterFunc(ctx, func() { closeBody(dialing.conn) }) // which ends the reading
	defer stop()
	printed, err = readStreams(dialing.conn)
	if ctx.Err() != nil {
		return printed, ctx.Err()
	}
	return printed, err
}

// dialing opens a WebSocket for a request that has its login.
type dialing struct {
	wire *http.Transport
	conn *websocket.Conn
}

// RoundTrip implements http.RoundTripper.
func (d *dialing) RoundTrip(request *http.Request) (*http.Response, error) {
	dialer := websocket.Dialer{
		Proxy: d.wire.Proxy, TLSClientConfig: d.wire.TLSClientConfig, Subprotocols: streamProtocols,
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := d.wire.DialContext(ctx, network, address)
			return &shortConn{Conn: conn, left: maxStream}, err
		},
	}
	address := *request.URL
	address.Scheme = map[string]string{"https": "wss", "http": "ws"}[address.Scheme]
	conn, response, err := dialer.DialContext(request.Context(), address.String(), request.Header)
	if errors.Is(err, websocket.ErrBadHandshake) && response != nil {
		return nil, refusal(response)
	}
	d.conn = conn
	return response, err
}

// refusal is what a server answers that opens no stream.
func refusal(response *http.Response) error {
	if apiserver.Foreign(response) == apiserver.Redirects {
		return redirected(response)
	}
	body, err := apiserver.ReadAtMost(response, limits.Refusal)
	if err != nil {
		return err
	}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return fmt.Errorf("%s: %s", response.Status, body)
}

// shortConn has no more than so many bytes to read.
type shortConn struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (c *shortConn) Read(buffer []byte) (int, error) {
	if c.left <= 0 {
		return 0, &apiserver.Error{Why: fmt.Sprintf("answers with more than %d KiB", maxStream>>10)}
	}
	n, err := c.Conn.Read(buffer[:min(len(buffer), c.left)])
	c.left -= n
	return n, err
}

// readStreams reads what a program prints until its status comes.
func readStreams(conn *websocket.Conn) (printed string, err error) {
	for {
		_, message, err := conn.ReadMessage()
		if _, closed := errors.AsType[*websocket.CloseError](err); closed {
			err = errors.New("the connection was closed before the program had ended")
		}
		switch {
		case err != nil:
			return printed, err
		case len(message) == 0:
		case message[0] == streamStdout, message[0] == streamStderr:
			printed += string(message[1:])
		case message[0] == streamStatus:
			return printed, endOf(message[1:])
		}
	}
}

// endOf is an error if a program has not ended well.
func endOf(text []byte) error {
	var status metav1.Status
	switch err := json.Unmarshal(text, &status); {
	case err != nil:
		return fmt.Errorf("the status of the program: %w", err)
	case status.Status == metav1.StatusSuccess:
		return nil
	}
	return &apierrors.StatusError{ErrStatus: status}
}
