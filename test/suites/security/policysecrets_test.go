package security

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// ours is a bootstrap Secret as the manager writes it.
func ours(namespace, name string) *corev1.Secret {
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: name, UID: forged}}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
			Annotations: map[string]string{bootstrapv1.RenderedGenerationAnnotation: "1"},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")),
			},
		},
		Type: clusterv1.ClusterSecretType, Immutable: new(true),
		Data: map[string][]byte{
			"value": []byte("v"), "format": []byte("cloudbase-init"), "token": []byte("t"), "warnings": []byte("w"),
		},
	}
}

func (s *thief) createSecrets(t *testing.T) {
	for tries, change := range map[string]func(*corev1.Secret){
		"makes the API server write a token of an account of kube-system": func(o *corev1.Secret) {
			o.Namespace, o.Type = metav1.NamespaceSystem, corev1.SecretTypeServiceAccountToken
			o.Annotations[corev1.ServiceAccountNameKey] = "clusterrole-aggregation-controller"
		},
		"makes a bootstrap token of the management cluster": func(o *corev1.Secret) {
			o.Namespace, o.Type = metav1.NamespaceSystem, "bootstrap.kubernetes.io/token"
		},
		"makes the kubeconfig of a Cluster": func(o *corev1.Secret) {
			o.Name, o.OwnerReferences[0].Name = "blue-kubeconfig", "blue-kubeconfig"
		},
		"makes an Opaque Secret":            func(o *corev1.Secret) { o.Type = corev1.SecretTypeOpaque },
		"makes a Secret that can change":    func(o *corev1.Secret) { o.Immutable = nil },
		"makes a Secret without an owner":   func(o *corev1.Secret) { o.OwnerReferences = nil },
		"forges an owner of another kind":   func(o *corev1.Secret) { o.OwnerReferences[0].Kind = "Cluster" },
		"forges an owner of another name":   func(o *corev1.Secret) { o.OwnerReferences[0].Name = "another" },
		"forges an owner without control":   func(o *corev1.Secret) { o.OwnerReferences[0].Controller = nil },
		"forges an owner of another group":  func(o *corev1.Secret) { o.OwnerReferences[0].APIVersion = "example.com/v1" },
		"adds an owner to a Secret of ours": func(o *corev1.Secret) { o.OwnerReferences = append(o.OwnerReferences, s.stranger) },
		"makes a cluster authority":         func(o *corev1.Secret) { o.Data[corev1.TLSPrivateKeyKey] = []byte("k") },
		"leaves the Cluster out":            func(o *corev1.Secret) { o.Labels = map[string]string{"a": "b"} },
		"leaves the generation out":         func(o *corev1.Secret) { o.Annotations = map[string]string{"a": "b"} },
		"adds a label":                      func(o *corev1.Secret) { o.Labels["a"] = "b" },
		"adds an annotation":                func(o *corev1.Secret) { o.Annotations["a"] = "b" },
		"makes a Secret that cannot go":     func(o *corev1.Secret) { o.Finalizers = []string{"example.com/keep"} },
	} {
		attempt(t, s.refused("own-secrets", tries, func(t *testing.T, api client.Client) error {
			o := ours(s.namespace, s.name())
			change(o)
			return api.Create(t.Context(), o)
		}))
	}
	for _, end := range []string{"ca", "etcd", "proxy", "sa", "apiserver-etcd-client"} {
		attempt(t, s.refused("own-secrets", "takes the name of a Cluster's "+end+" before the Cluster does",
			func(t *testing.T, api client.Client) error {
				return api.Create(t.Context(), ours(s.namespace, "blue-"+end))
			}))
	}
	s.allowed(t, "a bootstrap Secret", func(t *testing.T, api client.Client) error {
		return api.Create(t.Context(), ours(s.namespace, s.name()))
	})
}

