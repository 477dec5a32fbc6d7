// Package crash stops our controllers before and after everything that they do, and looks whether the end is the same.
package crash

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// front is a door of the vCenter for one process alone: its address is in the Secret of the process's namespace. All that the
// process asks of the vCenter passes the process's gate here, so that requests are cut off where a crash would cut them off.
func front(v *vcenter.Owner, gateOf func() *world.Gate) *vcenter.Door {
	return v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		gate := gateOf()
		name := "vcenter " + method
		if !changes(method) {
			if gate.Read(name) != nil {
				vcenter.Abort()
			}
			next.ServeHTTP(w, r)
			return
		}
		// What reached the vCenter is done, even if the process that asked for it has gone.
		answer := httptest.NewRecorder()
		killed := gate.Change(name, func() bool {
			next.ServeHTTP(answer, r)
			return answer.Code == http.StatusOK
		})
		if killed != nil {
			vcenter.Abort()
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// changes says which calls are effects: tasks, and the login, which leaves a session. All others change only what belongs to
// the session and goes with it.
func changes(method string) bool { return strings.HasSuffix(method, "_Task") || method == "Login" }
