package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
)

// maxText is how long an answer of a kubelet may be: /stats/summary has 4 KiB for each pod, and a Windows node takes 250.
const maxText = 2 << 20

// guarded reads each answer to its end before anything decodes it.
type guarded struct {
	next http.RoundTripper
	// silence is how long it may be without a byte.
	silence time.Duration
	// text is set if an answer need not be an object.
	text bool
}

// silentError is of a server that has sent nothing for a time, or not all of its answer.
type silentError struct{ text string }

// Error implements error.
func (s *silentError) Error() string { return s.text }

// Timeout marks it as a timeout, as the errors of the network do.
func (s *silentError) Timeout() bool { return true }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancelCause(request.Context())
	defer end(nil)
	quiet := &silentError{fmt.Sprintf("it has not answered within %s", g.silence)}
	progress := time.AfterFunc(g.silence, func() { end(quiet) })
	defer progress.Stop()
	slow := &silentError{fmt.Sprintf("its answer did not end within %s", answerTime)}
	timer := time.AfterFunc(answerTime, func() { end(slow) })
	defer timer.Stop()
	response, err := g.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	defer closeBody(response.Body)
	progress.Reset(g.silence)
	response.Body = struct {
		io.Reader
		io.Closer
	}{moving{response.Body, progress, g.silence}, response.Body}
	retry := response.Header.Get("Retry-After")
	body, err := g.read(response)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	if retry == "1" { // as API servers say that have too many calls
		response.Header.Set("Retry-After", retry)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

func closeBody(body io.Closer) { _ = body.Close() } // what was read is used or not

func (g guarded) read(response *http.Response) ([]byte, error) {
	if reason := apiserver.Foreign(response); reason == apiserver.Redirects {
		return nil, redirected(response)
	}
	if !g.text || response.StatusCode >= http.StatusBadRequest {
		return limits.Read(response)
	}
	if reason := apiserver.Foreign(response); reason != "" {
		return nil, &apiserver.Error{Why: reason}
	}
	response.Header.Del("Warning")
	return apiserver.ReadAtMost(response, maxText)
}

// redirected names the address, for users who have written that of a portal instead of the API server's.
func redirected(response *http.Response) error {
	target := "elsewhere"
	if address, err := response.Location(); err == nil {
		target = "to " + address.Scheme + "://" + address.Host
	}
	return &apiserver.Error{Why: fmt.Sprintf("answers with a redirect %.100s, which is not followed, because your login would go "+
		"there; write the address of the API server itself into the kubeconfig", target)}
}

// causeOf is why a call was ended, if the caller did not end it.
func causeOf(ctx context.Context, err error) error {
	if silent, ok := errors.AsType[*silentError](context.Cause(ctx)); ok {
		return silent
	}
	return err
}

// moving is a body that makes progress.
type moving struct {
	io.Reader
	progress *time.Timer
	silence  time.Duration
}

// Read implements io.Reader.
func (m moving) Read(buffer []byte) (int, error) {
	n, err := m.Reader.Read(buffer)
	if n > 0 {
		m.progress.Reset(m.silence)
	}
	return n, err
}
