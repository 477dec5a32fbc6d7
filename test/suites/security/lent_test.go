package security

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// Two clients that trust the manager: one is lent to team, the other to no namespace.
const lentClient, otherClient = "aaaaaaaa-1111-4222-8333-444444444444", "bbbbbbbb-1111-4222-8333-444444444444"

// TestEntriesOfIdentities: an entry of --azure-identities, as a template may make it of a tenant's words, would lend more than a
// reader expects.
func TestEntriesOfIdentities(t *testing.T) {
	t.Parallel()
	for what, entry := range map[string]string{
		"every client to a namespace": "*=a", "every client to all": "*=*", "a client in no cloud": lentClient + "@=a",
		"a client in a cloud that is none": lentClient + "@Evil=a", "a client twice": lentClient + "==a",
		"a client with a blank": lentClient + " =a", "a namespace with a blank": lentClient + "= a",
		"a namespace in capitals": lentClient + "=TEAM", "a client in braces": "{" + lentClient + "}=a",
		"a client behind a star": "*" + lentClient + "=a", "namespaces by their beginning": lentClient + "=team-*",
		"a client in two clouds": lentClient + "@AzureChinaCloud@AzurePublicCloud=a", "no client": "=a",
		"no namespace":   lentClient + "=",
		"two namespaces": lentClient + "=a,b", "a client and more": lentClient + ",*=a",
	} {
		tries := "lends " + what + ", by an entry of --azure-identities"
		attempt(t, attack{by: "operator", tries: tries, try: func(t *testing.T) string {
			p, err := azure.Provider{}.Lend([]string{entry})
			if err == nil {
				t.Errorf("%q is an entry", entry)
			}
			for _, namespace := range []string{"a", "b", "team", "team-a"} {
				if grant, err := p.Allow(cloud.Asker{Namespace: namespace}, ambient(namespace, nil)); err == nil {
					t.Errorf("%q lends %v to %s", entry, grant, namespace)
				}
			}
			return "it is refused at the start of the manager"
		}})
	}
}

// ambient is an identity that the manager proves by its own token.
func ambient(namespace string, spec fields) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any(fields{
		"type": "WorkloadIdentity", "tenantID": armsim.Tenant, "clientID": lentClient, "allowedNamespaces": map[string]any{},
	}.but(spec))}}
	o.SetNamespace(namespace)
	o.SetName("one")
	return o
}

// TestWhoAsks: a client is lent to the namespace team. Other namespaces want to use it, and team wants another client.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	p := expect.Got(azure.Provider{Namespaces: []string{"platform"}}.Lend([]string{lentClient + "=team"}))(t)
	allowing := func(how map[string]any) fields { return fields{"allowedNamespaces": how} }
	braces := fields{"clientID": "{" + lentClient + "}"}
	tries := map[string]struct {
		from     string // the namespace of the machine
		identity *unstructured.Unstructured
	}{
		"asks for the open identity of the namespace that has it": {"evil", ambient("team", nil)},
		"makes an identity of their own with it":                  {"evil", ambient("evil", nil)},
		"asks for another client":                                 {"team", ambient("team", fields{"clientID": otherClient})},
		"writes it with a blank behind it":                        {"team", ambient("team", fields{"clientID": lentClient + " "})},
		"writes it with a line behind it":                         {"team", ambient("team", fields{"clientID": lentClient + "\n"})},
		"writes it in braces":                                     {"team", ambient("team", braces)},
		"writes no client":                                        {"team", ambient("team", fields{"clientID": ""})},
		"writes the type in small letters":                        {"team", ambient("team", fields{"type": "workloadidentity"})},
		"writes no type":                                          {"team", ambient("team", fields{"type": ""})},
		"asks for the proof of this computer":                     {"team", ambient("team", fields{"type": "OwnComputer"})},
		"asks for the manager's own identity by its name":         {"team", ambient("team", fields{"type": "Manager"})},
		"asks for a managed identity by another name":             {"team", ambient("team", fields{"type": "ManagedIdentity"})},
		"asks for the manager's own identity":                     {"evil", nil},
		"asks for it from a namespace with the beginning of its name": {
			"tea", ambient("team", nil),
		},
		"asks for it as a namespace in capitals": {"TEAM", ambient("team", nil)},
		"is allowed like all by a star":          {"team", ambient("other", allowing(map[string]any{"list": []any{"*"}}))},
		"is allowed with a blank":                {"team", ambient("other", allowing(map[string]any{"list": []any{"team "}}))},
		"is allowed by a list that is a text":    {"team", ambient("other", allowing(map[string]any{"list": "team"}))},
		"is allowed by an empty text":            {"team", ambient("other", fields{"allowedNamespaces": ""})},
		"is allowed by a selector of labels that it lacks": {"team", ambient("other", allowing(map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
		}))},
	}
	for tries, c := range tries {
		attempt(t, attack{by: "tenant", tries: "wants a client that is lent to another: " + tries, try: func(t *testing.T) string {
			grant, err := p.Allow(cloud.Asker{Namespace: c.from, Labels: map[string]string{"team": "team"}}, c.identity)
			if err == nil {
				t.Errorf("granted is %v", grant)
			}
			return shown(t, err)
		}})
	}
}

