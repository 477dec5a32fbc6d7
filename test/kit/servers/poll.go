package servers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// probe returns nil when something is as it should be, and otherwise what is missing.
type probe func(ctx context.Context) error

// answersOK asks for a URL until it answers 200.
func answersOK(client *http.Client, url string) probe {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return wait.Final(err)
		}
		// An idle connection would look like a leak to tests that search for one.
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
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because these servers sign their own certificates
}}