func (s *thief) updateSecrets(t *testing.T) {
	lost := func(o *corev1.Secret) { o.OwnerReferences = []metav1.OwnerReference{s.stranger} }
	adopt := func(o *corev1.Secret) {
		o.OwnerReferences = append(o.OwnerReferences, ours(s.namespace, o.Name).OwnerReferences...)
	}
	none := func(*corev1.Secret) {}
	for tries, c := range map[string]struct{ before, change func(*corev1.Secret) }{
		"rewrites a Secret of a tenant":                 {foreign, func(o *corev1.Secret) { o.Data["password"] = []byte("stolen") }},
		"owns a Secret of a tenant, to have it removed": {foreign, adopt},
		"owns a bootstrap Secret without our mark": {
			func(o *corev1.Secret) { lost(o); o.Annotations = nil }, adopt,
		},
		"gives a bootstrap Secret a second owner": {none, func(o *corev1.Secret) {
			o.OwnerReferences = append(o.OwnerReferences, s.stranger)
		}},
		"takes the owner off a bootstrap Secret": {none, func(o *corev1.Secret) { o.OwnerReferences = nil }},
		"swaps the owner of a bootstrap Secret":  {none, func(o *corev1.Secret) { o.OwnerReferences[0].UID = s.stranger.UID }},
		"takes another owner off as it adopts": {lost, func(o *corev1.Secret) {
			o.OwnerReferences = nil
			adopt(o)
		}},
		"adopts for a config of another name": {lost, func(o *corev1.Secret) {
			adopt(o)
			o.OwnerReferences[1].Name = "another"
		}},
		"labels as it adopts": {lost, func(o *corev1.Secret) { adopt(o); o.Labels["a"] = "b" }},
		"annotates as it adopts": {lost, func(o *corev1.Secret) {
			adopt(o)
			o.Annotations[bootstrapv1.RenderedGenerationAnnotation] = "2"
		}},
		"holds a Secret as it adopts": {lost, func(o *corev1.Secret) {
			adopt(o)
			o.Finalizers = []string{bootstrapv1.ConfigFinalizer}
		}},
		"changes data as it adopts": {
			func(o *corev1.Secret) { lost(o); o.Immutable = nil },
			func(o *corev1.Secret) {
				adopt(o)
				o.Immutable, o.Data["value"] = new(true), []byte("stolen")
			},
		},
	} {
		attempt(t, s.refused("own-secrets", tries, change(s.secret(t, c.before), c.change)))
	}
	s.allowed(t, "the owner of a Secret that lost it", change(s.secret(t, lost), adopt))
	s.allowed(t, "the owner of a Secret of 1 MiB", change(s.secret(t, func(o *corev1.Secret) {
		lost(o)
		o.Data["value"] = bytes.Repeat([]byte("x"), 1<<20-100)
	}), adopt))
}

// foreign makes a Secret a tenant's own.
func foreign(o *corev1.Secret) {
	*o = corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Data: map[string][]byte{"password": []byte("p")},
	}
}

// secret is one in the API server, made by the manager and changed by time.
func (s *thief) secret(t *testing.T, change func(*corev1.Secret)) *corev1.Secret {
	t.Helper()
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name()}}
	s.make(t, config)
	o := ours(s.namespace, config.Name)
	o.OwnerReferences[0].UID = config.UID // or the garbage collector removes it
	change(o)
	s.make(t, o)
	return o
}

// holdCredentials has the infrastructure manager's account do more to a Secret than hold it and let it go.
func (s *thief) holdCredentials(t *testing.T) {
	login := map[string][]byte{"server": []byte("s"), "username": []byte("u"), "password": []byte("p")}
	secret := &corev1.Secret{ObjectMeta: s.meta(), Data: login}
	s.make(t, secret)
	// To compare much must not cost more than the API server allows a policy.
	large := &corev1.Secret{ObjectMeta: s.meta(), Data: map[string][]byte{"clientSecret": []byte("c")}}
	for i := range 31 {
		large.Data[string(rune('a'+i%26))+"-"+string(rune('a'+i/26))] = bytes.Repeat([]byte("x"), 31<<10)
	}
	s.make(t, large)
	tryMetadata(t, s, secret, "a Secret", "own-finalizers")
	with := func(finalizer string) func(*corev1.Secret) {
		return func(o *corev1.Secret) { o.Finalizers = append(o.Finalizers, finalizer) }
	}
	for tries, edit := range map[string]func(*corev1.Secret){
		"holds a Secret as it holds addresses": with(infrav1.AddressFinalizer),
		"holds a Secret as it holds machines":  with(infrav1.MachineFinalizer),
		"writes a password":                    func(o *corev1.Secret) { o.Data["password"] = []byte("q") },
		"writes a server":                      func(o *corev1.Secret) { o.Data["server"] = []byte("evil.example.com") },
		"adds a key to a Secret":               func(o *corev1.Secret) { o.Data["thumbprint"] = []byte("evil") },
		"empties a Secret":                     func(o *corev1.Secret) { o.Data = nil },
		"makes a Secret immutable":             func(o *corev1.Secret) { o.Immutable = new(true) },
		"writes data while it holds a Secret": func(o *corev1.Secret) {
			o.Finalizers = append(o.Finalizers, infrav1.CredentialsFinalizer)
			o.Data["password"] = []byte("q")
		},
	} {
		attempt(t, s.refused("own-finalizers", tries, change(secret, edit)))
	}
	hold := with(infrav1.CredentialsFinalizer)
	s.allowed(t, "its finalizer on a Secret", change(secret, hold))
	s.allowed(t, "its finalizer on a Secret of 1 MiB", change(large, hold))
	for tries, o := range map[string]*corev1.Secret{
		"holds a token of a service account": {Type: "example.com/token", Data: login},
		"holds a password of a node":         {Type: corev1.SecretTypeBasicAuth, Data: login},
		"holds a kubeconfig":                 {Data: map[string][]byte{"value": []byte("k")}},
		"holds a Secret of half a login":     {Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}},
		"holds an empty Secret":              {},
	} {
		o.ObjectMeta = s.meta()
		s.make(t, o)
		attempt(t, s.refused("own-finalizers", tries, change(o, hold)))
	}
	for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.name()}, Data: login}
		s.make(t, o)
		attempt(t, s.refused("own-finalizers", "holds a Secret of "+namespace, change(o, hold)))
	}
	going := &corev1.Secret{ObjectMeta: s.meta(), Data: login}
	s.make(t, going)
	expect.OK(t, shared.Client.Delete(t.Context(), going))
	expect.OK(t, shared.Client.Get(t.Context(), client.ObjectKeyFromObject(going), going))
	attempt(t, attack{by: s.component + " account", tries: "holds a Secret that is being deleted", try: func(t *testing.T) string {
		if err := change(going, hold)(t, s.Client); !apierrors.IsInvalid(err) {
			t.Errorf("want it refused, got: %v", err)
		}
		return "refused by the API server"
	}})
	s.letGo(t)
}

