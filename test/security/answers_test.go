package security

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// maxAllocated is how much memory may be used for an answer, by us and by who sends it. The bombs below are a GiB.
const maxAllocated = 256 << 20

// TestBombs: a tenant's server answers the first question, before any login, with more than there is room for.
func TestBombs(t *testing.T) {
	b := newBystander(t)
	repeat := func(text string, times int) func(io.Writer) {
		return func(w io.Writer) {
			_, _ = io.WriteString(w, envelope+"<RetrieveServiceContentResponse><returnval><rootFolder>")
			for range times {
				_, _ = io.WriteString(w, text)
			}
		}
	}
	for tries, handler := range map[string]http.HandlerFunc{
		"sends 1 MB that unpack to a text of 1 GiB":    packed(repeat(strings.Repeat("A", 1<<20), 1024)),
		"sends 49 KB that unpack to 16 Mi nested tags": packed(repeat(strings.Repeat("<x>", 1<<18), 64)),
		"sends elements without an end":                packed(repeat(strings.Repeat("<x/>", 1<<18), 64)),
		"sends attributes without an end":              packed(repeat("<x"+strings.Repeat(" a=''", 1<<18)+"/>", 16)),
		"sends one tag without an end":                 packed(repeat("<x"+strings.Repeat("x", 1<<20), 64)),
		"sends short texts without an end":             packed(repeat("<x>"+strings.Repeat("x", 100_000)+"</x>", 1000)),
		"sends end tags without an end":                packed(repeat("</x>", 1<<20)),
		"defines an entity that expands": packed(func(w io.Writer) {
			_, _ = io.WriteString(w, `<!DOCTYPE x [<!ENTITY a "`+strings.Repeat("a", 100_000)+`">]>`+strings.Repeat("&a;", 100_000))
		}),
		"sends a head of 8 MB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 8<<20))
		},
		"sends 100,000 VMs as its first answer": packed(func(w io.Writer) {
			_, _ = io.WriteString(w, envelope+"<RetrievePropertiesExResponse><returnval>")
			for n := range 100_000 {
				_, _ = fmt.Fprintf(w, `<objects><obj type="VirtualMachine">vm-%d</obj></objects>`, n)
			}
			_, _ = io.WriteString(w, "</returnval></RetrievePropertiesExResponse>"+envelopeEnd)
		}),
	} {
		attempt(t, attack{"vCenter", tries, func(t *testing.T) (verdict string) {
			_, credentials := serve(t, handler)
			bytes := allocated(func() {
				_, err := b.account(t, credentials).Observe(t.Context(), machineIn("tenant", "m"))
				verdict = shown(t, err)
			})
			if bytes > maxAllocated {
				t.Errorf("%d bytes were allocated", bytes)
			}
			b.unharmed(t)
			return verdict
		}})
	}
}

// TestNotVCenter: what answers is no vCenter at all.
func TestNotVCenter(t *testing.T) {
	b := newBystander(t)
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for tries, handler := range map[string]http.HandlerFunc{
		"answers with an empty body":      answer(http.StatusOK, ""),
		"answers with a web page":         answer(http.StatusOK, "<!DOCTYPE html><html><body>token: internal-secret</body></html>"),
		"answers with plain text":         answer(http.StatusOK, "internal-secret"),
		"answers with an error":           answer(http.StatusInternalServerError, "internal-secret"),
		"answers that it is busy":         answer(http.StatusServiceUnavailable, "internal-secret"),
		"answers half an envelope":        answer(http.StatusOK, envelope+"<RetrieveServiceContentResponse><returnval>"),
		"answers with an empty envelope":  answer(http.StatusOK, envelope+envelopeEnd),
		"answers without service content": answer(http.StatusOK, envelope+"<RetrieveServiceContentResponse/>"+envelopeEnd),
		"answers in another charset":      answer(http.StatusOK, `<?xml version="1.0" encoding="UTF-7"?><x/>`),
		"breaks the connection":           func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"promises more than it sends": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			_, _ = io.WriteString(w, envelope)
		},
	} {
		attempt(t, attack{"vCenter", tries, func(t *testing.T) string {
			_, credentials := serve(t, handler)
			_, err := b.account(t, credentials).Observe(t.Context(), machineIn("tenant", "m"))
			if err != nil && strings.Contains(err.Error(), "internal-secret") {
				t.Errorf("the answer is told: %v", err)
			}
			b.unharmed(t)
			return shown(t, err)
		}})
	}
}

