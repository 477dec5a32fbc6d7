package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// endOfLog is how much is read of a boot log, which may have a GiB: people need its end.
const endOfLog = 64 << 10

// logs are those of boot diagnostics.
var logs = limits{bytes: endOfLog, wait: 10 * time.Second}

// errUnreached is why a boot log was not read; what the network or the server shows of that is not for people who chose neither.
var errUnreached = errors.New("it is not reached over HTTPS")

// bootLog reads the end of a boot log. Its address has a signature, which is as good as a token for it: no error quotes it, and
// no token goes along. A cloud that a user chose has no boot logs: it could name any server inside.
func (p *Principal) bootLog(ctx context.Context, address string) ([]byte, error) {
	if p.Cloud.Chosen() || !p.Cloud.Stores(address) {
		return nil, errElsewhere
	}
	defer p.storage.CloseIdleConnections()
	_, length, err := p.storage.fetch(ctx, http.MethodHead, address, "")
	if err != nil || length == 0 {
		return nil, err
	}
	// The storage service knows no ranges that count from the end (learn.microsoft.com: "Specifying the range header for Blob
	// service operations"), so the length is asked for first.
	start := max(0, length-endOfLog)
	log, _, err := p.storage.fetch(ctx, http.MethodGet, address, fmt.Sprintf("bytes=%d-%d", start, start+endOfLog-1))
	return log, err
}

// fetch asks a storage service. The length is the one that the service gives; below zero if it gives none.
func (t *transport) fetch(ctx context.Context, method, address, span string) (content []byte, length int64, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return nil, 0, errElsewhere
	}
	if span != "" {
		request.Header.Set("Range", span)
	}
	answer, err := t.send(request)
	if err != nil {
		return nil, 0, class(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		return nil, 0, fmt.Errorf("the storage service answers %d", answer.StatusCode)
	}
	content, err = io.ReadAll(answer.Body) // in memory
	return content, answer.ContentLength, err
}

// class is one of a few errors for all that may become of a request.
func class(err error) error {
	for _, cause := range []error{context.DeadlineExceeded, errElsewhere, errRedirect, errTooLarge} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return errUnreached
}
