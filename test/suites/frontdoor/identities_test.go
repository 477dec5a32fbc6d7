package frontdoor

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/tokens"
)

const (
	federatedClient = "aaaaaaaa-0000-4000-8000-00000000000f"
	federatedObject = "bbbbbbbb-0000-4000-8000-00000000000f"
	exchange        = "api://AzureADTokenExchange"
	ourNamespace    = "capwin-infrastructure-system"
)

// workloadIdentity is one that the manager proves by the token of its account.
const workloadIdentity = `kubectl apply -f - <<END
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: demo-identity, namespace: default}
spec:
  type: WorkloadIdentity
  tenantID: $AZURE_TENANT_ID
  clientID: $AZURE_CLIENT_ID
  allowedNamespaces: {list: [default]}
END
`

// federate has Azure believe the management cluster's tokens of our manager's account, and gives the manager one, as the webhook
// of workload identity does.
func (w *world) federate(m *management) {
	w.Helper()
	api := expect.Got(kubernetes.NewForConfig(m.Config))(w)
	accounts := expect.Got(api.CoreV1().ServiceAccounts(ourNamespace).List(w.Context(), metav1.ListOptions{
		LabelSelector: "cluster.x-k8s.io/provider=infrastructure-windows",
	}))(w)
	if len(accounts.Items) != 1 {
		w.Fatalf("%s has %d accounts", ourNamespace, len(accounts.Items))
	}
	account := accounts.Items[0].Name
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{exchange}}}
	tokensOf := api.CoreV1().ServiceAccounts(ourNamespace)
	given := expect.Got(tokensOf.CreateToken(w.Context(), account, request, metav1.CreateOptions{}))(w)
	file := filepath.Join(w.dir, "azure-identity-token")
	expect.OK(w, os.WriteFile(file, []byte(given.Status.Token), 0o600))
	m.Environment = []string{"AZURE_FEDERATED_TOKEN_FILE=" + file}
	inside := expect.Got(rest.TransportFor(m.Config))(w)
	address := expect.Got(url.Parse(m.Config.Host))(w)
	w.azure.Change(func(in *armsim.Inside) {
		in.Tokens.Add(&tokens.Principal{
			Tenant: armsim.Tenant, ClientID: federatedClient, ObjectID: federatedObject, Federated: []tokens.Federated{{
				Issuer: "https://kubernetes.default.svc", Subject: "system:serviceaccount:" + ourNamespace + ":" + account,
				Audience: exchange, Client: &http.Client{Transport: issuer{inside, address.Host}},
			}},
		})
		in.Rights.Grant(federatedObject, "/subscriptions/"+armsim.Subscription, "*")
	})
}

// issuer publishes the keys of an API server, as clouds do for their clusters.
type issuer struct {
	inside http.RoundTripper
	host   string
}

// RoundTrip is part of http.RoundTripper.
func (i issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = i.host, i.host
	return i.inside.RoundTrip(r)
}

func (w *world) federatedVariables() []string {
	return append(w.azureVariables(), "AZURE_CLIENT_ID="+federatedClient)
}

// lent: the operator has lent the manager's identity to the namespace.
func lent(t *testing.T) {
	w := newWorld(t)
	w.inAzure()
	w.azure.federated = true
	w.azure.flags = append(w.azure.flags, "--azure-identities="+federatedClient+"="+namespace)
	m := w.newManagement("management")
	w.shell(m, workloadIdentity, w.federatedVariables()...)
	w.oneCommand(m, w.federatedVariables())
	w.deletes(m)
}

// notLent: no VM is made, and the pool says why.
func notLent(t *testing.T) {
	w := newWorld(t)
	w.inAzure()
	w.azure.federated = true
	m := w.newManagement("management")
	w.shell(m, workloadIdentity, w.federatedVariables()...)
	w.make(m, oneCommand, w.federatedVariables())
	const sentence = "--azure-identities"
	w.until("the sentence about the identity", func() (any, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, one := range w.waits {
			if strings.Contains(one.Message, sentence) && strings.Contains(one.Message, federatedClient) {
				return one, true
			}
		}
		return w.waits, false
	})
	if made, _ := w.counts(); made > 0 || len(w.windowsVMs()) > 0 {
		w.Errorf("%d VMs were ordered without an identity that is lent", made)
	}
	w.deletes(m)
}
