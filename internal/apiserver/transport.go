// Package apiserver has what all share who ask API servers that they do not trust: the transport, and how an answer is read. It
// promises:
//
//   - No redirect is followed: it would lead a login to another server.
//   - An answer is read to its end, within limits, before anything decodes it. One that decodes to far more than its size is an
//     error, as is one that is packed or is not JSON.
//   - A server's headers neither make a client wait nor are logged.
package apiserver

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// maxHeaders is how large the headers of an answer may be.
const maxHeaders = 64 << 10

// NewTransport makes the transport of all that is asked of an API server. A connection has so long to be made.
func NewTransport(config *tls.Config, connectTime time.Duration) *http.Transport {
	return &http.Transport{
		// The proxy of this computer, if its environment names one: it passes TLS on and sees no credentials.
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    connectTime,
		ForceAttemptHTTP2:      false, // HTTP/1.1 has fewer ways to hold or fill a client, and our calls are few
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: maxHeaders,
		DisableCompression:     true, // an answer that is not packed has the size that it shows
	}
}
