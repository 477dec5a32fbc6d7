// Package crash stops our controllers before and after everything that they do, and looks whether the end is the same.
package crash

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/lab/vcenter"
)

// simulating makes the test binary a vCenter. Each place has one in a process of its own: two VMs that come or go at the same
// time can lock the simulator up for good (a view locks itself and then its filters, a filter itself and then its view), and
// a clone that one machine's test holds would be in the way of all others.
const simulating = "CAPWIN_CRASH_VCENTER"

// simulate is a vCenter until its input ends.
func simulate() error {
	v, err := vcenter.Start(context.Background())
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(v.Credentials()); err != nil {
		return err
	}
	// It is not stopped but ends with its process: it would wait for calls of clients that were killed. Its files are in the
	// test's own folder.
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// datacenter is a simulated vCenter, with a session of the test's own in it.
type datacenter struct {
	credentials map[string][]byte
	url         string
	http        *http.Client // what fronts pass requests on with
	client      *vim25.Client
}

func startDatacenter(t *testing.T) *datacenter {
	t.Helper()
	// The context of a test ends before its cleanups: the vCenter ends in them, after those who use it.
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), simulating+"=1", "TMPDIR="+t.TempDir())
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	d := &datacenter{}
	if err := json.NewDecoder(out).Decode(&d.credentials); err != nil {
		t.Fatal(err)
	}
	d.url = "https://" + string(d.credentials["server"])
	d.http = &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // because it is the simulator next door
		MaxIdleConnsPerHost: 100,
	}}
	if err := d.login(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *datacenter) login(ctx context.Context) error {
	at, err := url.Parse(d.url + vim25.Path)
	if err != nil {
		return err
	}
	if d.client, err = vim25.NewClient(ctx, soap.NewClient(at, true)); err != nil {
		return fmt.Errorf("connect to vcenter: %w", err)
	}
	user := url.UserPassword(string(d.credentials["username"]), string(d.credentials["password"]))
	if err := session.NewManager(d.client).Login(ctx, user); err != nil {
		return fmt.Errorf("log in to vcenter: %w", err)
	}
	// So that tasks of the test's own making can be clones.
	_, err = methods.RegisterExtension(ctx, d.client, &types.RegisterExtension{
		This: *d.client.ServiceContent.ExtensionManager,
		Extension: types.Extension{
			Key: "capwin.crash", Version: "1", Description: &types.Description{Label: "crash", Summary: "crash"},
			TaskList: []types.ExtensionTaskTypeInfo{{TaskID: cloneTask}},
		},
	})
	return err
}

// find looks for something in the folder of our VMs, or for the folder itself.
func (d *datacenter) find(ctx context.Context, name string) (*types.ManagedObjectReference, error) {
	found, err := methods.FindByInventoryPath(ctx, d.client, &types.FindByInventoryPath{
		This:          *d.client.ServiceContent.SearchIndex,
		InventoryPath: path.Join(vcenter.Datacenter, "vm", vcenter.Folder, name),
	})
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	if found.Returnval == nil {
		return nil, errors.New("there is no VM " + name)
	}
	return found.Returnval, nil
}

// vms counts what is in the folder of our VMs.
func (d *datacenter) vms(ctx context.Context) (int, error) {
	folder, err := d.find(ctx, "")
	if err != nil {
		return 0, err
	}
	children, err := object.NewFolder(d.client, *folder).Children(ctx)
	return len(children), err
}

// tell does what the guest of a VM does: it writes its report. There is no guest in a VM that is off.
func (d *datacenter) tell(ctx context.Context, name, report string) error {
	found, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	vm := object.NewVirtualMachine(d.client, *found)
	power, err := vm.PowerState(ctx)
	if err != nil {
		return err
	}
	if power != types.VirtualMachinePowerStatePoweredOn {
		return errors.New("the VM is not on")
	}
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.capwin.report", Value: report}},
	})
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}

// history is what happened to VMs of a name: "cloned", "removed".
func (d *datacenter) history(ctx context.Context, name string) ([]string, error) {
	found, err := methods.QueryEvents(ctx, d.client, &types.QueryEvents{
		This:   *d.client.ServiceContent.EventManager,
		Filter: types.EventFilterSpec{EventTypeId: []string{"VmClonedEvent", "VmRemovedEvent"}, MaxCount: 1000},
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	slices.SortFunc(found.Returnval, func(a, b types.BaseEvent) int { return int(a.GetEvent().Key - b.GetEvent().Key) })
	var happened []string
	for _, e := range found.Returnval {
		if vm := e.GetEvent().Vm; vm == nil || vm.Name != name {
			continue
		}
		switch e.(type) {
		case *types.VmClonedEvent:
			happened = append(happened, "cloned")
		case *types.VmRemovedEvent:
			happened = append(happened, "removed")
		}
	}
	return happened, nil
}
