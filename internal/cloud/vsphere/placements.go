package vsphere

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/singleflight"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// keepPlaces is how long we trust that a name still means the same object. If a template is replaced by another one of the
// same name, we notice at once when the old one was removed, and after this time otherwise.
const keepPlaces = 10 * time.Minute

// placements remembers where the VMs of a spec go, so that the hundred machines of a pool ask once.
type placements struct {
	now     func() time.Time
	lookups singleflight.Group

	mu    sync.Mutex
	known map[string]placement // by placeKey
}

// of returns the placement of a spec.
func (p *placements) of(ctx context.Context, c *connection, spec infrav1.VSphereVM) (placement, error) {
	key := placeKey(spec)
	if at, ok := p.get(key); ok {
		return at, nil
	}
	done := p.lookups.DoChan(key, func() (any, error) {
		at := placement{}
		err := c.do(context.WithoutCancel(ctx), func(ctx context.Context, client *vim25.Client) (err error) {
			at, err = locate(ctx, client, spec)
			return err
		})
		if err == nil {
			p.put(key, at)
		}
		return at, err
	})
	select {
	case <-ctx.Done():
		return placement{}, classify(ctx.Err())
	case r := <-done:
		at, _ := r.Val.(placement)
		return at, r.Err
	}
}

// folder finds the folder of a spec's VM, even if other places in the spec are wrong or gone.
func (p *placements) folder(
	ctx context.Context, c *connection, spec infrav1.VSphereVM,
) (ref types.ManagedObjectReference, err error) {
	if at, ok := p.get(placeKey(spec)); ok {
		return at.folder, nil
	}
	err = c.do(ctx, func(ctx context.Context, client *vim25.Client) error {
		a, err := atlasOf(ctx, client, spec.Datacenter)
		if err == nil {
			ref, err = a.folder(ctx, spec)
		}
		return err
	})
	return ref, err
}

func (p *placements) get(key string) (placement, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.known[key]
	return at, p.now().Before(at.until)
}

func (p *placements) put(key string, at placement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, at := range p.known {
		if !now.Before(at.until) {
			delete(p.known, old)
		}
	}
	if p.known == nil {
		p.known = map[string]placement{}
	}
	at.until = now.Add(keepPlaces)
	p.known[key] = at
}

// expire has the places of a spec looked up again for its next VM.
func (p *placements) expire(spec infrav1.VSphereVM) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, placeKey(spec))
}

// placeKey joins the fields of a spec that say where the VM goes.
func placeKey(spec infrav1.VSphereVM) string {
	key := []string{spec.Datacenter, spec.Template, spec.Folder, spec.ResourcePool, spec.Datastore}
	for _, network := range spec.Networks {
		key = append(key, network.Name)
	}
	return fmt.Sprintf("%q", key)
}
