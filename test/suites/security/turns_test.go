package security

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// identityNamespace has the identities of all tenants, and allows every namespace to use them.
const identityNamespace = "identities"

func azureIdentity(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"type": "ServicePrincipal", "tenantID": armsim.Tenant, "clientID": armsim.ClientID, "allowedNamespaces": map[string]any{},
		"clientSecret": map[string]any{"name": name},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: identities.Kind,
	})
	o.SetNamespace(identityNamespace)
	o.SetName(name)
	return o
}

// office is a keeper of identities that runs, in a bubble, and the API server that it reads.
type office struct {
	*identities.Keeper
	api client.Client
}

func newOffice(t *testing.T) office {
	t.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	})
	definition.SetName("azureclusteridentities.infrastructure.cluster.x-k8s.io")
	definition.SetLabels(map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"})
	o := office{api: clientfake.NewClientBuilder().WithObjects(definition, azureIdentity("honest"), proofOf("old"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "honest"}}).Build()}
	o.Keeper = &identities.Keeper{Live: o.api}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Start(ctx) }()
	t.Cleanup(func() {
		end()
		expect.OK(t, <-ended)
	})
	return o
}

func proofOf(secret string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: identityNamespace, Name: "honest"},
		Data:       map[string][]byte{"clientSecret": []byte(secret)},
	}
}

// ask has the machines of a namespace use identities.
func (o office) ask(namespace string, names ...types.NamespacedName) (rights identities.Rights, err error) {
	for i, name := range names {
		machine := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("m", i)}
		rights, err = o.Of(azure.Provider{}, identities.Use{Machine: machine, Identity: name})
	}
	return rights, err
}

// has reports whether the honest namespace has the rights with a secret.
func (o office) has(secret string) bool {
	rights, err := o.ask("honest", types.NamespacedName{Namespace: identityNamespace, Name: "honest"})
	return err == nil && string(rights.Data["clientSecret"]) == secret
}

// crowdOut has a namespace name identities, at once and then more of them each minute. Another namespace's first machine, and the
// new secret of its identity, wait no longer than if there were one more namespace.
func crowdOut(in string) func(*testing.T) string {
	return func(t *testing.T) (verdict string) {
		synctest.Test(t, func(t *testing.T) {
			o, next := newOffice(t), 0
			more := func(n int) (names []types.NamespacedName) {
				for range n {
					names = append(names, types.NamespacedName{Namespace: in, Name: fmt.Sprint("x", next)})
					next++
				}
				return names
			}
			first := more(1000)
			crowd := func() {
				_, err := o.ask("evil", append(first, more(10)...)...)
				expect.Same(t, "it is refused or waits", true, err != nil && (errors.Is(err, phase.ErrAwaited) || err.Error() != ""))
			}
			for range 60 {
				crowd()
				<-time.After(10 * time.Second)
			}
			until := func(secret string) time.Duration {
				began := time.Now()
				for !o.has(secret) && time.Since(began) < time.Hour {
					crowd()
					<-time.After(time.Second)
				}
				return time.Since(began)
			}
			waited := until("old")
			for range 60 {
				crowd()
				<-time.After(time.Second)
			}
			expect.OK(t, o.api.Update(t.Context(), proofOf("new")))
			changed := until("new")
			if waited > 5*time.Second || changed > 30*time.Second {
				t.Errorf("the first machine of another namespace waits %s, and its new secret is seen after %s", waited, changed)
			}
			verdict = fmt.Sprintf("another namespace's machine waits %s, and its new secret %s", waited, changed)
		})
		return verdict
	}
}

// TestTurnsOfIdentities: a tenant who names many identities wants other tenants to wait for theirs.
func TestTurnsOfIdentities(t *testing.T) {
	t.Parallel()
	attemptKind(t,
		attack{"tenant", "names a thousand identities of their own, and ten new ones each second", crowdOut("evil")},
		attack{
			"tenant", "names a thousand identities in the namespace in which those of all tenants are, and ten new ones each second",
			crowdOut(identityNamespace),
		},
	)
}
