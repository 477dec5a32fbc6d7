// Package login makes a principal, who calls Azure, of what a machine may use: a grant, a Secret and a cloud. It promises:
//
//   - Open checks the form and calls nothing. The first token is asked for by the first call.
//   - The manager's own proofs go to the clouds of the manager's address book alone, never to an address from a Secret. Those of
//     a person's computer go there as the environment set them up: no object names their client, tenant or cloud.
//   - No path to a file is taken from a user. The manager's own files are those that its environment names.
//   - Requests go over TLS to the hosts of the cloud alone; managed identities are asked for at the node. Redirects are not
//     followed; answers and waits are bounded.
//   - An error has a sentence of ours, the number of Entra ID's error, and nothing else from an answer. No error and no printed
//     principal has a secret, key or token.
//
// The files:
//
//	login.go   who there is, and what they are called    own.go        the manager's own proof, from its environment
//	computer.go the proofs of a person's computer        caller.go     who a token is for
//	secret.go  what a Secret may have                    transport.go  how requests go out and answers come in
//	proofs.go  credentials of Azure's SDK                refusal.go    what Entra ID's errors mean
//	bootlog.go reads boot logs
package login

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// Request is who wants in, and where.
type Request struct {
	Grant placement.Grant
	// Secret is what the grant names; nil for a proof of the manager's own.
	Secret map[string][]byte
	// Cloud is the name of the AzureCluster's cloud, or empty. A Secret that names the place of its principal wins.
	Cloud string
	Book  clouds.Book
}

// Principal is who calls Azure. It prints without its proof.
type Principal struct {
	Cloud              clouds.Cloud
	TenantID, ClientID string
	// Proof is never Manager: that one becomes what the environment gives.
	Proof placement.Proof
	// Source is where the proof is from, for logs and sentences.
	Source string
	// Credential gives tokens. Its errors are of type *cloud.Error.
	Credential azcore.TokenCredential
	// Transport is for calls of Azure Resource Manager.
	Transport policy.Transporter
	// Name is equal for equal principals in equal clouds with equal proofs, whoever named them. It is a secret, because it reveals
	// who has the same proof; a function prints as nothing but an address, wherever it stands.
	Name func() string
	// BootLog reads the end of a boot log.
	BootLog func(ctx context.Context, address string) ([]byte, error)

	storage *transport // for boot logs
}

// Open makes a principal. Errors are of type *cloud.Error.
func Open(r Request) (*Principal, error) {
	if r.Grant.Proof == "" {
		return nil, missing("the machine names no credentials: set spec.identityRef")
	}
	in, err := r.read()
	if err != nil {
		return nil, err
	}
	if err := r.Grant.AtEndpoint(in.cloud.Chosen(), r.Secret != nil); err != nil {
		return nil, err
	}
	roots, err := trust(in.cloud)
	if err != nil {
		return nil, err
	}
	p := &Principal{
		Cloud: in.cloud, TenantID: strings.ToLower(in.tenant), ClientID: strings.ToLower(in.client), Proof: in.proof,
		Source: in.source, Transport: newTransport(in.cloud.Hosts(), roots, calls), storage: newTransport(nil, roots, logs),
	}
	p.BootLog = p.bootLog
	p.Name = sync.OnceValue(func() string {
		return fmt.Sprintf("%q", []string{p.Proof, p.Cloud.Text(), p.TenantID, p.ClientID, in.digest()})
	})
	inner, err := in.credential(newTransport(in.cloud.Hosts(), roots, tokens))
	if err != nil {
		// The SDK's words may quote what it was given.
		return nil, rejected("the credentials in %s cannot be used: check tenantID, clientID and the certificate", in.source)
	}
	p.Credential = &credential{inner: inner, refusals: p.refusals(in.tokenFile)}
	return p, nil
}

// read takes apart a Secret, or the manager's environment.
func (r Request) read() (input, error) {
	if !placement.IsAmbient(r.Grant.Proof) {
		return r.fromSecret()
	}
	if len(r.Secret) > 0 {
		return input{}, rejected("an identity of the type %s is the manager's own and takes no Secret: remove the Secret from it",
			r.Grant.Proof)
	}
	if r.Grant.Proof == placement.OwnComputer && r.Cloud == "" {
		var err error
		if r.Cloud, err = cloudOfComputer(); err != nil {
			return input{}, err
		}
	}
	azure, ok := r.Book.Named(r.Cloud)
	if !ok {
		return input{}, unknownCloud(r.Cloud, r.Book)
	}
	if err := r.Grant.In(azure.Name); err != nil {
		return input{}, err
	}
	in, err := r.ambient(azure)
	in.cloud = azure
	return in, err
}

// input is all that makes a principal.
type input struct {
	cloud          clouds.Cloud
	tenant, client string
	proof          placement.Proof
	source         string
	secret         func() string // the client's secret
	pair           *pair         // the client's certificate
	tokenFile      string        // the manager's own
}

// digest is different for different proofs. What proves nothing by itself, such as a certificate without its key, does not count.
func (in input) digest() string {
	switch in.proof {
	case placement.ClientSecret:
		return fmt.Sprintf("%x", sha256.Sum256([]byte(in.secret())))
	case placement.Certificate:
		return in.pair.digest()
	default:
		return "" // the manager's own, which it has once
	}
}

// String names the principal without its proof.
func (p *Principal) String() string {
	return fmt.Sprintf("%s of client %q in tenant %q of %s, from %s", p.Proof, p.ClientID, p.TenantID, p.Cloud, p.Source)
}

// GoString is String.
func (p *Principal) GoString() string { return p.String() }

// MarshalLog is String.
func (p *Principal) MarshalLog() any { return p.String() }

func unknownCloud(name string, book clouds.Book) error {
	return rejected("the cloud %q is not defined: use one of %s, or add it to the manager's file of clouds",
		cloud.Clean(name, maxName), strings.Join(book.Names(), ", "))
}

func missing(format string, args ...any) error {
	return cloud.Errorf(cloud.Denied, infrav1.CredentialsMissingReason, format, args...)
}

func rejected(format string, args ...any) error {
	return cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, format, args...)
}
