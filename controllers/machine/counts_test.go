package machine

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestFullNamespace: in a namespace that has as many accounts as it may have, a machine without a VM waits, and is woken when
// there is room. One that had its VM, may have one, or is being deleted gets its account.
func TestFullNamespace(t *testing.T) {
	woken := make(chan cloud.Key, 10)
	r := &Reconciler{Accounts: &accounts.Register{Changed: cloudtest.Into(woken)}}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Accounts.Start(ctx) }()
	defer func() { end(); expect.OK(t, <-ended) }()
	open := func(account string, change ...func(*facts)) (*facts, error) {
		f := world(change...)
		f.windows.Name = account
		proof := map[string][]byte{"clientSecret": []byte(account)}
		return f, r.open(f, fake.Provider{World: &fake.World{}}, types.NamespacedName{Namespace: "ns", Name: account}, proof)
	}
	wait.Eventually(t, "the register to start", func(context.Context) error {
		_, err := open("0")
		return err
	})
	for i := range 16 {
		_, err := open(fmt.Sprint(i))
		expect.OK(t, err)
	}
	_, err := open("new")
	expect.Same(t, "a new machine", infrav1.TooManyAccountsReason, phase.Of(err).Reason)
	finalizer := func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }
	for name, change := range map[string][]func(*facts){
		"had-its-vm":   {func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }},
		"may-have-one": {finalizer},
		"is-deleted":   {finalizer, func(f *facts) { f.windows.DeletionTimestamp = new(metav1.Now()) }},
	} {
		f, err := open(name, change...)
		expect.Same(t, name, true, err == nil && f.cloud != nil)
	}
	for i := range 3 {
		r.Accounts.Gone(fake.Provider{}, types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)})
	}
	expect.Same(t, "woken while it is full", 0, len(woken))
	r.Accounts.Gone(fake.Provider{}, types.NamespacedName{Namespace: "ns", Name: "3"})
	expect.Same(t, "woken", "ns/new", (<-woken).String())
	_, err = open("new")
	expect.OK(t, err)
}
