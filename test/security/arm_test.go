package security

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

const tenantsSecret = "secret-of-the-tenant"

// evilARM is a cloud that a tenant brings: it gives tokens, and answers all else as it likes. Other must stay without a call.
type evilARM struct {
	*httptest.Server
	other  *httptest.Server
	called atomic.Int32
	// life is what it says of how long its tokens hold; empty for an hour. Given are its tokens.
	life  string
	given atomic.Int32
	// dripping is how the authority answers instead.
	dripping func(http.ResponseWriter, *http.Request)
	// vm is the ID of the VM that it shows.
	vm string
}

func newEvilARM(t *testing.T, answer func(*evilARM, http.ResponseWriter, *http.Request)) *evilARM {
	t.Helper()
	e := &evilARM{}
	e.other = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { e.called.Add(1) }))
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "openid-configuration"):
			_, _ = fmt.Fprintf(w, `{"token_endpoint":"%s/t","authorization_endpoint":"%[1]s/a","issuer":"%[1]s/i"}`, e.URL)
		case r.URL.Path == "/t" && e.dripping != nil:
			e.dripping(w, r)
		case r.URL.Path == "/t":
			e.given.Add(1)
			_, _ = fmt.Fprintf(w, `{"token_type":"Bearer",%s"access_token":"token-of-the-tenant"}`, cmp.Or(e.life, `"expires_in":3600,`))
		default:
			answer(e, w, r)
		}
	}))
	e.Config.ErrorLog = log.New(io.Discard, "", 0)
	e.StartTLS()
	t.Cleanup(func() { e.CloseClientConnections(); e.Close(); e.other.Close() })
	return e
}

// ask has a machine of the tenant's looked at, as a controller would for a while.
func (e *evilARM) ask(t *testing.T) (err error) {
	t.Helper()
	now := time.Now()
	account, m := e.connect(t, func() time.Time { return now }, "")
	defer func() { expect.OK(t, account.Close(t.Context())) }()
	for range 5 {
		_, err = account.Ensure(t.Context(), m)
		if known := (*cloud.Error)(nil); err != nil && (!errors.As(err, &known) || known.Kind != cloud.Later) {
			return err
		}
		now = now.Add(30 * time.Second)
	}
	return err
}

// connect opens the tenant's account, for a machine of theirs.
func (e *evilARM) connect(t *testing.T, now func() time.Time, storage string) (cloud.Cloud, cloud.Machine) {
	t.Helper()
	account := expect.Got(azure.Provider{Now: now}.Connect(map[string][]byte{
		"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(tenantsSecret),
		"resourceManagerEndpoint": []byte(e.URL), "authority": []byte(e.URL), "storageSuffix": []byte(storage),
		"caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Certificate().Raw}),
	}))(t)
	return account, tenantsMachine(t, "m")
}

func tenantsMachine(t *testing.T, name string) cloud.Machine {
	t.Helper()
	o := &infrav1.WindowsMachine{}
	o.Namespace, o.Name, o.UID = "tenant", name, types.UID("uid of tenant/"+name)
	o.Spec = world.InAzure("unused")
	identity := expect.Got(azure.Provider{}.Identify(o))(t)
	o.Spec.ProviderID = identity.ProviderID
	return cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: "tenant", Name: name}, Spec: o.Spec,
		UserData: cloud.UserData("#cloud-config\n").Read,
	}
}

