// Package check compares a spec with its cloud, before a machine of it is made.
package check

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/conflicts"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/topology"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// Options describe the clouds, beside the files.
type Options struct {
	// AzureCloud names the cloud for the identity of this computer; empty leaves it to the environment, and that to the public one.
	AzureCloud string
	// AzureClouds is a file with more clouds than Microsoft's, as that of the manager; empty for none.
	AzureClouds string
}

// checked is a cloud that a spec can be compared with.
type checked struct {
	name, people string
	provider     cloud.Provider
	uses         func(infrav1.WindowsMachineSpec) bool
	gather       func(o *objects.Set, t *Target, options Options) error
	inspect      func(ctx context.Context, t *Target, progress cloud.Progress) ([]cloud.Finding, error)
}

var supported = []checked{
	{
		name: infrav1.CloudVSphere, people: "vCenter", provider: vsphere.Provider{},
		uses:   func(spec infrav1.WindowsMachineSpec) bool { return spec.VSphere != nil },
		gather: gatherVSphere, inspect: inspectVSphere,
	},
	{
		name: infrav1.CloudAzure, people: "Azure", provider: azure.Provider{},
		uses:   func(spec infrav1.WindowsMachineSpec) bool { return spec.Azure != nil },
		gather: gatherAzure, inspect: inspectAzure,
	},
}

func cloudNamed(name string) checked {
	return supported[slices.IndexFunc(supported, func(c checked) bool { return c.name == name })]
}

// Target is a machine, and what its cloud is asked with.
type Target struct {
	machine *preview.Machine
	cloud   checked
	// count is how many machines of the spec there are to be.
	count int64
	// login is a secret of the files, or of the environment.
	login map[string][]byte
	// borrowed names the owner of the login if it is not the machine's own.
	borrowed string
	azure    azureTarget
	subject  conflicts.Subject
	// Notes are what the files contradict each other in, beside what the cloud is asked for.
	Notes []string
}

// Gather collects what a check needs: the WindowsMachine, and the login. A file with a pool has all of it. The name may be empty
// if the files have only one machine or pool.
func Gather(o *objects.Set, cloudName, name string, options Options) (*Target, error) {
	if err := topology.Admit(o); err != nil {
		return nil, err
	}
	name, err := preview.MachineName(o, name)
	if err != nil {
		return nil, err
	}
	m, err := preview.Find(o, name)
	if err != nil {
		return nil, err
	}
	t := &Target{machine: m, cloud: cloudNamed(cloudName)}
	if !t.cloud.uses(m.Windows.Spec) {
		return nil, fmt.Errorf("%s has no spec.%s, so there is no %s to check", t.name(), t.cloud.name, t.cloud.people)
	}
	if err := t.cloud.provider.Check(m.Windows); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name(), err)
	}
	t.count = max(int64(ptr.Deref(m.Replicas, 1)), 1)
	t.subject = m.ConflictSubject(o)
	t.Notes = t.subject.Unasked()
	return t, t.cloud.gather(o, t, options)
}

// name is the WindowsMachine in sentences.
func (t *Target) name() string {
	return "WindowsMachine " + t.machine.Owner.Namespace + "/" + t.machine.Windows.Name
}

// Run asks the cloud. When the findings are there, an error is of what came after them.
func (t *Target) Run(ctx context.Context, progress cloud.Progress) ([]cloud.Finding, error) {
	found, err := t.cloud.inspect(ctx, t, progress)
	return found, t.subject.Explain(err)
}
