package placement

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const aClient = "aaaaaaaa-1111-4222-8333-444444444444"

var (
	lentToTeam = Loans{{ClientID: aClient, Namespace: "team"}}
	byTeam     = cloud.Asker{Namespace: "team", Labels: map[string]string{"azure": "allowed"}}
	// allowances are the shapes of allowedNamespaces, and whether each lets byTeam in.
	allowances = []struct {
		name    string
		allowed *Allowed
		in      bool
	}{
		{"left out", nil, false},
		{"empty", &Allowed{}, true},
		{"an empty list", &Allowed{List: []string{}}, false},
		{"a list with it", &Allowed{List: []string{"other", "team"}}, true},
		{"a list without it", &Allowed{List: []string{"other", "tea"}}, false},
		{"an empty selector", &Allowed{Selector: &metav1.LabelSelector{}}, false},
		{"a selector with it", &Allowed{Selector: &metav1.LabelSelector{MatchLabels: byTeam.Labels}}, true},
		{"a selector without it", &Allowed{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"azure": "no"}}}, false},
		{"a selector that cannot be read", &Allowed{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "azure", Operator: "Never"}},
		}}, false},
		{
			"a list without it, a selector with it",
			&Allowed{List: []string{}, Selector: &metav1.LabelSelector{MatchLabels: byTeam.Labels}}, true,
		},
		{"a list with it, an empty selector", &Allowed{List: []string{"team"}, Selector: &metav1.LabelSelector{}}, true},
	}
)

func someIdentity(kind string, allowed *Allowed) Identity {
	return Identity{
		Namespace: "identities", Name: "clusters", Type: kind, ClientID: aClient, TenantID: "tenant",
		SecretNamespace: "identities", SecretName: "proof", Allowed: allowed,
	}
}

