package login

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

const (
	envAuthority = "AZURE_AUTHORITY_HOST"
	ofComputer   = "this computer's environment"
)

// ownComputer is what a person's computer has: Azure's SDK tries the variables of the environment, its token for workload
// identities, the managed identity of the computer, and who is logged in to Azure's programs. Client and tenant are those of the
// environment: nothing of ours is handed on.
func ownComputer(azure clouds.Cloud) input {
	return input{cloud: azure, proof: placement.OwnComputer, source: ofComputer, client: os.Getenv(envClient)}
}

// cloudOfComputer is the cloud that the environment names by its authority; empty if it names none.
func cloudOfComputer() (string, error) {
	host := os.Getenv(envAuthority)
	if host == "" {
		return "", nil
	}
	for _, name := range []string{clouds.Public, clouds.USGovernment, clouds.China} {
		candidate, _ := clouds.Book{}.Named(name)
		if strings.EqualFold(strings.TrimSuffix(candidate.Authority, "/"), strings.TrimSuffix(host, "/")) {
			return name, nil
		}
	}
	return "", rejected("%s names an authority that is not one of Microsoft's clouds: name the cloud with --azure-cloud",
		envAuthority)
}

// chainTransport sends the proofs of a computer to the authority of the cloud, and asks for managed identities where the
// environment points.
type chainTransport struct {
	authority policy.Transporter
	node      *transport
	nodes     []string
}

// metadataHost is where a VM in Azure asks for its managed identities.
const metadataHost = "169.254.169.254"

// endpoints are the variables with the addresses of managed identities.
var endpoints = []string{"IDENTITY_ENDPOINT", "MSI_ENDPOINT", "IMDS_ENDPOINT", "AZURE_POD_IDENTITY_AUTHORITY_HOST"}

func newChainTransport(authority policy.Transporter) *chainTransport {
	t := &chainTransport{authority: authority, node: newLocalTransport(), nodes: []string{metadataHost}}
	for _, name := range endpoints {
		if u, err := url.Parse(os.Getenv(name)); err == nil && u.Host != "" {
			t.nodes = append(t.nodes, u.Host)
		}
	}
	return t
}

// Do is part of policy.Transporter.
func (t *chainTransport) Do(r *http.Request) (*http.Response, error) {
	if slices.Contains(t.nodes, r.URL.Host) {
		return t.node.Do(r)
	}
	return t.authority.Do(r)
}

// ofComputer is the error if a computer has no identity for Azure, or if Entra ID refuses the one it has.
func (r refusals) ofComputer(err error, l *outcome) *cloud.Error {
	number := l.number()
	_, tried := errors.AsType[*azidentity.AuthenticationFailedError](err)
	switch {
	case number != 0:
		r.client, r.tenant = cmp.Or(r.client, "of this computer"), cmp.Or(os.Getenv(envTenant), "of this computer")
		r.client, r.tenant = cloud.Clean(r.client, maxName), cloud.Clean(r.tenant, maxName)
		return r.error(l)
	case !tried:
		return r.denied("this computer has no identity for Azure%s: run az login, or set %s, %s and %s; or add the Secret of the "+
			"machine's identity to the files", azMessage(err), envTenant, envClient, envSecret)
	case l.status == http.StatusBadRequest:
		return r.denied("this computer has no managed identity %s: correct %s, or unset it to use another of its identities",
			cloud.Clean(r.client, maxName), envClient)
	}
	refused := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"Entra ID of %s gives no token for %s: check the network, and the variables that begin with AZURE_", r.cloud, ofComputer)
	refused.Err = err
	return refused
}

// maxMessage is how much of the message of Azure's program is shown.
const maxMessage = 160

// azMessage is why Azure's own program gives no token, which only a person can mend. It is a program of that person's.
func azMessage(err error) string {
	for line := range strings.Lines(err.Error()) {
		message, found := strings.CutPrefix(strings.TrimSpace(line), "AzureCLICredential: ")
		if found && !strings.Contains(message, "executable not found") {
			return " (az answers: " + cloud.Clean(message, maxMessage) + ")"
		}
	}
	return ""
}
