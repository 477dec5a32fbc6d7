package login

import (
	"context"
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

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// hostile is a cloud that a user chose, which answers as it likes. Other has to stay without a call.
type hostile struct {
	server, other *httptest.Server
	called        atomic.Int32 // of other
}

// newHostile serves a token endpoint; configuration, if it is set, answers the question where that is.
func newHostile(t *testing.T, configuration, token func(h *hostile, w http.ResponseWriter, r *http.Request)) *hostile {
	t.Helper()
	h := &hostile{}
	h.other = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { h.called.Add(1) }))
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "openid-configuration"):
			token(h, w, r)
		case configuration != nil:
			configuration(h, w, r)
		default:
			h.configure(w, h.server.URL)
		}
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust it are its fate
	h.server.StartTLS()
	t.Cleanup(func() { h.server.CloseClientConnections(); h.server.Close(); h.other.Close() })
	return h
}

func (h *hostile) configure(w io.Writer, tokenServer string) {
	_, _ = fmt.Fprintf(w, `{"token_endpoint":"%s/t","authorization_endpoint":"%s/a","issuer":"%s/i"}`,
		tokenServer, h.server.URL, h.server.URL)
}

func (h *hostile) open(t *testing.T, wait time.Duration) *Principal {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	p := expect.Got(Open(Request{Grant: placement.OwnSecret(byTeam, "azure"), Secret: map[string][]byte{
		keyTenant: []byte(armsim.Tenant), keyClient: []byte(app), keySecret: []byte("canary-secret"),
		keyEndpoint: []byte(h.server.URL), keyAuthority: []byte(h.server.URL), keyCABundle: ca,
	}}))(t)
	if wait != 0 {
		roots := expect.Got(trust(p.Cloud))(t)
		in := input{
			cloud: p.Cloud, tenant: p.TenantID, client: p.ClientID, proof: p.Proof, secret: func() string { return "canary-secret" },
		}
		inner := expect.Got(in.credential(newTransport(p.Cloud.Hosts(), roots, limits{bytes: tokens.bytes, wait: wait})))(t)
		p.Credential = &credential{inner: inner, refusals: p.refusals("")}
	}
	return p
}

