// Package preview shows what a machine will get, without a cluster: it collects what the controllers would, and renders it. A
// placeholder, with a note, stands in for a value that an API server or a controller has not set yet.
package preview

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/topology"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Machine has all inputs of a rendering, and its result.
type Machine struct {
	// Source is the object that defines the machine: the Machine itself, or its MachineDeployment.
	Source   string
	cluster  *clusterv1.Cluster
	Owner    *clusterv1.Machine
	Windows  *infrav1.WindowsMachine
	config   *bootstrapv1.WindowsBootstrapConfig
	ca       []byte
	token    string
	sources  map[string][]byte
	identity cloud.Identity
	// Guest is what the guest gets, and Shown is the same without secrets. Nothing else is printed or written, unless the user
	// asks for secrets. It is empty if this release cannot read the plan.
	Guest, Shown Guest
	// withoutCA is set if the CA is a placeholder.
	withoutCA *objects.MissingError
	// stored is the user data in the machine's bootstrap Secret, StoredIn, if there is one.
	stored   []byte
	StoredIn types.NamespacedName
	// Pool is the MachineDeployment that would make the machine; nil for a Machine of the files.
	Pool *clusterv1.MachineDeployment
	// Replicas are those of the MachineDeployment that would make the machine; nil for a Machine of the files.
	Replicas *int32
	// Provisional is set if the computer name and provider ID follow from a placeholder.
	Provisional bool
	// Conflicts are what the files contradict each other in; they are the first of the Notes.
	Conflicts []string
	// Notes name the placeholders, and what else differs from a real machine.
	Notes []string
	// standIns are what placeholders stand for, in the words of a note.
	standIns []string
}

// Gather collects what the controllers would. It replaces values that an API server or a controller has not set yet by
// placeholders, and lists them in a note. The name may be empty if the files have only one machine or pool.
func Gather(o *objects.Set, name string) (*Machine, error) {
	if err := topology.Admit(o); err != nil {
		return nil, err
	}
	name, err := MachineName(o, name)
	if err != nil {
		return nil, err
	}
	return collect(o, name)
}

// collect is for objects that are admitted.
func collect(o *objects.Set, name string) (*Machine, error) {
	m, err := Find(o, name)
	if m == nil {
		return nil, err
	}
	// Tell the user about all missing objects at once.
	if err := errors.Join(err, m.loadCluster(o), m.loadAuthority(o), m.loadSources(o)); err != nil {
		return nil, err
	}
	if err := cmp.Or(m.refuseOwner(o), m.refuseVersion(o)); err != nil {
		return nil, err
	}
	if err := m.findToken(o); err != nil {
		return nil, err
	}
	m.findConflicts(o)
	m.fillUIDs()
	if err := m.fillIdentity(o); err != nil {
		return nil, err
	}
	if err := m.noteSubnets(o); err != nil {
		return nil, err
	}
	if len(m.stored) > 0 {
		m.noteStandIns()
		m.takeStored()
		return m, nil
	}
	if err := m.fillAdapters(o); err != nil {
		return nil, err
	}
	m.standInAuthority()
	m.noteStandIns()
	return m, m.renderAnew()
}

func (m *Machine) renderAnew() error {
	var err error
	m.Guest, m.Shown, err = m.render()
	return err
}

// render calls Render with the same input as the controller of WindowsBootstrapConfig. What is shown is rendered from an input
// without secrets, so that it does not matter how they are escaped or encoded.
func (m *Machine) render() (full, shown Guest, err error) {
	in := bootstrap.Input{
		Cluster: m.cluster, Machine: m.Owner, WindowsMachine: m.Windows, Config: m.config, ClusterCA: m.ca, Token: m.token,
		Reports: m.Windows.Spec.Azure != nil, Sources: m.sources, // and no Now: noteExpiry notes what has expired
	}
	if full, _, err = renderGuest(in); err != nil {
		return full, shown, err
	}
	shown, warnings, err := renderGuest(bootstrap.Masked(in))
	for _, warning := range warnings {
		m.note("%s", warning)
	}
	return full, shown, err
}

func renderGuest(in bootstrap.Input) (Guest, []string, error) {
	rendered, err := bootstrap.Render(in)
	if err != nil {
		return Guest{}, nil, err
	}
	planJSON, err := rendered.Plan().Encode()
	return Guest{rendered.Bytes(), planJSON, rendered.Plan()}, rendered.Warnings(), err
}

