package cloud

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Registration is a kind of cloud as a program registers it. The controllers know a cloud by nothing else. All functions are
// pure.
type Registration struct {
	// Provider has the accounts. It may be a Placer.
	Provider Provider

	// Chosen reports whether a spec has the part for this cloud.
	Chosen func(infrav1.WindowsMachineSpec) bool

	// Part reads what the controllers need of that part, in spec and status.
	Part func(*infrav1.WindowsMachine) Part

	// Show writes what a VM shows into the part for this cloud of a status; nil if that has nothing of it.
	Show func(*infrav1.WindowsMachineStatus, VM)

	// ReportsInCluster is true if VM.Report is always empty: guests report to their workload cluster instead.
	ReportsInCluster bool

	// Initializer is the cloud provider in workload clusters, which initializes Nodes.
	Initializer Initializer
}

// Part is what the controllers read of a machine's part for its cloud.
type Part struct {
	// Setup is the program in the image that runs the user data; empty is that of the API's default.
	Setup infrav1.ImageSetup
	// Size of the VM, if the spec has it.
	Size Size
	// Place is nil until Resolve has written it into the status.
	Place *Place
	// Lacks names a field of the status that a file of the node needs and that is not known yet; empty if there is none.
	Lacks string
}

// Place is what the controllers read of where a VM goes.
type Place struct {
	// Cloud is the one that the place names, if any. SecretCloud is the cloud of a Secret that names none itself; if it is empty,
	// the manager's default holds.
	Cloud, SecretCloud string
	// Identity is the one that the infrastructure object names, for machines without an identityRef; the zero value is the
	// manager's own.
	Identity Key
}

// Initializer has two clauses for people whose Nodes are not initialized. Reads names the configuration that the cloud provider
// reads, and Brings what of the management cluster brings that in a flavor, with %s for the Cluster.
type Initializer struct{ Reads, Brings string }

// Registry has the clouds that a program supports.
type Registry []Registration

// Find returns the registration of a machine's cloud. It has no Provider, nor anything else, for a cloud that is not supported
// or, if the API is newer than this release, not even known.
func (r Registry) Find(m *infrav1.WindowsMachine) Registration {
	for _, registered := range r {
		if registered.Chosen(m.Spec) {
			return registered
		}
	}
	return Registration{}
}

// Part is that of a machine for its cloud; the zero value if the cloud is not supported.
func (r Registry) Part(m *infrav1.WindowsMachine) Part {
	if part := r.Find(m).Part; part != nil {
		return part(m)
	}
	return Part{}
}
