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

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// hostMemory bounds the API server of a shared world, which has up to 0.85 GB in use: what watches of several packages' tests may
// still ask for. With 2 GiB a third of its processor time went into collecting garbage, with the 4 GiB of all servers a fifth.
const hostMemory = "3GiB"

// Host runs a world, and an API server behind which nothing runs, for the tests of several packages. Each is started when the
// first of them asks for it.
type Host struct {
	folder string
	server *http.Server
	served errgroup.Group
	parts  map[string]*part

	mu      sync.Mutex
	number  int
	agents  []string
	world   *servers.Management
	running []*servers.Management
}

// part is started once. Where that has failed, as on a busy machine, the next one who asks has it tried again.
type part struct {
	start func() (offer, error)

	mu      sync.Mutex
	started bool
	made    offer
}

func (p *part) get() (made offer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		p.made, err = p.start()
		p.started = err == nil
	}
	return p.made, err
}

// Open begins to answer in a folder. All that its servers write is there.
func Open(folder string) (*Host, error) {
	h := &Host{folder: folder}
	h.parts = map[string]*part{
		"world": {start: h.startWorld}, "bare": {start: h.startBare},
		servers.PartIPAM: {start: func() (o offer, err error) {
			return o, servers.StartIPAM(context.Background(), h.world, os.Stderr)
		}},
		servers.PartCAPZ: {start: func() (o offer, err error) {
			return o, servers.InstallCAPZ(context.Background(), h.world)
		}},
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

func (h *Host) answer(w http.ResponseWriter, r *http.Request, name string) {
	known := h.parts[name]
	if known == nil {
		http.Error(w, "a host has no "+name, http.StatusNotFound)
		return
	}
	made, err := known.get()
	if err != nil {
		http.Error(w, "the host could not start "+name+": "+err.Error(), http.StatusInternalServerError)
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
	dir := filepath.Join(h.folder, "management")
	management, err := startManagement(ctx, servers.ManagementOptions{Dir: dir, Memory: hostMemory}, newest)
	if err != nil {
		return made, errors.Join(err, os.RemoveAll(dir))
	}
	own, err := asWorkload(management)
	if err == nil {
		err = errors.Join(management.StartControllers(ctx), own.furnish(ctx))
	}
	if err != nil {
		return made, errors.Join(err, management.Stop(), os.RemoveAll(dir))
	}
	h.keep(management)
	h.world, made.Shared = management, management.Share()
	fmt.Fprintf(os.Stderr, "the shared world started in %.1f s\n", time.Since(begin).Seconds())
	return made, nil
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
