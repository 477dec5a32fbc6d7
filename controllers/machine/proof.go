package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// byIdentity finds the WindowsMachines in the cache that an identity belongs to: by their name and UID, or by the cloud's own ID
// of a VM in their status. What users only wrote is not in it, however many of them write it.
const byIdentity = "identity"

func (r *Reconciler) identitiesOf(o client.Object) (identities []string) {
	windows, ok := o.(*infrav1.WindowsMachine)
	if !ok || windows.Spec.ProviderID == "" {
		return nil
	}
	if r.isOwn(windows) {
		identities = append(identities, ownIdentity(windows))
	}
	if isProved(windows) {
		identities = append(identities, provedIdentity(windows))
	}
	return identities
}

func ownIdentity(windows *infrav1.WindowsMachine) string { return "own " + windows.Spec.ProviderID }

func provedIdentity(windows *infrav1.WindowsMachine) string {
	return strings.Join([]string{"proved", serverOf(windows), windows.Status.Record().VM(), windows.Spec.ProviderID}, " ")
}

// compare finds out whether the identity is the machine's. Users may write any into the spec of a new object, and a move or a
// restore gives an object another UID. An identity belongs to the machine whose name and UID it follows from: any other machine
// with it is a copy. Where there is none, each machine with it has to prove its VM; and where two have the same proof, as after a
// restore that copied the status, too, it proves nothing for either.
func (r *Reconciler) compare(ctx context.Context, f *facts) (err error) {
	if f.copied, err = r.hasTwin(ctx, f.windows, ownIdentity(f.windows)); err != nil || !isProved(f.windows) {
		return err
	}
	f.contested, err = r.hasTwin(ctx, f.windows, provedIdentity(f.windows))
	return err
}

// isDerived reports whether the identity follows from the machine's own name and UID, so that it is no other machine's.
func isDerived(f *facts) bool { return f.derived }

// hasTwin looks for another machine with an entry of the index in the cache.
func (r *Reconciler) hasTwin(ctx context.Context, windows *infrav1.WindowsMachine, entry string) (bool, error) {
	var found infrav1.WindowsMachineList
	if err := r.Client.List(ctx, &found, client.MatchingFields{byIdentity: entry}, client.Limit(2)); err != nil {
		return false, fmt.Errorf("list windowsmachines by identity: %w", err)
	}
	return slices.ContainsFunc(found.Items, func(twin infrav1.WindowsMachine) bool {
		return client.ObjectKeyFromObject(&twin) != client.ObjectKeyFromObject(windows)
	}), nil
}

// refuseCopy stops a machine that has the identity of another one, before any call to the cloud.
func (r *Reconciler) refuseCopy(_ context.Context, f *facts) error {
	if !f.copied {
		return nil
	}
	if !deleting(f) {
		return phase.Stall(infrav1.IdentityMismatchReason,
			"another WindowsMachine has the same spec.providerID, and nothing proves that its VM is this machine's: delete the Machine; "+
				"in a new one leave the field out, because the controller sets it")
	}
	return phase.Stall(infrav1.IdentityMismatchReason,
		"another WindowsMachine has the same spec.providerID, and this one may have asked for a VM: look for VM %s, delete it if it "+
			"is this machine's, and then remove the finalizer %s from the WindowsMachine", f.identity.Name, infrav1.MachineFinalizer)
}

// nothingToRemove reports whether a machine with the identity of another one cannot have a VM: it goes without a call.
func nothingToRemove(f *facts) bool {
	asked := isProved(f.windows) || f.windows.Annotations[infrav1.ServerAnnotation] != "" ||
		f.windows.Status.Initialization.Provisioned != nil
	return removed(f) || f.copied && !asked
}

// isOwn reports whether a machine's identity follows from the object's own name and UID, as the controllers make it.
func (r *Reconciler) isOwn(windows *infrav1.WindowsMachine) bool {
	provider, clone := r.Clouds.Find(windows).Provider, windows.DeepCopy()
	if provider == nil {
		return false
	}
	clone.Spec.ProviderID = ""
	identity, err := provider.Identify(clone)
	return err == nil && identity.ProviderID == windows.Spec.ProviderID
}

