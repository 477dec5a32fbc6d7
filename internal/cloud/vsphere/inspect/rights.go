package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// deployTemplate is what a clone takes on its source, if that is a template.
const deployTemplate = "VirtualMachine.Provisioning.DeployTemplate"

// target is an object on which the account needs privileges.
type target struct {
	kind       string // as the list of privileges calls it
	name       string
	dependency string // the check that finds it
	refs       []types.ManagedObjectReference
}

// rights compares the account's privileges with those that a machine of this spec needs.
func (r *inspection) rights(ctx context.Context) {
	r.edits = len(r.Spec.NetworkInterfaces) == 0 && len(request.AdapterChanges(r.placement, nil)) > 0
	targets := r.targets()
	grants, err := r.held(ctx, targets)
	if err == nil {
		r.home, err = r.rootHome(ctx)
	}
	for _, t := range targets {
		r.add("privileges on "+t.name, t.dependency, func() (Result, string) {
			if err != nil {
				return Warning, "the vCenter does not show which privileges the account has, so compare its role with docs/vcenter.md: " +
					r.messageOf(err)
			}
			return r.compare(t, grants)
		})
	}
}

// targets are the objects of the spec. The privileges on a VM are those of its folder, if they propagate.
func (r *inspection) targets() (targets []target) {
	kinds := map[string]string{
		places.Folder: privileges.Folder, places.ResourcePool: privileges.Pool, places.Datastore: privileges.Datastore,
		places.Template: privileges.Template,
	}
	for _, site := range r.sites {
		if site.Field == places.Datacenter {
			continue
		}
		t := target{cmp.Or(kinds[site.Field], privileges.Networks), site.Field, site.Field, nil}
		if site.Found() {
			t.refs = append(t.refs, site.Ref)
		}
		targets = append(targets, t)
	}
	if r.Spec.Datastore == "" {
		targets = append(targets, target{privileges.Datastore, "the template's datastore", checkTemplate, r.facts.datastores})
	}
	return targets
}

// rootHome returns the cluster or host of which the spec's pool is the root pool, if it is one. Such a pool has the permissions
// of its cluster or host and can have none of its own (vSphere Web Services API, AuthorizationManager, on complex entities), so
// what is missing there can be given on that alone.
func (r *inspection) rootHome(ctx context.Context) (home types.ManagedObjectReference, err error) {
	pool := r.site(places.ResourcePool)
	if !pool.Found() {
		return home, nil
	}
	found, err := session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		return session.Read(ctx, c, session.Source{Object: pool.Ref}, pool.Ref.Type, "parent")
	})
	parent, _ := found[pool.Ref]["parent"].(types.ManagedObjectReference)
	if err != nil || !strings.HasSuffix(parent.Type, "ComputeResource") {
		return home, err
	}
	return parent, nil
}

// granted is what the account has on each object, by its user and by all groups that the user is in.
type granted map[types.ManagedObjectReference][]string

// held asks for all objects at once. The vCenter refuses that if the account may not read one of them, so then it is asked for
// each: those that are refused have none of the privileges, unless all are.
func (r *inspection) held(ctx context.Context, targets []target) (granted, error) {
	var refs []types.ManagedObjectReference
	for _, t := range targets {
		refs = append(refs, t.refs...)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	grants, err := r.ask(ctx, refs)
	if !refused(err) {
		return grants, err
	}
	grants = granted{}
	for _, ref := range refs {
		single, cause := r.ask(ctx, []types.ManagedObjectReference{ref})
		if cause != nil && !refused(cause) {
			return nil, cause
		}
		maps.Copy(grants, single)
	}
	if len(grants) == 0 {
		return nil, err
	}
	return grants, nil
}

func (r *inspection) ask(ctx context.Context, refs []types.ManagedObjectReference) (granted, error) {
	return session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (granted, error) {
		manager := *c.ServiceContent.SessionManager
		found, err := session.Read(ctx, c, session.Source{Object: manager}, manager.Type, "currentSession")
		if err != nil || c.ServiceContent.AuthorizationManager == nil {
			return nil, err
		}
		current, _ := found[manager]["currentSession"].(types.UserSession)
		answer, err := methods.HasPrivilegeOnEntities(ctx, c, &types.HasPrivilegeOnEntities{
			This: *c.ServiceContent.AuthorizationManager, Entity: refs, SessionId: current.Key,
			PrivId: append(privileges.All(), privileges.CloneVM, privileges.CloneEncrypted),
		})
		if err != nil {
			return nil, err
		}
		return grantedBy(answer.Returnval), nil
	})
}

