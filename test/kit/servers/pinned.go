package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
)

// pinned is a module that stands in no go.mod of ours, since its own go.mod is older than ours, or since only its files are
// used: version and checksum are pinned in our source.
type pinned struct{ path, version, sum string }

// source is the folder of the module's source, as its checksum says it must be.
func (p pinned) source(ctx context.Context) (string, error) {
	cmd := command(ctx, "go", "mod", "download", "-json", p.path+"@"+p.version)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off")
	out, err := run(cmd)
	if err != nil {
		return "", fmt.Errorf("download source of %s: %w", p.path, err)
	}
	var downloaded struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("download source of %s: %w", p.path, err)
	}
	if downloaded.Sum != p.sum {
		return "", fmt.Errorf("download source of %s: its checksum is %s and not %s", p.path, downloaded.Sum, p.sum)
	}
	return downloaded.Dir, nil
}

// pinnedProgram is the main package of such a module, built by the go.mod of its own.
type pinnedProgram struct {
	pinned
	name string
	// folder of the user's cache that is for its versions.
	folder string
	cost   time.Duration // as in program
}

// ensure returns the folder with the program and that of its source. What is missing is built first, once.
func (p pinnedProgram) ensure(ctx context.Context, progress io.Writer) (b Binaries, source string, err error) {
	if source, err = p.source(ctx); err != nil {
		return Binaries{}, "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binaries{}, "", fmt.Errorf("find cache folder: %w", err)
	}
	b.Dir = filepath.Join(cache, "capwin", p.folder, p.version+"-"+runtime.Version())
	s := store{Binaries: b, tools: toolset{dir: source}, progress: progress}
	if s.has(p.name) {
		return b, source, nil
	}
	if testing.Testing() {
		return Binaries{}, "", notBuilt([]string{p.name})
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return Binaries{}, "", fmt.Errorf("create cache folder: %w", err)
	}
	unlock, err := build.Lock(ctx, s.Dir+".lock", progress)
	if err != nil {
		return Binaries{}, "", err
	}
	defer unlock()
	if s.has(p.name) {
		return b, source, nil
	}
	plan := schedule{programs: []program{{name: p.name, module: p.path, pkg: ".", cost: p.cost}}}
	s.say("%s", plan.title())
	took, err := s.place(ctx, plan, p.version)
	newDisplay(progress).end("built in " + took.Round(time.Second).String())
	return b, source, err
}
