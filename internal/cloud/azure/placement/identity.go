package placement

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Proof is how a principal proves to Azure who it is, as the seam carries it.
type Proof = string

// The proofs. Those in a Secret belong to who wrote the Secret; the others are the manager's own.
const (
	ClientSecret    Proof = "ClientSecret"
	Certificate     Proof = "Certificate"
	WorkloadToken   Proof = "WorkloadToken"
	ManagedIdentity Proof = "ManagedIdentity"
	Manager         Proof = "Manager" // whatever the manager was started with
	// OwnComputer is whatever the computer of a person has who checks a spec. No manager uses it, and no object grants it.
	OwnComputer Proof = "OwnComputer"
)

// IsAmbient reports whether the proof is the manager's own, or a person's. It MUST NOT be sent to an endpoint that a user's
// object chose.
func IsAmbient(p Proof) bool {
	return p == WorkloadToken || p == ManagedIdentity || p == Manager || p == OwnComputer
}

// Identity is an AzureClusterIdentity, as Cluster API Provider Azure has it.
type Identity struct {
	Namespace, Name     string
	Type                string
	ClientID, TenantID  string
	SecretNamespace     string
	SecretName          string
	CertPath, CredsPath string
	Allowed             *Allowed // nil allows no namespace
	BeingDeleted        bool
}

// Allowed is which namespaces may use an identity: all without list and selector, else those in either. An empty list, and an
// empty selector, select none.
type Allowed struct {
	List     []string              `json:"list"`
	Selector *metav1.LabelSelector `json:"selector"`
}

// Grant is what an asker may use. The Secret is empty for an ambient proof. AskedBy and AskedCloud are the asker's namespace and
// the cloud that its AzureCluster names; they count for a proof of others, which is not sent there for that reason.
type Grant cloud.Grant

// OwnSecret grants a Secret of the asker's own namespace.
func OwnSecret(asker cloud.Asker, name string) Grant {
	return Grant{Proof: ClientSecret, Secret: cloud.Key{Namespace: asker.Namespace, Name: name}}
}

// OwnIdentity grants the manager's own identity to the namespaces for which it was started; nil is none.
func OwnIdentity(asker cloud.Asker, allowed *Allowed) (Grant, error) {
	if !allows(allowed, asker) {
		return Grant{}, deny(infrav1.CredentialsMissingReason,
			"the machine names no identity, and the manager may not use its own for "+
				"namespace %s: set spec.identityRef, or allow the namespace with the manager's flags", asker.Namespace)
	}
	return Grant{Proof: Manager, AskedBy: asker.Namespace, AskedCloud: OtherCloud(asker.Cloud)}, nil
}

// OtherCloud is the cloud of an AzureCluster if it is not the public one. That one is the default, and so proves nothing: the
// manager's usual cloud may be another.
func OtherCloud(name string) string {
	if name == string(infrav1.AzurePublicCloud) {
		return ""
	}
	return name
}

// Use grants an AzureClusterIdentity, or returns why not. What its author writes grants no proof of the manager's: loans do.
func Use(asker cloud.Asker, i Identity, loans Loans) (Grant, error) {
	name := i.Namespace + "/" + i.Name
	switch {
	case i.BeingDeleted && !asker.Holds:
		return Grant{}, deny(infrav1.CredentialsBeingDeletedReason, "AzureClusterIdentity %s is being deleted, and stays only for the "+
			"machines that may have a VM: create it again when it is gone, or set identityRef to another", name)
	case !allows(i.Allowed, asker) && asker.Unread && i.Allowed != nil && i.Allowed.Selector != nil:
		return Grant{}, deny(infrav1.CredentialsMissingReason,
			"AzureClusterIdentity %s does not allow namespace %s by its name, and its selector cannot be tried, because the manager may "+
				"not read Namespaces: add the name to its spec.allowedNamespaces.list", name, asker.Namespace)
	case !allows(i.Allowed, asker):
		return Grant{}, deny(infrav1.CredentialsMissingReason,
			"AzureClusterIdentity %s does not allow namespace %s: add the namespace to "+
				"its spec.allowedNamespaces", name, asker.Namespace)
	case i.ClientID == "" || i.TenantID == "":
		return Grant{}, deny(infrav1.CredentialsMissingReason, "AzureClusterIdentity %s has no clientID or no tenantID: set both", name)
	case i.CertPath != "" || i.CredsPath != "" || i.Type == "UserAssignedIdentityCredential":
		return Grant{}, deny(infrav1.CredentialsRejectedReason, "AzureClusterIdentity %s reads a file of its manager, which is not "+
			"supported: use a Secret or the type WorkloadIdentity", name)
	}
	return i.grant(name, asker, loans)
}

