package places

import (
	"cmp"
	"context"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Site is a place of a spec, or the reason why it was not found. It has neither if it was not looked for, because another place
// that it depends on was not found.
type Site struct {
	Field, Name string // as the spec has them; a place that the spec leaves out has no name
	Ref         types.ManagedObjectReference
	Err         error
}

// Found says that there is such a place.
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

// Sites are the places of a spec, none of which was looked for yet. Each comes after those that it depends on.
func Sites(spec infrav1.VSphereVM) []Site {
	all := []Site{
		{Field: Datacenter, Name: spec.Datacenter}, {Field: Folder, Name: spec.Folder}, {Field: ResourcePool, Name: spec.ResourcePool},
	}
	if spec.Datastore != "" {
		all = append(all, Site{Field: Datastore, Name: spec.Datastore})
	}
	all = append(all, Site{Field: Template, Name: spec.Image.Template})
	for i, one := range spec.NetworkInterfaces {
		all = append(all, Site{Field: networkField(i), Name: one.Network})
	}
	return all
}

// Survey looks for each place of a spec by itself. The placement has what was found.
func (p *Places) Survey(ctx context.Context, spec infrav1.VSphereVM) (Placement, []Site) {
	sites := Sites(spec)
	in, err := p.datacenter(ctx, spec.Datacenter)
	sites[0].Ref, sites[0].Err = in.ref, err
	s := surveyor{spec: spec}
	for i := range sites {
		one := &sites[i]
		if i == 0 || !s.mayLook(sites[0], *one) {
			continue
		}
		one.Ref, one.Err = session.Do(ctx, p.session, func(ctx context.Context, c *vim25.Client) (types.ManagedObjectReference, error) {
			return s.find(ctx, atlas{c, in}, *one)
		})
	}
	return s.at, sites
}

// surveyor collects what a survey finds.
type surveyor struct {
	spec infrav1.VSphereVM
	at   Placement
}

// mayLook says that the places are there which another one depends on. Which network a name means depends on the pool's hosts.
func (s *surveyor) mayLook(datacenter, one Site) bool {
	return datacenter.Found() && (kindOf(one.Field) != networkInterfaces || s.at.Pool.Value != "")
}

func (s *surveyor) find(ctx context.Context, a atlas, one Site) (ref types.ManagedObjectReference, err error) {
	switch one.Field {
	case Folder:
		found, err := a.folder(ctx, s.spec)
		if err = cmp.Or(err, found.refused); err == nil {
			s.at.Folder = found.ref
		}
		return s.at.Folder, err
	case ResourcePool:
		s.at.Pool, err = a.pool(ctx, one.Name)
		return s.at.Pool, err
	case Datastore:
		ref, err = a.find(ctx, one.Field, one.Name)
		s.at.Datastore = &ref
		return ref, err
	case Template:
		return s.template(ctx, a, one.Name)
	}
	return s.network(ctx, a, one)
}

func (s *surveyor) template(ctx context.Context, a atlas, name string) (types.ManagedObjectReference, error) {
	ref, err := a.find(ctx, Template, name)
	if err == nil {
		s.at.Template, s.at.Adapters = ref, nil
		err = a.hardware(ctx, &s.at)
	}
	return ref, err
}

func (s *surveyor) network(ctx context.Context, a atlas, one Site) (types.ManagedObjectReference, error) {
	c, err := a.chart(ctx, s.at.Pool)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	is, backing, err := c.connection(ctx, one.Field, one.Name)
	if err == nil {
		s.at.Networks = append(s.at.Networks, backing)
	}
	return is.ref, err
}
