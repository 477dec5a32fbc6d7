package machine

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// firsts holds the machines whose VM nobody can have asked for before this process did. No clock can prove that. But no request
// is sent before the finalizer is there, and all our writes carry the resource version: if the API server took one of this
// process for an object without finalizer, status and identity, and later the one that put the finalizer there, then nobody was
// faster.
//
// Each machine is looked at by one goroutine at a time.
type firsts struct{ machines sync.Map } // each a first, by its key

// first is one such machine.
type first struct {
	uid types.UID
	// account is the one that was there when the finalizer was put. Another account may not see what this one asked for.
	account cloud.Cloud
}

// wrote notes that the API server took a write of this process for an object that was as original is, if no controller of ours
// had written anything into it.
func (s *firsts) wrote(original *infrav1.WindowsMachine) {
	status := original.Status
	status.ObservedGeneration = 0 // has a default
	if original.Spec.ProviderID == "" && !controllerutil.ContainsFinalizer(original, infrav1.MachineFinalizer) &&
		equality.Semantic.DeepEqual(status, infrav1.WindowsMachineStatus{}) {
		s.machines.Store(client.ObjectKeyFromObject(original), first{uid: original.UID})
	}
}

// held notes that a machine has the finalizer, and whether this process has put it there right now, with an account at hand. That
// counts once: after another process put it there, or a person took it away, nobody knows what was asked for meanwhile.
func (s *firsts) held(m *infrav1.WindowsMachine, account cloud.Cloud, justAdded bool) {
	key := client.ObjectKeyFromObject(m)
	switch entry, ok := s.machines.Load(key); {
	case justAdded && entry == any(first{uid: m.UID}):
		s.machines.Store(key, first{m.UID, account})
	case justAdded, ok && entry.(first).account == nil:
		s.machines.Delete(key)
	}
}

// isFirst reports whether nobody but this account, in this process, can have asked for a machine's VM.
func (s *firsts) isFirst(m *infrav1.WindowsMachine, account cloud.Cloud) bool {
	entry, _ := s.machines.Load(client.ObjectKeyFromObject(m))
	return account != nil && entry == any(first{m.UID, account})
}
