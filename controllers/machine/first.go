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

// firsts knows the machines whose VM nobody can have asked for before this process did. No clock can tell that. But no request is
// sent before the finalizer is there, and all our writes carry the resource version: if the API server took one of this process
// for an object without finalizer, status and identity, and later the one that put the finalizer there, then nobody was faster.
type firsts struct {
	mu sync.Mutex
	of map[client.ObjectKey]first
}

// first is one such machine.
type first struct {
	uid types.UID
	// by is the account that was there when the finalizer was put. Another one may not know what this one asked for.
	by cloud.Cloud
}

// wrote notes that the API server took a write of this process for an object that was as it is in before.
func (s *firsts) wrote(before *infrav1.WindowsMachine) {
	if !untouched(before) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[client.ObjectKey]first{}
	}
	s.of[client.ObjectKeyFromObject(before)] = first{uid: before.UID}
}

// held notes that a machine has the finalizer, and whether this process has put it there right now, with an account at hand. That
// counts once: after another process put it there, or a person took it away, nobody knows what was asked for meanwhile.
func (s *firsts) held(m *infrav1.WindowsMachine, by cloud.Cloud, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(m)
	one, ok := s.of[key]
	switch {
	case !ok, !now && one.by != nil: // as before
	case now && one.by == nil && one.uid == m.UID:
		one.by = by
		s.of[key] = one
	default:
		delete(s.of, key)
	}
}

// has says whether nobody but this account, in this process, can have asked for a machine's VM.
func (s *firsts) has(m *infrav1.WindowsMachine, by cloud.Cloud) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.of[client.ObjectKeyFromObject(m)]
	return ok && one.uid == m.UID && one.by != nil && one.by == by
}

func (s *firsts) forget(key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, key)
}

// untouched says that no controller of ours has written anything into an object that is still there.
func untouched(m *infrav1.WindowsMachine) bool {
	status := m.Status
	status.ObservedGeneration = 0 // has a default
	return m.Spec.ProviderID == "" && !controllerutil.ContainsFinalizer(m, infrav1.MachineFinalizer) &&
		equality.Semantic.DeepEqual(status, infrav1.WindowsMachineStatus{})
}
