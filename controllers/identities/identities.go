// Package identities finds the rights with which a machine is managed, if its identity is not a Secret of its own namespace. A
// caller may rely on this:
//
//   - Of returns what an identity, its Secret and the labels of the asker's namespace were when they were last read. It never
//     asks the API server. What was not read yet is phase.ErrAwaited, and the machine is woken when it was.
//   - Each of these objects is read by name, at the pace and by the turns of controllers/reads. None is listed or watched: a
//     manager for one tenant may read them in few namespaces, and a watch that is forbidden would keep the whole manager from
//     starting.
//   - When one has changed, all machines that asked for it are woken.
//   - While one cannot be read, what was known of it stands. The error for one that was never readable names the missing right.
//   - Where the identity or its Secret is gone, the rights that were good before stand for an hour, for machines that are being
//     deleted. One that is there and does not allow the namespace any more ends them at once.
//   - The machines of a namespace use as many identities as it may have, each machine one at a time. One more is an error with
//     the reason TooManyAccounts. A machine that may have a VM gets twice as many, and beyond that a turn of a minute at least.
//     A machine that finds no room is woken when there is some again.
//   - What no machine has asked for in half an hour is forgotten. Nothing outlives the manager.
//
// The room credentials holds an identity, too, if it is in the machine's own namespace. One elsewhere belongs to its owner.
package identities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Keeper keeps identities. It runs as a part of the manager.
type Keeper struct {
	// Live reads from the API server itself.
	Live client.Reader
	// Reader reads them one after the other, and wakes the machines that asked.
	reads.Reader
	// Limits are how many the machines of a namespace may use, and Notices get how many they do.
	Limits  tenants.Limits
	Notices *tenants.Notices

	mu       sync.Mutex
	readings map[object]*reading
	waiting  tenants.Waiting // for room for an identity
}

// Rights are those with which a machine is managed.
type Rights struct {
	// Provider is the cloud with these rights, and Data what its account is made of.
	Provider cloud.Provider
	Data     map[string][]byte
	// Going is true if the identity or its Secret is being deleted, and waits for machines.
	Going bool
}

// Use is a machine and the identity it asks for; without a name, it asks for the manager's own. Cloud is that of its place, if
// the place names one. Holds is true if it may have a VM, and Deleting if a VM that is its own for certain is to be removed.
type Use struct {
	Machine, Identity types.NamespacedName
	Cloud             string
	Holds, Deleting   bool
}

// Holder stands for the use of an identity where that of a Secret has the Secret's name: no Secret is called so. People read it
// in metrics and in the log.
func (u Use) Holder() cloud.Key {
	name := u.String()
	if u.Cloud != "" {
		name += " in " + u.Cloud
	}
	return cloud.Key{Namespace: u.Machine.Namespace, Name: name}
}

// String is for people.
func (u Use) String() string {
	if u.Identity.Name == "" {
		return "the manager's own identity"
	}
	return Kind + " " + u.Identity.String()
}

// Kind is that of identities.
const Kind = string(infrav1.IdentityAzureCluster)

// Of returns the rights of a machine.
func (k *Keeper) Of(p cloud.Placer, use Use) (Rights, error) {
	rights, err := k.rightsOf(p, use)
	if use.Identity.Name == "" || errors.Is(err, phase.ErrAwaited) {
		return rights, err
	}
	return k.standing(use, rights, err)
}

