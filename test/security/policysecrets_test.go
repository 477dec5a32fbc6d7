package security

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
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
	secret := &corev1.Secret{ObjectMeta: s.meta(), Data: map[string][]byte{"password": []byte("p")}}
	s.make(t, secret)
	// To compare much must not cost more than the API server allows a policy.
	large := &corev1.Secret{ObjectMeta: s.meta(), Data: map[string][]byte{}}
	for i := range 32 {
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
		"adds a key to a Secret":               func(o *corev1.Secret) { o.Data["server"] = []byte("evil.example.com") },
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
	held := &corev1.Secret{ObjectMeta: s.meta()}
	held.Finalizers = append(held.Finalizers, infrav1.CredentialsFinalizer)
	s.make(t, held)
	s.allowed(t, "to let a Secret go", change(held, func(o *corev1.Secret) { o.Finalizers = o.Finalizers[:1] }))
}