// isProved reports whether the status has the cloud's own ID of the machine's VM, and the server that gave it.
func isProved(windows *infrav1.WindowsMachine) bool {
	record := windows.Status.Record()
	return record.VM() != "" && record.Server() != ""
}

// cloudMachine is the machine as the cloud gets it.
func (r *Reconciler) cloudMachine(f *facts) cloud.Machine {
	m := cloud.Machine{
		Identity: f.identity, Key: client.ObjectKeyFromObject(f.windows), UID: f.windows.UID,
		Cluster: cloud.MarkOf(f.cluster, r.Manager), Spec: f.windows.Spec, Status: f.windows.Status,
		NetworkInterfaces: f.interfaces, Server: serverOf(f.windows),
		Proof: cloud.Proof{Own: f.derived, Digest: f.digest, TookOver: r.TookOver},
	}
	m.Cluster.Name = cmp.Or(m.Cluster.Name, f.windows.Labels[clusterv1.ClusterNameLabel])
	if f.machine != nil { // one that is already gone asks for no failure domain
		m.FailureDomain = f.machine.Spec.FailureDomain
		m.Vouched = f.machine.Spec.ProviderID == f.identity.ProviderID
	}
	if !f.contested {
		m.Record = f.windows.Status.Record()
	}
	switch {
	case hadVM(f):
		m.Asked = cloud.Existed
	case r.firsts.isFirst(f.windows, f.cloud):
		m.Asked = cloud.NeverAsked
	}
	return m
}

// readDigest reads the user data of a machine that a move or a restore gave another UID, until its VM is proved: they are in a
// Secret that moves along, and its VM has their digest.
func (r *Reconciler) readDigest(ctx context.Context, f *facts) error {
	proved := isProved(f.windows) && !f.contested
	if proved || f.machine == nil || f.machine.Spec.Bootstrap.DataSecretName == nil {
		return nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.windows.Namespace, Name: *f.machine.Spec.Bootstrap.DataSecretName}
	if err := r.Live.Get(ctx, key, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("get bootstrap data: %w", err)
	}
	f.digest = cloud.DigestOf(f.identity.ProviderID, secret.Data["value"])
	return nil
}

// serverOf is the server of the machine's VM. The status has it once the VM is proved; before, an annotation has it, which a user
// may change.
func serverOf(windows *infrav1.WindowsMachine) string {
	return cmp.Or(windows.Status.Record().Server(), windows.Annotations[infrav1.ServerAnnotation])
}

// leave reports what may stay in the cloud when the machine is let go: a VM that the cloud did not delete at our request, and
// what looks like the machine's and is not proved to be.
func (r *Reconciler) leave(f *facts, gone cloud.VM) {
	if f.mayRemain = gone.Left; gone.Left != "" {
		r.Events.Eventf(f.windows, nil, corev1.EventTypeWarning, infrav1.VMMayRemainReason, "Delete", "%s",
			cloud.Clean("the WindowsMachine is deleted, but the cloud deleted no VM at the controller's request: "+gone.Left,
				longestLeft))
	}
	if len(gone.Orphans) > 0 {
		r.Events.Eventf(f.windows, nil, corev1.EventTypeWarning, infrav1.OrphanedResourceReason, "Delete", "%s", leftNote(gone.Orphans))
	}
}

const (
	mostLeft    = 10  // names in a note
	longestName = 128 // of one
	longestLeft = 900 // of a note, which is less than an Event takes
)

// leftNote names what stays. Anybody may name what is in a cloud, so the names come last, and what has no room is only counted.
func leftNote(orphans []string) string {
	var names []string
	for _, name := range orphans[:min(mostLeft, len(orphans))] {
		names = append(names, strconv.Quote(cloud.Clean(name, longestName)))
	}
	return cloud.Clean(fmt.Sprintf("Resources that stay in the cloud, because nothing proves that they were made for this machine: "+
		"%d. Find out whose they are, and delete them by hand: %s", len(orphans), strings.Join(names, ", ")), longestLeft)
}
