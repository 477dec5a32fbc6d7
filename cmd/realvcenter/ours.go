package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// namespace is what the marks of all our VMs begin with. It is not a valid name of a namespace, so no manager has such a machine.
const namespace = "capwin_realvcenter"

// The machines of a run.
const (
	forAll = iota + 1
	byLimited
)

func nameOf(run string, n int) string { return fmt.Sprintf("cw-%s-%d", run, n) }

// productAccount is the product at work for a user of the vCenter: its account and its watch.
type productAccount struct {
	cloud.Cloud

	mu    sync.Mutex
	hints map[cloud.Key]int
	ended error // why the last watch ended

	stop func()
	wg   sync.WaitGroup
}

// newOurs makes an account and watches it, as the manager does.
func newOurs(ctx context.Context, credentials map[string][]byte, pause time.Duration) (*productAccount, error) {
	account, err := vsphere.Provider{}.Connect("", credentials)
	if err != nil {
		return nil, err
	}
	o := &productAccount{Cloud: account, hints: map[cloud.Key]int{}}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx)) // VMs are removed after an interrupt, too
	changed := func(keys ...cloud.Key) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, key := range keys {
			o.hints[key]++
		}
	}
	o.wg.Go(func() {
		_ = poll(ctx, pause, 0, func(ctx context.Context) (bool, error) {
			err := account.Watch(ctx, changed)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended = err
			return false, nil
		})
	})
	err = poll(ctx, pause, firstList, func(context.Context) (bool, error) {
		return o.Health().Synced || o.whyUnwatched() != nil, nil
	})
	if err != nil {
		o.close(ctx)
		return nil, fmt.Errorf("wait for the vCenter's list of VMs: %w", err)
	}
	return o, nil
}

// firstList is how long the product may take to read the vCenter's VMs, without which it makes none.
const firstList = 2 * time.Minute

func (o *productAccount) close(ctx context.Context) {
	o.stop()
	o.wg.Wait()
	_ = o.Close(ctx) // a session that is not ended ends by itself
}

func (o *productAccount) hinted(key cloud.Key) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hints[key]
}

func (o *productAccount) whyUnwatched() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// machine is one that may have a VM.
type machine struct {
	cloud.Machine
	account *productAccount
	ref     types.ManagedObjectReference
	took    time.Duration
	gone    bool
}

func (r *runner) spec() infrav1.WindowsMachineSpec {
	return infrav1.WindowsMachineSpec{VSphere: r.config.VSphere.DeepCopy()}
}

// newMachine notes a machine before it has a VM, so that what is made for it is removed, whatever comes between.
func (r *runner) newMachine(n int, acct *productAccount, userData []byte) (*machine, error) {
	object := &infrav1.WindowsMachine{Spec: r.spec()}
	object.UID = k8stypes.UID(uuid.NewString())
	identity, err := vsphere.Provider{}.Identify(object)
	if err != nil {
		return nil, err
	}
	identity.Name = nameOf(r.id, n)
	object.Spec.ProviderID = identity.ProviderID
	m := &machine{account: acct, Machine: cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: namespace, Name: identity.Name}, Spec: object.Spec,
		UserData: cloud.UserData(userData).Read,
		Proof:    cloud.Proof{Asked: cloud.NeverAsked, Own: true},
	}}
	r.machines = append(r.machines, m)
	return m, nil
}

// vm is the machine that most checks look at. It is made once.
func (r *runner) vm(ctx context.Context) (*machine, error) {
	if r.first != nil || r.firstErr != nil {
		return r.first, r.firstErr
	}
	m, err := r.newFirst(ctx)
	if err != nil {
		r.firstErr = fmt.Errorf("the VM could not be made: %w", err)
		return nil, r.firstErr
	}
	r.first = m
	return m, nil
}

func (r *runner) newFirst(ctx context.Context) (*machine, error) {
	userData, err := probePlan(r.id, r.canary)
	if err != nil {
		return nil, err
	}
	m, err := r.newMachine(forAll, r.account, userData)
	if err != nil {
		return nil, err
	}
	if err := m.make(ctx, r.times); err != nil {
		return nil, err
	}
	ref, err := r.witness.byUUID(ctx, m.id())
	if err != nil {
		return nil, err
	}
	m.ref = ref
	return m, r.readVersions(ctx, m)
}

func (m *machine) id() string { return m.ProviderID[len("vsphere://"):] }

// make has the product make the VM, and waits until it runs.
func (m *machine) make(ctx context.Context, t times) error {
	begin := time.Now()
	defer func() { m.took = time.Since(begin) }()
	return poll(ctx, t.poll, t.make, func(ctx context.Context) (bool, error) {
		vm, err := m.account.Ensure(ctx, m.Machine)
		if err != nil && !mayPass(err) {
			return false, err
		}
		if err == nil && vm.State == cloud.Running {
			m.Asked = cloud.Existed
		}
		return err == nil && vm.State == cloud.Running, nil
	})
}

// remove has the product remove the VM, and waits until it reports that nothing is left.
func (m *machine) remove(ctx context.Context, pause time.Duration) error {
	err := poll(ctx, pause, 0, func(ctx context.Context) (bool, error) {
		_, err := m.account.Delete(ctx, m.Machine)
		if err == nil || mayPass(err) {
			return false, nil
		}
		return true, err
	})
	if errors.Is(err, cloud.ErrNotFound) {
		m.gone, err = true, nil
	}
	return err
}

// mayPass reports whether the controllers would try again soon.
func mayPass(err error) bool {
	classified, ok := errors.AsType[*cloud.Error](err)
	return ok && (classified.Kind == cloud.Transient || classified.Kind == cloud.Throttled || classified.Kind == cloud.Later)
}

// poll asks again until the answer is true or an error, for at most a limit, or without one if that is zero.
func poll(ctx context.Context, pause, limit time.Duration, ask func(context.Context) (bool, error)) error {
	if limit > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for {
		if ok, err := ask(ctx); ok || err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