// letGo takes its finalizer off Secrets as they are now, whatever they were when they were held.
func (s *thief) letGo(t *testing.T) {
	for what, change := range map[string]func(*corev1.Secret){
		"an empty Secret":          func(*corev1.Secret) {},
		"a Secret of another type": func(o *corev1.Secret) { o.Type = "example.com/other" },
		"a Secret of a namespace of the cluster": func(o *corev1.Secret) {
			o.Namespace, o.OwnerReferences = metav1.NamespaceSystem, nil
		},
	} {
		held := &corev1.Secret{ObjectMeta: s.meta()}
		held.Finalizers = append(held.Finalizers, infrav1.CredentialsFinalizer)
		change(held)
		s.make(t, held)
		s.allowed(t, "to let go "+what, s.lettingGo(held))
		expect.OK(t, shared.Client.Delete(t.Context(), held))
		expect.OK(t, shared.Client.Get(t.Context(), client.ObjectKeyFromObject(held), held))
		s.allowed(t, "to let go "+what+" that is being deleted", s.lettingGo(held))
	}
}

func (s *thief) lettingGo(held *corev1.Secret) func(*testing.T, client.Client) error {
	return change(held, func(o *corev1.Secret) { o.Finalizers = o.Finalizers[:1] })
}

// holdIdentities has the account do more to an AzureClusterIdentity than hold it and let it go.
func (s *thief) holdIdentities(t *testing.T) {
	expect.OK(t, servers.InstallCAPZ(t.Context(), shared.Management))
	identity := s.identity(s.namespace)
	s.make(t, identity)
	tryMetadata(t, s, identity, "an identity", "own-finalizers")
	set := func(value any, fields ...string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			expect.OK(t, unstructured.SetNestedField(o.Object, value, fields...))
		}
	}
	hold := func(o *unstructured.Unstructured) {
		o.SetFinalizers(append(o.GetFinalizers(), infrav1.CredentialsFinalizer))
	}
	for tries, edit := range map[string]func(*unstructured.Unstructured){
		"allows all namespaces":   set(map[string]any{}, "spec", "allowedNamespaces"),
		"allows a namespace more": set([]any{"a", "evil"}, "spec", "allowedNamespaces", "list"),
		"writes another client":   set("21111111-2222-3333-4444-555555555555", "spec", "clientID"),
		"names another Secret":    set("evil", "spec", "clientSecret", "name"),
		"changes the type":        set("WorkloadIdentity", "spec", "type"),
	} {
		attempt(t, s.refused("own-finalizers", tries, change(identity, edit)))
	}
	s.allowed(t, "its finalizer on an identity", change(identity, hold))
	system := s.identity(metav1.NamespaceSystem)
	s.make(t, system)
	attempt(t, s.refused("own-finalizers", "holds an identity of kube-system", change(system, hold)))
	held := s.identity(s.namespace)
	hold(held)
	s.make(t, held)
	s.allowed(t, "to let an identity go", change(held, func(o *unstructured.Unstructured) {
		o.SetFinalizers(o.GetFinalizers()[:1])
	}))
}

func (s *thief) identity(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"type": "ServicePrincipal", "tenantID": "11111111-2222-3333-4444-555555555555",
		"clientID": "11111111-2222-3333-4444-555555555555", "clientSecret": map[string]any{"name": "proof", "namespace": namespace},
		"allowedNamespaces": map[string]any{"list": []any{"a"}},
	}}}
	o.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AzureClusterIdentity"))
	meta := s.meta()
	o.SetNamespace(namespace)
	o.SetName(meta.Name)
	o.SetFinalizers(meta.Finalizers)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	if namespace == s.namespace {
		o.SetOwnerReferences(meta.OwnerReferences)
	}
	return o
}
