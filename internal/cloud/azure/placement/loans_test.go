package placement

import (
	"errors"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const anotherClient = "bbbbbbbb-1111-4222-8333-444444444444"

func TestReadLoans(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		entries, refused string
	}{
		{aClient + "=team", ""},
		{aClient + "=*", ""},
		{strings.ToUpper(aClient) + "@AzureChinaCloud=team " + aClient + "@AzureChinaCloud=other", ""},
		{aClient + "=team " + anotherClient + "@AzureChinaCloud=team", ""},
		{"*=team", "would lend every identity"},
		{"*@AzureChinaCloud=team", "would lend every identity"},
		{"*=*", "would lend every identity"},
		{aClient, "is not of the form"},
		{aClient + "@=team", "is not of the form"},
		{"=team", "does not begin with a client id"},
		{"client=team", "does not begin with a client id"},
		{aClient + "=", "not the name of a namespace"},
		{aClient + "=Team", "not the name of a namespace"},
		{aClient + "=team-*", "not the name of a namespace"},
		{aClient + "=team=other", "not the name of a namespace"},
		{aClient + "=team " + aClient + "@AzureChinaCloud=other", "is in another cloud in an entry before"},
	} {
		loans, err := ReadLoans(strings.Fields(test.entries))
		if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: want %q, got %v", test.entries, test.refused, err)
		}
		if test.refused == "" {
			got := loans[0].String()
			expect.Same(t, "the entry", strings.Replace(strings.Fields(test.entries)[0], strings.ToUpper(aClient), aClient, 1), got)
		}
	}
}

// What an author writes into an AzureClusterIdentity lends nothing that the manager proves by itself; an entry does, for its
// namespace and its cloud.
func TestLoans(t *testing.T) {
	t.Parallel()
	lent := expect.Got(ReadLoans([]string{aClient + "=team", anotherClient + "@AzureChinaCloud=*"}))(t)
	for _, test := range []struct {
		name, client, namespace, asked string
		refused                        string
	}{
		{name: "lent", client: aClient, namespace: "team"},
		{name: "in another case", client: strings.ToUpper(aClient), namespace: "team"},
		{
			name: "another namespace", client: aClient, namespace: "attacker",
			refused: "add the entry " + aClient + "=attacker to the manager's flag --azure-identities",
		},
		{name: "no id", client: aClient + "=*,x", namespace: "team", refused: "has an invalid clientID"},
		{name: "another cloud's", client: anotherClient, namespace: "team"},
		{name: "that cloud asked", client: anotherClient, namespace: "team", asked: "AzureChinaCloud"},
		{name: "the default asked", client: aClient, namespace: "team", asked: "AzurePublicCloud"},
		{
			name: "another cloud asked", client: aClient, namespace: "team", asked: "AzureChinaCloud",
			refused: "add the entry " + aClient + "@AzureChinaCloud=team to the manager's flag --azure-identities",
		},
		{
			name: "one more", client: anotherClient, namespace: "team", asked: "AzureUSGovernmentCloud",
			refused: "add the entry " + anotherClient + "@AzureUSGovernmentCloud=team to",
		},
	} {
		for _, kind := range []string{"WorkloadIdentity", "UserAssignedMSI"} {
			identity := someIdentity(kind, &Allowed{})
			identity.ClientID = test.client
			grant, err := Use(cloud.Asker{Namespace: test.namespace, Cloud: test.asked}, identity, lent)
			if err == nil {
				usual := "AzurePublicCloud"
				if grant.Cloud != "" {
					usual = grant.Cloud
				}
				err = grant.In(usual)
			}
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s, %s: want %q, got %v", test.name, kind, test.refused, err)
			}
			refused, ok := errors.AsType[*cloud.Error](err)
			if ok && refused.Reason != infrav1.CredentialsMissingReason && !strings.Contains(test.refused, "invalid clientID") {
				t.Errorf("%s, %s: the reason is %s", test.name, kind, refused.Reason)
			}
		}
	}
}
