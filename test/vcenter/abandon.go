package vcenter

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
)

// abandon ends a wait for changes when its client goes before the answer. The simulator waits on for minutes, and reads all
// that is watched at every change, for a client that was killed.
func (v *VCenter) abandon(w http.ResponseWriter, r *http.Request, method string, body []byte) http.ResponseWriter {
	if method != "WaitForUpdatesEx" {
		return w
	}
	cancel := r.Clone(context.Background())
	cancel.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(method), []byte("CancelWaitForUpdates"))))
	return &waiting{w, context.AfterFunc(r.Context(), func() { v.model.Service.ServeSDK(httptest.NewRecorder(), cancel) })}
}

// waiting ends with the first byte of the answer: a client that goes after that may be waiting again already.
type waiting struct {
	http.ResponseWriter
	over func() bool
}

// WriteHeader is part of http.ResponseWriter.
func (w *waiting) WriteHeader(status int) {
	w.over()
	w.ResponseWriter.WriteHeader(status)
}