func (k *Keeper) rightsOf(p cloud.Placer, use Use) (Rights, error) {
	if use.Identity.Name == "" {
		grant, err := p.Allow(cloud.Asker{Namespace: use.Machine.Namespace, Cloud: use.Cloud}, nil)
		return Rights{Provider: p.As(grant)}, phase.Cloud(err)
	}
	identity, err := k.askIdentity(use)
	if err != nil {
		return Rights{}, err
	}
	if identity == nil {
		return Rights{}, notFoundError{missing("%s does not exist; create it, or set identityRef to another identity", use)}
	}
	// The labels count only where a selector wants them. A manager that may not read them has none.
	namespace, err := k.ask(object{Kind: namespace, NamespacedName: types.NamespacedName{Name: use.Machine.Namespace}}, use.Machine)
	if err != nil && phase.Of(err).Reason != infrav1.CredentialsMissingReason {
		return Rights{}, err
	}
	asker := cloud.Asker{Namespace: use.Machine.Namespace, Unread: err != nil, Cloud: use.Cloud, Holds: use.Holds}
	if namespace != nil {
		asker.Labels = namespace.GetLabels()
	}
	grant, err := p.Allow(asker, identity.(*unstructured.Unstructured))
	if err != nil {
		return Rights{}, phase.Cloud(err)
	}
	rights := Rights{Provider: p.As(grant), Going: !identity.GetDeletionTimestamp().IsZero()}
	err = k.prove(&rights, grant.Secret, use)
	return rights, err
}

// Read reads an AzureClusterIdentity from the API server, for the keeper that holds it.
func (k *Keeper) Read(ctx context.Context, name types.NamespacedName) (client.Object, error) {
	return getIdentity(ctx, k.Live, name)
}

// Proof names the Secret of the identity of a machine, in the identity's own namespace; the zero value if it has none.
func (k *Keeper) Proof(use Use) (types.NamespacedName, error) {
	got, err := k.askIdentity(use)
	identity, ok := got.(*unstructured.Unstructured)
	if err != nil || !ok {
		return types.NamespacedName{}, err
	}
	if secret, _, _ := unstructured.NestedString(identity.Object, "spec", "clientSecret", "name"); secret != "" {
		return types.NamespacedName{Namespace: use.Identity.Namespace, Name: secret}, nil
	}
	return types.NamespacedName{}, nil // a value of another type names none, too
}

// prove adds what the identity's Secret holds, if it has one.
func (k *Keeper) prove(rights *Rights, name cloud.Key, use Use) error {
	if name.Name == "" {
		return nil
	}
	got, err := k.ask(object{Kind: secret, NamespacedName: name}, use.Machine)
	if err != nil {
		return err
	}
	if got == nil {
		return notFoundError{missing("Secret %s of %s does not exist; create it in namespace %s", name.Name, use, name.Namespace)}
	}
	going := !got.GetDeletionTimestamp().IsZero()
	if going && !use.Holds {
		return phase.Wait(phase.Credentials, infrav1.CredentialsBeingDeletedReason, "Secret %s of %s is being deleted, and stays only "+
			"for the machines that may have a VM: create it again when it is gone", name.Name, use)
	}
	rights.Going = rights.Going || going
	rights.Data = got.(*corev1.Secret).Data
	return nil
}

// notFoundError is why there are no rights: the identity or its Secret does not exist. An owner who forbids its use leaves both.
type notFoundError struct{ error }

func (n notFoundError) Unwrap() error { return n.error }

func missing(format string, args ...any) error {
	return phase.Wait(phase.Credentials, infrav1.CredentialsMissingReason, format, args...)
}

// object names what is read.
type object = reads.Object

// The kinds of objects.
const (
	identity  = "identity"
	namespace = "namespace"
	secret    = "secret"
)

// getIdentity reads an AzureClusterIdentity in the version of the contract.
func getIdentity(ctx context.Context, reader client.Reader, name types.NamespacedName) (client.Object, error) {
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: Kind, Name: name.Name}
	return external.GetObjectFromContractVersionedRef(ctx, reader, ref, name.Namespace)
}

// read asks the API server for an object; nil is one that does not exist.
func read(ctx context.Context, reader client.Reader, o object) (client.Object, error) {
	var got client.Object
	var err error
	switch o.Kind {
	case identity:
		got, err = getIdentity(ctx, reader, o.NamespacedName)
	case namespace:
		labels := &metav1.PartialObjectMetadata{}
		labels.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		got, err = labels, reader.Get(ctx, o.NamespacedName, labels)
	default:
		data := &corev1.Secret{}
		got, err = data, reader.Get(ctx, o.NamespacedName, data)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", o.Kind, o.NamespacedName, err)
	}
	return got, nil
}
