// Package places finds where in a vCenter the VMs of a spec go. A caller may rely on this, and need not read how:
//
//   - A name means what it means to govmomi's Finder, which other programs use: the flavors give them the same names. Refuse
//     returns what is wrong with a name in every vCenter.
//   - Find returns all places that a spec names, as references of the vCenter, or an error that names the field of the spec
//     that is wrong and what to write instead. A name that could mean two objects is such an error; of two networks with one
//     name, the one is meant that the hosts of the VM's resource pool have.
//   - What was found is remembered for keepPlaces, and what was not found for keepAbsent. Concurrent callers share one search, so
//     that the hundred machines of a pool ask once. Forget ends that for a spec.
//   - FindFolder finds the folder alone, so that the VM of a spec can still be found when its other places are gone, or when the
//     folder is named in a form that an earlier release took.
//   - Survey finds each place by itself, for a person who wants to know all that is wrong at once.
package places

import (
	"cmp"
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/cache"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Places remembers where the VMs of a spec go.
type Places struct {
	session *session.Session

	placements  memory[Placement]
	homes       memory[home]
	datacenters memory[datacenter]
}

// In returns the places of the vCenter that a session is with.
func In(s *session.Session) *Places {
	return &Places{
		session:     s,
		placements:  memory[Placement]{enter: s.Enter, answers: cache.NewExpiring()},
		homes:       memory[home]{enter: s.Enter, answers: cache.NewExpiring()},
		datacenters: memory[datacenter]{enter: s.Enter, answers: cache.NewExpiring()},
	}
}

// Placement is where a VM is made and from which template, in references of the vCenter.
type Placement struct {
	Template  types.ManagedObjectReference
	Folder    types.ManagedObjectReference
	Pool      types.ManagedObjectReference
	Datastore *types.ManagedObjectReference

	// Adapters are the template's, which callers share and leave as they are, and Networks what the VM's adapters connect to.
	// There are no networks when the VM keeps the template's.
	Adapters []Adapter
	Networks []types.BaseVirtualDeviceBackingInfo

	// CoresPerSocket is the template's; 0 if the vCenter chooses it.
	CoresPerSocket int32

	// VAppConfig is true if the template has one, as an OVA has, and nil otherwise. It asks for values at each clone, and may
	// keep a VM from starting; to remove it takes a privilege of its own.
	VAppConfig *bool
}

// Adapter is a network adapter of any kind.
type Adapter interface {
	types.BaseVirtualDevice
	types.BaseVirtualEthernetCard
}

// Find returns the placement of a spec.
func (p *Places) Find(ctx context.Context, spec infrav1.VSphereVM) (Placement, error) {
	return p.placements.ask(ctx, keyOf(spec), func(ctx context.Context) (Placement, error) {
		in, err := p.datacenter(ctx, spec.Datacenter)
		if err != nil {
			return Placement{}, err
		}
		found, err := p.home(ctx, spec)
		if err = cmp.Or(err, found.refused); err != nil {
			return Placement{}, err
		}
		return session.Do(ctx, p.session, func(ctx context.Context, c *vim25.Client) (Placement, error) {
			placement := Placement{Folder: found.ref}
			err := atlas{c, in}.locate(ctx, spec, &placement)
			return placement, err
		})
	})
}

// FindFolder returns the folder of a spec's VM, even if other places in the spec are wrong or gone.
func (p *Places) FindFolder(ctx context.Context, spec infrav1.VSphereVM) (types.ManagedObjectReference, error) {
	found, err := p.home(ctx, spec)
	return found.ref, err
}

func (p *Places) home(ctx context.Context, spec infrav1.VSphereVM) (home, error) {
	return p.homes.ask(ctx, folderKey(spec), func(ctx context.Context) (home, error) {
		in, err := p.datacenter(ctx, spec.Datacenter)
		if err != nil {
			return home{}, err
		}
		return session.Do(ctx, p.session, func(ctx context.Context, c *vim25.Client) (home, error) {
			return atlas{c, in}.folder(ctx, spec)
		})
	})
}

// FindDatacenter returns the datacenter of a spec.
func (p *Places) FindDatacenter(ctx context.Context, spec infrav1.VSphereVM) (types.ManagedObjectReference, error) {
	in, err := p.datacenter(ctx, spec.Datacenter)
	return in.ref, err
}

func (p *Places) datacenter(ctx context.Context, name string) (datacenter, error) {
	return p.datacenters.ask(ctx, name, func(ctx context.Context) (datacenter, error) {
		return session.Do(ctx, p.session, func(ctx context.Context, c *vim25.Client) (datacenter, error) {
			return findDatacenter(ctx, c, name)
		})
	})
}

// Forget has the places of a spec looked up again for its next VM.
func (p *Places) Forget(spec infrav1.VSphereVM) {
	p.placements.answers.Delete(keyOf(spec))
	p.homes.answers.Delete(folderKey(spec))
	p.datacenters.answers.Delete(spec.Datacenter)
}

// keyOf joins the fields of a spec that decide where the VM goes.
func keyOf(spec infrav1.VSphereVM) string {
	key := []string{spec.Datacenter, spec.Image.Template, spec.Folder, spec.ResourcePool, spec.Datastore}
	for _, adapter := range spec.NetworkInterfaces {
		key = append(key, adapter.Network)
	}
	return fmt.Sprintf("%q", key)
}

func folderKey(spec infrav1.VSphereVM) string {
	return fmt.Sprintf("%q", []string{spec.Datacenter, spec.Folder})
}