// TestLabelsUnread: a manager that may not read labels says so only where they might have helped.
func TestLabelsUnread(t *testing.T) {
	helps := &metav1.LabelSelector{MatchLabels: map[string]string{"azure": "other"}}
	for name, test := range map[string]struct {
		unread     bool
		allowed    *Allowed
		says, hint bool
	}{
		"a selector":                      {true, &Allowed{Selector: helps}, true, true},
		"a selector, with a list":         {true, &Allowed{List: []string{"other"}, Selector: helps}, true, true},
		"a list alone":                    {true, &Allowed{List: []string{"other"}}, true, false},
		"nobody is allowed":               {true, nil, true, false},
		"the labels are read":             {false, &Allowed{Selector: helps}, true, false},
		"the namespace is named, as well": {true, &Allowed{List: []string{"team"}, Selector: helps}, false, false},
	} {
		_, err := Use(cloud.Asker{Namespace: "team", Unread: test.unread}, someIdentity("WorkloadIdentity", test.allowed), lentToTeam)
		says := err != nil && strings.Contains(err.Error(), "does not allow namespace team")
		hint := err != nil && strings.Contains(err.Error(), "may not read Namespaces")
		if says != test.says || hint != test.hint {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhoMayUseAnIdentity goes through each type and each allowance, for identities of two namespaces: 132 cells.
func TestWhoMayUseAnIdentity(t *testing.T) {
	types := []struct {
		name   string
		proof  Proof // none: refused whoever asks
		secret bool
	}{
		{"WorkloadIdentity", WorkloadToken, false},
		{"UserAssignedMSI", ManagedIdentity, false},
		{"ServicePrincipal", ClientSecret, true},
		{"ManualServicePrincipal", ClientSecret, true},
		{"ServicePrincipalCertificate", Certificate, true},
		{"UserAssignedIdentityCredential", "", false},
	}
	cells := 0
	for _, kind := range types {
		for _, allowance := range allowances {
			for _, home := range []string{"identities", byTeam.Namespace} { // the identity's own namespace must be allowed, too
				cells++
				name := fmt.Sprintf("%s, %s, in %s", kind.name, allowance.name, home)
				identity := someIdentity(kind.name, allowance.allowed)
				identity.Namespace, identity.SecretNamespace = home, home
				want := Grant{}
				if allowance.in && kind.proof != "" {
					want = Grant{Proof: kind.proof, ClientID: aClient, TenantID: "tenant", AskedBy: "team"}
				}
				if want.Proof != "" && kind.secret {
					want.Secret = cloud.Key{Namespace: home, Name: "proof"}
				}
				if want.Proof != "" && kind.secret && home == byTeam.Namespace {
					want.AskedBy = "" // the proof is the asker's own
				}
				got, err := Use(byTeam, identity, lentToTeam)
				if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want.Proof != "") {
					t.Errorf("%s: %v\n%s", name, err, diff)
				}
			}
		}
	}
	if cells < 60 {
		t.Errorf("%d cells", cells)
	}
}

func TestIdentityThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Identity)
		reason string
		says   string
	}{
		{"being deleted", func(i *Identity) { i.BeingDeleted = true }, infrav1.CredentialsBeingDeletedReason, "is being deleted"},
		{"no client", func(i *Identity) { i.ClientID = "" }, infrav1.CredentialsMissingReason, "no clientID"},
		{"no tenant", func(i *Identity) { i.TenantID = "" }, infrav1.CredentialsMissingReason, "no tenantID"},
		{"a path to a certificate", func(i *Identity) { i.CertPath = "/c" }, infrav1.CredentialsRejectedReason, "reads a file"},
		{"a path to credentials", func(i *Identity) { i.CredsPath = "/c" }, infrav1.CredentialsRejectedReason, "reads a file"},
		{
			"a type that reads a file", func(i *Identity) { i.Type = "UserAssignedIdentityCredential" },
			infrav1.CredentialsRejectedReason, "reads a file of its manager",
		},
		{"an unknown type", func(i *Identity) { i.Type = "Other" }, infrav1.CredentialsRejectedReason, "which is not supported"},
		{"no Secret", func(i *Identity) { i.SecretName = "" }, infrav1.CredentialsMissingReason, "names no Secret"},
		{
			"a Secret of another namespace", func(i *Identity) { i.SecretNamespace = "team" },
			infrav1.CredentialsRejectedReason, "in namespace team",
		},
	} {
		identity := someIdentity("ServicePrincipal", &Allowed{})
		test.change(&identity)
		got, err := Use(byTeam, identity, lentToTeam)
		told, _ := errors.AsType[*cloud.Error](err)
		if told == nil || told.Kind != cloud.Denied || told.Reason != test.reason ||
			got != (Grant{}) || !strings.Contains(told.Message, test.says) {
			t.Errorf("%s: %v, %#v", test.name, got, err)
		}
	}
	identity := someIdentity("ServicePrincipal", &Allowed{})
	identity.SecretNamespace = ""
	if got, err := Use(byTeam, identity, lentToTeam); err != nil || got.Secret.Namespace != "identities" {
		t.Errorf("a Secret without a namespace is in the identity's: %v, %v", got, err)
	}
}

func TestTheManagersOwnIdentity(t *testing.T) {
	for _, allowance := range allowances {
		got, err := OwnIdentity(byTeam, allowance.allowed)
		if (err == nil) != allowance.in || (got.Proof == Manager) != allowance.in {
			t.Errorf("%s: %v, %v", allowance.name, got, err)
		}
	}
	if got := OwnSecret(byTeam, "mine"); got.Secret.Namespace != "team" || IsAmbient(got.Proof) {
		t.Errorf("a Secret is of the machine's namespace: %v", got)
	}
}

// TestWhereAProofIsSent: an endpoint that a user chose gets only proofs of that user.
func TestWhereAProofIsSent(t *testing.T) {
	for _, proof := range []Proof{ClientSecret, Certificate, WorkloadToken, ManagedIdentity, Manager} {
		theirs := proof == ClientSecret || proof == Certificate
		for _, chosen := range []bool{false, true} {
			for _, withSecret := range []bool{false, true} {
				want := !chosen || theirs && withSecret
				if err := (Grant{Proof: proof}).AtEndpoint(chosen, withSecret); (err == nil) != want {
					t.Errorf("%s, endpoint chosen %v, in its Secret %v: %v", proof, chosen, withSecret, err)
				}
			}
		}
	}
}
