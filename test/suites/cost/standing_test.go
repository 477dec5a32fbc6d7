package cost

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/mo"
	vim "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
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
			if option, ok := option.(*vim.OptionValue); ok {
				text, _ := option.Value.(string)
				option.Value = change.Replace(text)
			}
		}
	})
	s.stand(len(ids), func(n int) { s.copyAll(parts, nameOf(n), ids[n]) })
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

// stand makes copies of all objects, while nobody else works on them. A Machine comes first: it owns others.
func (s *stage) stand(count int, each func(n int)) {
	s.t.Helper()
	began, made := time.Now(), time.Time{}
	expect.OK(s.t, shared.Management.Still(s.t.Context(), func() {
		world.Together(count, each)
		made = time.Now()
	}))
	s.awaitCore()
	s.t.Logf("%d copies in Kubernetes took %.1f s, and %.1f s until Cluster API knew them", count, made.Sub(began).Seconds(),
		time.Since(made).Seconds())
}

// copyAll makes a copy of each part.
func (s *stage) copyAll(p parts, name, id string, more ...string) {
	s.t.Helper()
	machine := s.copyOf(p.machine, p.replacer(id, name, more...))
	more = append(more, string(p.machine.UID), string(machine.GetUID()))
	for _, o := range p.objects {
		copied := s.copyOf(o, p.replacer(id, name, more...))
		if _, config := o.(*bootstrapv1.WindowsBootstrapConfig); config {
			more = append(more, string(o.GetUID()), string(copied.GetUID()))
		}
	}
}

// generations are what a status says that it was written for. A copy is new.
var generations = regexp.MustCompile(`"observedGeneration":\d+`)

// copyOf creates a copy of an object and gives it its status.
func (s *stage) copyOf(o client.Object, change *strings.Replacer) client.Object {
	s.t.Helper()
	text := []byte(change.Replace(string(expect.Got(json.Marshal(o))(s.t))))
	text = generations.ReplaceAll(text, []byte(`"observedGeneration":1`))
	fresh := func(version string, uid types.UID) client.Object {
		made, _ := o.DeepCopyObject().(client.Object)
		expect.OK(s.t, json.Unmarshal(text, made))
		made.SetResourceVersion(version)
		made.SetUID(uid)
		return made
	}
	made := fresh("", "")
	expect.OK(s.t, s.Client.Create(s.t.Context(), made))
	switch o.(type) {
	case *corev1.Secret, *corev1.Node: // the one has no status, the other one was created with it
		return made
	}
	status := fresh(made.GetResourceVersion(), made.GetUID())
	expect.OK(s.t, s.Client.Status().Update(s.t.Context(), status))
	return made
}