func say(text string) func(*hostile, http.ResponseWriter, *http.Request) {
	return func(_ *hostile, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func fail(status int, text string) func(*hostile, http.ResponseWriter, *http.Request) {
	return func(_ *hostile, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func redirect(h *hostile, w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, h.other.URL+"/t", http.StatusTemporaryRedirect)
}

func endless(_ *hostile, w http.ResponseWriter, _ *http.Request) {
	for chunk := strings.Repeat("canary", 1<<10); ; {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

func silent(_ *hostile, _ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has left
	<-r.Context().Done()
}

// dripping answers a byte at a time until the client leaves.
func dripping(_ *hostile, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // as in silent
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

// TestHostileAuthorities: whatever a chosen cloud answers, the error is ours, bounded, without a secret, and nothing goes to
// another host.
func TestHostileAuthorities(t *testing.T) {
	echo := func(_ *hostile, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":"x","error_description":"AADSTS700016: \u001b[31m %s"}`, body)
	}
	type answer = func(*hostile, http.ResponseWriter, *http.Request)
	for _, test := range []struct {
		name                 string
		configuration, token answer
		wait                 time.Duration
		kind                 cloud.Kind
		says                 string
	}{
		{"the configuration is a redirect", redirect, echo, 0, cloud.Transient, "redirect"},
		{"the token endpoint is a redirect", nil, redirect, 0, cloud.Transient, "redirect"},
		{
			"the token endpoint is elsewhere", func(h *hostile, w http.ResponseWriter, _ *http.Request) { h.configure(w, h.other.URL) },
			echo, 0, cloud.Transient, "outside of the cloud",
		},
		{
			"the token endpoint is the node's metadata service",
			func(h *hostile, w http.ResponseWriter, _ *http.Request) { h.configure(w, "http://169.254.169.254") },
			echo, 0, cloud.Transient, "outside of the cloud",
		},
		{"the configuration is endless", endless, echo, 0, cloud.Transient, "larger"},
		{"the token is endless", nil, endless, 0, cloud.Transient, "larger"},
		{"the configuration does not come", silent, echo, 200 * time.Millisecond, cloud.Transient, "does not answer"},
		{"the token does not come", nil, silent, 200 * time.Millisecond, cloud.Transient, "does not answer"},
		{"the configuration drips", dripping, echo, 200 * time.Millisecond, cloud.Transient, "does not answer"},
		{"the token drips", nil, dripping, 200 * time.Millisecond, cloud.Transient, "does not answer"},
		{"the configuration is not JSON", say("<html>canary"), echo, 0, cloud.Transient, ""},
		{"the token is not JSON", nil, say("<html>canary"), 0, cloud.Transient, ""},
		{"a token of nothing", nil, say(`{}`), 0, cloud.Transient, ""},
		{
			"a huge token", nil,
			say(`{"token_type":"Bearer","expires_in":3600,"access_token":"` + strings.Repeat("canary", 10<<10) + `"}`), 0,
			cloud.Transient, "larger",
		},
		{
			"a token that is a header", nil,
			say(`{"token_type":"Bearer","expires_in":3600,"access_token":"canary\r\nX-Evil: 1"}`), 0, cloud.Transient, "",
		},
		{"the error echoes the secret", nil, echo, 0, cloud.Denied, "AADSTS700016"},
		{"the error is a page", nil, fail(http.StatusForbidden, "<html>canary"), 0, cloud.Transient, "not one of Entra ID"},
		{"the error is a list", nil, fail(http.StatusBadRequest, `["canary"]`), 0, cloud.Transient, "not one of Entra ID"},
		{
			"the number is a text", nil, fail(http.StatusBadRequest, `{"error_description":"AADSTS99999999999canary"}`), 0,
			cloud.Transient, "not one of Entra ID",
		},
		{"the number is negative", nil, fail(http.StatusBadRequest, `{"error_codes":[-1]}`), 0, cloud.Transient, "not one of Entra ID"},
		{"the server is broken", nil, fail(http.StatusInternalServerError, "canary"), 0, cloud.Transient, "cannot give tokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHostile(t, test.configuration, test.token)
			p := h.open(t, test.wait)
			token, err := p.ask(t)
			told := toldOf(t, test.name, err)
			if told.Kind != test.kind || !strings.Contains(told.Message, test.says) || token != "" {
				t.Errorf("%s: %s", told.Kind, told.Message)
			}
			if h.called.Load() > 0 {
				t.Error("another host was called")
			}
		})
	}
}

// TestHostileManagers: Azure Resource Manager of a chosen cloud gets the token, and hands it on to no other host.
func TestHostileManagers(t *testing.T) {
	for name, answer := range map[string]func(*hostile, http.ResponseWriter, *http.Request){
		"a redirect": redirect,
		"a next page elsewhere": func(h *hostile, w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"value":[],"nextLink":"%s/next"}`, h.other.URL)
		},
		"endless": endless,
	} {
		h := newHostile(t, nil, func(h *hostile, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"canary"}`)
				return
			}
			answer(h, w, r)
		})
		p := h.open(t, 0)
		p.Transport.(*transport).limits.bytes = 1 << 20
		pages := expect.Got(newPages(p))(t)
		var err error
		for err == nil && pages.More() {
			_, err = pages.NextPage(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), "canary") || h.called.Load() > 0 {
			t.Errorf("%s: %v, %d calls", name, err, h.called.Load())
		}
	}
}

// TestUntrusted: a server that the cloud's certificates do not name gets nothing.
func TestUntrusted(t *testing.T) {
	h := newHostile(t, nil, say("canary"))
	for name, ca := range map[string][]byte{"the system's": nil, "another's": newCertificate(t)} {
		p := expect.Got(Open(Request{
			Grant: placement.Grant{
				Proof: placement.ClientSecret, ClientID: app, TenantID: armsim.Tenant, Secret: cloud.Key{Namespace: "team", Name: "azure"},
			},
			Secret: map[string][]byte{keySecret: []byte("canary-secret")}, Cloud: "Lab", Book: newBook(t, h.server.URL, ca),
		}))(t)
		_, err := p.ask(t)
		if told := toldOf(t, name, err); told.Kind != cloud.Transient || !strings.Contains(told.Message, "certificate") {
			t.Errorf("%s: %v", name, told)
		}
	}
	if _, err := clouds.Choose(clouds.Cloud{ResourceManager: h.server.URL, Authority: h.server.URL, CABundle: "x"}); err == nil {
		t.Error("certificates that are none")
	}
}

// TestCancelled: who stops waiting is told that, and nothing about the credentials.
func TestCancelled(t *testing.T) {
	h := newHostile(t, nil, say("canary"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.open(t, 0).Credential.GetToken(ctx, forARM)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
