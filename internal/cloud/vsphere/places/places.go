// Package places finds where in a vCenter the VMs of a spec go. A caller may rely on this, and need not read how:
//
//   - Find returns all places that a spec names, as references of the vCenter, or an error that names the field of the spec
//     that is wrong and says what to write instead.
//   - What was found is remembered for keepPlaces, and concurrent callers share one search; Forget ends that for a spec.
//   - FindFolder finds the folder alone, so that the VM of a spec can still be found when its other places are gone.
package places

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/singleflight"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// keepPlaces is how long we trust that a name still means the same object. If a template is replaced by another one of the
// same name, we notice at once when the old one was removed, and after this time otherwise.
const keepPlaces = 10 * time.Minute

// Places remembers where the VMs of a spec go, so that the hundred machines of a pool ask once.
type Places struct {
	session *session.Session
	now     func() time.Time
	lookups singleflight.Group

	mu    sync.Mutex
	known map[string]Placement // by keyOf
}

// In returns the places of the vCenter that a session is with.
func In(s *session.Session) *Places { return &Places{session: s, now: time.Now} }

// Placement says where a VM is made and from which template, in references of the vCenter.
type Placement struct {
	Template  types.ManagedObjectReference
	Folder    types.ManagedObjectReference
	Pool      types.ManagedObjectReference
	Datastore *types.ManagedObjectReference

	// Adapters are copies of the template's for the caller to change, and Networks what the VM's adapters connect to. Both
	// are empty when the VM keeps the template's networks.
	Adapters []Adapter
	Networks []types.BaseVirtualDeviceBackingInfo

	until time.Time // the placement must be looked up again from then on
}

// Adapter is a network adapter of any kind.
type Adapter interface {
	types.BaseVirtualDevice
	types.BaseVirtualEthernetCard
}

// Find returns the placement of a spec.
func (p *Places) Find(ctx context.Context, spec infrav1.VSphereVM) (Placement, error) {
	at, err := p.find(ctx, spec)
	at.Adapters = copies(at.Adapters)
	return at, err
}

func (p *Places) find(ctx context.Context, spec infrav1.VSphereVM) (Placement, error) {
	key := keyOf(spec)
	if at, ok := p.get(key); ok {
		return at, nil
	}
	done := p.lookups.DoChan(key, func() (any, error) {
		at, err := session.Do(context.WithoutCancel(ctx), p.session, func(ctx context.Context, c *vim25.Client) (Placement, error) {
			return locate(ctx, c, spec)
		})
		if err == nil {
			p.put(key, at)
		}
		return at, err
	})
	select {
	case <-ctx.Done():
		return Placement{}, session.Classify(ctx.Err())
	case r := <-done:
		at, _ := r.Val.(Placement)
		return at, r.Err
	}
}

// FindFolder returns the folder of a spec's VM, even if other places in the spec are wrong or gone.
func (p *Places) FindFolder(ctx context.Context, spec infrav1.VSphereVM) (types.ManagedObjectReference, error) {
	if at, ok := p.get(keyOf(spec)); ok {
		return at.Folder, nil
	}
	return session.Do(ctx, p.session, func(ctx context.Context, c *vim25.Client) (ref types.ManagedObjectReference, err error) {
		a, err := atlasOf(ctx, c, spec.Datacenter)
		if err == nil {
			ref, err = a.folder(ctx, spec)
		}
		return ref, err
	})
}

// Forget has the places of a spec looked up again for its next VM.
func (p *Places) Forget(spec infrav1.VSphereVM) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, keyOf(spec))
}

// copies returns copies of adapters, each of the same kind.
func copies(adapters []Adapter) (all []Adapter) {
	for _, one := range adapters {
		copied := reflect.New(reflect.TypeOf(one).Elem())
		copied.Elem().Set(reflect.ValueOf(one).Elem())
		adapter, _ := reflect.TypeAssert[Adapter](copied)
		all = append(all, adapter)
	}
	return all
}

func (p *Places) get(key string) (Placement, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.known[key]
	return at, p.now().Before(at.until)
}

func (p *Places) put(key string, at Placement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, at := range p.known {
		if !now.Before(at.until) {
			delete(p.known, old)
		}
	}
	if p.known == nil {
		p.known = map[string]Placement{}
	}
	at.until = now.Add(keepPlaces)
	p.known[key] = at
}

// keyOf joins the fields of a spec that say where the VM goes.
func keyOf(spec infrav1.VSphereVM) string {
	key := []string{spec.Datacenter, spec.Image.Template, spec.Folder, spec.ResourcePool, spec.Datastore}
	for _, adapter := range spec.NetworkInterfaces {
		key = append(key, adapter.Network)
	}
	return fmt.Sprintf("%q", key)
}
