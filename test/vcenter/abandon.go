package vcenter

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
)

// abandon ends a wait for changes when its client goes. The simulator waits on for minutes, and reads all that is watched at
// every change, for a client that was killed.
func (v *VCenter) abandon(r *http.Request, method string, body []byte) (done func() bool) {
	if method != "WaitForUpdatesEx" {
		return func() bool { return true }
	}
	return context.AfterFunc(r.Context(), func() {
		cancel := r.Clone(context.Background())
		cancel.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(method), []byte("CancelWaitForUpdates"))))
		v.model.Service.ServeSDK(httptest.NewRecorder(), cancel)
	})
}
