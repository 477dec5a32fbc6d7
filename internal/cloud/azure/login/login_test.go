package login

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
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
			"WorkloadIdentity", use(t, "WorkloadIdentity", app), nil,
			map[string]string{envTokenFile: l.tokenFile(t, subject, l.key)},
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
			"the manager's PKCS#12", own, nil, map[string]string{
				envTenant: armsim.Tenant, envClient: app, envCertificate: "testdata/client.pfx", envPassword: "opens-it",
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
	const theirs, azure = "https://arm.theirs.test", "AzurePublicCloud"
	who := map[string]string{keyTenant: armsim.Tenant, keyClient: app}
	at := map[string]string{keyEndpoint: theirs, keyAuthority: "https://login.theirs.test"}
	withSecret, withCert := map[string]string{keySecret: "s"}, map[string]string{keyCertificate: cert}
	grants := []placement.Grant{
		placement.OwnSecret(byTeam, "azure"), use(t, "ServicePrincipal", app), use(t, "ServicePrincipalCertificate", app),
		use(t, "WorkloadIdentity", app), use(t, "UserAssignedMSI", app),
		expect.Got(placement.OwnIdentity(byTeam, &placement.Allowed{}))(t),
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
			"of a secret and a cloud's name",
			[]map[string]string{who, withSecret, {keyCloud: "AzureChinaCloud"}},
			[6]string{"ClientSecret@AzureChinaCloud", "ClientSecret@AzureChinaCloud"},
		},
		{"of a public name with other addresses", []map[string]string{who, withSecret, at, {keyCloud: azure}}, [6]string{}},
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
			told, _ := errors.AsType[*cloud.Error](err)
			if err != nil && (told == nil || told.Kind != cloud.Denied) {
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
	pfx := string(expect.Got(os.ReadFile("testdata/client.pfx"))(t))
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
		{
			"a secret of a megabyte",
			map[string]string{keySecret: strings.Repeat("s", 1<<20)},
			infrav1.CredentialsRejectedReason, keySecret,
		},
		{
			"a certificate of nothing",
			map[string]string{keySecret: "", keyCertificate: "x"},
			infrav1.CredentialsRejectedReason, "is not PEM",
		},
		{
			"another kind of key",
			map[string]string{keySecret: "", keyCertificate: elliptic},
			infrav1.CredentialsRejectedReason, "not RSA",
		},
		{"no key", map[string]string{keySecret: "", keyCertificate: onlyCert}, infrav1.CredentialsRejectedReason, "cannot be read"},
		{
			"the key of another",
			map[string]string{keySecret: "", keyCertificate: onlyCert + otherKey},
			infrav1.CredentialsRejectedReason, "is not that of the key",
		},
		{
			"a large certificate",
			map[string]string{keySecret: "", keyCertificate: cert + strings.Repeat(" ", maxPEM)},
			infrav1.CredentialsRejectedReason, "too large",
		},
		{
			"PKCS#12",
			map[string]string{keySecret: "", keyCertificate: pfx, "password": "opens-it"},
			infrav1.CredentialsRejectedReason, "openssl pkcs12",
		},
		{
			"PKCS#12 that looks like PEM",
			map[string]string{keySecret: "", keyCertificate: pfx + "-----BEGIN CERTIFICATE-----"},
			infrav1.CredentialsRejectedReason, "openssl pkcs12",
		},
		{
			"a large key",
			map[string]string{keySecret: "", keyCertificate: onlyCert + string(pem.EncodeToMemory(&pem.Block{
				Type: "PRIVATE KEY", Bytes: make([]byte, maxKey+1),
			}))},
			infrav1.CredentialsRejectedReason, "too large",
		},
		{
			"many certificates",
			map[string]string{keySecret: "", keyCertificate: cert + strings.Repeat(onlyCert, maxChain)},
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
		told, _ := errors.AsType[*cloud.Error](err)
		if told == nil || told.Reason != test.reason || told.Kind != cloud.Denied ||
			!strings.Contains(told.Message, test.says) || len(told.Message) > 500 {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Open(Request{}); err == nil {
		t.Error("no grant at all")
	}
}
