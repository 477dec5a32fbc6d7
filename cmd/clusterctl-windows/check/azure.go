package check

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/conflicts"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
)

// azureTarget is what Azure is asked with.
type azureTarget struct {
	provider azure.Provider
	// cluster has what a spec leaves out; nil if the files do not have it.
	cluster  *unstructured.Unstructured
	identity azure.Identity
}

func inspectAzure(ctx context.Context, t *Target, progress cloud.Progress) ([]cloud.Finding, error) {
	return t.azure.provider.Inspect(ctx, t.login, azure.Pool{
		Spec: t.machine.Windows.Spec.Azure, Cluster: t.azure.cluster, FailureDomain: t.machine.Owner.Spec.FailureDomain, Count: t.count,
		Identity: t.azure.identity, Progress: progress,
	})
}

// gatherAzure finds the machine's identity as the manager does. The Secret's proof is sent only to the cloud that the Secret
// names. If the files have no Secret for the identity, this computer's own identity is used, and no id or address of the files is
// sent.
func gatherAzure(o *objects.Set, t *Target, options Options) error {
	p, err := azureAt(options)
	if err != nil {
		return err
	}
	if t.azure.cluster, err = azureCluster(o, t); err != nil {
		return err
	}
	named, environment, err := p.Named(t.azure.cluster)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name(), err)
	}
	t.azure.provider = p
	a := asker{Asker: cloud.Asker{Namespace: t.machine.Owner.Namespace, Cloud: environment}, files: o, t: t}
	a.Labels, a.Unread = labelsOf(o, a.Namespace)
	ref := t.machine.Windows.Spec.IdentityRef
	key := types.NamespacedName{Namespace: a.Namespace, Name: ref.Name}
	switch {
	case ref.Kind == infrav1.IdentityAzureCluster:
		return a.takeIdentity(key)
	case ref.Name != "":
		return a.takeSecret(key, cloud.Grant{}, "the Secret "+key.String(), "")
	case named.Name != "":
		return a.takeIdentity(named)
	}
	a.asComputer("the manager's own, which no file names", "")
	return nil
}

// azureAt is Azure with the clouds that a person named.
func azureAt(options Options) (azure.Provider, error) {
	book, err := clouds.Load(options.AzureClouds)
	if err != nil {
		return azure.Provider{}, fmt.Errorf("--azure-clouds: %w", err)
	}
	if _, ok := book.Named(options.AzureCloud); !ok {
		return azure.Provider{}, fmt.Errorf("--azure-cloud=%s is not defined: use one of %s, or describe it in a file and add it with "+
			"--azure-clouds, as docs/azure-credentials.md describes", options.AzureCloud, strings.Join(book.Names(), ", "))
	}
	return azure.Provider{Book: book, Cloud: options.AzureCloud}, nil
}

// asker is the machine that needs an identity.
type asker struct {
	cloud.Asker
	files *objects.Set
	t     *Target
}

// asComputer asks Azure with the identity of this computer. name is the machine's identity, and client how to check as that one.
func (a asker) asComputer(name, client string) {
	a.t.azure.provider = a.t.azure.provider.OnThisComputer(a.Asker)
	a.t.azure.identity = azure.Identity{Other: true, Name: name, ClientID: client}
}

// takeSecret takes the proof of the files, if they have it.
func (a asker) takeSecret(key types.NamespacedName, grant cloud.Grant, name, client string) error {
	data, found, err := conflicts.Login(a.files, key)
	switch {
	case err != nil:
		return err
	case !found:
		lack := ", which the files do not have: "
		if grant.Proof != "" {
			lack = ", and the files do not have its Secret: "
		}
		a.asComputer(name+lack+fetch("secret", key)+" to check as it", client)
		return nil
	}
	a.t.login = data
	if client == "" {
		client = idOf(string(data["clientID"]))
	}
	a.t.azure.identity = azure.Identity{Name: name, ClientID: client}
	if grant.Proof != "" {
		a.t.azure.provider, _ = a.t.azure.provider.As(grant).(azure.Provider)
	}
	return nil
}

