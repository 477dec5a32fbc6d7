package login

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/armsim"
)

func pemPair() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return certificateOf(key.Public(), key)
}

// withoutEnvironment is the environment of a manager that was started without anything.
func withoutEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{envTenant, envClient, envSecret, envCertificate, envPassword, envTokenFile, "IDENTITY_ENDPOINT"} {
		t.Setenv(name, "")
	}
}

// TestProofs: each proof gets a token over its own protocol, and the token opens Azure Resource Manager.
func TestProofs(t *testing.T) {
	withoutEnvironment(t)
	l := newLab(t)
	l.node(t)
	pfx := string(expect.Got(os.ReadFile("testdata/client.pfx"))(t))
	file := filepath.Join(t.TempDir(), "client.pem")
	expect.OK(t, os.WriteFile(file, l.cert, 0o600))
	own := placement.Grant{Proof: placement.Manager}
	secret := func(more map[string]string) map[string][]byte {
		s := map[string][]byte{}
		for key, value := range more {
			s[key] = []byte(value)
		}
		return s
	}
	for _, test := range []struct {
		name   string
		grant  placement.Grant
		secret map[string][]byte
		env    map[string]string
		proof  placement.Proof
		source string
	}{
		{
			"a Secret with a client secret and its own cloud", placement.OwnSecret(byTeam, "azure"),
			l.chosen(armsim.ClientID, map[string]string{keySecret: armsim.Secret + "\n"}), nil, placement.ClientSecret, ofSecret,
		},
		{
			"a Secret with a certificate and its own cloud", placement.OwnSecret(byTeam, "azure"),
			l.chosen(app, map[string]string{keyCertificate: string(l.cert)}), nil, placement.Certificate, ofSecret,
		},
		{
			"a Secret with PKCS#12", placement.OwnSecret(byTeam, "azure"),
			l.chosen(app, map[string]string{keyCertificate: pfx, keyPassword: "opens-it"}), nil, placement.Certificate, ofSecret,
		},
		{
			"ServicePrincipal", use(t, "ServicePrincipal", armsim.ClientID), secret(map[string]string{keySecret: armsim.Secret}), nil,
			placement.ClientSecret, ofSecret,
		},
		{
			"ServicePrincipalCertificate", use(t, "ServicePrincipalCertificate", app),
			secret(map[string]string{keyCertificate: string(l.cert)}), nil, placement.Certificate, ofSecret,
		},
		{
			"ServicePrincipalCertificate as Cluster API Provider Azure reads it", use(t, "ServicePrincipalCertificate", app),
			secret(map[string]string{keySecret: string(l.cert)}), nil, placement.Certificate, ofSecret,
		},
		{
			"WorkloadIdentity", use(t, "WorkloadIdentity", app), nil, map[string]string{envTokenFile: l.tokenFile(t, subject, l.key)},
			placement.WorkloadToken, envTokenFile,
		},
		{"UserAssignedMSI", use(t, "UserAssignedMSI", managedID), nil, nil, placement.ManagedIdentity, "the manager's node"},
		{
			"the manager's client secret", own, nil, map[string]string{
				envTenant: armsim.Tenant, envClient: armsim.ClientID, envSecret: armsim.Secret, envCertificate: "/no", envTokenFile: "/no",
			}, placement.ClientSecret, envSecret,
		},
		{
			"the manager's certificate", own, nil, map[string]string{
				envTenant: armsim.Tenant, envClient: app, envCertificate: file, envTokenFile: "/no",
			}, placement.Certificate, envCertificate,
		},
		{
			"the manager's token", own, nil, map[string]string{
				envTenant: armsim.Tenant, envClient: app, envTokenFile: l.tokenFile(t, subject, l.key),
			}, placement.WorkloadToken, envTokenFile,
		},
		{"the manager's user assigned identity", own, nil, map[string]string{envClient: managedID}, placement.ManagedIdentity, "node"},
		{"the manager's system assigned identity", own, nil, nil, placement.ManagedIdentity, "node"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			p, err := Open(Request{Grant: test.grant, Secret: test.secret, Cloud: "Lab", Book: l.book})
			expect.OK(t, err)
			if p.Proof != test.proof || !strings.Contains(p.Source, test.source) {
				t.Errorf("%s from %s", p.Proof, p.Source)
			}
			expect.OK(t, list(t, p))
		})
	}
}

