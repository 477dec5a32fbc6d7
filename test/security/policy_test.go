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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
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
		b.createSecrets(t)
		b.updateSecrets(t)
		b.updateConfigs(t)
		b.writeEvents(t, "WindowsBootstrapConfig", bootstrapv1.GroupVersion.String())
		b.leaveItsRole(t)
	})
	t.Run("of the infrastructure manager", func(t *testing.T) {
		i.updateMachines(t)
		i.createClaims(t)
		i.updateAddresses(t)
		i.writeEvents(t, "WindowsMachine", infrav1.GroupVersion.String())
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
	return attack{by: "account", tries: s.component + " " + tries, try: func(t *testing.T) string {
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

// ours is a bootstrap Secret as the manager writes it.
func ours(namespace, name string) *corev1.Secret {
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "11111111-2222-3333-4444-555555555555"}}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
			Annotations: map[string]string{bootstrapv1.RenderedGenerationAnnotation: "1"},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")),
			},
		},
		Type: clusterv1.ClusterSecretType, Immutable: new(true),
		Data: map[string][]byte{"value": []byte("v"), "format": []byte("cloudbase-init"), "token": []byte("t"), "warnings": []byte("w")},
	}
}

func (s *thief) createSecrets(t *testing.T) {
	s.allowed(t, "a bootstrap Secret", func(t *testing.T, api client.Client) error {
		return api.Create(t.Context(), ours(s.namespace, s.name()))
	})
	for tries, change := range map[string]func(*corev1.Secret){
		"makes the API server write a token of an account of kube-system": func(secret *corev1.Secret) {
			secret.Namespace, secret.Type = metav1.NamespaceSystem, corev1.SecretTypeServiceAccountToken
			secret.Annotations[corev1.ServiceAccountNameKey] = "clusterrole-aggregation-controller"
		},
		"makes a bootstrap token of the management cluster": func(secret *corev1.Secret) {
			secret.Namespace, secret.Type = metav1.NamespaceSystem, "bootstrap.kubernetes.io/token"
		},
		"makes an Opaque Secret":            func(secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque },
		"makes a Secret that can change":    func(secret *corev1.Secret) { secret.Immutable = nil },
		"makes a Secret without an owner":   func(secret *corev1.Secret) { secret.OwnerReferences = nil },
		"forges an owner of another kind":   func(secret *corev1.Secret) { secret.OwnerReferences[0].Kind = "Cluster" },
		"forges an owner of another name":   func(secret *corev1.Secret) { secret.OwnerReferences[0].Name = "another" },
		"forges an owner without control":   func(secret *corev1.Secret) { secret.OwnerReferences[0].Controller = nil },
		"forges an owner of another group":  func(secret *corev1.Secret) { secret.OwnerReferences[0].APIVersion = "example.com/v1" },
		"adds an owner to a Secret of ours": func(secret *corev1.Secret) { secret.OwnerReferences = append(secret.OwnerReferences, s.stranger) },
		"makes a cluster authority":         func(secret *corev1.Secret) { secret.Data[corev1.TLSPrivateKeyKey] = []byte("k") },
		"leaves the Cluster out":            func(secret *corev1.Secret) { secret.Labels = map[string]string{"a": "b"} },
		"leaves the generation out":         func(secret *corev1.Secret) { secret.Annotations = map[string]string{"a": "b"} },
		"adds a label":                      func(secret *corev1.Secret) { secret.Labels["a"] = "b" },
		"adds an annotation":                func(secret *corev1.Secret) { secret.Annotations["a"] = "b" },
		"makes a Secret that cannot go":     func(secret *corev1.Secret) { secret.Finalizers = []string{"example.com/keep"} },
	} {
		attempt(t, s.refused("own-secrets", tries, func(t *testing.T, api client.Client) error {
			secret := ours(s.namespace, s.name())
			change(secret)
			return api.Create(t.Context(), secret)
		}))
	}
}