func (m *Machine) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// Find returns the Machine of this name, or makes one as a MachineDeployment would. It may return a machine with an
// error: then only the owner is known, which is enough to look for other missing objects.
func Find(o *objects.Set, name string) (*Machine, error) {
	machines := named(o.OfKind("Machine"), name)
	if len(machines) > 1 {
		return nil, fmt.Errorf("%s has several Machines of this name: %s; use --machine NAMESPACE/NAME, and keep each Machine once",
			o.Source, list(machines))
	}
	if len(machines) == 1 {
		return fromMachine(o, machines[0])
	}
	deployment, err := findDeployment(o, name)
	if err != nil {
		return nil, err
	}
	return fromDeployment(o, deployment, name)
}

// named returns the objects with a name, which may begin with the namespace.
func named(list []objects.Object, name string) []objects.Object {
	var found []objects.Object
	for _, object := range list {
		if object.Key.Name == name || object.Key.String() == name {
			found = append(found, object)
		}
	}
	return found
}

func list(list []objects.Object) string {
	var names []string
	for _, object := range list {
		names = append(names, object.Key.String())
	}
	return strings.Join(names, ", ")
}

func fromMachine(o *objects.Set, object objects.Object) (*Machine, error) {
	owner, err := objects.Decode[clusterv1.Machine](object)
	if err != nil {
		return nil, err
	}
	m := &Machine{Source: object.String(), Owner: owner}
	infrastructure, config := owner.Spec.InfrastructureRef, owner.Spec.Bootstrap.ConfigRef
	err = errors.Join(wantKind(object, "spec.infrastructureRef", infrastructure, "WindowsMachine"),
		wantKind(object, "spec.bootstrap.configRef", config, "WindowsBootstrapConfig"))
	if err != nil {
		return nil, err
	}
	var noWindows, noConfig error
	m.Windows, noWindows = objects.Load[infrav1.WindowsMachine](o, infrastructure.Kind, keyOf(infrastructure, owner.Namespace))
	m.config, noConfig = objects.Load[bootstrapv1.WindowsBootstrapConfig](o, config.Kind, keyOf(config, owner.Namespace))
	return m, errors.Join(noWindows, noConfig)
}

func keyOf(ref clusterv1.ContractVersionedObjectReference, namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: ref.Name}
}

// groups are those of the kinds that a Windows machine is made of.
var groups = map[string]string{
	"WindowsMachine": infrav1.GroupVersion.Group, "WindowsMachineTemplate": infrav1.GroupVersion.Group,
	"WindowsBootstrapConfig":         bootstrapv1.GroupVersion.Group,
	"WindowsBootstrapConfigTemplate": bootstrapv1.GroupVersion.Group,
}

// wantKind refuses a reference to another kind.
func wantKind(source objects.Object, path string, ref clusterv1.ContractVersionedObjectReference, kind string) error {
	switch {
	case ref.Kind == kind && ref.APIGroup == groups[kind]:
		return nil
	case ref.Kind == "":
		return fmt.Errorf("%s: %s does not refer to a %s, which it needs; write its apiGroup, kind and name", source, path, kind)
	case ref.Kind == kind:
		return fmt.Errorf("%s: %s.apiGroup is %q, but a %s is of %s; write that", source, path, ref.APIGroup, kind, groups[kind])
	}
	return fmt.Errorf("%s: %s.kind is %q (%s), but a Windows machine needs a %s; write apiGroup, kind and name of one", source, path,
		ref.Kind, ref.Name, kind)
}

// Value returns the value of a key. A Secret that was never sent to an API server may still have it in stringData.
func Value(secret *corev1.Secret, key string) []byte {
	if text, ok := secret.StringData[key]; ok {
		return []byte(text)
	}
	return secret.Data[key]
}

// fillIdentity sets provider ID and computer name as the controller of WindowsMachine does, and refuses what it refuses before
// there is a VM.
func (m *Machine) fillIdentity(o *objects.Set) error {
	refuse := func(err error) error {
		return fmt.Errorf("WindowsMachine %s/%s: %w", m.Owner.Namespace, m.Windows.Name, err)
	}
	if err := m.place(o); err != nil {
		return refuse(err)
	}
	provider := providerOf(m.Windows)
	var err error
	if m.identity, err = provider.Identify(m.Windows); err != nil {
		return refuse(err)
	}
	if reason := refusals.FailureDomain(m.Owner, m.Windows.Status.Azure != nil); reason != "" {
		return refuse(errors.New(reason))
	}
	if err := provider.Check(m.Windows); err != nil && !m.hasVM() {
		return refuse(err)
	}
	m.Windows.Spec.ProviderID = m.identity.ProviderID
	if m.Windows.Status.ComputerName == "" {
		m.Windows.Status.ComputerName = m.identity.Name
	}
	return nil
}

// hasVM reports whether the machine has its VM already, which its controller never refuses.
func (m *Machine) hasVM() bool {
	return m.Owner.Spec.ProviderID != "" || ptr.Deref(m.Windows.Status.Initialization.Provisioned, false)
}