// proofs are those of the types of an AzureClusterIdentity.
var proofs = map[string]Proof{
	"WorkloadIdentity":            WorkloadToken,
	"UserAssignedMSI":             ManagedIdentity,
	"ServicePrincipal":            ClientSecret,
	"ManualServicePrincipal":      ClientSecret,
	"ServicePrincipalCertificate": Certificate,
}

func (i Identity) grant(name string, asker cloud.Asker, loans Loans) (Grant, error) {
	g := Grant{Proof: proofs[i.Type], ClientID: i.ClientID, TenantID: i.TenantID}
	loan, lent := loans.entryFor(i.ClientID, asker.Namespace)
	if i.Namespace == asker.Namespace && !IsAmbient(g.Proof) {
		g.Cloud = OtherCloud(asker.Cloud)
	} else {
		g.Cloud, g.AskedBy, g.AskedCloud = loan.Cloud, asker.Namespace, OtherCloud(asker.Cloud)
	}
	switch {
	case g.Proof == "":
		return Grant{}, deny(infrav1.CredentialsRejectedReason, "AzureClusterIdentity %s has the type %q, which is not supported: "+
			"use WorkloadIdentity, UserAssignedMSI, ServicePrincipal, ManualServicePrincipal or ServicePrincipalCertificate",
			name, cloud.Clean(i.Type, 64))
	case IsAmbient(g.Proof) && !GUID.MatchString(i.ClientID):
		return Grant{}, deny(infrav1.CredentialsRejectedReason,
			"AzureClusterIdentity %s has an invalid clientID: use an id such as %s", name, example)
	case IsAmbient(g.Proof) && !lent:
		return Grant{}, deny(infrav1.CredentialsMissingReason, "AzureClusterIdentity %s is proved by the manager itself, and the "+
			"operator has not lent its client to namespace %s: add the entry %s to the manager's flag --azure-identities, or use a Secret",
			name, asker.Namespace, Loan{ClientID: strings.ToLower(i.ClientID), Namespace: asker.Namespace})
	case IsAmbient(g.Proof):
		return g, nil
	case i.SecretName == "":
		return Grant{}, deny(infrav1.CredentialsMissingReason, "AzureClusterIdentity %s names no Secret: set spec.clientSecret.name",
			name)
	case i.SecretNamespace != "" && i.SecretNamespace != i.Namespace:
		return Grant{}, deny(infrav1.CredentialsRejectedReason,
			"AzureClusterIdentity %s names a Secret in namespace %s: use a Secret in "+
				"the identity's own namespace", name, cloud.Clean(i.SecretNamespace, 63))
	}
	g.Secret = cloud.Key{Namespace: i.Namespace, Name: i.SecretName}
	return g, nil
}

// In refuses a cloud that the asker's AzureCluster does not name, if it names one, for a proof of others. cloudName is where the
// identity logs in.
func (g Grant) In(cloudName string) error {
	switch {
	case g.AskedCloud == "" || g.AskedCloud == cloudName:
		return nil
	case g.Proof == OwnComputer:
		return deny(infrav1.CredentialsMissingReason,
			"the AzureCluster of namespace %s is in %s, and this computer's own identity is for %s: if you have one there, add "+
				"--azure-cloud=%s; or add the Secret of the machine's identity to the files", g.AskedBy, g.AskedCloud, cloudName,
			g.AskedCloud)
	case g.Proof == Manager:
		return deny(infrav1.CredentialsMissingReason,
			"the AzureCluster of namespace %s is in %s, and the manager's own identity in %s: set spec.identityRef to an identity there",
			g.AskedBy, g.AskedCloud, cloudName)
	}
	client := cloud.Clean(g.ClientID, len(example))
	return deny(infrav1.CredentialsMissingReason,
		"the AzureCluster of namespace %s is in %s, and client %s was not lent there: if it is there, add the entry %s to the "+
			"manager's flag --azure-identities, or the key cloud to the Secret that proves it", g.AskedBy, g.AskedCloud, client,
		Loan{ClientID: strings.ToLower(client), Cloud: g.AskedCloud, Namespace: g.AskedBy})
}

// AtEndpoint refuses to send an ambient proof to an endpoint that a user chose. chosen is true if the endpoint stands in the
// Secret that brings the proof, or anywhere else that a user writes.
func (g Grant) AtEndpoint(chosen, withSecret bool) error {
	if !chosen || withSecret && !IsAmbient(g.Proof) {
		return nil
	}
	return deny(infrav1.CredentialsRejectedReason, "the endpoint of the cloud may stand only in the Secret that also holds the "+
		"credentials for it, or in the manager's own file of clouds: move it there")
}

func allows(a *Allowed, asker cloud.Asker) bool {
	if a == nil {
		return false
	}
	if a.List == nil && a.Selector == nil {
		return true
	}
	if slices.Contains(a.List, asker.Namespace) {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(a.Selector) // nil selects nothing
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(asker.Labels))
}

func deny(reason, format string, args ...any) error {
	return cloud.Errorf(cloud.Denied, reason, format, args...)
}