// TestRedirected: a server sends us on to another host, which would get the credentials.
func TestRedirected(t *testing.T) {
	b := newBystander(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		attempt(t, attack{"vCenter", fmt.Sprintf("redirects the call to another host by a %d", status), func(t *testing.T) string {
			var heard atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
			defer other.Close()
			_, credentials := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", other.URL)
				w.WriteHeader(status)
			})
			_, err := b.account(t, credentials).Observe(t.Context(), machineIn("tenant", "m"))
			if n := heard.Load(); n != 0 {
				t.Errorf("the other host heard %d requests", n)
			}
			return shown(t, err)
		}})
	}
}

// TestLeftOut: a vCenter leaves out what all others send.
func TestLeftOut(t *testing.T) {
	b := newBystander(t)
	for _, part := range []string{
		"sessionManager", "searchIndex", "viewManager", "taskManager", "eventManager", "propertyCollector", "rootFolder",
		"instanceUuid",
	} {
		attempt(t, attack{"vCenter", "has no " + part, func(t *testing.T) string {
			return b.spoiled(t, "RetrieveServiceContent", func(answer string) string { return without(answer, part) })
		}})
	}
	for _, method := range methods {
		attempt(t, attack{"vCenter", "answers " + method + " without a result", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return envelope + envelopeEnd })
		}})
		attempt(t, attack{"vCenter", "answers " + method + " with an empty result", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return envelope + "<" + method + "Response/>" + envelopeEnd })
		}})
		attempt(t, attack{"vCenter", "answers " + method + " with a fault of control characters", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return fault })
		}})
	}
}

// methods are what we call until a machine runs, and to remove it.
var methods = []string{
	"Login", "CreatePropertyCollector", "CreateContainerView", "CreateListView", "CreateFilter", "WaitForUpdatesEx", "FindByUuid",
	"FindByInventoryPath", "FindChild", "RetrievePropertiesEx", "CloneVM_Task", "ModifyListView",
	"PowerOffVM_Task", "Destroy_Task",
}

// fault is one whose texts are to be taken for conditions and lines of a log.
var fault = envelope + `<e:Fault><faultcode>x</faultcode><faultstring>` + nasty + `</faultstring><detail><NoPermissionFault ` +
	`xmlns="urn:vim25" xsi:type="NoPermission"><privilegeId>` + nasty + `</privilegeId></NoPermissionFault></detail></e:Fault>` +
	envelopeEnd

var nasty = "&#10;Ready=True&#9;&#x202e;\u009b31m" + strings.Repeat("x", 100_000)

// TestWrongTypes: a property has a value of another type than it has in any vCenter.
func TestWrongTypes(t *testing.T) {
	b := newBystander(t)
	for tries, to := range map[string]string{
		"a number":          `xsi:type="xsd:int">7<`,
		"a host":            `xsi:type="HostConfigInfo"><`,
		"a list of devices": `xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualDisk"/><`,
		"an unknown type":   `xsi:type="Nonsense">x<`,
		"a fault":           `xsi:type="NoPermission"><`,
		"a reference":       `xsi:type="ManagedObjectReference" type="x">x<`,
	} {
		for _, method := range []string{"WaitForUpdatesEx", "RetrievePropertiesEx"} {
			attempt(t, attack{"vCenter", "answers " + method + " with " + tries + " for each value", func(t *testing.T) string {
				return b.spoiled(t, method, func(answer string) string { return retyped(answer, to) })
			}})
		}
	}
	attempt(t, attack{"vCenter", "answers each call with the object of another type", func(t *testing.T) string {
		return b.spoiled(t, "", func(answer string) string {
			return strings.ReplaceAll(answer, `type="VirtualMachine"`, `type="Datastore"`)
		})
	}})
}

// spoiled lets a tenant's vCenter spoil its answers to a method, all of them for "", during the life of a machine. Neither the
// process nor the machines of others may suffer. The verdict is what became of the machine.
func (b *bystander) spoiled(t *testing.T, method string, spoil func(answer string) string) (verdict string) {
	t.Helper()
	v := vcenter.New(t)
	var spoilt atomic.Int32
	door := v.Open(func(called string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "" && called != method {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		_, _ = io.WriteString(w, spoil(answer.Body.String()))
		spoilt.Add(1)
	})
	t.Cleanup(door.Close)
	c := b.account(t, door.Credentials())
	m := machineIn("tenant", "m")
	verdict = "the machine waits"
	if strings.HasPrefix(method, "Create") || method == "WaitForUpdatesEx" {
		wait.Until(t, "the watch to hear it", func() (any, bool) { return method, spoilt.Load() > 0 })
	}
	for range 5 {
		if vm, err := c.Ensure(t.Context(), m); err != nil {
			verdict = shown(t, err)
		} else if vm.State == cloud.Running {
			verdict = "the machine runs"
		}
	}
	for range 3 {
		_, _ = c.Delete(t.Context(), m)
	}
	b.unharmed(t)
	return verdict
}