// TestWhoMaySendWhatWhere has 14 Secrets, in 6 hands: 84 cells. A cell is the proof and the cloud that come of it; an empty one
// is refused. Who may use which identity at all is in placement.
func TestWhoMaySendWhatWhere(t *testing.T) {
	withoutEnvironment(t)
	for name, value := range map[string]string{envTenant: armsim.Tenant, envClient: app, envTokenFile: "/var/run/token"} {
		t.Setenv(name, value)
	}
	book := newBook(t, "https://arm.lab.test", nil)
	cert := string(newCertificate(t))
	const theirs = "https://arm.theirs.test"
	who := map[string]string{keyTenant: armsim.Tenant, keyClient: app}
	at := map[string]string{keyEndpoint: theirs, keyAuthority: "https://login.theirs.test"}
	withSecret, withCert := map[string]string{keySecret: "s"}, map[string]string{keyCertificate: cert}
	grants := []placement.Grant{
		placement.OwnSecret(byTeam, "azure"), use(t, "ServicePrincipal", app), use(t, "ServicePrincipalCertificate", app),
		use(t, "WorkloadIdentity", app), use(t, "UserAssignedMSI", app), expect.Got(placement.Own(byTeam, &placement.Allowed{}))(t),
	}
	const (
		secretLab  = "ClientSecret@Lab"
		certLab    = "Certificate@Lab"
		secretHere = "ClientSecret@" + theirs
		certHere   = "Certificate@" + theirs
	)
	cells := 0
	for _, row := range []struct {
		name   string
		secret []map[string]string
		want   [6]string // OwnSecret, ServicePrincipal, ServicePrincipalCertificate, WorkloadIdentity, UserAssignedMSI, Own
	}{
		{"none", nil, [6]string{3: "WorkloadToken@Lab", 4: "ManagedIdentity@Lab", 5: "WorkloadToken@Lab"}},
		{"of a client secret", []map[string]string{who, withSecret}, [6]string{secretLab, secretLab}},
		{"of a secret without its client", []map[string]string{withSecret}, [6]string{1: secretLab}},
		{"of a certificate", []map[string]string{who, withCert}, [6]string{0: certLab, 2: certLab}},
		{"of both", []map[string]string{who, withSecret, withCert}, [6]string{}},
		{"of a client alone", []map[string]string{who}, [6]string{}},
		{"of a secret and its cloud", []map[string]string{who, withSecret, at}, [6]string{secretHere, secretHere}},
		{"of a certificate and its cloud", []map[string]string{who, withCert, at}, [6]string{0: certHere, 2: certHere}},
		{"of a cloud alone", []map[string]string{at}, [6]string{}},
		{"of a client and a cloud", []map[string]string{who, at}, [6]string{}},
		{"of an authority alone", []map[string]string{who, withSecret, {keyAuthority: "https://login.theirs.test"}}, [6]string{}},
		{
			"of a secret and a cloud's name", []map[string]string{who, withSecret, {keyCloud: "AzureChinaCloud"}},
			[6]string{"ClientSecret@AzureChinaCloud", "ClientSecret@AzureChinaCloud"},
		},
		{"of a public name with other addresses", []map[string]string{who, withSecret, at, {keyCloud: "AzurePublicCloud"}}, [6]string{}},
		{"of another client", []map[string]string{who, withSecret, {keyClient: armsim.ClientID}}, [6]string{secretLab}},
	} {
		for i, grant := range grants {
			cells++
			r := Request{Grant: grant, Cloud: "Lab", Book: book}
			for _, part := range row.secret {
				if r.Secret == nil {
					r.Secret = map[string][]byte{}
				}
				for key, value := range part {
					r.Secret[key] = []byte(value)
				}
			}
			p, err := Open(r)
			got := ""
			if err == nil {
				got = fmt.Sprintf("%s@%s", p.Proof, p.Cloud)
			}
			var told *cloud.Error
			if err != nil && (!errors.As(err, &told) || told.Kind != cloud.Denied) {
				t.Errorf("%s, %v: %v", row.name, grant, err)
			}
			if got != row.want[i] {
				t.Errorf("a Secret %s for %s (client %q): %q, want %q: %v", row.name, grant.Proof, grant.ClientID, got, row.want[i], err)
			}
		}
	}
	if cells < 60 {
		t.Errorf("%d cells", cells)
	}
}