// takeIdentity takes the proof of an AzureClusterIdentity, as far as the files have it. Which namespaces the operator lets use it
// is not in the files, so its use is assumed to be allowed. What the object itself refuses is reported as the manager reports it.
func (a asker) takeIdentity(key types.NamespacedName) error {
	name := "AzureClusterIdentity " + key.String()
	object, err := a.files.Unstructured(ofAzure("AzureClusterIdentity", key.Name), key.Namespace)
	switch {
	case err != nil:
		return err
	case object == nil:
		a.asComputer(name+", which the files do not have: "+fetch("azureclusteridentity", key)+" to check as it", "")
		return nil
	}
	written, _, _ := unstructured.NestedString(object.Object, "spec", "clientID")
	client := idOf(written)
	provider := a.t.azure.provider
	if client != "" {
		if provider, err = provider.Lend([]string{client + "=" + a.Namespace}); err != nil {
			return fmt.Errorf("%s: %w", a.t.name(), err)
		}
	}
	grant, err := provider.Allow(a.Asker, a.openTo(object))
	if err != nil {
		return fmt.Errorf("%s: %w", a.t.name(), err)
	}
	if grant.Secret.Name == "" {
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "type")
		a.asComputer(name+" of type "+kind+", which only the manager can prove", client)
		return nil
	}
	return a.takeSecret(grant.Secret, grant, name, client)
}

// openTo takes it as given that the selector of an identity fits, if the files do not have the Namespace with its labels.
func (a asker) openTo(identity *unstructured.Unstructured) *unstructured.Unstructured {
	_, selects, _ := unstructured.NestedMap(identity.Object, "spec", "allowedNamespaces", "selector")
	if !a.Unread || !selects {
		return identity
	}
	open := identity.DeepCopy()
	unstructured.RemoveNestedField(open.Object, "spec", "allowedNamespaces", "selector")
	unstructured.RemoveNestedField(open.Object, "spec", "allowedNamespaces", "list") // what remains allows all namespaces
	return open
}

var anID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// idOf is an id of Entra ID, to be shown in a command; empty if it is none.
func idOf(text string) string {
	if text = strings.TrimSpace(text); anID.MatchString(text) {
		return text
	}
	return ""
}

// azureCluster returns the AzureCluster of the machine's Cluster, or the only one of the namespace, or nil.
func azureCluster(o *objects.Set, t *Target) (*unstructured.Unstructured, error) {
	kind := azure.Provider{}.Inherits()
	var clusters []objects.Object
	for _, object := range o.Items {
		if groupKind(object) == kind && object.Key.Namespace == t.machine.Owner.Namespace {
			clusters = append(clusters, object)
		}
	}
	if ref := t.subject.Cluster.Spec.InfrastructureRef; len(clusters) > 1 && ref.Kind == kind.Kind {
		return o.Unstructured(ofAzure(kind.Kind, ref.Name), t.machine.Owner.Namespace)
	}
	switch len(clusters) {
	case 0:
		return nil, nil //nolint:nilnil // because a spec may say all by itself
	case 1:
		return clusters[0].Unstructured()
	}
	return nil, fmt.Errorf("%s has several AzureClusters in namespace %s, and no Cluster that refers to one of them: keep the one "+
		"of the machine's Cluster, or add the Cluster", o.Source, t.machine.Owner.Namespace)
}

// ofAzure refers to an object of Cluster API Provider Azure.
func ofAzure(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: azure.Provider{}.Inherits().Group, Kind: kind, Name: name}
}

func groupKind(object objects.Object) schema.GroupKind {
	return object.Version.WithKind(object.Kind).GroupKind()
}

// labelsOf returns the labels of a namespace; unread is true if the files do not have it.
func labelsOf(o *objects.Set, namespace string) (labels map[string]string, unread bool) {
	for _, object := range o.Items {
		if groupKind(object) != (schema.GroupKind{Kind: "Namespace"}) || object.Key.Name != namespace {
			continue
		}
		var read metav1.PartialObjectMetadata
		if json.Unmarshal(object.Data, &read) == nil {
			return read.Labels, false
		}
	}
	return nil, true
}
