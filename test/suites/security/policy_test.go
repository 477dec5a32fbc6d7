package security

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestPolicies has a thief with the token of one of our accounts try to write what our managers never write. Each try is an
// object as the manager writes it, which is accepted, with one thing changed.
func TestPolicies(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	t.Parallel()
	b, i := newThief(t, servers.Bootstrap), newThief(t, servers.Infrastructure)
	t.Run("of the bootstrap manager", func(t *testing.T) {
		t.Parallel()
		b.createSecrets(t)
		b.updateSecrets(t)
		b.updateConfigs(t)
		b.writeEvents(t, "WindowsBootstrapConfig", bootstrapv1.GroupVersion.String())
		b.namespaceEvents(t)
		b.clusterEvents(t, bootstrapv1.DaemonRightsRefusedReason, bootstrapv1.ObjectContestedReason)
		b.leaveItsRole(t)
	})
	t.Run("of the infrastructure manager", func(t *testing.T) {
		t.Parallel()
		i.updateMachines(t)
		i.createClaims(t)
		i.updateAddresses(t)
		i.holdCredentials(t)
		i.holdIdentities(t)
		i.writeEvents(t, "WindowsMachine", infrav1.GroupVersion.String())
		i.namespaceEvents(t)
		i.clusterEvents(t, infrav1.OrphanedVMReason, infrav1.OrphanedResourceReason, infrav1.PlacementFindingReason)
		i.leaveItsRole(t)
	})
}

// thief has the token of a manager's account, which works in all namespaces.
type thief struct {
	client.Client

	component string
	login     *rest.Config
	// namespace is a tenant's. Its objects are made by an admin, and no controller looks at them.
	namespace string
	// stranger owns them, and is no kind of ours.
	stranger metav1.OwnerReference
	made     int
}

func newThief(t *testing.T, component string) *thief {
	t.Helper()
	config := rest.CopyConfig(expect.Got(servers.ManagerConfig(t.Context(), shared.Management, component))(t))
	config.UserAgent = servers.Stolen
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stolen-" + component}}
	expect.OK(t, shared.Client.Create(t.Context(), namespace))
	stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "stranger"}}
	expect.OK(t, shared.Client.Create(t.Context(), stranger))
	return &thief{
		Client: logIn(t, config), component: component, login: config, namespace: namespace.Name,
		stranger: metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: stranger.Name, UID: stranger.UID},
	}
}

func logIn(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	return expect.Got(client.New(config, client.Options{Scheme: shared.Client.Scheme(), Mapper: shared.Client.RESTMapper()}))(t)
}

// policy is the full name of one of the component's policies.
func (s *thief) policy(name string) string {
	return fmt.Sprintf("capwin-%s-system-%s", s.component, name)
}

// refused is an attack that a policy refuses. It is tried as a dry-run until the API server carries out the policy, which takes
// a moment after its start, and then once more.
func (s *thief) refused(policy, tries string, try func(*testing.T, client.Client) error) attack {
	denied := "ValidatingAdmissionPolicy '" + s.policy(policy) + "'"
	is := func(err error) bool { return apierrors.IsForbidden(err) && strings.Contains(err.Error(), denied) }
	return attack{by: s.component + " account", tries: tries, try: func(t *testing.T) string {
		wait.Eventually(t, "the refusal by policy "+policy, func(context.Context) error {
			err := try(t, client.NewDryRunClient(s.Client))
			switch {
			case err == nil:
				return errors.New("it is accepted")
			case !is(err):
				return wait.Final(err)
			}
			return nil
		})
		if err := try(t, s.Client); !is(err) {
			t.Errorf("want it refused by policy %s, got: %v", policy, err)
		}
		return "refused by policy " + policy
	}}
}

// allowed checks that what the manager writes is accepted: the attacks differ from it in one thing.
func (s *thief) allowed(t *testing.T, what string, try func(*testing.T, client.Client) error) {
	t.Helper()
	if err := try(t, client.NewDryRunClient(s.Client)); err != nil {
		t.Errorf("%s manager: %s must be accepted: %v", s.component, what, err)
	}
}

