package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// probe returns nil when something is as it should be, and otherwise what is missing.
type probe func(ctx context.Context) error

// final is an error that waiting will not mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// poll asks until the answer is nil or final. When ctx ends first, the last answer tells what was missing.
func poll(ctx context.Context, ask probe) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var missing error
	for {
		err := ask(ctx)
		if err == nil || errors.As(err, &final{}) {
			return err
		}
		// An answer that the end of ctx cut short says less than the one before.
		if ctx.Err() == nil || missing == nil {
			missing = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), missing)
		case <-tick.C:
		}
	}
}

// answersOK asks for a URL until it answers 200.
func answersOK(client *http.Client, url string) probe {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return final{err}
		}
		// A connection that nobody needs again would look like a leak to tests that search for one.
		request.Close = true
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, response.Status)
		}
		return nil
	}
}

// healthClient asks for health pages over loopback, also of servers that make up their own certificate.
var healthClient = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because nobody could sign it: see above.
}}
