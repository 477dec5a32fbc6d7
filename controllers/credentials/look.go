package credentials

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
)

// Setup has the keeper follow all machines of the manager's cache. SecretOf names the Secret of a machine; the zero value if
// there is none.
func (k *Keeper) Setup(ctx context.Context, mgr ctrl.Manager, secretOf func(*infrav1.WindowsMachine) types.NamespacedName) error {
	k.secretOf = secretOf
	machines, err := mgr.GetCache().GetInformer(ctx, &infrav1.WindowsMachine{})
	if err != nil {
		return fmt.Errorf("get informer of windowsmachines: %w", err)
	}
	registration, err := machines.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: k.saw, UpdateFunc: func(_, now any) { k.saw(now) }, DeleteFunc: k.lost,
	})
	if err != nil {
		return fmt.Errorf("follow windowsmachines: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// Before all machines are known, a Secret may seem not to be needed.
		if toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			k.Run(ctx, &k.mu, k.wanted, k.look)
		}
		return nil
	}))
}

func (k *Keeper) saw(object any) {
	if windows, ok := object.(*infrav1.WindowsMachine); ok {
		k.Follow(windows)
	}
}

func (k *Keeper) lost(object any) {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if windows, ok := object.(*infrav1.WindowsMachine); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		machine := client.ObjectKeyFromObject(windows)
		k.change(machine, use{})
		delete(k.freed, machine)
	}
}

// useOf must be called with the lock.
func (k *Keeper) useOf(windows *infrav1.WindowsMachine) use {
	name := k.secretOf(windows)
	if name.Name == "" {
		return use{}
	}
	stays := controllerutil.ContainsFinalizer(windows, infrav1.MachineFinalizer)
	freed := k.freed[client.ObjectKeyFromObject(windows)] == windows.UID
	return use{
		secret: name,
		uid:    windows.UID,
		role:   role{k.WatchFilter == "" || labels.HasWatchLabel(windows, k.WatchFilter), stays && !freed},
		unsure: stays && freed && windows.Annotations[infrav1.RemovedAnnotation] == "",
	}
}

// wanted yields the Secrets that are read, and forgets those that no one needs.
func (k *Keeper) wanted(yield func(reads.Object, *reads.Turn) bool) {
	for name, s := range k.secrets {
		switch {
		case s.used():
			if !yield(reads.Object{NamespacedName: name}, &s.Turn) {
				return
			}
		case len(s.users) == 0 && !k.IsReading(reads.Object{NamespacedName: name}):
			delete(k.secrets, name)
		}
	}
}

