// Package build makes the programs of this repository for its tests, each once for all tests of a tree.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// kept is how long a program stays that no test has asked for since.
const kept = 24 * time.Hour

// Program puts a program of the module that lies in root at this path, with these values of variables, such as
// internal/manager.azureSpeed=10 after the name of the module. What an earlier call has made of the same sources is used again:
// linking a manager takes seconds of a processor, and a run of all tests asks for it a dozen times.
func Program(ctx context.Context, root, pkg, path string, values ...string) error {
	key, err := sources(root, append([]string{pkg}, values...))
	if err != nil {
		return fmt.Errorf("look at the sources of %s: %w", pkg, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find cache folder: %w", err)
	}
	folder := filepath.Join(cache, "capwin", "built")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create cache folder: %w", err)
	}
	made := filepath.Join(folder, key)
	unlock, err := Lock(ctx, made+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	if err := prune(folder); err != nil {
		return err
	}
	if err := compile(ctx, root, pkg, made, values); err != nil {
		return err
	}
	return link(made, path)
}

// compile leaves nothing half made: what has the name is whole.
func compile(ctx context.Context, root, pkg, made string, values []string) error {
	if now := time.Now(); os.Chtimes(made, now, now) == nil {
		return nil
	}
	half := made + ".half"
	flags := strings.Join(append([]string{"-ldflags=-w"}, values...), " -X ")
	command := exec.CommandContext(ctx, "go", "build", flags, "-o", half, pkg)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, output)
	}
	return os.Rename(half, made)
}

// link gives a test the program under a name of its own, which outlives its removal from the cache.
func link(made, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if os.Link(made, path) == nil {
		return nil
	}
	program, err := os.ReadFile(made) // the test's folder is on another disk
	if err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o755)
}

func prune(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || filepath.Ext(entry.Name()) == ".lock" || time.Since(info.ModTime()) < kept {
			continue // it went meanwhile, or somebody needs it
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// without are folders that no program is made of.
var without = []string{".git", "bin", "docs", "hack", "out", "test"}

// sources is a key of all files that a program may be made of, and of how it is made. go test sees that they are read: it repeats
// no result of a test if one of them has changed.
func sources(root string, how []string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv("GOFLAGS"), how)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if filepath.Dir(path) == filepath.Clean(root) && slices.Contains(without, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(hash, path, len(text))
		_, err = hash.Write(text)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:32], err
}
