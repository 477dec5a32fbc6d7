package cost

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// original is the name of the machine that others are copies of. It is part of no other name.
const original = "original"

// standAll makes one machine with a node, and copies of it in Kubernetes and in the vCenter, as our managers left it, while they
// do not run. To make 5,000 in the usual way takes Cluster API's own manager an hour on two cores.
func (s *stage) standAll() {
	s.t.Helper()
	all := s.machines
	s.machines = 1
	s.Machine(s.t, original)
	s.awaitAll("Ready machine", 1, is(infrav1.ReadyCondition, "True Running"))
	s.joinAll(1)
	s.machines = all
	s.pause()
	parts := s.parts()
	ids := make([]string, all-1)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	s.vcenter.Copy(parts.vm, len(ids), func(n int, vm *mo.VirtualMachine) {
		change := parts.replacer(ids[n], nameOf(n))
		vm.Name, vm.Config.InstanceUuid = cloud.ComputerName(nameOf(n), ids[n]), ids[n]
		for _, option := range vm.Config.ExtraConfig {
			if option, ok := option.(*types.OptionValue); ok {
				text, _ := option.Value.(string)
				option.Value = change.Replace(text)
			}
		}
	})
	world.Together(len(ids), func(n int) { s.stand(parts, nameOf(n), ids[n]) })
	s.resume()
}

func nameOf(n int) string { return fmt.Sprint("copy-", n) }

// parts are the objects of the original.
type parts struct {
	machine *clusterv1.Machine
	// objects are the others, the owned ones and the Node.
	objects []client.Object
	id, vm  string
}

// replacer turns what is the original's into what is a copy's.
func (p parts) replacer(id, name string, more ...string) *strings.Replacer {
	return strings.NewReplacer(append([]string{p.id, id, p.vm, cloud.ComputerName(name, id), original, name}, more...)...)
}

func (s *stage) parts() parts {
	s.t.Helper()
	key := client.ObjectKey{Namespace: s.Name, Name: original}
	p := parts{machine: &clusterv1.Machine{}}
	windows, config, data := &infrav1.WindowsMachine{}, &bootstrapv1.WindowsBootstrapConfig{}, &corev1.Secret{}
	node := &corev1.Node{}
	for _, o := range []client.Object{p.machine, windows, config, data} {
		expect.OK(s.t, s.Client.Get(s.t.Context(), key, o))
	}
	expect.OK(s.t, s.Client.Get(s.t.Context(), client.ObjectKey{Name: windows.Status.ComputerName}, node))
	p.objects, p.vm = []client.Object{windows, config, data, node}, windows.Status.ComputerName
	p.id = strings.TrimPrefix(windows.Spec.ProviderID, "vsphere://")
	return p
}

// stand makes a copy of all objects. The Machine comes first: it owns others.
func (s *stage) stand(p parts, name, id string) {
	s.t.Helper()
	machine := s.copyOf(p.machine, p.replacer(id, name))
	owner := p.replacer(id, name, string(p.machine.UID), string(machine.GetUID()))
	for _, o := range p.objects {
		copied := s.copyOf(o, owner)
		if _, config := o.(*bootstrapv1.WindowsBootstrapConfig); config {
			owner = p.replacer(id, name, string(p.machine.UID), string(machine.GetUID()), string(o.GetUID()), string(copied.GetUID()))
		}
	}
}

// patience with Cluster API, which writes to a Machine many times when it is new.
var patience = wait.Backoff{Steps: 100, Duration: 10 * time.Millisecond, Factor: 1.1, Jitter: 0.1, Cap: time.Second}

// busy is true if the API server, or a webhook that it asked, had no time: then nothing was made, or it is there when one asks
// again.
func busy(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err)
}

func (s *stage) create(fresh func() client.Object) client.Object {
	s.t.Helper()
	var made client.Object
	expect.OK(s.t, retry.OnError(patience, busy, func() error {
		made = fresh()
		made.SetResourceVersion("")
		made.SetUID("")
		err := s.Client.Create(s.t.Context(), made)
		if apierrors.IsAlreadyExists(err) {
			return s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(made), made)
		}
		return err
	}))
	return made
}

// copyOf creates a copy of an object and gives it its status.
func (s *stage) copyOf(o client.Object, change *strings.Replacer) client.Object {
	s.t.Helper()
	text := []byte(change.Replace(string(expect.Got(json.Marshal(o))(s.t))))
	fresh := func() client.Object {
		made, _ := o.DeepCopyObject().(client.Object)
		expect.OK(s.t, json.Unmarshal(text, made))
		return made
	}
	made := s.create(fresh)
	if _, plain := o.(*corev1.Secret); plain {
		return made
	}
	// Cluster API has begun with it.
	again := func(err error) bool { return apierrors.IsConflict(err) || busy(err) }
	expect.OK(s.t, retry.OnError(patience, again, func() error {
		if err := s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		status := fresh()
		status.SetResourceVersion(made.GetResourceVersion())
		status.SetUID(made.GetUID())
		return s.Client.Status().Update(s.t.Context(), status)
	}))
	return made
}
