package vcenter

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// sessionLimit is the guard that refuses logins of a user who has too many sessions. vpxd answers them with an HTTP status and
// without a fault: "Out of HTTP sessions: Limited to 2000" in its log, 503 at the client. The limit of a user is 550 by default.
type sessionLimit struct {
	mu   sync.Mutex
	most int // 0 is no limit
}

// LimitSessions refuses logins of a user who has that many sessions. 0 lets everyone log in again.
func (v *VCenter) LimitSessions(most int) {
	v.limit.mu.Lock()
	defer v.limit.mu.Unlock()
	v.limit.most = most
}

func (v *VCenter) limitSessions(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if method != "Login" {
		next.ServeHTTP(w, r)
		return
	}
	v.limit.mu.Lock() // until the session is there, so that two logins do not take the same last place
	defer v.limit.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		Abort()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if v.limit.most > 0 && v.sessionsOf(userOf(body)) >= v.limit.most {
		http.Error(w, "503 Service Unavailable", http.StatusServiceUnavailable)
		return
	}
	next.ServeHTTP(w, r)
}

func userOf(login []byte) string {
	var envelope struct {
		User string `xml:"Body>Login>userName"`
	}
	_ = xml.Unmarshal(login, &envelope) // what is not XML has no user, and the simulator refuses it
	return envelope.User
}

func (v *VCenter) sessionsOf(user string) int {
	all, err := v.sessions()
	if err != nil {
		Abort()
	}
	n := 0
	for _, s := range all {
		if s.UserName == user {
			n++
		}
	}
	return n
}

func (v *VCenter) sessions() ([]types.UserSession, error) {
	var m mo.SessionManager
	ref := *v.admin.ServiceContent.SessionManager
	err := property.DefaultCollector(v.admin).RetrieveOne(context.Background(), ref, []string{"sessionList"}, &m)
	return m.SessionList, err
}

// endWaits ends what a session waits for, and all that it watches.
func (v *VCenter) endWaits(session string) {
	v.waiting.Range(func(of, collector any) bool {
		if i := collector.(*incremental); strings.HasPrefix(of.(string), "session["+session+"]") {
			v.model.Map().RemoveHandler(i)
			v.waiting.Delete(of)
			i.stop(new(types.NotAuthenticated))
		}
		return true
	})
}
