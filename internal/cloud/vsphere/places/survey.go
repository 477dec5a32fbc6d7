package places

import (
	"cmp"
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Site is a place of a spec, or the reason why it was not found. It has neither if it was not looked for, because another place
// that it depends on was not found.
type Site struct {
	Field, Name string // as the spec has them; a place that the spec leaves out has no name
	Needs       string // the field of the place that it depends on
	Ref         types.ManagedObjectReference
	Err         error
}

// Found reports whether the place exists.
func (s Site) Found() bool { return s.Err == nil && s.Ref.Value != "" }

// The fields of a spec that name places. Those of networks are networkInterfaces[0].network and so on.
const (
	Datacenter   = "datacenter"
	Folder       = "folder"
	ResourcePool = "resourcePool"
	Datastore    = "datastore"
	Template     = "image.template"

	networkInterfaces = "networkInterfaces"
	networkSwitch     = "switch" // part of the name of a network
)

// Sites are the places of a spec, none of which was looked for yet. Each comes after those that it depends on. Which network a
// name means depends on the pool's hosts.
func Sites(spec infrav1.VSphereVM) []Site {
	sites := []Site{
		{Field: Datacenter, Name: spec.Datacenter},
		{Field: Folder, Name: spec.Folder, Needs: Datacenter},
		{Field: ResourcePool, Name: spec.ResourcePool, Needs: Datacenter},
	}
	if spec.Datastore != "" {
		sites = append(sites, Site{Field: Datastore, Name: spec.Datastore, Needs: Datacenter})
	}
	sites = append(sites, Site{Field: Template, Name: spec.Image.Template, Needs: Datacenter})
	for i, nic := range spec.NetworkInterfaces {
		sites = append(sites, Site{Field: networkField(i), Name: nic.Network, Needs: ResourcePool})
	}
	return sites
}

// Survey looks for each place of a spec by itself. The placement has what was found.
func (p *Places) Survey(ctx context.Context, spec infrav1.VSphereVM) (Placement, []Site) {
	sites := Sites(spec)
	in, err := p.datacenter(ctx, spec.Datacenter)
	sites[0].Ref, sites[0].Err = in.ref, err
	s := surveyor{spec: spec}
	for i := range sites {
		site := &sites[i]
		if !slices.ContainsFunc(sites, func(needed Site) bool { return needed.Field == site.Needs && needed.Found() }) {
			continue
		}
		search := func(ctx context.Context, c *vim25.Client) (types.ManagedObjectReference, error) {
			return s.find(ctx, atlas{c, in}, *site)
		}
		site.Ref, site.Err = session.Do(ctx, p.session, search)
	}
	return s.placement, sites
}

// surveyor collects what a survey finds.
type surveyor struct {
	spec      infrav1.VSphereVM
	placement Placement
}

func (s *surveyor) find(ctx context.Context, a atlas, site Site) (ref types.ManagedObjectReference, err error) {
	switch site.Field {
	case Folder:
		found, err := a.folder(ctx, s.spec)
		if err = cmp.Or(err, found.refused); err == nil {
			s.placement.Folder = found.ref
		}
		return s.placement.Folder, err
	case ResourcePool:
		s.placement.Pool, err = a.pool(ctx, site.Name)
		return s.placement.Pool, err
	case Datastore:
		ref, err = a.find(ctx, site.Field, site.Name)
		s.placement.Datastore = &ref
		return ref, err
	case Template:
		return s.template(ctx, a, site.Name)
	}
	return s.network(ctx, a, site)
}

func (s *surveyor) template(ctx context.Context, a atlas, name string) (types.ManagedObjectReference, error) {
	ref, err := a.find(ctx, Template, name)
	if err == nil {
		s.placement.Template, s.placement.Adapters = ref, nil
		err = a.hardware(ctx, &s.placement)
	}
	return ref, err
}

func (s *surveyor) network(ctx context.Context, a atlas, site Site) (types.ManagedObjectReference, error) {
	c, err := a.chart(ctx, s.placement.Pool)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	found, backing, err := c.connection(ctx, site.Field, site.Name)
	if err == nil {
		s.placement.Networks = append(s.placement.Networks, backing)
	}
	return found.ref, err
}