func (s *thief) updateSecrets(t *testing.T) {
	lost := func(secret *corev1.Secret) { secret.OwnerReferences = []metav1.OwnerReference{s.stranger} }
	adopt := func(secret *corev1.Secret) {
		secret.OwnerReferences = append(secret.OwnerReferences, ours(s.namespace, secret.Name).OwnerReferences...)
	}
	none := func(*corev1.Secret) {}
	s.allowed(t, "the owner of a Secret that lost it", change(s, s.secret(t, lost), adopt))
	for tries, c := range map[string]struct{ before, change func(*corev1.Secret) }{
		"rewrites a Secret of a tenant":                 {foreign, func(secret *corev1.Secret) { secret.Data["password"] = []byte("stolen") }},
		"owns a Secret of a tenant, to have it removed": {foreign, adopt},
		"owns a bootstrap Secret without our mark": {
			func(secret *corev1.Secret) { lost(secret); secret.Annotations = nil }, adopt,
		},
		"gives a bootstrap Secret a second owner": {none, func(secret *corev1.Secret) {
			secret.OwnerReferences = append(secret.OwnerReferences, s.stranger)
		}},
		"takes the owner off a bootstrap Secret": {none, func(secret *corev1.Secret) { secret.OwnerReferences = nil }},
		"swaps the owner of a bootstrap Secret":  {none, func(secret *corev1.Secret) { secret.OwnerReferences[0].UID = s.stranger.UID }},
		"takes another owner off as it adopts": {lost, func(secret *corev1.Secret) {
			secret.OwnerReferences = nil
			adopt(secret)
		}},
		"adopts for a config of another name": {lost, func(secret *corev1.Secret) {
			adopt(secret)
			secret.OwnerReferences[1].Name = "another"
		}},
		"labels as it adopts": {lost, func(secret *corev1.Secret) { adopt(secret); secret.Labels["a"] = "b" }},
		"annotates as it adopts": {lost, func(secret *corev1.Secret) {
			adopt(secret)
			secret.Annotations[bootstrapv1.RenderedGenerationAnnotation] = "2"
		}},
		"holds a Secret as it adopts": {lost, func(secret *corev1.Secret) {
			adopt(secret)
			secret.Finalizers = []string{bootstrapv1.ConfigFinalizer}
		}},
		"changes data as it adopts": {
			func(secret *corev1.Secret) { lost(secret); secret.Immutable = nil },
			func(secret *corev1.Secret) {
				adopt(secret)
				secret.Immutable, secret.Data["value"] = new(true), []byte("stolen")
			},
		},
	} {
		attempt(t, s.refused("own-secrets", tries, change(s, s.secret(t, c.before), c.change)))
	}
}

// foreign makes a Secret a tenant's own.
func foreign(secret *corev1.Secret) {
	*secret = corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}, Data: map[string][]byte{"password": []byte("p")},
	}
}

// secret is in the API server, made by the manager and changed by time.
func (s *thief) secret(t *testing.T, change func(*corev1.Secret)) *corev1.Secret {
	t.Helper()
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name()}}
	s.make(t, config)
	secret := ours(s.namespace, config.Name)
	secret.OwnerReferences[0].UID = config.UID // or the garbage collector removes it
	change(secret)
	s.make(t, secret)
	return secret
}

// change is a try to patch an object.
func change[O client.Object](s *thief, object O, edit func(O)) func(*testing.T, client.Client) error {
	return func(t *testing.T, api client.Client) error {
		edited, _ := object.DeepCopyObject().(O)
		edit(edited)
		return api.Patch(t.Context(), edited, client.MergeFrom(object))
	}
}

func (s *thief) updateConfigs(t *testing.T) {
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: s.meta()}
	s.make(t, config)
	s.allowed(t, "its finalizer", change(s, config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Finalizers = append(c.Finalizers, bootstrapv1.ConfigFinalizer)
	}))
	tryMetadata(t, s, config, "config", "own-finalizers")
	attempt(t, s.refused("own-finalizers", "adds a script to a config", change(s, config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.Spec.Custom.PreJoin = []bootstrapv1.CustomScript{{Name: "evil", Content: "exit 0"}}
	})))
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
		"lets go of a %s that others hold":     func(o O) { o.SetFinalizers(nil) },
		"holds a %s for others":                func(o O) { o.SetFinalizers(append(o.GetFinalizers(), "example.com/more")) },
		"labels a %s":                          func(o O) { o.SetLabels(map[string]string{"a": "c"}) },
		"takes the labels off a %s":            func(o O) { o.SetLabels(nil) },
		"annotates a %s":                       func(o O) { o.SetAnnotations(more(o.GetAnnotations(), "c", "d")) },
		"changes an annotation of a %s":        func(o O) { o.SetAnnotations(map[string]string{"a": "c"}) },
		"takes the annotations off a %s":       func(o O) { o.SetAnnotations(nil) },
		"takes the owner off a %s":             func(o O) { o.SetOwnerReferences(nil) },
		"gives a %s an owner that is not real": func(o O) { o.SetOwnerReferences(append(o.GetOwnerReferences(), unreal)) },
	} {
		attempt(t, s.refused(policy, fmt.Sprintf(tries, what), change(s, object, edit)))
	}
}

