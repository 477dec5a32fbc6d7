package machine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// lending is a cloud that lends each identity to everybody, and notes for which cloud it was asked. Without one it lends nothing.
type lending struct {
	placing
	clouds *[]string
}

func (l lending) Allow(by cloud.Asker, identity *unstructured.Unstructured) (cloud.Grant, error) {
	*l.clouds = append(*l.clouds, by.Cloud)
	if identity == nil {
		return cloud.Grant{}, cloud.Errorf(cloud.Denied, infrav1.CredentialsMissingReason, "the manager's own is for nobody")
	}
	return cloud.Grant{Secret: cloud.Key{Namespace: identity.GetNamespace(), Name: "proof"}}, nil
}

func (l lending) As(cloud.Grant) cloud.Provider { return l }

func (l lending) Connect(namespace string, data map[string][]byte) (cloud.Cloud, error) {
	account, err := l.Provider.Connect(namespace, data)
	return tenanted{account}, err
}

// tenanted is an account in a tenant.
type tenanted struct{ cloud.Cloud }

func (tenanted) ShowTenant(status *infrav1.WindowsMachineStatus) { status.Azure.TenantID = "a tenant" }

// identityStage has an identity in each of two namespaces, of which one goes with end.
func identityStage(t *testing.T) (r *Reconciler, world *fake.World, clouds *[]string, end func()) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("azureclusteridentities.infrastructure.cluster.x-k8s.io")
	crd.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"})
	objects := []client.Object{crd, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}}
	var own *unstructured.Unstructured // the last one
	for _, of := range []client.ObjectKey{{Namespace: "identities", Name: "theirs"}, {Namespace: "ns", Name: "own"}} {
		namespace, name := of.Namespace, of.Name
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AzureClusterIdentity"))
		o.SetNamespace(namespace)
		o.SetName(name)
		own = o
		proof := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "proof"}}
		proof.Data = map[string][]byte{"clientSecret": []byte("secret"), "server": []byte(name)}
		objects = append(objects, o, proof)
	}
	live := kubefake.NewClientBuilder().WithObjects(objects...).Build()
	world, clouds = &fake.World{}, &[]string{}
	asked := 0
	r = &Reconciler{Clouds: inClouds(lending{placing{fake.Provider{World: world}, &asked}, clouds})}
	r.Accounts = &accounts.Register{Changed: func(...cloud.Key) {}, Now: time.Now}
	r.Identities = &identities.Keeper{Live: live}
	r.Credentials = &credentials.Keeper{}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 2)
	go func() { over <- r.Accounts.Start(ctx) }()
	go func() { over <- r.Identities.Start(ctx) }()
	synctest.Wait()
	t.Cleanup(func() { cancel(); expect.OK(t, <-over); expect.OK(t, <-over) })
	return r, world, clouds, func() { t.Helper(); expect.OK(t, live.Delete(t.Context(), own)) }
}

// identified is a machine with an identity in its spec, and what its status says of its place.
func identified(ref infrav1.IdentityReference, at *infrav1.AzurePlacement) *facts {
	f := world(placed(""))
	f.windows.Spec.IdentityRef, f.windows.Status.Azure = ref, at
	return f
}

// connected connects once all is read that is needed for it.
func connected(t *testing.T, r *Reconciler, f *facts) error {
	t.Helper()
	for range 5 {
		if err := r.connect(t.Context(), f); !errors.Is(err, phase.ErrAwaited) {
			return err
		}
		<-time.After(time.Second)
	}
	return phase.ErrAwaited
}

// TestConnectAs: a machine acts as the identity in its spec, or that of its place; it says whose account it has, and asks for the
// cloud of its place.
func TestConnectAs(t *testing.T) {
	named := infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: "own"}
	theirs := infrav1.AzureIdentity{Namespace: "identities", Name: "theirs"}
	for name, c := range map[string]struct {
		ref                          infrav1.IdentityReference
		at                           *infrav1.AzurePlacement
		account, server, asks, error string
	}{
		"of the spec": {named, nil, "AzureClusterIdentity ns/own", "own", "", ""},
		"of the spec, before that of the place": {
			named, &infrav1.AzurePlacement{Cloud: "China", Identity: theirs}, "AzureClusterIdentity ns/own", "own", "China", "",
		},
		"of the place": {
			infrav1.IdentityReference{},
			&infrav1.AzurePlacement{Cloud: "China", Identity: theirs},
			"AzureClusterIdentity identities/theirs", "theirs", "China", "",
		},
		"the manager's own": {infrav1.IdentityReference{}, nil, "", "", "", "is for nobody"},
		"of another kind":   {infrav1.IdentityReference{Kind: "Other", Name: "own"}, nil, "", "", "", "does not support"},
		"one that is gone": {
			infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: "gone"}, nil, "", "", "", "does not exist; create it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _, clouds, _ := identityStage(t)
				f := identified(c.ref, c.at)
				expect.Says(t, "connect", connected(t, r, f), c.error)
				expect.Same(t, "account", c.account, f.account)
				for _, asks := range *clouds {
					expect.Same(t, "cloud that is asked for", c.asks, asks)
				}
				if c.error == "" {
					expect.Same(t, "server", c.server, expect.Got(f.cloud.Server(t.Context(), cloud.Key{}))(t))
				}
			})
		})
	}
}