// TestWrongSecrets: each has its sentence, which names the key.
func TestWrongSecrets(t *testing.T) {
	curve := newKey(t)
	elliptic := string(expect.Got(certificateOf(curve.Public(), curve))(t))
	cert, other := string(newCertificate(t)), string(newCertificate(t))
	onlyCert, _, _ := strings.Cut(cert, "-----BEGIN PRIVATE")
	_, otherKey, _ := strings.Cut(other, "-----END CERTIFICATE-----")
	good := map[string]string{keyTenant: armsim.Tenant, keyClient: app, keySecret: "s"}
	for _, test := range []struct {
		name         string
		set          map[string]string
		reason, says string
	}{
		{"no tenant", map[string]string{keyTenant: ""}, infrav1.CredentialsMissingReason, keyTenant},
		{"no client", map[string]string{keyClient: "\n"}, infrav1.CredentialsMissingReason, keyClient},
		{"no proof", map[string]string{keySecret: ""}, infrav1.CredentialsMissingReason, keyCertificate},
		{"a key in another case", map[string]string{"tenantId": "x"}, infrav1.CredentialsMissingReason, "tenantId"},
		{"a tenant that climbs", map[string]string{keyTenant: "../../x"}, infrav1.CredentialsRejectedReason, keyTenant},
		{"all tenants", map[string]string{keyTenant: "common"}, infrav1.CredentialsRejectedReason, keyTenant},
		{"a tenant with a query", map[string]string{keyTenant: "a.b?c=d"}, infrav1.CredentialsRejectedReason, keyTenant},
		{"a client that is a name", map[string]string{keyClient: "my app"}, infrav1.CredentialsRejectedReason, keyClient},
		{"a secret of a megabyte", map[string]string{keySecret: strings.Repeat("s", 1<<20)}, infrav1.CredentialsRejectedReason, keySecret},
		{"a password without a certificate", map[string]string{keySecret: "", keyPassword: "p"}, infrav1.CredentialsMissingReason, keyPassword},
		{"a certificate of nothing", map[string]string{keySecret: "", keyCertificate: "x"}, infrav1.CredentialsRejectedReason, "cannot be read"},
		{"another kind of key", map[string]string{keySecret: "", keyCertificate: elliptic}, infrav1.CredentialsRejectedReason, "not RSA"},
		{"no key", map[string]string{keySecret: "", keyCertificate: onlyCert}, infrav1.CredentialsRejectedReason, "cannot be read"},
		{
			"the key of another", map[string]string{keySecret: "", keyCertificate: onlyCert + otherKey},
			infrav1.CredentialsRejectedReason, "is not that of the key",
		},
		{
			"a large certificate", map[string]string{keySecret: "", keyCertificate: cert + strings.Repeat(" ", maxPEM)},
			infrav1.CredentialsRejectedReason, "too large",
		},
		{
			"large PKCS#12", map[string]string{keySecret: "", keyCertificate: strings.Repeat("x", maxPKCS12+1)},
			infrav1.CredentialsRejectedReason, "too large",
		},
		{
			"many certificates", map[string]string{keySecret: "", keyCertificate: cert + strings.Repeat(onlyCert, maxChain)},
			infrav1.CredentialsRejectedReason, "too many",
		},
		{"an endpoint without TLS", map[string]string{keyEndpoint: "http://x.test"}, infrav1.CredentialsRejectedReason, keyEndpoint},
		{"no authority", map[string]string{keyEndpoint: "https://x.test"}, infrav1.CredentialsRejectedReason, keyAuthority},
		{"an unknown cloud", map[string]string{keyCloud: "Moon"}, infrav1.CredentialsRejectedReason, "AzureChinaCloud"},
		{"a path to a file", map[string]string{keySecret: "", "certPath": "/etc/passwd"}, infrav1.CredentialsMissingReason, keySecret},
	} {
		all := maps.Clone(good)
		maps.Copy(all, test.set)
		s := map[string][]byte{}
		for key, value := range all {
			s[key] = []byte(value)
		}
		_, err := Open(Request{Grant: placement.OwnSecret(byTeam, "azure"), Secret: s})
		var told *cloud.Error
		if !errors.As(err, &told) || told.Reason != test.reason || told.Kind != cloud.Denied ||
			!strings.Contains(told.Message, test.says) || len(told.Message) > 500 {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Open(Request{}); err == nil {
		t.Error("no grant at all")
	}
}

// TestNames: equal principals have one name, whoever named them; another secret, client, tenant or cloud has another.
func TestNames(t *testing.T) {
	withoutEnvironment(t)
	cert := string(newCertificate(t))
	base := map[string]string{keyTenant: armsim.Tenant, keyClient: app, keySecret: "s"}
	name := func(grant placement.Grant, set map[string]string) string {
		t.Helper()
		s := map[string][]byte{}
		for key, value := range set {
			s[key] = []byte(value)
		}
		return expect.Got(Open(Request{Grant: grant, Secret: s}))(t).Name()
	}
	changed := func(key, value string) map[string]string {
		all := maps.Clone(base)
		all[key] = value
		return all
	}
	own := placement.OwnSecret(byTeam, "azure")
	want := name(own, base)
	for what, got := range map[string]string{
		"a line end":             name(own, changed(keySecret, "s\n")),
		"capital letters":        name(own, changed(keyClient, strings.ToUpper(app))),
		"the cloud by its name":  name(own, changed(keyCloud, "AzurePublicCloud")),
		"another key":            name(own, changed("note", "x")),
		"an identity":            name(use(t, "ServicePrincipal", app), map[string]string{keySecret: "s"}),
		"a Secret in other team": name(placement.OwnSecret(placement.Asker{Namespace: "other"}, "x"), base),
	} {
		if got != want {
			t.Errorf("%s: another account", what)
		}
	}
	seen := map[string]bool{want: true}
	certificate := changed(keyCertificate, cert)
	delete(certificate, keySecret)
	elsewhere := changed(keyEndpoint, "https://arm.test")
	elsewhere[keyAuthority] = "https://login.test"
	for what, set := range map[string]map[string]string{
		"another secret": changed(keySecret, "t"), "another client": changed(keyClient, armsim.ClientID),
		"another tenant": changed(keyTenant, "example.com"), "another cloud": changed(keyCloud, "AzureChinaCloud"),
		"a certificate": certificate, "a cloud of its own": elsewhere,
	} {
		got := name(own, set)
		if seen[got] {
			t.Errorf("%s: the same account", what)
		}
		seen[got] = true
	}
}

// TestManagersEnvironment: what is half set is told, by the names of the variables.
func TestManagersEnvironment(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		kind placement.Proof
		says string
	}{
		{"a secret alone", map[string]string{envSecret: "s"}, placement.Manager, envTenant},
		{"no client", map[string]string{envSecret: "s", envTenant: armsim.Tenant}, placement.Manager, envClient},
		{"a token without a client", map[string]string{envTokenFile: "/x", envTenant: armsim.Tenant}, placement.Manager, envClient},
		{
			"a missing file", map[string]string{envCertificate: "/missing", envTenant: armsim.Tenant, envClient: app},
			placement.Manager, envCertificate,
		},
		{
			"a tenant that climbs", map[string]string{envSecret: "s", envTenant: "..", envClient: app}, placement.Manager,
			"tenantID",
		},
		{"no token", nil, placement.WorkloadToken, envTokenFile},
	} {
		t.Run(test.name, func(t *testing.T) {
			withoutEnvironment(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			grant := placement.Grant{Proof: test.kind}
			if test.kind != placement.Manager {
				grant.TenantID, grant.ClientID = armsim.Tenant, app
			}
			_, err := Open(Request{Grant: grant})
			expect.Says(t, test.name, err, test.says)
			var told *cloud.Error
			if !errors.As(err, &told) || told.Kind != cloud.Denied {
				t.Errorf("%v", err)
			}
		})
	}
	withoutEnvironment(t)
	t.Setenv(envTokenFile, "/x")
	_, err := Open(Request{Grant: placement.Grant{Proof: placement.WorkloadToken, TenantID: "..", ClientID: "x"}})
	expect.Says(t, "ids of an identity that are part of an address", err, "tenantID")
	_, err = Open(Request{Grant: use(t, "WorkloadIdentity", app), Cloud: "Moon"})
	expect.Says(t, "an unknown cloud", err, "Moon")
}

// TestNothingIsShown: no print of a principal has its proof.
func TestNothingIsShown(t *testing.T) {
	withoutEnvironment(t)
	cert := newCertificate(t)
	for _, s := range []map[string][]byte{
		{keySecret: []byte("canary-secret")}, {keyCertificate: cert},
	} {
		s[keyTenant], s[keyClient] = []byte(armsim.Tenant), []byte(app)
		p := expect.Got(Open(Request{Grant: placement.OwnSecret(byTeam, "azure"), Secret: s}))(t)
		plain := struct{ P Principal }{*p}
		written, _ := json.Marshal(p.MarshalLog())
		all := string(written) + fmt.Sprintf("%v %+v %#v %s %v %+v %#v", p, p, p, p, plain, plain, plain) +
			fmt.Sprintf("%+v %#v %+v %#v", p.Credential, p.Credential, p.Transport, p.Options()) + p.Name()
		for _, canary := range []string{"canary", "PRIVATE KEY", string(cert[400:440])} {
			if strings.Contains(all, canary) {
				t.Errorf("%q is in %s", canary, all)
			}
		}
		if http.DefaultClient.Transport != nil {
			t.Error("the default client was changed")
		}
	}
}