// unreal is an owner because of which the garbage collector would remove what has it alone.
var unreal = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "unreal", UID: "77777777-2222-3333-4444-555555555555"}

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
	s.allowed(t, "an event about its kind", create(own))
	pod := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: s.namespace, Name: "m"}
	impostor := own
	impostor.APIVersion = "example.com/v1"
	made := s.event(own)
	s.make(t, made)
	others := s.event(pod)
	s.make(t, others)
	count := func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NowMicro()} }
	s.allowed(t, "the count of an event", change(s, made, count))
	attempt(t, s.refused("own-events", "writes an event about a Pod", create(pod)),
		s.refused("own-events", "writes an event about a kind of the same name", create(impostor)),
		s.refused("own-events", "writes an event about nothing", create(corev1.ObjectReference{Namespace: s.namespace})),
		s.refused("own-events", "rewrites an event of others", change(s, others, count)),
		s.refused("own-events", "writes an old event about a Pod", func(t *testing.T, api client.Client) error {
			home := fmt.Sprintf("capwin-%s-system", s.component)
			old := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: s.name()}, InvolvedObject: pod}
			old.InvolvedObject.Namespace = home
			return api.Create(t.Context(), old)
		}))
}

func (s *thief) event(about corev1.ObjectReference) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name()}, Regarding: about, Type: corev1.EventTypeNormal,
		EventTime: metav1.NowMicro(), ReportingController: "c", ReportingInstance: "i", Action: "a", Reason: "r",
	}
}

func (s *thief) updateMachines(t *testing.T) {
	machine := &infrav1.WindowsMachine{ObjectMeta: s.meta(), Spec: infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{
		IdentityRef: infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: "cloud"}, Datacenter: "dc0",
	}}}
	s.make(t, machine)
	s.allowed(t, "identity, server and finalizer", change(s, machine, func(m *infrav1.WindowsMachine) {
		m.Spec.ProviderID = "vsphere://42064d55-dcf3-6be7-3ac7-e1a4d3b70bd4"
		m.Annotations[infrav1.ServerAnnotation] = "11111111-2222-3333-4444-555555555555"
		m.Finalizers = append(m.Finalizers, infrav1.MachineFinalizer)
	}))
	tryMetadata(t, s, machine, "machine", "own-machines")
	attempt(t, s.refused("own-machines", "moves a machine to another login", change(s, machine, func(m *infrav1.WindowsMachine) {
		m.Spec.VSphere.IdentityRef.Name = "another"
	})))
}

func (s *thief) createClaims(t *testing.T) {
	create := func(edit func(*ipamv1.IPAddressClaim)) func(*testing.T, client.Client) error {
		return func(t *testing.T, api client.Client) error {
			claim := s.claim()
			edit(claim)
			return api.Create(t.Context(), claim)
		}
	}
	s.allowed(t, "a claim", create(func(*ipamv1.IPAddressClaim) {}))
	for tries, edit := range map[string]func(*ipamv1.IPAddressClaim){
		"claims an address without an owner":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences = nil },
		"claims an address for another kind":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Kind = "Cluster" },
		"claims for a kind of the same name":   func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].APIVersion = "example.com/v1" },
		"claims in the name of others":         func(c *ipamv1.IPAddressClaim) { c.Name = "node-7" },
		"claims beside an owner":               func(c *ipamv1.IPAddressClaim) { c.OwnerReferences[0].Controller = nil },
		"claims an address and keeps it":       func(c *ipamv1.IPAddressClaim) { c.Finalizers = []string{"example.com/keep"} },
		"claims with an annotation":            func(c *ipamv1.IPAddressClaim) { c.Annotations = map[string]string{"a": "b"} },
		"claims with a label that others read": func(c *ipamv1.IPAddressClaim) { c.Labels["a"] = "b" },
	} {
		attempt(t, s.refused("own-claims", tries, create(edit)))
	}
}

// claim is one as the manager makes it.
func (s *thief) claim() *ipamv1.IPAddressClaim {
	machine := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Name: s.name(), UID: "11111111-2222-3333-4444-555555555555"}}
	return &ipamv1.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: machine.Name + "-0-0",
			Labels:          map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.WatchLabel: "w"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(machine, infrav1.GroupVersion.WithKind("WindowsMachine"))},
		},
		Spec: ipamv1.IPAddressClaimSpec{PoolRef: ipamv1.IPPoolReference{APIGroup: "example.com", Kind: "Pool", Name: "nodes"}},
	}
}

func (s *thief) updateAddresses(t *testing.T) {
	claim := s.claim()
	claim.ObjectMeta = s.meta()
	address := &ipamv1.IPAddress{ObjectMeta: s.meta(), Spec: ipamv1.IPAddressSpec{
		ClaimRef: ipamv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef, Address: "192.0.2.5", Prefix: new(int32(24)),
	}}
	s.make(t, claim)
	s.make(t, address)
	for _, o := range []client.Object{claim, address} {
		s.allowed(t, "its finalizer", change(s, o, func(o client.Object) {
			o.SetFinalizers(append(o.GetFinalizers(), infrav1.AddressFinalizer))
		}))
	}
	tryMetadata(t, s, claim, "claim", "own-finalizers")
	tryMetadata(t, s, address, "address", "own-finalizers")
}