// TestIdentityGoes: the account of an identity that is gone is closed at once.
func TestIdentityGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, world, _, end := identityStage(t)
		f := identified(infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: "own"}, nil)
		expect.OK(t, connected(t, r, f))
		<-time.After(time.Minute)
		expect.OK(t, connected(t, r, f))
		synctest.Wait()
		expect.Same(t, "sessions", 1, world.Sessions())
		end()
		<-time.After(time.Minute)
		expect.Says(t, "connect", connected(t, r, f), "does not exist")
		<-time.After(time.Minute)
		expect.Same(t, "sessions in the end", 0, world.Sessions())
	})
}

// TestIdentityGoesBeforeItsVMs: rights that are gone serve deletions of VMs that are proved, or have the machine's own name.
func TestIdentityGoesBeforeItsVMs(t *testing.T) {
	deleted := func(f *facts) { f.windows.DeletionTimestamp = new(metav1.Now()) }
	for what, c := range map[string]struct {
		change func(f *facts)
		says   string
	}{
		"a VM of the machine's own name": {func(f *facts) { deleted(f); f.derived = true }, ""},
		"a proved one": {func(f *facts) {
			deleted(f)
			f.windows.Status.Azure = &infrav1.AzurePlacement{AzureRecord: infrav1.AzureRecord{VMID: "id", Server: "server"}}
		}, ""},
		"another":             {deleted, "does not exist"},
		"one that is to stay": {func(f *facts) { f.derived = true }, "does not exist"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _, _, end := identityStage(t)
			f := identified(infrav1.IdentityReference{Kind: infrav1.IdentityAzureCluster, Name: "own"}, nil)
			expect.OK(t, connected(t, r, f))
			end()
			<-time.After(time.Minute)
			c.change(f)
			expect.Says(t, what, connected(t, r, f), c.says)
		})
	}
}

// TestNoteTenant: the tenant is written down once, and asks for nothing where there is no place, or no account. No cloud is
// connected to before Linux is there.
func TestNoteTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, clouds, _, _ := identityStage(t)
		node := corev1.Node{}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		r.Workload, r.Client, r.Now = linuxNodes{}, newPhaseStage(t).Client, time.Now
		noteTenant := phase.Unless(knowsTenant, r.noteTenant)
		theirs := infrav1.AzureIdentity{Namespace: "identities", Name: "theirs"}
		for name, c := range map[string]struct {
			at   *infrav1.AzurePlacement
			want string
		}{
			"none yet": {&infrav1.AzurePlacement{Identity: theirs}, "a tenant"},
			"known":    {&infrav1.AzurePlacement{Identity: theirs, TenantID: "known"}, "known"},
		} {
			f := identified(infrav1.IdentityReference{}, c.at)
			f.cluster.Status.Initialization.ControlPlaneInitialized = new(true)
			if name != "known" {
				r.Workload = linuxNodes{}
				expect.Says(t, "without Linux", noteTenant(t.Context(), f), "WaitingForLinuxNode")
				expect.Same(t, "without Linux: it connects", false, f.cloud != nil)
				expect.Same(t, "sessions", 0, clouds.Sessions())
			}
			r.Workload = linuxNodes{node}
			for range 5 {
				if !errors.Is(noteTenant(t.Context(), f), phase.ErrAwaited) {
					break
				}
				<-time.After(time.Second)
			}
			expect.Same(t, name, c.want, c.at.TenantID)
			expect.Same(t, name+": it connects", name != "known", f.cloud != nil)
		}
		nowhere := identified(infrav1.IdentityReference{}, nil)
		expect.OK(t, noteTenant(t.Context(), nowhere))
		nobodys := identified(infrav1.IdentityReference{}, &infrav1.AzurePlacement{})
		nobodys.cluster.Status.Initialization.ControlPlaneInitialized = new(true)
		expect.Says(t, "without an account", noteTenant(t.Context(), nobodys), "is for nobody")
	})
}

// TestHolderOfASecret: machines of several clouds share a Secret, but no account.
func TestHolderOfASecret(t *testing.T) {
	secret := client.ObjectKey{Namespace: "ns", Name: "azure"}
	for of, want := range map[infrav1.AzureCloud]string{
		"": "azure", infrav1.AzurePublicCloud: "azure", infrav1.AzureChinaCloud: "azure in AzureChinaCloud",
	} {
		f := identified(infrav1.IdentityReference{}, &infrav1.AzurePlacement{Cloud: of})
		_, holder := inItsCloud(*f.clouds.Part(f.windows).Place, azure.Provider{}, secret)
		expect.Same(t, "holder in "+string(of), cloud.Key{Namespace: "ns", Name: want}, holder)
	}
}

// TestNotReadYet: a Secret that was not read yet is waited for, and a place that cannot be written is none.
func TestNotReadYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		expect.Same(t, "connect waits", true, errors.Is(s.connect(t.Context(), s.read(t)), phase.ErrAwaited))
		asked := 0
		synctest.Wait() // nobody else reads the clouds any more
		s.Clouds, s.fails["patch WindowsMachine status"] = inClouds(placing{asked: &asked}), errPhase
		f := s.read(t)
		f.windows.Spec.Azure.Location = "westeurope"
		expect.Says(t, "place", s.place(t.Context(), f), "etcdserver: request timed out")
	})
}
