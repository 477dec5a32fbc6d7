package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

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
		"a Secret in other team": name(placement.OwnSecret(cloud.Asker{Namespace: "other"}, "x"), base),
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
			"a missing file",
			map[string]string{envCertificate: "/missing", envTenant: armsim.Tenant, envClient: app},
			placement.Manager, envCertificate,
		},
		{
			"a tenant that climbs",
			map[string]string{envSecret: "s", envTenant: "..", envClient: app},
			placement.Manager,
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
			told, _ := errors.AsType[*cloud.Error](err)
			if told == nil || told.Kind != cloud.Denied {
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
			fmt.Sprintf("%+v %#v %+v %#v", p.Credential, p.Credential, p.Transport, optionsOf(p)) + p.Name()
		for _, canary := range []string{"canary", "PRIVATE KEY", string(cert[400:440])} {
			if strings.Contains(all, canary) {
				t.Errorf("%q is in %s", canary, all)
			}
		}
	}
}
