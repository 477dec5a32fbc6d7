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
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// deployTemplate is what a clone takes on its source, if that is a template.
const deployTemplate = "VirtualMachine.Provisioning.DeployTemplate"

// target is an object on which the account needs privileges.
type target struct {
	on    string // as the list of privileges calls it
	name  string
	after string // the check that finds it
	refs  []types.ManagedObjectReference
}

// rights compares the account's privileges with those that a machine of this spec needs.
func (r *inspection) rights(ctx context.Context) {
	r.edits = len(r.Spec.NetworkInterfaces) == 0 && len(r.Changes(r.at)) > 0
	targets := r.targets()
	has, err := r.held(ctx, targets)
	if err == nil {
		r.home, err = r.rootHome(ctx)
	}
	for _, t := range targets {
		r.add("privileges on "+t.name, t.after, func() (Result, string) {
			if err != nil {
				return Warning, "the vCenter does not say which privileges the account has, so compare its role with docs/vcenter.md: " +
					r.told(err)
			}
			return r.compare(t, has)
		})
	}
}

// targets are the objects of the spec. The privileges on a VM are those of its folder, if they propagate.
func (r *inspection) targets() (all []target) {
	on := map[string]string{
		places.Folder: privileges.Folder, places.ResourcePool: privileges.Pool, places.Datastore: privileges.Datastore,
		places.Template: privileges.Template,
	}
	for _, site := range r.sites {
		if site.Field == places.Datacenter {
			continue
		}
		t := target{cmp.Or(on[site.Field], privileges.Networks), site.Field, site.Field, nil}
		if site.Found() {
			t.refs = append(t.refs, site.Ref)
		}
		all = append(all, t)
	}
	if r.Spec.Datastore == "" {
		all = append(all, target{privileges.Datastore, "the template's datastore", checkTemplate, r.facts.datastores})
	}
	return all
}

// rootHome returns the cluster or host of which the spec's pool is the root pool, if it is one. Such a pool has the permissions
// of its cluster or host and can have none of its own (vSphere Web Services API, AuthorizationManager, on complex entities), so
// what is missing there can be given on that alone.
func (r *inspection) rootHome(ctx context.Context) (none types.ManagedObjectReference, err error) {
	pool := r.site(places.ResourcePool)
	if !pool.Found() {
		return none, nil
	}
	found, err := session.Do(ctx, r.Session, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		return session.Read(ctx, c, session.Source{Object: pool.Ref}, pool.Ref.Type, "parent")
	})
	parent, _ := found[pool.Ref]["parent"].(types.ManagedObjectReference)
	if err != nil || !strings.HasSuffix(parent.Type, "ComputeResource") {
		return none, err
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
	has, err := r.ask(ctx, refs)
	if !refused(err) {
		return has, err
	}
	has = granted{}
	for _, ref := range refs {
		one, because := r.ask(ctx, []types.ManagedObjectReference{ref})
		if because != nil && !refused(because) {
			return nil, because
		}
		maps.Copy(has, one)
	}
	if len(has) == 0 {
		return nil, err
	}
	return has, nil
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
	has := granted{}
	for _, one := range answer {
		for _, privilege := range one.PrivAvailability {
			if privilege.IsGranted {
				has[one.Entity] = append(has[one.Entity], privilege.PrivId)
			}
		}
	}
	return has
}

func (r *inspection) compare(t target, has granted) (Result, string) {
	needed := r.needed(t.on)
	for _, ref := range t.refs {
		var lacks []string
		for _, privilege := range needed {
			if !slices.Contains(has[ref], privilege) {
				lacks = append(lacks, privilege)
			}
		}
		if len(lacks) > 0 {
			return Failed, "the account lacks " + strings.Join(lacks, ", ") + " on " + r.name(ref) +
				": add this to the account's role there" + propagating(t.on)
		}
	}
	return OK, strings.Join(needed, ", ")
}

func propagating(on string) string {
	if on == privileges.Folder {
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
func (r *inspection) needed(on string) (all []string) {
	for _, need := range privileges.Needs {
		is := need.On == on || need.On == privileges.VM && on == privileges.Folder
		if !is || strings.HasPrefix(need.Privilege, "System.") || !r.applies(need.When) {
			continue
		}
		privilege := need.Privilege
		if privilege == deployTemplate && r.facts.isVM {
			privilege = privileges.CloneVM
		}
		all = append(all, privilege)
	}
	if on == privileges.Template && r.facts.devices.encrypted {
		all = append(all, privileges.CloneEncrypted)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// applies says whether a machine of this spec is one that takes such a privilege. What is not known applies.
func (r *inspection) applies(when string) bool {
	adapters, networks := len(r.at.Adapters), len(r.Spec.NetworkInterfaces)
	switch when {
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
		return r.at.VAppConfig != nil
	}
	return true
}