func grantedBy(answer []types.EntityPrivilege) granted {
	grants := granted{}
	for _, entity := range answer {
		for _, privilege := range entity.PrivAvailability {
			if privilege.IsGranted {
				grants[entity.Entity] = append(grants[entity.Entity], privilege.PrivId)
			}
		}
	}
	return grants
}

func (r *inspection) compare(t target, grants granted) (Result, string) {
	needed := r.needed(t.kind)
	for _, ref := range t.refs {
		isGranted := func(privilege string) bool { return slices.Contains(grants[ref], privilege) }
		if lacks := slices.DeleteFunc(slices.Clone(needed), isGranted); len(lacks) > 0 {
			return Failed, "the account lacks " + strings.Join(lacks, ", ") + " on " + r.name(ref) +
				": add this to the account's role there" + propagating(t.kind)
		}
	}
	return OK, strings.Join(needed, ", ")
}

func propagating(kind string) string {
	if kind == privileges.Folder {
		return ", and let the role propagate to children, which are the VMs"
	}
	return ""
}

// name is how the spec calls an object, and its reference. For a root pool, it is that of its cluster or host.
func (r *inspection) name(ref types.ManagedObjectReference) string {
	for _, site := range r.sites {
		if site.Ref == ref && site.Field == places.ResourcePool && r.home.Value != "" {
			return r.nameOfHome(site.Name) + ", because a root pool has the permissions of its cluster or host"
		}
		if site.Ref == ref && site.Name != "" {
			return "\"" + shown(site.Name) + "\" (" + ref.String() + ")"
		}
	}
	return ref.String()
}

// nameOfHome is the part of the root pool's path that leads to its cluster or host, and the reference of that.
func (r *inspection) nameOfHome(pool string) string {
	if path, isPath := strings.CutSuffix(pool, "/Resources"); isPath {
		return "\"" + shown(path) + "\" (" + r.home.String() + ")"
	}
	return r.home.String()
}

// needed are the privileges that a machine of this spec takes on such an object.
func (r *inspection) needed(kind string) (names []string) {
	for _, need := range privileges.Needs {
		relevant := need.On == kind || need.On == privileges.VM && kind == privileges.Folder
		if !relevant || strings.HasPrefix(need.Privilege, "System.") || !r.applies(need.When) {
			continue
		}
		privilege := need.Privilege
		if privilege == deployTemplate && r.facts.isVM {
			privilege = privileges.CloneVM
		}
		names = append(names, privilege)
	}
	if kind == privileges.Template && r.facts.devices.encrypted {
		names = append(names, privileges.CloneEncrypted)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// applies reports whether a machine of this spec takes such a privilege. An unknown condition applies.
func (r *inspection) applies(condition string) bool {
	adapters, networks := len(r.placement.Adapters), len(r.Spec.NetworkInterfaces)
	switch condition {
	case privileges.WithNetworks:
		return networks > 0 || r.edits
	case privileges.WithCPUs:
		return r.Spec.CPUs > 0 || r.Spec.CoresPerSocket > 0
	case privileges.WithMemory:
		return r.Spec.MemoryMiB > 0
	case privileges.WithEdits:
		return networks > 0 && adapters > 0 || r.edits
	case privileges.WithAdditions:
		return networks > 0 && adapters != networks
	case privileges.WithVApp:
		return r.placement.VAppConfig != nil
	}
	return true
}
