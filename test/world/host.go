package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// older are the definitions that tests write in all versions. To give one to a kind that others watch would end their watches, so
// a world that is shared has them from the beginning; a conversion of each of their objects is the price.
var older = []string{"machines.cluster.x-k8s.io", "machinedeployments.cluster.x-k8s.io"}

// Host runs a world, and an API server behind which nothing runs, for the tests of several packages. Each is started when the
// first of them asks for it.
type Host struct {
	folder string
	server *http.Server
	served errgroup.Group
	parts  map[string]func() (offer, error)

	mu      sync.Mutex
	number  int
	agents  []string
	world   *servers.Management
	running []*servers.Management
}

// Open begins to answer in a folder. All that its servers write is there.
func Open(folder string) (*Host, error) {
	h := &Host{folder: folder}
	h.parts = map[string]func() (offer, error){
		"world": sync.OnceValues(h.startWorld), "bare": sync.OnceValues(h.startBare),
		servers.PartIPAM: sync.OnceValues(func() (offer, error) {
			return offer{}, servers.StartIPAM(context.Background(), h.world, os.Stderr)
		}),
		servers.PartCAPZ: sync.OnceValues(func() (offer, error) {
			return offer{}, servers.InstallCAPZ(context.Background(), h.world)
		}),
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socketIn(folder))
	if err != nil {
		return nil, fmt.Errorf("wait for tests in %s: %w", folder, err)
	}
	mux := http.NewServeMux()
	for _, part := range []string{"world", "bare"} {
		mux.HandleFunc("POST /"+part, func(w http.ResponseWriter, r *http.Request) { h.answer(w, r, part) })
	}
	mux.HandleFunc("POST /part", func(w http.ResponseWriter, r *http.Request) { h.answer(w, r, r.FormValue("name")) })
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	h.served.Go(func() error { return h.server.Serve(listener) })
	return h, nil
}

func (h *Host) answer(w http.ResponseWriter, r *http.Request, part string) {
	start := h.parts[part]
	if start == nil {
		http.Error(w, "a host has no "+part, http.StatusNotFound)
		return
	}
	made, err := start()
	if err != nil {
		http.Error(w, "the host could not start "+part+": "+err.Error(), http.StatusInternalServerError)
		return
	}
	made.Number = h.admit(r.FormValue("name"))
	_ = json.NewEncoder(w).Encode(made) // a client that has gone needs no answer
}

// admit gives a process its number, and notes what it calls itself.
func (h *Host) admit(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.number++
	h.agents = append(h.agents, agentOf(name, h.number))
	return h.number
}

func (h *Host) startWorld() (made offer, err error) {
	begin, ctx := time.Now(), context.Background()
	if made.Components, err = servers.ComponentsDigest(); err != nil {
		return made, err
	}
	management, err := startManagement(ctx, filepath.Join(h.folder, "management"), older...)
	if err != nil {
		return made, err
	}
	h.keep(management)
	h.world, made.Shared = management, management.Share(older...)
	own, err := asWorkload(management)
	if err == nil {
		err = errors.Join(management.StartControllers(ctx), own.furnish(ctx))
	}
	fmt.Fprintf(os.Stderr, "the shared world started in %.1f s\n", time.Since(begin).Seconds())
	return made, err
}

func (h *Host) startBare() (offer, error) {
	management, err := startBare(context.Background(), filepath.Join(h.folder, "bare"))
	if err != nil {
		return offer{}, err
	}
	h.keep(management)
	return offer{Shared: management.Share()}, nil
}

func (h *Host) keep(m *servers.Management) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = append(h.running, m)
}

// Close stops all servers. It fails if one has ended before, or if somebody was refused what our controllers may do, and was none
// of the processes that asked for the world: each of these looks after itself.
func (h *Host) Close() error {
	err := h.server.Close()
	if served := h.served.Wait(); !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.world != nil {
		audit, failed := h.world.AuditOf(h.strange)
		err = errors.Join(err, failed, refused(audit))
	}
	for _, m := range h.running {
		err = errors.Join(err, m.Stop())
	}
	return err
}

// strange must be called with the lock.
func (h *Host) strange(agent string) bool {
	return !slices.Contains(h.agents, agent) && !strings.HasPrefix(agent, servers.ManagerAgent)
}