// make creates an object as an admin, with a name that no other has.
func (s *thief) make(t *testing.T, object client.Object) {
	t.Helper()
	expect.OK(t, shared.Client.Create(t.Context(), object))
}

func (s *thief) name() string {
	s.made++
	return fmt.Sprintf("m-%d", s.made)
}

// change is a try to patch an object.
func change[O client.Object](object O, edit func(O)) func(*testing.T, client.Client) error {
	return func(t *testing.T, api client.Client) error {
		edited, _ := object.DeepCopyObject().(O)
		edit(edited)
		return api.Patch(t.Context(), edited, client.MergeFrom(object))
	}
}

func (s *thief) updateConfigs(t *testing.T) {
	hold := func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Finalizers = append(c.Finalizers, bootstrapv1.ConfigFinalizer)
	}
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: s.meta()}
	s.make(t, config)
	// To compare much must not cost more than the API server allows a policy.
	large := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: s.meta()}
	for i := range 3 {
		file := bootstrapv1.CustomFile{Path: fmt.Sprintf(`C:\app\%d`, i), Content: strings.Repeat("x", 31<<10)}
		large.Spec.Custom.Files = append(large.Spec.Custom.Files, file)
	}
	s.make(t, large)
	tryMetadata(t, s, config, "a config", "own-finalizers")
	script := change(config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Spec.Custom.PreJoin = []bootstrapv1.CustomScript{{Name: "evil", Content: "exit 0"}}
	})
	attempt(t, s.refused("own-finalizers", "adds a script to a config", script))
	s.allowed(t, "its finalizer", change(config, hold))
	s.allowed(t, "its finalizer for what the guest reports", change(config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Finalizers = append(c.Finalizers, bootstrapv1.ConfigFinalizer, bootstrapv1.GuestReportFinalizer)
	}))
	s.allowed(t, "its finalizer on a config of 93 KiB", change(large, hold))
}

// meta is of an object that others hold, label, annotate and own.
func (s *thief) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: s.namespace, Name: s.name(), Finalizers: []string{"example.com/keep"},
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{s.stranger},
	}
}

// tryMetadata tries to change what others have written into an object's metadata.
func tryMetadata[O client.Object](t *testing.T, s *thief, object O, what, policy string) {
	t.Helper()
	for tries, edit := range map[string]func(O){
		"lets go of %s that others hold":     func(o O) { o.SetFinalizers(nil) },
		"holds %s for others":                func(o O) { o.SetFinalizers(append(o.GetFinalizers(), "example.com/more")) },
		"holds %s where no manager lets go":  func(o O) { o.SetFinalizers(append(o.GetFinalizers(), s.finalizer()+"x")) },
		"labels %s":                          func(o O) { o.SetLabels(map[string]string{"a": "c"}) },
		"takes the labels off %s":            func(o O) { o.SetLabels(nil) },
		"annotates %s":                       func(o O) { o.SetAnnotations(more(o.GetAnnotations(), "c", "d")) },
		"changes an annotation of %s":        func(o O) { o.SetAnnotations(map[string]string{"a": "c"}) },
		"takes the annotations off %s":       func(o O) { o.SetAnnotations(nil) },
		"takes the owner off %s":             func(o O) { o.SetOwnerReferences(nil) },
		"gives %s an owner that is not real": func(o O) { o.SetOwnerReferences(append(o.GetOwnerReferences(), unreal)) },
	} {
		attempt(t, s.refused(policy, fmt.Sprintf(tries, what), change(object, edit)))
	}
}

// finalizer is the one that the manager puts on objects of others.
func (s *thief) finalizer() string {
	if s.component == servers.Bootstrap {
		return bootstrapv1.ConfigFinalizer
	}
	return infrav1.AddressFinalizer
}

// unreal is an owner because of which the garbage collector would remove what has it alone.
var unreal = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "unreal", UID: forged}

// forged is the UID of no object.
const forged = "11111111-2222-3333-4444-555555555555"

func more(all map[string]string, key, value string) map[string]string {
	all = maps.Clone(all)
	all[key] = value
	return all
}

