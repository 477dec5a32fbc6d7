package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// group runs the servers of one cluster in tiers: a tier starts when the one before is ready, and stops before it.
type group struct {
	dir   string
	mu    sync.Mutex
	tiers [][]*process
}

func newGroup(dir string) (*group, error) {
	if dir == "" {
		return nil, errors.New("start servers: no run folder given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	if err := hasRoom(dir); err != nil {
		return nil, err
	}
	return &group{dir: dir}, nil
}

// start starts a tier and waits until all of it is ready. What it started is stopped with the group, also after an error.
func (g *group) start(ctx context.Context, tier ...server) error {
	var processes []*process
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tiers = append(g.tiers, processes)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waits, ctx := errgroup.WithContext(ctx)
	for _, s := range tier {
		p, err := launch(g.dir, s)
		if err != nil {
			cancel()
			_ = waits.Wait() // only says that we have just cancelled it
			return err
		}
		processes = append(processes, p)
		waits.Go(func() error { return p.awaitReady(ctx) })
	}
	return waits.Wait()
}

// process of a name, which may have ended.
func (g *group) process(name string) (*process, error) {
	if p := g.find(name); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no %s runs", name)
}

func (g *group) find(name string) *process {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, tier := range g.tiers {
		if i := slices.IndexFunc(tier, func(p *process) bool { return p.name == name }); i >= 0 {
			return tier[i]
		}
	}
	return nil
}

// again starts a process that has ended. What it printed before is kept beside its new log.
func (g *group) again(ctx context.Context, old *process) error {
	if err := os.Rename(old.log, old.log+".before"); err != nil {
		return fmt.Errorf("keep log of %s: %w", old.name, err)
	}
	g.mu.Lock()
	for i, tier := range g.tiers {
		for j, p := range tier {
			if p == old {
				g.tiers[i] = append(tier[:j:j], tier[j+1:]...)
			}
		}
	}
	g.mu.Unlock()
	return g.start(ctx, old.server)
}

// stop ends all servers, the last tier first. A second call does nothing.
func (g *group) stop() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, tier := range slices.Backward(g.tiers) {
		errs = append(errs, stopAll(tier))
	}
	g.tiers = nil
	if folder := os.Getenv(LogsVariable); folder != "" {
		errs = append(errs, keepLogs(g.dir, folder))
	}
	return errors.Join(errs...)
}

// LogsVariable names the environment variable of a folder in which the logs of all servers and managers stay when they end. The
// folder of a test, where they lie until then, goes with it.
const LogsVariable = "CAPWIN_LOGS"

func keepLogs(from, folder string) error {
	logs, err := filepath.Glob(filepath.Join(from, "*.log*"))
	if err != nil {
		return err
	}
	kept := filepath.Join(folder, strings.ReplaceAll(strings.Trim(from, "/"), "/", "-"))
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return fmt.Errorf("keep logs of servers: %w", err)
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err == nil {
			err = os.WriteFile(filepath.Join(kept, filepath.Base(log)), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("keep logs of servers: %w", err)
		}
	}
	return nil
}

func stopAll(tier []*process) error {
	var stops errgroup.Group
	for _, p := range tier {
		stops.Go(func() error { return p.stop(p.grace()) })
	}
	return stops.Wait()
}
