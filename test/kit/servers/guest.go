package servers

import (
	"context"
	"strings"
	"sync/atomic"
)

// The parts of a shared cluster that are added when somebody asks for one, once for all.
const (
	PartIPAM = "ipam"
	PartCAPZ = "capz"
)

// Shared is what another process needs of a running management cluster, to use it as well.
type Shared struct {
	KubeconfigFile, AuditLog, CoreMetrics string
}

// Guest is who uses a cluster that another process runs.
type Guest struct {
	// Agent is what it calls itself to the API server when it works as one of our managers.
	Agent string
	// Ask has whoever runs the cluster add a part to it.
	Ask func(ctx context.Context, part string) error
}

type guest struct {
	Guest

	// managers says that it has started our managers, which call themselves all the same.
	managers atomic.Bool
}

// Share describes the cluster for others.
func (m *Management) Share() Shared {
	return Shared{KubeconfigFile: m.KubeconfigFile, AuditLog: m.auditLog, CoreMetrics: m.CoreMetrics}
}

// JoinManagement uses a cluster that another process runs. What is started for it by this process runs in a folder of its own,
// and Stop ends that alone.
func JoinManagement(binaries Binaries, dir string, s Shared, g Guest) (*Management, error) {
	servers, err := newGroup(dir)
	if err != nil {
		return nil, err
	}
	m := &Management{
		binaries: binaries, servers: servers, KubeconfigFile: s.KubeconfigFile, auditLog: s.AuditLog, CoreMetrics: s.CoreMetrics,
		guest: &guest{Guest: g},
	}
	m.Config, err = restConfig(s.KubeconfigFile)
	return m, err
}

// ManagerAgent begins the user agent of our managers.
const ManagerAgent = "capwin-manager"

// asks says whether a request of one of our accounts is this process's, or one of a manager that it started.
func (m *Management) asks(agent string) bool {
	return m.guest == nil || agent == m.guest.Agent || m.guest.managers.Load() && strings.HasPrefix(agent, ManagerAgent)
}
