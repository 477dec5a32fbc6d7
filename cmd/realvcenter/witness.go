package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// The marks of the product on a VM, and where its guests report, by the names that a vCenter shows.
const (
	markOwner      = "capwin.owner"
	markProviderID = "capwin.providerID"
	reportKey      = "guestinfo.capwin.report"
	userDataKey    = "guestinfo.userdata"
	metadataKey    = "guestinfo.metadata"
)

func keyed(key string) string { return `config.extraConfig["` + key + `"]` }

// witness is a session beside the product's.
type witness struct{ session *session.Session }

func newWitness(credentials map[string][]byte) (*witness, error) {
	s, err := session.Open(credentials)
	return &witness{s}, err
}

func (w *witness) close(ctx context.Context) { _ = w.session.Close(ctx) } // it ends by itself at the latest

// ask makes a call.
func ask[T any](ctx context.Context, w *witness, call func(context.Context, *vim25.Client) (T, error)) (T, error) {
	answer, err := session.Do(ctx, w.session, call)
	if classified, ok := errors.AsType[*cloud.Error](err); ok && classified.Err != nil {
		err = fmt.Errorf("%w (%w)", err, classified.Err) // the fault itself, for the report
	}
	return answer, err
}

func (w *witness) systemInfo(ctx context.Context) (types.AboutInfo, error) {
	return ask(ctx, w, func(_ context.Context, c *vim25.Client) (types.AboutInfo, error) { return c.ServiceContent.About, nil })
}

// read properties of an object; one without a value is left out.
func (w *witness) read(ctx context.Context, ref types.ManagedObjectReference, paths ...string) (map[string]any, error) {
	objects, err := ask(ctx, w, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		return session.Read(ctx, c, session.Source{Object: ref}, ref.Type, paths...)
	})
	return objects[ref], err
}

// property reads one property; the zero value if there is none.
func property[T any](ctx context.Context, w *witness, ref types.ManagedObjectReference, path string) (value T, err error) {
	props, err := w.read(ctx, ref, path)
	value, _ = props[path].(T)
	return value, err
}

// How often and how long the end of a short task is waited for.
const (
	taskPause = 200 * time.Millisecond
	taskLimit = time.Minute
)

var errNoVM = errors.New("FindByUuid finds no VM")

// byUUID finds a VM as the product does, by its instance UUID.
func (w *witness) byUUID(ctx context.Context, id string) (types.ManagedObjectReference, error) {
	return ask(ctx, w, func(ctx context.Context, c *vim25.Client) (types.ManagedObjectReference, error) {
		found, err := object.NewSearchIndex(c).FindByUuid(ctx, nil, id, true, new(true))
		if err == nil && found == nil {
			err = errNoVM
		}
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return found.Reference(), nil
	})
}

// marked is a VM with the product's marks.
type marked struct {
	name, providerID string
	owner            cloud.Key
}

// marked lists the VMs with the product's marks that the user may see.
func (w *witness) marked(ctx context.Context) ([]marked, error) {
	objects, err := ask(ctx, w, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		view, err := methods.CreateContainerView(ctx, c, allVMs(c))
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = methods.DestroyView(ctx, c, &types.DestroyView{This: view.Returnval}) }() // it ends with the session
		return session.Read(ctx, c, session.Source{Object: view.Returnval, Via: "view"}, "VirtualMachine",
			"name", keyed(markOwner), keyed(markProviderID))
	})
	var found []marked
	for _, props := range objects {
		name, _ := props["name"].(string)
		if space, machine, ok := strings.Cut(option(props[keyed(markOwner)]), "/"); ok {
			found = append(found, marked{name, option(props[keyed(markProviderID)]), cloud.Key{Namespace: space, Name: machine}})
		}
	}
	return found, err
}

// allVMs asks for the view that the product watches.
func allVMs(c *vim25.Client) *types.CreateContainerView {
	return &types.CreateContainerView{
		This: *c.ServiceContent.ViewManager, Container: c.ServiceContent.RootFolder, Type: []string{"VirtualMachine"}, Recursive: true,
	}
}

// option is the text in a value of extraConfig.
func option(value any) string {
	if plain, ok := value.(types.OptionValue); ok {
		value = &plain
	}
	o, ok := value.(types.BaseOptionValue)
	if !ok {
		return ""
	}
	text, _ := o.GetOptionValue().Value.(string)
	return text
}

// setExtra writes a key of a VM's advanced configuration, and waits for the task.
func (w *witness) setExtra(
	ctx context.Context, vm types.ManagedObjectReference, key, value string,
) (types.ManagedObjectReference, error) {
	task, err := ask(ctx, w, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
		return object.NewVirtualMachine(c, vm).Reconfigure(ctx, types.VirtualMachineConfigSpec{
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}},
		})
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("set %s: %w", key, err)
	}
	return task.Reference(), w.ended(ctx, task.Reference())
}

// ended waits for the end of a short task.
func (w *witness) ended(ctx context.Context, task types.ManagedObjectReference) error {
	return poll(ctx, taskPause, taskLimit, func(ctx context.Context) (bool, error) {
		info, err := property[types.TaskInfo](ctx, w, task, "info")
		if err == nil && info.State == types.TaskInfoStateError {
			err = fmt.Errorf("task %s: %s", info.DescriptionId, info.Error.LocalizedMessage)
		}
		return info.State == types.TaskInfoStateSuccess, err
	})
}

// readVersions notes what the VM runs on.
func (r *runner) readVersions(ctx context.Context, m *machine) error {
	values, err := r.witness.read(ctx, m.ref, "config.version", "config.guestId", "guest.toolsVersion", "runtime.host")
	if err != nil {
		return err
	}
	for name, path := range map[string]string{
		"virtual hardware": "config.version", "guest OS": "config.guestId", "VMware Tools": "guest.toolsVersion",
	} {
		if text, ok := values[path].(string); ok {
			r.report.Versions[name] = text
		}
	}
	host, _ := values["runtime.host"].(types.ManagedObjectReference)
	if product, err := property[types.AboutInfo](ctx, r.witness, host, "config.product"); err == nil { // many may not see hosts
		r.report.Versions["ESXi"] = product.Version + " build " + product.Build
	}
	for ref, word := range map[types.ManagedObjectReference]string{host: "HOST", r.parent(ctx, host): "CLUSTER"} {
		if name, err := property[string](ctx, r.witness, ref, "name"); err == nil {
			r.private[name] = word
			short, _, _ := strings.Cut(name, ".")
			r.private[short] = word
		}
	}
	return nil
}

func (r *runner) parent(ctx context.Context, ref types.ManagedObjectReference) types.ManagedObjectReference {
	// One that the account may not see has no name for it either.
	parent, _ := property[types.ManagedObjectReference](ctx, r.witness, ref, "parent")
	return parent
}
