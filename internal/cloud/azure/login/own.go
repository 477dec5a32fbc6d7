package login

import (
	"os"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// The environment of the manager, with the names that Azure's SDK and the webhook of workload identities use.
const (
	envTenant      = "AZURE_TENANT_ID"
	envClient      = "AZURE_CLIENT_ID"
	envSecret      = "AZURE_CLIENT_SECRET"
	envCertificate = "AZURE_CLIENT_CERTIFICATE_PATH"
	envPassword    = "AZURE_CLIENT_CERTIFICATE_PASSWORD"
	envTokenFile   = "AZURE_FEDERATED_TOKEN_FILE"
)

// ambient is a proof of the manager's own.
func (r Request) ambient(azure clouds.Cloud) (input, error) {
	in := input{cloud: azure, tenant: r.Grant.TenantID, client: r.Grant.ClientID, proof: r.Grant.Proof}
	switch r.Grant.Proof {
	case placement.WorkloadToken:
		in.tokenFile, in.source = os.Getenv(envTokenFile), "the manager's token file ("+envTokenFile+")"
		if in.tokenFile == "" {
			return in, missing("the manager has no token for workload identities (%s is not set): set up workload identity for the "+
				"manager's service account as docs/azure-credentials.md describes", envTokenFile)
		}
	case placement.ManagedIdentity:
		in.source = "the managed identities of the manager's node"
	case placement.OwnComputer:
		return ownComputer(azure), nil
	default:
		return manager(azure)
	}
	return in, in.checkOwn()
}

// manager takes the first that the environment gives: a client secret, a certificate, a federated token, a managed identity.
// Nothing is tried, so that the answer is the same each time.
func manager(azure clouds.Cloud) (input, error) {
	in := input{cloud: azure, tenant: os.Getenv(envTenant), client: os.Getenv(envClient)}
	chosen := ""
	for _, name := range []string{envSecret, envCertificate, envTokenFile} {
		if os.Getenv(name) != "" {
			chosen = name
			break
		}
	}
	in.source = "the manager's environment (" + chosen + ")"
	for _, needed := range []string{envTenant, envClient} {
		if chosen != "" && os.Getenv(needed) == "" {
			return in, missing("the manager's environment has %s, but not %s: set it", chosen, needed)
		}
	}
	switch chosen {
	case envSecret:
		in.proof, in.secret = placement.ClientSecret, func() string { return os.Getenv(envSecret) }
	case envCertificate:
		content, err := os.ReadFile(os.Getenv(envCertificate))
		if err != nil {
			return in, missing("the file that the manager's environment names in %s cannot be read: correct it", envCertificate)
		}
		if err := in.take(content, []byte(os.Getenv(envPassword))); err != nil {
			return in, err
		}
	case envTokenFile:
		in.proof, in.tokenFile = placement.WorkloadToken, os.Getenv(envTokenFile)
	default:
		in.proof, in.tenant, in.source = placement.ManagedIdentity, "", "the managed identity of the manager's node"
	}
	return in, in.checkOwn()
}

// checkOwn refuses ids that Entra ID cannot have, because they become part of an address.
func (in input) checkOwn() error {
	tenant := guid.MatchString(in.tenant) || domain.MatchString(in.tenant) || in.proof == placement.ManagedIdentity
	client := guid.MatchString(in.client) || in.client == "" && in.proof == placement.ManagedIdentity
	if !tenant || !client {
		return rejected("tenantID and clientID of the identity must be ids such as 00000000-0000-0000-0000-000000000000: correct them")
	}
	return nil
}
