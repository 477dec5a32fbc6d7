package login

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// newStorage is a storage service that answers as the test likes, and a principal of its cloud. Other must stay without a call.
func newStorage(t *testing.T, answer func(other string, w http.ResponseWriter, r *http.Request)) (p *Principal, address string) {
	t.Helper()
	var called atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "canary-signature" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		answer(other.URL, w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		other.Close()
		if called.Load() > 0 {
			t.Error("another host was called")
		}
	})
	file := filepath.Join(t.TempDir(), "clouds.json")
	text := expect.Got(json.Marshal(map[string]any{"clouds": []map[string]string{{
		"name": "Lab", "resourceManagerEndpoint": server.URL, "authority": server.URL,
		"storageSuffix": strings.TrimPrefix(server.URL, "https://"),
		"caBundle":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}}}))(t)
	expect.OK(t, os.WriteFile(file, text, 0o600))
	p = expect.Got(Open(Request{
		Grant: placement.OwnSecret(byTeam, "azure"), Book: expect.Got(clouds.Load(file))(t), Cloud: "Lab",
		Secret: map[string][]byte{
			keyTenant: []byte(armsim.Tenant), keyClient: []byte(app), keySecret: []byte("canary-secret"), keyCloud: []byte("Lab"),
		},
	}))(t)
	return p, server.URL + "/log?sig=canary-signature"
}

// serve answers as a storage service does.
func serve(text string) func(string, http.ResponseWriter, *http.Request) {
	return func(_ string, w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}
}

// TestBootLog reads the end of a log of any length.
func TestBootLog(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<16) + "the end" // 1 MiB
	for name, c := range map[string]struct{ log, want string }{
		"short": {"all of it", "all of it"}, "empty": {"", ""}, "long": {long, long[len(long)-endOfLog:]},
		"at the limit": {long[:endOfLog], long[:endOfLog]},
	} {
		p, address := newStorage(t, serve(c.log))
		expect.Same(t, name, c.want, string(expect.Got(p.BootLog(t.Context(), address))(t)))
	}
}

// TestHostileStorage: whatever answers at the address of a log, the error has no word of the address and of the answer, and no
// other host is called.
func TestHostileStorage(t *testing.T) {
	type answer = func(other string, w http.ResponseWriter, r *http.Request)
	unsized := func(of answer) answer { // the length of the log stays unknown
		return func(other string, w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodHead {
				of(other, w, r)
			}
		}
	}
	sized := func(length string, of answer) answer {
		return func(other string, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Length", length)
				return
			}
			of(other, w, r)
		}
	}
	const many = "9223372036854775807"
	redirect := func(other string, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+"/log?sig=canary-signature", http.StatusTemporaryRedirect)
	}
	endless := func(_ string, w http.ResponseWriter, _ *http.Request) {
		for chunk := strings.Repeat("canary", 1<<10); ; {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
	silent := func(_ string, _ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // or an empty answer may come while the client still closes its connection
	}
	status := func(code int) answer {
		return func(_ string, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, "canary")
		}
	}
	for name, c := range map[string]struct {
		answer answer
		says   string
	}{
		"a redirect":                   {redirect, "redirect"},
		"a redirect of the log itself": {sized("10", redirect), "redirect"},
		"an endless log":               {sized("10", endless), "too large"},
		"a log as long as can be said": {sized(many, endless), "too large"},
		"no answer":                    {silent, "exceeded"},
		"no log":                       {sized("10", silent), "exceeded"},
		"a signature that is over":     {status(http.StatusForbidden), "the storage service answers 403"},
		"a range that is refused":      {sized("10", status(http.StatusRequestedRangeNotSatisfiable)), "answers 416"},
		"a server that is broken":      {status(http.StatusInternalServerError), "answers 500"},
		"a length that is missing":     {unsized(serve("canary")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, address := newStorage(t, c.answer)
			p.storage.client.Timeout = 500 * time.Millisecond
			got, err := p.BootLog(t.Context(), address)
			switch {
			case c.says == "":
				expect.OK(t, err)
			case err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "canary"):
				t.Errorf("BootLog = %q, %v, want an error that says %q", got, err, c.says)
			}
			if len(got) > endOfLog {
				t.Errorf("%d bytes", len(got))
			}
		})
	}
}

// TestForeignLogs: an address that is not of the cloud's storage service is not called.
func TestForeignLogs(t *testing.T) {
	p, address := newStorage(t, func(_ string, _ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was called", r.Method, r.URL)
	})
	host := strings.TrimPrefix(address, "https://")
	server, _, _ := strings.Cut(host, "/")
	for _, foreign := range []string{
		"", "x", "http://" + host, "ftp://" + host, "https://user@" + host, "https://127.0.0.1/log", "https://169.254.169.254/log",
		"https://evil" + host, "https://" + server + ".evil.example/log", "https://" + host + "\n",
	} {
		if _, err := p.BootLog(t.Context(), foreign); err == nil || strings.Contains(err.Error(), "sig") {
			t.Errorf("BootLog of %q = %v", foreign, err)
		}
	}
}

// TestBootLogOfAChosenCloud: whoever chooses the addresses of a cloud has nothing read of any host, and learns of none whether it
// is there, what it speaks and what it answers.
func TestBootLogOfAChosenCloud(t *testing.T) {
	p, address := newStorage(t, func(_ string, _ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was called", r.Method, r.URL)
	})
	server, _, _ := strings.Cut(address, "/log")
	chosen := expect.Got(clouds.Choose(clouds.Cloud{
		ResourceManager: server, Authority: server, StorageSuffix: strings.TrimPrefix(server, "https://"),
	}))(t)
	p.Cloud = chosen
	for _, inside := range []string{address, "https://127.0.0.1:22/log", "https://127.0.0.1:1/log"} {
		_, err := p.BootLog(t.Context(), inside)
		expect.Same(t, inside, true, errors.Is(err, errElsewhere))
	}
}

// TestUnreached: that a storage service is not there, or speaks something else, is one error.
func TestUnreached(t *testing.T) {
	for _, err := range []error{errors.New("connection refused"), errors.New("tls: first record is no TLS handshake")} {
		expect.Same(t, err.Error(), errUnreached.Error(), class(fmt.Errorf("Get https://inside: %w", err)).Error())
	}
}
