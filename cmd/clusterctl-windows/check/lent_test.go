package check

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// heard is a request that somebody got: a token's, or one with a token.
type heard struct {
	who, method, path string
	form              string // of a token's request: client, tenant, proof, for whom
	bearer            string
}

// ears are Entra ID and Azure Resource Manager of two clouds, the service for managed identities, and Azure's own program.
type ears struct {
	mu  sync.Mutex
	all []heard
	ca  map[string][]byte
	url map[string]string
}

func (e *ears) hear(h heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, h)
}

func (e *ears) since() []heard {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

// jwt is an access token, as far as people may look into it.
func jwt(claims map[string]string) string {
	text, _ := json.Marshal(claims) // texts alone
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"typ":"JWT"}`)) + "." + part(text) + "." + part([]byte("signature"))
}

// cloud serves both at one address.
func (e *ears) cloud(t *testing.T, name string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		tenant, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		h := heard{who: name, method: r.Method, path: r.URL.String(), bearer: r.Header.Get("Authorization")}
		switch {
		case strings.HasSuffix(r.URL.Path, "openid-configuration"):
			base := server.URL + "/" + tenant
			expect.Fine(t, json.NewEncoder(w).Encode(map[string]string{
				"token_endpoint": base + "/t", "authorization_endpoint": base + "/a", "issuer": base + "/v2.0",
			}))
		case strings.HasSuffix(r.URL.Path, "/t"):
			expect.Fine(t, r.ParseForm())
			h.form = strings.Join([]string{
				r.Form.Get("client_id"), tenant, r.Form.Get("client_secret") + r.Form.Get("client_assertion"),
			}, " ")
			token := jwt(map[string]string{"appid": r.Form.Get("client_id"), "of": name})
			_, _ = fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3600,"access_token":%q}`, token)
		case r.URL.Path == "/subscriptions":
			_, _ = fmt.Fprintf(w, `{"value":[{"subscriptionId":%q}]}`, armsim.Subscription)
		default:
			_, _ = io.WriteString(w, `{"value":[]}`)
		}
		e.hear(h)
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew { // a connection is heard of even if nothing is said on it
			e.hear(heard{who: name, method: "a connection"})
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	e.url[name] = server.URL
	e.ca[name] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

const (
	myClient = "aaaaaaaa-1111-4000-8000-000000000001"
	myTenant = "bbbbbbbb-1111-4000-8000-000000000001"
)

// computer is a way in which a computer can be somebody, how its proof is told in a request for a token, and who it is.
type computer struct {
	prepare    func(t *testing.T, e *ears)
	form, name string
}

var computers = map[string]computer{
	"a client secret": {func(t *testing.T, _ *ears) {
		t.Helper()
		t.Setenv("AZURE_CLIENT_SECRET", "MY-SECRET")
	}, myClient + " " + myTenant + " MY-SECRET", myClient},
	"a token for workload identities": {func(t *testing.T, _ *ears) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "token")
		expect.OK(t, os.WriteFile(file, []byte("MY-ASSERTION"), 0o600))
		t.Setenv("AZURE_FEDERATED_TOKEN_FILE", file)
		t.Setenv("AZURE_TOKEN_CREDENTIALS", "WorkloadIdentityCredential")
	}, myClient + " " + myTenant + " MY-ASSERTION", myClient},
	"a managed identity": {func(t *testing.T, e *ears) {
		t.Helper()
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.hear(heard{who: "node", method: r.Method, path: r.URL.String()})
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"token_type":"Bearer","expires_on":"4102444800","access_token":%q}`,
				jwt(map[string]string{"appid": myClient, "of": "node"}))
		}))
		t.Cleanup(node.Close)
		t.Setenv("IDENTITY_ENDPOINT", node.URL+"/msi/token")
		t.Setenv("IDENTITY_HEADER", "MY-HEADER")
		t.Setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
	}, "", myClient},
	"az login": {func(t *testing.T, e *ears) {
		t.Helper()
		if runtime.GOOS == "windows" {
			t.Skip("the program of this test is a script for sh")
		}
		dir := t.TempDir()
		said := filepath.Join(dir, "said")
		token := jwt(map[string]string{"upn": "alice@example.com", "appid": "04b07795-8ddb-461a-bbee-02f9e1bf7b46", "of": "az"})
		script := "#!/bin/sh\necho \"$@\" >> " + said + "\n" + // as az account get-access-token answers
			`echo '{"accessToken":"` + token + `","expires_on":4102444800,"expiresOn":"2100-01-01 00:00:00.000000"}'` + "\n"
		expect.OK(t, os.WriteFile(filepath.Join(dir, "az"), []byte(script), 0o700)) //nolint:gosec // because it is to be run
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		t.Setenv("AZURE_TOKEN_CREDENTIALS", "AzureCLICredential")
		t.Cleanup(func() {
			for line := range strings.Lines(string(expect.Got(os.ReadFile(said))(t))) {
				want := "account get-access-token -o json --resource " + e.url["Lab"]
				expect.Same(t, "az is asked for", want, strings.TrimSpace(line))
			}
		})
	}, "", "alice@example.com"},
}

// hostileFiles are files of somebody who wants the proofs of whoever checks them. Each %s of a text is the address that listens
// for them.
func hostileFiles(evil string, ca []byte) map[string]struct {
	files string
	says  string
} {
	address := map[string]string{
		"resourceManagerEndpoint": evil, "authority": evil, "audience": evil, "caBundle": string(ca), "tenantID": theirTenant,
		"clientID": theirClient,
	}
	with := func(key, value string) map[string]string {
		all := maps.Clone(address)
		all[key] = value
		return all
	}
	cluster := func(more string) string {
		return "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureCluster\nmetadata: {name: blue}\nspec:\n" +
			"  subscriptionID: " + armsim.Subscription + "\n" + more
	}
	const reference = "  clientSecret: {name: proof}\n"
	const someoneElse = "not as the machine's identity"
	own, byIdentity, none := pool(1, whole(aSecret)), pool(1, whole(anIdentity)), pool(1, whole(""))
	proof := func(name string) string { return secret(name, with("clientSecret", "THEIRS")) }
	workload := func(more string) string { return clusterIdentity("WorkloadIdentity", more) }
	only := func(key, value string) map[string]string {
		return map[string]string{"tenantID": theirTenant, "clientID": theirClient, "clientSecret": "THEIRS", key: value}
	}
	principal := clusterIdentity("ServicePrincipal", reference)
	return map[string]struct{ files, says string }{
		"an address, and no proof":        {own + secret("azure", address), "has neither clientSecret nor certificate"},
		"an authority, and no address":    {own + secret("azure", only("authority", evil)), "no resourceManagerEndpoint"},
		"an unknown cloud":                {own + secret("azure", only("cloud", "Moon")), `"Moon" is not defined`},
		"a path as a certificate":         {own + secret("azure", with("certificate", "/etc/hostname")), "not PEM"},
		"its own proof":                   {own + proof("azure"), "accepts the credentials"},
		"a Secret that is not there":      {own + proof("other"), someoneElse},
		"workload identity":               {byIdentity + workload("") + secret("azure", address), someoneElse},
		"workload identity with a Secret": {byIdentity + workload(reference) + proof("proof"), someoneElse},
		"managed identity": {
			byIdentity + clusterIdentity("UserAssignedMSI", "  resourceID: /subscriptions/x\n") + secret("proof", address), someoneElse,
		},
		"a principal without its proof": {byIdentity + principal, someoneElse},
		"a principal with an address":   {byIdentity + principal + secret("proof", address), "neither clientSecret"},
		"a principal with both":         {byIdentity + principal + proof("proof"), "accepts the credentials"},
		"a certificate's path": {
			byIdentity + clusterIdentity("ServicePrincipalCertificate", "  certPath: /etc/hostname\n"), "reads a file",
		},
		"another cloud": {none + cluster("  azureEnvironment: AzureChinaCloud\n"), "add --azure-cloud=AzureChinaCloud"},
		"another cloud, by an identity": {
			byIdentity + workload("") + cluster("  azureEnvironment: AzureUSGovernmentCloud\n"),
			"add --azure-cloud=AzureUSGovernmentCloud",
		},
		"a cloud that is an address": {none + cluster("  azureEnvironment: "+evil+"\n"), "is not defined"},
		"a subnet that is an address": {
			pool(1, strings.Replace(whole(""), "        networkInterfaces: [{name: node, subnet: {id: "+armsim.SubnetID+"}}]\n", "", 1)) +
				cluster("  resourceGroup: x\n  networkSpec: {vnet: {name: \"x?y=@"+strings.TrimPrefix(evil, "https://")+
					"/#\"}, subnets: [{name: ../.., role: node}]}\n"), "networkSpec",
		},
		"a subscription that is an address": {
			pool(1, strings.Replace(whole(""), "        subscriptionID: "+armsim.Subscription+"\n", "", 1)) +
				strings.Replace(cluster(""), armsim.Subscription, "\"@"+strings.TrimPrefix(evil, "https://")+"/\"", 1), "not the ID",
		},
		"a location that is an address": {
			pool(1, strings.Replace(whole(""), "        location: "+armsim.Location+"\n", "", 1)) +
				cluster("  location: \"../../@"+strings.TrimPrefix(evil, "https://")+"\\e[2J\"\n"), someoneElse,
		},
		"a place for logs": {
			pool(1, whole("")+"        bootDiagnostics: {type: Custom, storageURI: "+evil+"}\n"), "",
		},
	}
}

// TestNothingIsLentToFiles: no client, tenant, cloud or address of a file meets a proof of the computer that runs the check. Its
// proofs go to the cloud that was named on the command line, for its own client and tenant, and to nobody else.
func TestNothingIsLentToFiles(t *testing.T) {
	tried := 0
	for kind, mine := range computers {
		t.Run(kind, func(t *testing.T) {
			e := &ears{ca: map[string][]byte{}, url: map[string]string{}}
			e.cloud(t, "Lab")
			e.cloud(t, "Evil")
			bareComputer(t)
			t.Setenv("AZURE_CLIENT_ID", myClient)
			t.Setenv("AZURE_TENANT_ID", myTenant)
			mine.prepare(t, e)
			options := Options{AzureCloud: "Lab", AzureClouds: cloudsFile(t, cloudEntry("Lab", e.url["Lab"], e.ca["Lab"]))}
			for name, c := range hostileFiles(e.url["Evil"], e.ca["Evil"]) {
				tried++
				found := checkedBy(t, c.files, options)
				text := fmt.Sprint(found)
				if !strings.Contains(text, c.says) {
					t.Errorf("%s: found %s, want %q", name, text, c.says)
				}
				e.nothingOfMine(t, name, c.files, found, mine)
			}
		})
	}
	t.Logf("%d files tried, on %d computers", tried/max(len(computers), 1), len(computers))
}

// nothingOfMine compares what was heard with what may be.
func (e *ears) nothingOfMine(t *testing.T, name, files string, found []cloud.Finding, mine computer) {
	t.Helper()
	other := finding(found, "identity").Text
	if other != "" && !strings.HasPrefix(other, "checked as "+mine.name+", not as the machine's identity") {
		t.Errorf("%s: %s", name, other)
	}
	for _, h := range e.since() {
		switch h.who {
		case "Evil":
			lent := strings.Contains(h.form+h.bearer+h.path, "MY-") || strings.Contains(h.form, myClient)
			theirs := h.form == "" || h.form == theirClient+" "+theirTenant+" THEIRS"
			token := h.bearer == "" || h.bearer == "Bearer "+jwt(map[string]string{"appid": theirClient, "of": "Evil"})
			if lent || !theirs || !token || !strings.Contains(files, "THEIRS") || other != "" {
				t.Errorf("%s: the address of the files got %+v", name, h)
			}
		case "Lab":
			if h.form != "" && h.form != mine.form || other == "" {
				t.Errorf("%s: the cloud got %+v", name, h)
			}
		default:
			expect.Same(t, name+": whose token the node is asked for", []string{myClient}, queryOf(t, h.path)["client_id"])
			expect.Same(t, name+": for whom", []string{e.url["Lab"]}, queryOf(t, h.path)["resource"])
		}
		if strings.Contains(h.path+h.form, theirClient) && h.who != "Evil" || strings.Contains(h.path, "..") {
			t.Errorf("%s: %s got what the files say: %+v", name, h.who, h)
		}
	}
	for _, f := range found {
		if strings.ContainsFunc(f.Check+f.Text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%s: %q is not fit to be shown", name, f)
		}
		if strings.Contains(f.Text, "MY-") || strings.Contains(f.Text, "THEIRS") {
			t.Errorf("%s: %+v shows a secret", name, f)
		}
	}
}
