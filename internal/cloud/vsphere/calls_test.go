package vsphere

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// watched runs an account's watch and returns the keys that it sends. It is in sync when it returns.
func watched(t *testing.T, a *account) <-chan cloud.Key {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	keys, ended := make(chan cloud.Key, 1000), make(chan error, 1)
	go func() { ended <- a.Watch(ctx, cloudtest.Into(keys)) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	wait.Until(t, "the inventory to be in sync", func() (any, bool) {
		return len(a.inventory.Machines()), hasListed(a)
	})
	return keys
}

// driven calls step once for each time that the machine's key is sent, as the controllers do, until it is done.
func driven(t *testing.T, keys <-chan cloud.Key, m cloud.Machine, step func() bool) {
	t.Helper()
	for deadline := time.After(wait.Patience); !step(); {
		for other := true; other; {
			select {
			case key := <-keys:
				other = key != m.Key
			case <-deadline:
				t.Fatal("no key was sent and the machine is not done")
			}
		}
	}
}

// TestCalls pins what a machine costs: the reason for all of the inventory, the ledger and the watch.
func TestCalls(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a := v.account()
	list := holdLists(a)
	keys := watched(t, a)
	ensured := func(m cloud.Machine) func() bool {
		return func() bool {
			vm, err := a.Ensure(t.Context(), m)
			v.Must(err)
			return vm.State == cloud.Running
		}
	}
	first, m := v.machine("first"), v.machine("m")
	driven(t, keys, first, ensured(first))
	awaitGuests(t, a, first)

	v.Count()
	release := v.HoldClones()
	if ensured(m)() {
		t.Fatal("the VM runs before it is made")
	}
	compare(t, "asking for a VM", v, map[string]int{"CloneVM_Task": 1})
	for range 5 {
		ensured(m)()
		expect.Got(a.Server(t.Context(), cloud.Key{}))(t)
	}
	compare(t, "while it is being made", v, map[string]int{})
	release()
	list()
	driven(t, keys, m, ensured(m))
	awaitGuests(t, a, first, m)
	after := v.Count()
	if looks := sum(after, "FindByUuid", "RetrievePropertiesEx"); looks > 2 || sum(after)-looks != sum(after, "ModifyListView") ||
		after["ModifyListView"] > 2 {
		t.Errorf("when it is made: calls %v, want one look at most, and a change of each list", after)
	}

	for range 20 {
		_, err := a.Observe(t.Context(), m)
		v.Must(err)
		ensured(m)()
	}
	compare(t, "while nothing changes", v, map[string]int{})

	driven(t, keys, m, func() bool {
		_, err := a.Delete(t.Context(), m)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			t.Fatal(err)
		}
		return err != nil
	})
	deleted := v.Count()
	t.Logf("deleting: %v", deleted)
	if sum(deleted, "PowerOffVM_Task") != 1 || sum(deleted, "Destroy_Task") != 1 || sum(deleted) > 8 {
		t.Errorf("deleting: calls %v, want 2 tasks and 8 calls at most", deleted)
	}
	for range 3 {
		if _, err := a.Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
			t.Fatalf("Delete = %v, want %v", err, cloud.ErrNotFound)
		}
	}
	compare(t, "while its object is not gone yet", v, map[string]int{})
}

func compare(t *testing.T, what string, v *stage, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, v.Count()); diff != "" {
		t.Errorf("calls %s (-want +got):\n%s", what, diff)
	}
}
