package servers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const rootModule = "github.com/capwin/cluster-api-provider-windows"

// toolset is the module test/repo/tools, which pins every version.
type toolset struct {
	dir      string
	mod, sum []byte
}

func findTools() (toolset, error) {
	root, err := repositoryRoot()
	if err != nil {
		return toolset{}, err
	}
	t := toolset{dir: filepath.Join(root, "test", "repo", "tools")}
	if t.mod, err = os.ReadFile(filepath.Join(t.dir, "go.mod")); err != nil {
		return toolset{}, fmt.Errorf("read versions of the servers: %w", err)
	}
	if t.sum, err = os.ReadFile(filepath.Join(t.dir, "go.sum")); err != nil {
		return toolset{}, fmt.Errorf("read checksums of the servers: %w", err)
	}
	return t, nil
}

// repositoryRoot looks above this source file first and then above the working directory: a program built with -trimpath
// does not know where its source lies.
func repositoryRoot() (string, error) {
	_, source, _, _ := runtime.Caller(0)
	if root, ok := rootAbove(filepath.Dir(source)); ok {
		return root, nil
	}
	work, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	if root, ok := rootAbove(work); ok {
		return root, nil
	}
	return "", fmt.Errorf("find repository: no go.mod of %s above %s", rootModule, work)
}

func rootAbove(dir string) (string, bool) {
	for filepath.IsAbs(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+rootModule+"\n")) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return "", false
}

// version reads go.mod itself: asking the go command costs half a second at every start.
func (t toolset) version(module string) (string, error) {
	for line := range strings.Lines(string(t.mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("find version: %s is not in %s", module, filepath.Join(t.dir, "go.mod"))
}

// key names what the programs and manifests are made from. Any change of it makes a new folder; Go's own build cache sees to
// it that only the packages that changed are compiled for that.
func (t toolset) key() (string, error) {
	kubernetes, err := t.version(kubernetesModule)
	if err != nil {
		return "", err
	}
	capi, err := t.version(capiModule)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	// fmt prints maps in the order of their keys.
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, runtime.Version(), packages(), providers, variables)
	fmt.Fprintln(hash, ldflags(kubernetesModule, kubernetes), ldflags(capiModule, capi))
	hash.Write(t.mod)
	hash.Write(t.sum)
	return fmt.Sprintf("kubernetes-%s-capi-%s-%s", kubernetes, capi, hex.EncodeToString(hash.Sum(nil))[:12]), nil
}

// sourceOf returns the folder of a module's source in the module cache, downloading it when it is not there.
func (t toolset) sourceOf(ctx context.Context, module string) (string, error) {
	cmd := command(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Env = t.dir, append(os.Environ(), "GOWORK=off")
	out, err := run(cmd)
	if err != nil {
		return "", fmt.Errorf("download source of %s: %w", module, err)
	}
	var downloaded struct{ Dir, Error string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("download source of %s: %w", module, err)
	}
	if downloaded.Error != "" {
		return "", fmt.Errorf("download source of %s: %w", module, errors.New(downloaded.Error))
	}
	return downloaded.Dir, nil
}
