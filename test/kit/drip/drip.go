// Package drip is the server that tests whether clients end their calls: it answers a byte at a time.
package drip

import (
	"io"
	"net/http"
	"time"
)

// Forever answers blanks, until the client leaves.
func Forever(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has left
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	panic(http.ErrAbortHandler) // or the client may see an end while it leaves
}
