package workload

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// text is a kubeconfig with a token; ca is the certificate of a server.
func text(server, ca string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
clusters:
- name: c
  cluster:
    server: %s
    certificate-authority-data: %s
contexts:
- name: c
  context: {cluster: c, user: u}
users:
- name: u
  user:
    token: t
`, server, ca)
}

// aCA is the certificate of httptest's servers.
func aCA(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return base64.StdEncoding.EncodeToString(ca)
}

func TestAccepted(t *testing.T) {
	ca := aCA(t)
	plain := text("https://127.0.0.1:6443", ca)
	const local, field = "https://127.0.0.1:6443", "    server:"
	cases := map[string]struct{ reason, kubeconfig, server, name string }{
		"plain": {"as Cluster API's own control planes write it, with a token", plain, local, ""},
		"with a path": {
			"a server that is shared by clusters", text("https://shared.test/clusters/c-1", ca), "https://shared.test/clusters/c-1", "",
		},
		"of IPv6": {"an address in brackets", text(`"https://[fd00::1]:6443"`, ca), "https://[fd00::1]:6443", ""},
		"of this cluster": {
			"a management cluster that is its own workload cluster",
			text("https://kubernetes.default.svc", ca), "https://kubernetes.default.svc", "",
		},
		"with another name": {
			"a server that is reached by its address",
			strings.Replace(plain, field, "    tls-server-name: api.test\n"+field, 1), local, "api.test",
		},
		"uncompressed": {
			"it changes nothing here", strings.Replace(plain, field, "    disable-compression: true\n"+field, 1), local, "",
		},
		"with extensions": {
			"tools write what only they read",
			plain + "extensions: [{name: x, extension: {a: b}}]\npreferences: {colors: true}\n", local, "",
		},
		"with other users": {
			"they are not used", strings.Replace(plain, "users:\n", "users:\n- name: other\n  user: {tokenFile: /x}\n", 1), local, "",
		},
		"of tomorrow": {"a field that this release does not know has no effect", plain + "future: {file: /x}\n", local, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := vet([]byte(c.kubeconfig), "any")
			expect.OK(t, err)
			if got.server != c.server || got.token != "t" || got.tls.ServerName != c.name {
				t.Errorf("%s: got server %q, name %q", c.reason, got.server, got.tls.ServerName)
			}
			if got.tls.InsecureSkipVerify || got.tls.RootCAs == nil {
				t.Errorf("%s: the server is not verified", c.reason)
			}
			expect.Same(t, "what a log shows", "[hidden] [hidden] [hidden]", fmt.Sprintf("%v %+v %#v", got, got, got))
		})
	}
}

// A kubeconfig's fields are all decided about: one that a new release of client-go brings fails this test until it is.
func TestAllFields(t *testing.T) {
	decided := map[reflect.Type][]string{
		reflect.TypeFor[clientcmdapi.Config](): {
			"Kind", "APIVersion", "Preferences", "Clusters", "AuthInfos", "Contexts", "CurrentContext", "Extensions",
		},
		reflect.TypeFor[clientcmdapi.Context](): {"LocationOfOrigin", "Cluster", "AuthInfo", "Namespace", "Extensions"},
		reflect.TypeFor[clientcmdapi.Cluster](): {
			"LocationOfOrigin", "Server", "TLSServerName", "InsecureSkipTLSVerify", "CertificateAuthority", "CertificateAuthorityData",
			"ProxyURL", "DisableCompression", "Extensions",
		},
		reflect.TypeFor[clientcmdapi.AuthInfo](): {
			"LocationOfOrigin", "ClientCertificate", "ClientCertificateData", "ClientKey", "ClientKeyData", "Token", "TokenFile",
			"Impersonate", "ImpersonateUID", "ImpersonateGroups", "ImpersonateUserExtra", "Username", "Password", "AuthProvider", "Exec",
			"Extensions",
		},
	}
	for kind, names := range decided {
		for field := range kind.Fields() {
			if name := field.Name; !slices.Contains(names, name) {
				t.Errorf("%s has a field %s: decide whether vet takes it, refuses it or leaves it without effect", kind, name)
			}
		}
	}
}

// The text of a kubeconfig costs little, whatever it is made of; that of an admin with 50 clusters has few enough entries.
func TestEntries(t *testing.T) {
	const one = "- context:\n    cluster: a-b-c\n    user: a-b-c\n  name: a-b-c\n" +
		"- cluster:\n    server: https://api.a-b-c.test:6443\n    certificate-authority-data: AA==\n  name: a-b-c\n" +
		"- user:\n    client-certificate-data: AA==\n    client-key-data: AA==\n  name: a-b-c\n"
	if n := 50 * marks([]byte(one)); n > maxMarks/3 {
		t.Errorf("50 clusters have %d marks", n)
	}
	for _, text := range []string{
		"contexts: [" + strings.Repeat("{},", maxMarks/2) + "]", "contexts:\n" + strings.Repeat("- {}\n", maxMarks/3+1),
		strings.Repeat("? ", maxMarks+1), strings.Repeat("a:\r", maxMarks/2+1), strings.Repeat("a\u2028", maxMarks/2),
	} {
		_, _, err := current([]byte(text))
		expect.Says(t, text[:20], err, "has too many entries; write only the context, the cluster and the user that are needed")
	}
	_, _, err := current([]byte(strings.Repeat("\n", maxMarks)))
	expect.Same(t, fmt.Sprint(maxMarks, " entries are too many"), false, err == nil || strings.Contains(err.Error(), "too many"))
}

// What a server says of a refusal reaches conditions, whole or not at all.
func TestRefusal(t *testing.T) {
	const (
		said = `{"kind":"Status","status":"Success","code":404,"reason":"NotFound","message":"a\nb\u0007",` +
			`"details":{"retryAfterSeconds":9}}`
		kept = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a b ","reason":"NotFound","code":404}`
	)
	for body, want := range map[string]string{
		said:                kept,
		`{"kind":"Secret"}`: "",
		`<html>`:            "",
		``:                  "",
		`{"kind":"Status","code":"403","message":"a"}`: "",
		`{"kind":"Status","message":"a"`:               "",
	} {
		expect.Same(t, body, want, string(refusal([]byte(body))))
	}
	if got := plain(strings.Repeat("x", maxText+1)); len(got) != maxText {
		t.Errorf("a text has %d characters", len(got))
	}
}

func TestSound(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`:                                    true,
		`{"a":"[[{{,,\"\\","b":[1,{"c":null}]}`: true,
		``:                                      false,
		`{`:                                     false,
		`{}{}`:                                  false,
		`"` + "\n" + `"`:                        false,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):     true,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): false,
		"[" + strings.Repeat("[],", maxDepth) + "{}]":                     true,
		"[" + strings.Repeat("{},", maxDepth) + "[]]":                     true,
		"[[[" + strings.Repeat("{},", maxObjects-4) + "{}]]]":             true,
		"[[[" + strings.Repeat("{},", maxObjects-3) + "{}]]]":             false,
		"[[[" + strings.Repeat("0,", maxValues) + "0]]]":                  true,
		"[[[" + strings.Repeat("0,", maxValues+1) + "0]]]":                false,
		`{"items":[` + strings.Repeat("null,", maxOnTop) + "null]}":       true,
		`{"items":[` + strings.Repeat("null,", maxOnTop+1) + "null]}":     false,
	} {
		if got := sound([]byte(body)); got != want {
			t.Errorf("%.60q of %d bytes: got %v", body, len(body), got)
		}
	}
}