// look reads a Secret and sees to its finalizer.
func (k *Keeper) look(ctx context.Context, object reads.Object) {
	name := object.NamespacedName
	got, data, err := k.read(ctx, name)
	var unheld error
	if err == nil {
		unheld = k.hold(ctx, got)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.secrets[name]
	s.unheld = unheld
	switch {
	case apierrors.IsNotFound(err):
		s.held = false
		k.take(s, name.Namespace, Secret{})
	case err != nil:
		k.fail(ctx, name, s, err)
	default:
		if unheld == nil {
			s.held = controllerutil.ContainsFinalizer(got, infrav1.CredentialsFinalizer)
		}
		k.take(s, name.Namespace, Secret{
			Exists: true, Going: !got.GetDeletionTimestamp().IsZero(), Unheld: !ofUsers(got), Data: data,
		})
		if s.Going && s.counts[holder] > 0 && !s.reported {
			k.report(ctx, name, s)
		}
		s.reported = s.Going && (s.reported || s.counts[holder] > 0)
	}
	k.Wake(slices.Collect(maps.Keys(s.waiting))...)
	clear(s.waiting)
	if unheld == nil || apierrors.IsConflict(unheld) { // a machine may have come or gone meanwhile
		k.hurry(s)
	}
}

func (k *Keeper) read(ctx context.Context, name types.NamespacedName) (client.Object, map[string][]byte, error) {
	if k.Read != nil {
		got, err := k.Read(ctx, name)
		return got, nil, err
	}
	var got corev1.Secret
	err := k.Live.Get(ctx, name, &got)
	return &got, got.Data, err
}

func (k *Keeper) kind() string { return cmp.Or(k.Kind, "Secret") }

// hold puts our finalizer on a Secret or takes it off. Another client may change the Secret as well: then the patch is refused,
// and the finalizers of others stay as they are.
func (k *Keeper) hold(ctx context.Context, got client.Object) error {
	name, change := client.ObjectKeyFromObject(got), k.changeOf(got)
	if change == nil {
		return nil
	}
	original := got.DeepCopyObject().(client.Object)
	change(got, infrav1.CredentialsFinalizer)
	err := k.Client.Patch(ctx, got, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		if !apierrors.IsConflict(err) {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot change the finalizer of credentials", "kind", k.kind(), "secret", name)
		}
		return fmt.Errorf("patch finalizers of %s %s: %w", k.kind(), name.Name, err)
	}
	held := controllerutil.ContainsFinalizer(got, infrav1.CredentialsFinalizer)
	ctrl.LoggerFrom(ctx).Info("Changed the finalizer of credentials", "kind", k.kind(), "secret", name, "held", held)
	return nil
}

// changeOf is what must be done to the finalizer; nil if it is as it must be. While we do it, the Secret counts as held: a
// machine that is let go waits for it.
func (k *Keeper) changeOf(got client.Object) func(client.Object, string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.secrets[client.ObjectKeyFromObject(got)]
	s.held = controllerutil.ContainsFinalizer(got, infrav1.CredentialsFinalizer)
	switch needed := s.needed(); {
	case !got.GetDeletionTimestamp().IsZero() && s.anyUnsure():
		return nil // and none is put on what is being deleted
	case s.held && !needed:
		return controllerutil.RemoveFinalizer
	case !s.held && needed && holdable(got):
		s.held = true
		return controllerutil.AddFinalizer
	}
	return nil
}

// holdable is what the policy own-finalizers lets us hold: credentials, and no new finalizers on what is being deleted.
func holdable(o client.Object) bool {
	secret, ok := o.(*corev1.Secret)
	hasKey := func(key string) bool { return !ok || secret.Data[key] != nil }
	return o.GetDeletionTimestamp().IsZero() && ofUsers(o) &&
		(hasKey("server") && hasKey("username") && hasKey("password") || hasKey("clientSecret") || hasKey("certificate"))
}

// ofUsers reports whether an object is none of the cluster's own, and a Secret none that has a meaning to others.
func ofUsers(o client.Object) bool {
	secret, ok := o.(*corev1.Secret)
	return !slices.Contains(ofTheCluster, o.GetNamespace()) &&
		(!ok || cmp.Or(secret.Type, corev1.SecretTypeOpaque) == corev1.SecretTypeOpaque)
}

// ofTheCluster are namespaces of Kubernetes itself.
var ofTheCluster = []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// take takes over what was read, and wakes all machines of the Secret if it is new.
func (k *Keeper) take(s *secret, namespace string, read Secret) {
	size, refusal := sizeOf(read.Data), error(nil)
	if k.kept(namespace)-s.size+size > MaxKept {
		refusal = phase.Stall(infrav1.CredentialsTooLargeReason,
			"the Secrets that identityRef of the machines of namespace %s names have more than %d bytes together; keep nothing but "+
				"credentials in them, or use fewer Secrets", namespace, MaxKept)
		read.Data, size = nil, 0
	}
	news := !s.wasRead || (s.err == nil) != (refusal == nil) || !equality.Semantic.DeepEqual(s.Secret, read)
	s.Secret, s.size, s.wasRead, s.err = read, size, true, refusal
	if news {
		k.wakeAll(s)
	}
}

// fail keeps what is known of a Secret that cannot be read.
func (k *Keeper) fail(ctx context.Context, name types.NamespacedName, s *secret, err error) {
	err = fmt.Errorf("get credentials: %w", err)
	if s.wasRead {
		ctrl.LoggerFrom(ctx).Error(err, "Credentials cannot be read; the last ones that were read stay in use",
			"kind", k.kind(), "secret", name)
		return
	}
	if s.err == nil {
		k.wakeAll(s)
	}
	s.err = err
}

func (k *Keeper) wakeAll(s *secret) {
	for machine, u := range s.users {
		if u.managed {
			k.Wake(machine)
		}
	}
}

// report makes an event for a Secret that is being deleted and waits for machines.
func (k *Keeper) report(ctx context.Context, name types.NamespacedName, s *secret) {
	var machines []types.NamespacedName
	for machine, u := range s.users {
		if u.managed && u.holds {
			machines = append(machines, machine)
		}
	}
	first := slices.MinFunc(machines, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	ctrl.LoggerFrom(ctx).Info("Credentials are being deleted and wait for their machines", "kind", k.kind(), "secret", name,
		"machines", len(machines))
	regarding := &infrav1.WindowsMachine{}
	regarding.Namespace, regarding.Name, regarding.UID = first.Namespace, first.Name, s.users[first].uid
	k.Events.Eventf(regarding, nil, corev1.EventTypeWarning, infrav1.CredentialsBeingDeletedReason, "Reconcile",
		"%s %s is being deleted; it stays until the VMs that cannot be removed without it are gone (machines: %d)", k.kind(), name.Name,
		len(machines))
}

func (k *Keeper) kept(namespace string) (bytes int) {
	for name, s := range k.secrets {
		if name.Namespace == namespace {
			bytes += s.size
		}
	}
	return bytes
}

func sizeOf(data map[string][]byte) (bytes int) {
	for key, value := range data {
		bytes += len(key) + len(value)
	}
	return bytes
}
