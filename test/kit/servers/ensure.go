package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
)

// FolderVariable names the environment variable that points at a ready folder of servers; with it nothing is built.
const FolderVariable = "CAPWIN_SERVERS"

// Binaries is a folder with all programs and manifests of this package.
type Binaries struct{ Dir string }

// Path returns the path of a program, such as "kubectl" or "clusterctl".
func (b Binaries) Path(name string) string { return filepath.Join(b.Dir, name) }

// Ensure returns the folder with all programs and manifests. What is missing is built first, with a line to progress that
// says how far it is; what is there is never built again. Two processes never build at the same time, and tests do not build.
func Ensure(ctx context.Context, progress io.Writer) (Binaries, error) {
	if dir := os.Getenv(FolderVariable); dir != "" {
		return readyFolder(Binaries{Dir: dir})
	}
	s, err := openStore(progress)
	if err != nil {
		return Binaries{}, err
	}
	missing := s.missing()
	if len(missing) == 0 {
		return s.Binaries, nil
	}
	if testing.Testing() {
		return Binaries{}, notBuilt(missing)
	}
	unlock, err := build.Lock(ctx, s.Dir+".lock", progress)
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	return s.Binaries, s.fill(ctx)
}

// notBuilt is for tests: building takes longer than go test gives a package, and would count as time of the first test.
func notBuilt(missing []string) error {
	return fmt.Errorf("of the programs that tests run, %s: run `make servers`, which takes 11 minutes for all of them",
		lacking(missing))
}

// lacking names the first few.
func lacking(missing []string) string {
	switch n := len(missing); n {
	case 1:
		return missing[0] + " is not built"
	default:
		return fmt.Sprintf("%s and %d more are not built", missing[0], n-1)
	}
}

func readyFolder(b Binaries) (Binaries, error) {
	if missing := b.missing(); len(missing) > 0 {
		return Binaries{}, fmt.Errorf("%s=%s has no %s: unset it and run `make servers`", FolderVariable, b.Dir,
			strings.Join(missing, ", "))
	}
	return b, nil
}

// missing lists what the folder still lacks. Existence is enough: files enter the folder complete or not at all.
func (b Binaries) missing() []string {
	var names []string
	for _, name := range contents() {
		if _, err := os.Stat(b.Path(name)); err != nil {
			names = append(names, name)
		}
	}
	return names
}

func contents() []string {
	var names []string
	for _, p := range programs {
		names = append(names, p.name)
	}
	for _, p := range providers {
		names = append(names, p.file())
	}
	return append(names, cloudManifest)
}

// store is the folder in the user's cache that Ensure fills.
type store struct {
	Binaries
	tools    toolset
	progress io.Writer
}

func openStore(progress io.Writer) (store, error) {
	tools, err := findTools()
	if err != nil {
		return store{}, err
	}
	key, err := tools.key()
	if err != nil {
		return store{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return store{}, fmt.Errorf("find cache folder: %w", err)
	}
	s := store{Binaries: Binaries{Dir: filepath.Join(cache, "capwin", "servers", key)}, tools: tools, progress: progress}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return store{}, fmt.Errorf("create cache folder: %w", err)
	}
	return s, nil
}

// fill makes what is missing; another process may have made some of it while we waited for the lock.
func (s store) fill(ctx context.Context) error {
	if err := s.download(ctx); err != nil {
		return err
	}
	var lacking []program
	for _, p := range programs {
		if !s.has(p.name) {
			lacking = append(lacking, p)
		}
	}
	if err := s.buildAll(ctx, lacking); err != nil {
		return err
	}
	if err := s.renderAll(ctx); err != nil {
		return err
	}
	return s.keepCloudManifest(ctx)
}

// buildAll compiles the programs at the versions that the tools name.
func (s store) buildAll(ctx context.Context, lacking []program) error {
	if len(lacking) == 0 {
		return nil
	}
	begin, plan := time.Now(), schedule{programs: lacking}
	s.say("%s", plan.title())
	for _, p := range lacking {
		version, err := s.tools.version(p.module)
		if err != nil {
			return err
		}
		took, err := s.place(ctx, plan, version)
		if err != nil {
			return err
		}
		plan.built, plan.took = plan.built+1, plan.took+took
	}
	newDisplay(s.progress).end("built in " + since(begin).String())
	return nil
}

func (s store) has(name string) bool {
	_, err := os.Stat(s.Path(name))
	return err == nil
}

// place compiles the program that is next beside its place, and moves it there when it is complete.
func (s store) place(ctx context.Context, plan schedule, version string) (time.Duration, error) {
	p, start := plan.programs[plan.built], time.Now()
	part := s.part(p.name)
	defer func() { _ = os.Remove(part) }()
	if err := s.compile(ctx, plan, version, part); err != nil {
		return 0, fmt.Errorf("build %s: %w", p.name, err)
	}
	if err := os.Rename(part, s.Path(p.name)); err != nil {
		return 0, fmt.Errorf("build %s: %w", p.name, err)
	}
	return time.Since(start), nil
}

// compile reports, while it works, how long everything still takes.
func (s store) compile(ctx context.Context, plan schedule, version, out string) error {
	p, start, screen := plan.programs[plan.built], time.Now(), newDisplay(s.progress)
	done := make(chan error, 1)
	go func() { done <- s.goBuild(ctx, p.pkg, ldflags(p.module, version), out) }()
	screen.show(plan.line(0))
	tick := time.NewTicker(screen.every())
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				screen.end(plan.line(time.Since(start))) // or the error would begin in its line
			}
			return err
		case <-tick.C:
			screen.show(plan.line(time.Since(start)))
		}
	}
}

func (s store) goBuild(ctx context.Context, pkg, ldflags, out string) error {
	cmd := command(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", out, pkg)
	cmd.Dir = s.tools.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	_, err := run(cmd)
	return err
}

// write puts a file into the folder at once or not at all.
func (s store) write(name string, content []byte) error {
	part := s.part(name)
	defer func() { _ = os.Remove(part) }()
	err := os.WriteFile(part, content, 0o644)
	if err == nil {
		err = os.Rename(part, s.Path(name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// part is where a file grows: on the same disk, so that moving it into place is one step.
func (s store) part(name string) string { return s.Path("." + name + ".part") }

func (s store) say(format string, args ...any) {
	if s.progress != nil {
		fmt.Fprintf(s.progress, format+"\n", args...)
	}
}

func since(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }
