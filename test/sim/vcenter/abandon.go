package vcenter

import (
	"context"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

var waitsOn = regexp.MustCompile(`<(?:\w+:)?_this[^>]*>([^<]+)<`)

// abandon ends a wait for changes when its client goes before the answer: the simulator does not tell a method of it, and the
// wait would go on for minutes. An end that comes before the wait has begun is forgotten, so it is repeated until the answer.
func (v *VCenter) abandon(w http.ResponseWriter, r *http.Request, method string, body []byte) http.ResponseWriter {
	collector := waitsOn.FindSubmatch(body)
	if method != "WaitForUpdatesEx" || collector == nil {
		return w
	}
	answered := make(chan struct{})
	stay := context.AfterFunc(r.Context(), func() {
		for {
			if c, ok := v.waiting.Load(string(collector[1])); ok {
				c.(*incremental).CancelWaitForUpdates(&types.CancelWaitForUpdates{})
			}
			select {
			case <-answered:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return &waiting{w, sync.OnceFunc(func() {
		stay()
		close(answered)
	})}
}

// noteWaiting notes which collector is about to wait.
func (v *VCenter) noteWaiting(ctx *simulator.Context, method *simulator.Method) {
	if c, ok := ctx.Session.Registry.Get(method.This).(*incremental); ok && method.Name == "WaitForUpdatesEx" {
		v.waiting.Store(method.This.Value, c)
	}
}

// waiting ends with the first byte of the answer: a client that goes after that may be waiting again already.
type waiting struct {
	http.ResponseWriter
	over func()
}

// WriteHeader is part of http.ResponseWriter.
func (w *waiting) WriteHeader(status int) {
	w.over()
	w.ResponseWriter.WriteHeader(status)
}