// TestAddressesOfAKnownCloud: a tenant whose Secret has the addresses of a cloud that the operator's file names, or of a public
// one in another spelling, wants what is learned there, and boot logs, to count as of that cloud.
func TestAddressesOfAKnownCloud(t *testing.T) {
	t.Parallel()
	sim := armsim.Hurry(t, 60)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	expect.OK(t, os.WriteFile(file, expect.Got(yaml.Marshal(map[string]any{"clouds": []any{map[string]any{
		"name": "Lab", "resourceManagerEndpoint": sim.Endpoint(), "authority": sim.Endpoint(), "caBundle": string(sim.CA()),
	}}}))(t), 0o600))
	p := azure.Provider{Book: expect.Got(clouds.Load(file))(t), Now: sim.Now, Ticks: armsim.Ticks}
	known := ofAzure(sim)
	for _, key := range []string{"resourceManagerEndpoint", "authority", "caBundle"} {
		delete(known, key)
	}
	known["cloud"] = []byte("Lab")
	server := expect.Got(serverOf(t, p, known))(t)
	with := func(change map[string]string) map[string][]byte {
		secret := ofAzure(sim)
		for key, value := range change {
			secret[key] = []byte(value)
		}
		return secret
	}
	capitals := strings.Replace(sim.Endpoint(), "https", "HTTPS", 1)
	for tries, secret := range map[string]map[string][]byte{
		"writes its addresses":                     with(nil),
		"writes its addresses in another spelling": with(map[string]string{"resourceManagerEndpoint": capitals + "/"}),
		"names it beside its addresses":            with(map[string]string{"cloud": "Lab"}),
		"names it in capitals":                     onlyWith(known, "cloud", "LAB"),
		"names a public one beside addresses":      with(map[string]string{"cloud": clouds.Public}),
		"writes a public one's, and an authority of their own": with(map[string]string{
			"resourceManagerEndpoint": "https://management.azure.com",
		}),
		"writes a public one's with its port": with(map[string]string{"resourceManagerEndpoint": "https://management.azure.com:443/"}),
		"writes a public one's with a dot":    with(map[string]string{"resourceManagerEndpoint": "https://management.azure.com./"}),
		"writes a public one's as a user": with(map[string]string{
			"resourceManagerEndpoint": "https://management.azure.com@" + sim.Endpoint()[len("https://"):],
		}),
		"names it, with an authority of its own": onlyWith(known, "authority", sim.Endpoint()),
		"names it, with certificates of its own": onlyWith(known, "caBundle", string(sim.CA())),
		"names it with a tenant that leads on":   onlyWith(known, "tenantID", armsim.Tenant+"/../x"),
		"names it with a line in the tenant":     onlyWith(known, "tenantID", armsim.Tenant+"\nx"),
	} {
		attempt(t, attack{by: "tenant", tries: "wants to be in a known cloud: " + tries, try: func(t *testing.T) string {
			got, err := serverOf(t, p, secret)
			if err != nil {
				return shown(t, err)
			}
			if !strings.HasPrefix(got, "chosen ") || got == server {
				t.Errorf("the server is %q, as that of the cloud is %q", got, server)
			}
			return "it is the server of a cloud that a Secret chose"
		}})
	}
}

func onlyWith(secret map[string][]byte, key, value string) map[string][]byte {
	secret = maps.Clone(secret)
	secret[key] = []byte(value)
	return secret
}

// serverOf is the server of the account of a Secret.
func serverOf(t *testing.T, p cloud.Provider, secret map[string][]byte) (string, error) {
	t.Helper()
	c, err := p.Connect("", secret)
	if err != nil {
		return "", err
	}
	defer func() { expect.OK(t, c.Close(context.WithoutCancel(t.Context()))) }()
	ctx, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	server, err := c.Server(ctx, tenantSecret)
	if err != nil {
		return "", fmt.Errorf("server: %w", err)
	}
	return server, nil
}
