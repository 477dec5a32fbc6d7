package cloud

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Registration is a kind of cloud as a program registers it. The controllers know a cloud by nothing else. All functions are pure.
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
	// Place is where the VM goes, once Resolve has written it into the status.
	Place *Place
	// Lacks names a field of the status that a file of the node needs and that is not known yet; empty if there is none.
	Lacks string
}

// Place is with whose rights a machine is managed, unless its identityRef names an identity.
type Place struct {
	// Cloud is the one that the VM is in, if the place names one. SecretCloud is that for Secrets that name none; empty leaves it
	// to the manager.
	Cloud, SecretCloud string
	// Identity is the one that the infrastructure object names; the zero value is the manager's own.
	Identity Key
}

// Initializer is for people, where it has initialized no Node. Reads is what it reads, and Brings is what of the management
// cluster brings that in a flavor, with %s for the Cluster.
type Initializer struct{ Reads, Brings string }

// Registry has the clouds that a program supports.
type Registry []Registration

// Find returns that of a machine's cloud. It finds none for a cloud that is not supported or, if the API is newer than this
// release, not even known.
func (r Registry) Find(m *infrav1.WindowsMachine) (Registration, bool) {
	for _, registered := range r {
		if registered.Chosen(m.Spec) {
			return registered, true
		}
	}
	return Registration{}, false
}

// Part is that of a machine for its cloud; the zero value if the cloud is not supported.
func (r Registry) Part(m *infrav1.WindowsMachine) Part {
	if registered, ok := r.Find(m); ok {
		return registered.Part(m)
	}
	return Part{}
}
