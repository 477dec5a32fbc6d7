package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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
		"sends 1 MB that unpack to a text of 1 GiB":     packed(repeat(strings.Repeat("A", 1<<20), 1024)),
		"sends 49 KB that unpack to 16 Mi nested tags":  packed(repeat(strings.Repeat("<x>", 1<<18), 64)),
		"sends elements without an end":                 packed(repeat(strings.Repeat("<x/>", 1<<18), 64)),
		"sends attributes without an end":               packed(repeat("<x"+strings.Repeat(" a=''", 1<<18)+"/>", 16)),
		"sends one tag without an end":                  packed(repeat("<x"+strings.Repeat("x", 1<<20), 64)),
		"sends texts without an end, none of them long": packed(repeat("<x>"+strings.Repeat("x", 100_000)+"</x>", 1000)),
		"sends end tags without an end":                 packed(repeat("</x>", 1<<20)),
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
		"answers nothing":            answer(http.StatusOK, ""),
		"answers with a web page":    answer(http.StatusOK, "<!DOCTYPE html><html><body>token: internal-secret</body></html>"),
		"answers with plain text":    answer(http.StatusOK, "internal-secret"),
		"answers with an error":      answer(http.StatusInternalServerError, "internal-secret"),
		"answers that it is busy":    answer(http.StatusServiceUnavailable, "internal-secret"),
		"answers half":               answer(http.StatusOK, envelope+"<RetrieveServiceContentResponse><returnval>"),
		"answers an empty envelope":  answer(http.StatusOK, envelope+envelopeEnd),
		"answers no service content": answer(http.StatusOK, envelope+"<RetrieveServiceContentResponse/>"+envelopeEnd),
		"answers in another charset": answer(http.StatusOK, `<?xml version="1.0" encoding="UTF-7"?><x/>`),
		"breaks the connection":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
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
		attempt(t, attack{"vCenter", fmt.Sprintf("redirects the call to another host, with status %d", status), func(t *testing.T) string {
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
	`xmlns="urn:vim25" xsi:type="NoPermission"><privilegeId>` + nasty + `</privilegeId></NoPermissionFault></detail></e:Fault>` + envelopeEnd

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

// spoiled lets a tenant's vCenter spoil its answers to a method, all of them for "", during the life of a machine. Neither the process
// nor the machines of others may suffer. The verdict is what became of the machine.
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
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
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
		_ = c.Delete(t.Context(), m)
	}
	b.unharmed(t)
	return verdict
}

// TestHanging: a server takes the call and does not answer, or answers a byte at a time.
func TestHanging(t *testing.T) {
	b := newBystander(t)
	for tries, drip := range map[string]string{"takes the call and never answers": "", "answers one byte at a time": " "} {
		attempt(t, attack{"vCenter", tries, func(t *testing.T) string {
			asked, over := make(chan struct{}, 100), make(chan struct{})
			server, credentials := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				for r.Context().Err() == nil {
					_, _ = io.WriteString(w, drip)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-over:
						return
					case <-r.Context().Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
			c := b.account(t, credentials)
			ctx, leave := context.WithCancel(t.Context())
			ended := make(chan error, 20)
			for range cap(ended) {
				go func() {
					_, err := c.Observe(ctx, machineIn("tenant", "m"))
					ended <- err
				}()
			}
			<-asked
			b.unharmed(t)
			if n := len(asked); n > 1 {
				t.Errorf("%d calls hang, want one for all", n+1)
			}
			leave() // as a worker does that is told to stop
			verdict := shown(t, <-ended)
			for range cap(ended) - 1 {
				<-ended
			}
			close(over)
			server.CloseClientConnections()
			return verdict
		}})
	}
}

// TestRestless: a server answers the watch at once and without an end.
func TestRestless(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"vCenter", "reports new VMs without pause and without end", func(t *testing.T) string {
		var answers, vms atomic.Int64
		v := vcenter.New(t)
		door := v.Open(func(called string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			if called != "WaitForUpdatesEx" {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.WriteString(w, envelope+`<WaitForUpdatesExResponse xmlns="urn:vim25"><returnval><version>1</version><filterSet><filter type="x">x</filter>`)
			for range 1000 {
				n := vms.Add(1)
				_, _ = fmt.Fprintf(w, `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-%d</obj><changeSet><name>config.extraConfig`+
					`["capwin.owner"]</name><op>assign</op><val xsi:type="OptionValue"><key>capwin.owner</key><value xsi:type="xsd:string">`+
					`honest/m%d</value></val></changeSet></objectSet>`, n, n)
			}
			_, _ = io.WriteString(w, `</filterSet><truncated>true</truncated></returnval></WaitForUpdatesExResponse>`+envelopeEnd)
			answers.Add(1)
		})
		t.Cleanup(door.Close)
		for len(b.keys) > 0 {
			<-b.keys
		}
		c := b.account(t, door.Credentials())
		bytes := allocated(func() {
			wait.Until(t, "the watch to be slowed down", func() (any, bool) { return answers.Load(), answers.Load() > 20 })
		})
		t.Logf("%d VMs in %d answers, %d bytes allocated", vms.Load(), answers.Load(), bytes)
		expect.Same(t, "keys of another namespace", 0, len(b.keys))
		b.unharmed(t)
		_, err := c.Observe(t.Context(), machineIn("tenant", "m"))
		if !errors.Is(err, cloud.ErrNotFound) {
			return shown(t, err)
		}
		return "its own machines are looked for by call, no machine of another namespace is woken"
	}})
}

// TestLargeReports: guests write all that vSphere lets them write, and a machine beside them is still heard at once.
func TestLargeReports(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"guest", "writes a report of 1 MiB, in 300 VMs of the same vCenter", func(t *testing.T) string {
		const guests = 300
		v := vcenter.New(t, func(m *simulator.Model) { m.Machine = guests })
		owner, report := v.Owner(t), strings.Repeat("<&", 1<<19)
		hostile := owner.Mark("DC0_C0_RP0_VM", func(n int) cloud.Machine { return machineIn("tenant", fmt.Sprint("hostile", n)) }, report)
		c, m := b.account(t, v.Credentials()), machineIn("tenant", "m")
		wait.Until(t, "the machine beside to run", func() (any, bool) {
			vm, err := c.Ensure(t.Context(), m)
			return err, err == nil && vm.State == cloud.Running
		})
		for len(b.keys) > 0 {
			<-b.keys
		}
		owner.SetExtra(m.Name, "guestinfo.capwin.report", "heard")
		wait.Until(t, "the key of the machine beside", func() (any, bool) { return len(b.keys), <-b.keys == m.Key })
		v.Count()
		vm := expect.Got(c.Observe(t.Context(), m))(t)
		expect.Same(t, "report of the machine beside", "heard", vm.Report)
		vm, err := c.Observe(t.Context(), hostile[0])
		expect.OK(t, err)
		expect.Same(t, "calls for both", 0, len(v.Count()))
		expect.Same(t, "bytes of the report that is too long", cloud.MaxReport+1, len(vm.Report))
		return "the report is left out, the machines beside are heard"
	}})
}