// TestEvilARM: an Azure Resource Manager that a tenant brings answers with more than there is room for, leads elsewhere, or tries
// to be shown to people. It costs its own account a call, and nobody else anything.
func TestEvilARM(t *testing.T) {
	repeat := func(w io.Writer, text string, times int) {
		for range times {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	redirect := func(to func(*evilARM) string) func(*evilARM, http.ResponseWriter, *http.Request) {
		return func(e *evilARM, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to(e), http.StatusTemporaryRedirect)
		}
	}
	for tries, answer := range map[string]func(*evilARM, http.ResponseWriter, *http.Request){
		"redirects to another host": redirect(func(e *evilARM) string { return e.other.URL }),
		"redirects to the node's metadata service": redirect(func(*evilARM) string {
			return "http://169.254.169.254/metadata/identity/oauth2/token"
		}),
		"sends a list without an end": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			repeat(w, `{"value":[`+strings.Repeat(`{"id":"/x"},`, 1<<16), 1<<10)
		},
		"sends 5 million empty VMs": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"value":[{}`)
			repeat(w, strings.Repeat(`,{}`, 1<<16), 80)
			_, _ = io.WriteString(w, `]}`)
		},
		"nests lists 5 million deep": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"value":`)
			repeat(w, strings.Repeat("[", 1<<16), 80)
		},
		"has each page lead to itself": func(e *evilARM, w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"value":[],"nextLink":"%s/x?$skiptoken=1"}`, e.URL)
		},
		"has the next page elsewhere": func(e *evilARM, w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("$skiptoken") {
				w.WriteHeader(http.StatusTeapot)
				return
			}
			_, _ = fmt.Fprintf(w, `{"value":[],"nextLink":"%s/x?$skiptoken=1"}`, e.other.URL)
		},
		"sends a head of 8 MB": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 8<<20))
		},
		"answers with a page for people": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<html><script>alert(1)</script>\x1b[31m\n"+strings.Repeat("very long ", 1000))
		},
		"refuses with words for people": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			text, _ := json.Marshal(map[string]any{"error": map[string]string{
				"code": "Denied\x1b[31m\n", "message": strings.Repeat("<script>\x1b[31m\nlong ", 1000),
			}})
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(text)
		},
		"is silent for a year": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", fmt.Sprint(365*24*3600))
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"has been silent for a year": func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "-31536000")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		attempt(t, attack{"tenant", "brings an Azure that " + tries, func(t *testing.T) (verdict string) {
			e := newEvilARM(t, answer)
			bytes := allocated(func() {
				err := e.ask(t)
				verdict = shown(t, err)
				if err != nil && strings.Contains(err.Error(), "of-the-tenant") {
					t.Errorf("the error has a secret: %v", err)
				}
			})
			if bytes > maxAllocated {
				t.Errorf("%d MiB were used", bytes>>20)
			}
			if e.called.Load() > 0 {
				t.Error("another host was called")
			}
			return verdict
		}})
	}
}

// shownID is Azure's own ID of the VM that the tenant's Azure shows.
const shownID = "11111111-aaaa-bbbb-cccc-555555555555"

// showing has the tenant's Azure show the VM of his machine in all lists of VMs, and answer all else as it does.
func showing(answer func(*evilARM, http.ResponseWriter, *http.Request)) func(*evilARM, http.ResponseWriter, *http.Request) {
	return func(e *evilARM, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/subscriptions":
			_, _ = fmt.Fprintf(w, `{"value":[{"subscriptionId":%q}]}`, armsim.Subscription)
		case strings.HasSuffix(strings.ToLower(r.URL.Path), "/virtualmachines"):
			_, _ = fmt.Fprintf(w, `{"value":[{"id":%q,"properties":{"vmId":%q,"provisioningState":"Succeeded"}}]}`, e.vm, shownID)
		case strings.HasSuffix(r.URL.Path, "/skus"):
			_, _ = io.WriteString(w, `{"value":[]}`)
		default:
			answer(e, w, r)
		}
	}
}

// askConsole has the console of the tenant's machine read, as a controller does once its guest has failed.
func (e *evilARM) askConsole(t *testing.T) ([]string, error) {
	t.Helper()
	account, m := e.connect(t, time.Now, e.Listener.Addr().String())
	defer func() { expect.OK(t, account.Close(t.Context())) }()
	console, ok := account.(cloud.Console)
	if !ok {
		t.Fatal("Azure has no console")
	}
	e.vm = strings.TrimPrefix(m.ProviderID, "azure://")
	m.Record.Azure = infrav1.AzureRecord{Server: expect.Got(account.Server(t.Context(), m.Key))(t), VMID: shownID}
	expect.Got(account.Observe(t.Context(), m))(t)
	return console.LastWords(t.Context(), m)
}

// TestEvilBootLog: the address of a boot log and the log itself are a tenant's, too. They lead to no other host, cost little and
// are shown as a few lines of plain text.
func TestEvilBootLog(t *testing.T) {
	at := func(address func(*evilARM) string) func(*evilARM, http.ResponseWriter, *http.Request) {
		return func(e *evilARM, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = fmt.Fprintf(w, `{"serialConsoleLogBlobUri":%q}`, address(e)+"/log?sig=signature-of-the-tenant")
				return
			}
			t.Errorf("%s %s was called", r.Method, r.URL.Path)
		}
	}
	answered := func(answer func(*evilARM, http.ResponseWriter, *http.Request)) func(*evilARM, http.ResponseWriter, *http.Request) {
		return func(e *evilARM, w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				at(func(e *evilARM) string { return e.URL })(e, w, r)
			case r.Header.Get("Authorization") != "":
				t.Error("a token went along")
			case r.Method == http.MethodHead:
				w.Header().Set("Content-Length", "9223372036854775807")
			default:
				answer(e, w, r)
			}
		}
	}
	write := func(text string, times int) func(*evilARM, http.ResponseWriter, *http.Request) {
		return answered(func(_ *evilARM, w http.ResponseWriter, _ *http.Request) {
			for range times {
				if _, err := io.WriteString(w, text); err != nil {
					return
				}
			}
		})
	}
	for tries, answer := range map[string]func(*evilARM, http.ResponseWriter, *http.Request){
		"is at another host":                 at(func(e *evilARM) string { return e.other.URL }),
		"is at the node's metadata service":  at(func(*evilARM) string { return "http://169.254.169.254/metadata" }),
		"is not encrypted":                   at(func(e *evilARM) string { return "http://" + e.Listener.Addr().String() }),
		"is a file of the manager":           at(func(*evilARM) string { return "file:///var/run/secrets" }),
		"is at a host with the right ending": at(func(e *evilARM) string { return "https://evil" + e.Listener.Addr().String() }),
		"redirects to another host": answered(func(e *evilARM, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, e.other.URL, http.StatusTemporaryRedirect)
		}),
		"has no end":           write(strings.Repeat("CAPWIN x\n", 1<<13), 1<<12),
		"has words for people": write("CAPWIN <script>\x1b[31m\u202e"+strings.Repeat("long ", 1000)+"\n", 10),
	} {
		attempt(t, attack{"tenant", "brings an Azure whose boot log " + tries, func(t *testing.T) (verdict string) {
			e := newEvilARM(t, showing(answer))
			bytes := allocated(func() {
				lines, err := e.askConsole(t)
				if len(lines) == 0 {
					verdict = shown(t, err)
				}
				for _, line := range lines {
					verdict = "quoted as a few lines of plain text"
					if line != cloud.Clean(line, 256) || len(lines) > 10 {
						t.Errorf("%d lines, one of them %q", len(lines), line)
					}
				}
				if err != nil && strings.Contains(err.Error(), "of-the-tenant") {
					t.Errorf("the error has a secret: %v", err)
				}
			})
			if bytes > maxAllocated {
				t.Errorf("%d MiB were used", bytes>>20)
			}
			if e.called.Load() > 0 {
				t.Error("another host was called")
			}
			return verdict
		}})
	}
}