func (s *thief) writeEvents(t *testing.T, kind, apiVersion string) {
	own := corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: s.namespace, Name: "m"}
	create := func(about corev1.ObjectReference) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error { return api.Create(t.Context(), s.event(about)) }
	}
	pod := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: s.namespace, Name: "m"}
	impostor := own
	impostor.APIVersion = "example.com/v1"
	made := s.event(own)
	s.make(t, made)
	others := s.event(pod)
	s.make(t, others)
	home := fmt.Sprintf("capwin-%s-system", s.component)
	lease := corev1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: s.namespace, Name: "m"}
	with := func(edit func(*eventsv1.Event)) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error {
			event := s.event(own)
			edit(event)
			return api.Create(t.Context(), event)
		}
	}
	holds := func(e *eventsv1.Event) { e.Finalizers = []string{"example.com/keep"} }
	owned := func(e *eventsv1.Event) { e.OwnerReferences = []metav1.OwnerReference{s.stranger} }
	count := func(e *eventsv1.Event) {
		e.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NowMicro()}
	}
	attempt(t, s.refused("own-events", "writes an event about a Pod", create(pod)),
		s.refused("own-events", "writes an event about a kind of the same name", create(impostor)),
		s.refused("own-events", "writes an event about nothing", create(corev1.ObjectReference{Namespace: s.namespace})),
		s.refused("own-events", "writes an event about a lease of others", create(lease)),
		s.refused("own-events", "holds a namespace by a new event", with(holds)),
		s.refused("own-events", "holds an object by an event that the object owns", with(owned)),
		s.refused("own-events", "holds a namespace by an event that there is", change(made, holds)),
		s.refused("own-events", "rewrites an event of others", change(others, count)),
		s.refused("own-events", "writes an old event about a Pod", func(t *testing.T, api client.Client) error {
			old := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: s.name()}, InvolvedObject: pod}
			old.InvolvedObject.Namespace = home
			return api.Create(t.Context(), old)
		}))
	s.allowed(t, "an event about its kind", create(own))
	s.allowed(t, "an event about what its kind leaves in the cloud", with(func(e *eventsv1.Event) {
		e.Type, e.Reason, e.Action = corev1.EventTypeWarning, infrav1.OrphanedResourceReason, "Delete"
	}))
	s.allowed(t, "an event about its lease", func(t *testing.T, api client.Client) error {
		event := s.event(lease)
		event.Namespace, event.Regarding.Namespace = home, home
		return api.Create(t.Context(), event)
	})
	s.allowed(t, "the count of an event", change(made, count))
}

// namespaceEvents has the thief write events about the counts of namespaces, for their own reasons and for those of machines.
func (s *thief) namespaceEvents(t *testing.T) {
	create := func(reason string, edit func(*corev1.ObjectReference)) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error {
			about := corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: s.namespace, Name: s.namespace}
			edit(&about)
			event := s.event(about)
			event.Reason = reason
			return api.Create(t.Context(), event)
		}
	}
	itself := func(*corev1.ObjectReference) {}
	attempt(t, s.refused("own-events", "writes an event about a Namespace for a reason of machines",
		create(infrav1.CredentialsRejectedReason, itself)),
		s.refused("own-events", "writes an event about what another Namespace has",
			create(infrav1.NamespaceAtLimitReason, func(about *corev1.ObjectReference) { about.Name = "kube-system" })),
		s.refused("own-events", "writes an event about what a kind named Namespace has",
			create(infrav1.NamespaceAtLimitReason, func(about *corev1.ObjectReference) { about.APIVersion = "example.com/v1" })))
	s.allowed(t, "an event about a Namespace that is near a limit", create(infrav1.NamespaceNearLimitReason, itself))
	s.allowed(t, "an event about a Namespace that is at a limit", create(infrav1.NamespaceAtLimitReason, itself))
}

func (s *thief) event(about corev1.ObjectReference) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name()}, Regarding: about, Type: corev1.EventTypeNormal,
		EventTime: metav1.NowMicro(), ReportingController: "c", ReportingInstance: "i", Action: "a", Reason: "r",
	}
}
