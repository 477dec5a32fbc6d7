// Package vsphere makes the VMs of WindowsMachines in vCenters, by cloning templates.
//
// An account has one session. A watch follows all VMs and our own tasks, so that nothing is asked while nothing changes. Which
// machine a VM belongs to is written on the VM, and proved by more than that; what this process remembers, of each machine by
// itself, only saves calls, or makes it more careful. To follow one machine, read:
//
//	provider.go    Identify, Check, Connect, Inspect: the door
//	account.go     Observe, Ensure, Delete: gather, decide, do; Server
//	survey.go      gather: what is known of a machine, and the answers to our questions
//	next/          decide: all rules, from what is known to the next step; it is pure
//	tasks.go       do: start a task; and questions about tasks and events
//	look.go        find the VM: by reference, by id, by name; or find out that there is none, before a machine is let go
//	seen/          a VM as the vCenter shows it, and whose it is; it is pure, too
//	request/       the clone as one request; it is pure, too
//
// Three rooms need no visit, because their package comments state their promises:
//
//	session/       the session of an account: credentials, login, back-off, calls, and what an error means
//	places/        where the VMs of a spec go
//	clones/        the clones under way that may still make a machine's VM
//
// Nor do two that no machine passes: privileges/, what an account must be allowed to do, and inspect/, which compares a spec with
// a vCenter before anything is made.
//
// Beneath these are:
//
//	ledger.go      what this process began for each machine; work.go is that of one
//	waiting.go     whose turn it is: machines that are too early, or find the account busy, are woken
//	inventory/     the VMs that the watch has seen
//	watch.go       one watch per account; watcher.go is its property collector, folders.go
//	               what a limited user sees, views.go the lists that it follows: our tasks, and the VMs whose guests report
package vsphere

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// identities is the namespace of the ids that are derived from UIDs. It must never change, because the ids of machines
// whose spec.providerID is not written yet are derived from it.
var identities = uuid.MustParse("6f1d3c52-0a5f-4c0e-9d55-2f8a7b1e64c3")

// Provider is vSphere.
type Provider struct {
	// Kept is what is kept of the vCenters, and of what else, for each namespace; nil does not count it.
	Kept *tenants.Bytes
}

var _ cloud.Provider = Provider{}

// Name is that of the part of a spec that is for it.
func (Provider) Name() string { return infrav1.CloudVSphere }

// Registration registers a provider for the part of a spec that is for vSphere. vsphere-cpi v1.36.0 reads a Secret, whose name
// the user may change.
func Registration(p cloud.Provider) cloud.Registration {
	return cloud.Registration{
		Provider: p,
		Chosen:   func(spec infrav1.WindowsMachineSpec) bool { return spec.VSphere != nil },
		Part: func(m *infrav1.WindowsMachine) cloud.Part {
			vm := m.Spec.VSphere
			return cloud.Part{Setup: vm.Image.Setup, Size: cloud.Size{CPUs: int64(vm.CPUs), MemoryMiB: int64(vm.MemoryMiB)}}
		},
		Initializer: cloud.Initializer{
			Reads:  "which read Secret kube-system/vsphere-cloud-secret",
			Brings: "Secret %s-vsphere-cloud-secret of the management cluster brings it",
		},
	}
}

// Identify derives the VM's UUID from the machine's UID, once. From then on spec.providerID holds it, even when clusterctl
// move or a restored backup gives the machine another UID.
func (Provider) Identify(m *infrav1.WindowsMachine) (cloud.Identity, error) {
	if m.Spec.ProviderID == "" && m.UID == "" {
		return cloud.Identity{}, cloud.Errorf(cloud.Transient, "", "the API server has not given the machine a UID yet")
	}
	id := uuid.NewSHA1(identities, []byte(m.UID)).String()
	if m.Spec.ProviderID != "" {
		id = strings.TrimPrefix(m.Spec.ProviderID, seen.Scheme)
		parsed, err := uuid.Parse(id)
		if err != nil || seen.Scheme+parsed.String() != m.Spec.ProviderID {
			return cloud.Identity{}, cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
				"spec.providerID %q is not valid for vSphere, which needs vsphere:// and a UUID in lower case: delete the Machine, "+
					"no VM was made for it; in a new one leave the field out, because the controller sets it", m.Spec.ProviderID)
		}
	}
	return cloud.Identity{Name: cloud.ComputerName(m.Name, id), ProviderID: seen.Scheme + id}, nil
}

// Check wants a template to clone, and names of places that could lead anywhere.
func (Provider) Check(m *infrav1.WindowsMachine) error {
	switch {
	case m.Spec.VSphere == nil:
		return nil
	case m.Spec.VSphere.Image.Template == "":
		return cloud.Missing("spec.vsphere.image.template")
	}
	return places.Refuse(*m.Spec.VSphere)
}

// Principal is the server, the user, the password and the certificates that are trusted.
func (Provider) Principal(credentials map[string][]byte) (string, error) {
	return session.Principal(credentials)
}

// Connect checks the form of the credentials. The first call that needs the vCenter logs in.
func (p Provider) Connect(namespace string, credentials map[string][]byte) (cloud.Cloud, error) {
	share := p.Kept.Share(namespace)
	s, err := session.Open(credentials)
	if err != nil {
		return nil, err
	}
	s.TakeFrom(share)
	a := &account{session: s, places: places.In(s), now: time.Now, opened: time.Now(), gathered: gathered}
	a.inventory.Share = share
	a.clones = clones.In(s, func() time.Time { return a.now() }, a.ledger.cloned)
	s.Freed = a.waiting.freed
	return a, nil
}

// Inspect compares a spec, of which there are to be so many machines, with the vCenter before anything is made there. It only
// reads, and logs out at the end. It is an error if the credentials have not the form that they must have.
func Inspect(
	ctx context.Context, credentials map[string][]byte, spec infrav1.VSphereVM, count int64, progress cloud.Progress,
) ([]cloud.Finding, error) {
	s, err := session.Open(credentials)
	if err != nil {
		return nil, err
	}
	found := inspect.Run(ctx, inspect.Subject{Session: s, Spec: spec, Count: count, Now: time.Now, Progress: progress})
	return found, s.Close(context.WithoutCancel(ctx))
}

// Metadata returns what cloudbase-init reads in the guest as guestinfo.metadata, unpacked.
func Metadata(m cloud.Machine) []byte { return request.Metadata(m) }
