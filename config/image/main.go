// Command image builds the manager for every platform and writes it as an image without a base: an OCI layout that any registry
// client can push, and for each platform a list of the modules in it. The same source gives the same bytes. With -push it copies
// such a layout to a registry.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var b build
	flag.StringVar(&b.version, "version", "v0.1.0", "version of the release")
	flag.StringVar(&b.revision, "revision", "", "commit of the source")
	flag.StringVar(&b.out, "out", "out", "folder to write")
	flag.StringVar(&b.source, "source", ".", "root of this repository")
	image := flag.String("push", "", "push the image that is in the folder under this name, and build nothing")
	flag.Parse()
	if err := b.run(context.Background(), *image); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type build struct{ version, revision, out, source string }

func (b build) run(ctx context.Context, image string) error {
	if image != "" {
		return push(ctx, b.out, image)
	}
	return b.write()
}

// platforms are what an image of the managers runs on.
var platforms = []platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

func (b build) write() error {
	if b.revision == "" {
		return fmt.Errorf("no -revision: name the commit of the source, as make does")
	}
	l, err := newLayout(filepath.Join(b.out, "image"))
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	toolchain, err := b.toolchain()
	if err != nil {
		return err
	}
	var manifests []descriptor
	for _, p := range platforms {
		m, err := b.writePlatform(l, p, toolchain)
		if err != nil {
			return fmt.Errorf("write image for %s: %w", p.name(), err)
		}
		manifests = append(manifests, m)
	}
	digest, err := l.close(manifests, b.version, b.annotations())
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	fmt.Printf("wrote %s with image %s\n", l.dir, digest)
	return nil
}

// writePlatform builds the manager and puts it, and what is said of it, in place.
func (b build) writePlatform(l *layout, p platform, toolchain string) (descriptor, error) {
	dir, err := os.MkdirTemp("", "manager-")
	if err != nil {
		return descriptor{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "manager")
	if err := b.compile(p, toolchain, file); err != nil {
		return descriptor{}, err
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return descriptor{}, err
	}
	if err := b.writeModules(p, program); err != nil {
		return descriptor{}, err
	}
	return l.addImage(p, program, b.annotations())
}

// toolchain is the Go of go.mod: another one would make other bytes of the same source.
func (b build) toolchain() (string, error) {
	content, err := os.ReadFile(filepath.Join(b.source, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("find toolchain: %w", err)
	}
	found := regexp.MustCompile(`(?m)^toolchain (go\S+)$`).FindSubmatch(content)
	if found == nil {
		return "", fmt.Errorf("find toolchain: %s/go.mod has no line \"toolchain\"; add one", b.source)
	}
	return string(found[1]), nil
}

func (b build) compile(p platform, toolchain, file string) error {
	linked := "-s -w -buildid= -X github.com/capwin/cluster-api-provider-windows/internal/version.release=" + b.version
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o", file, "."}
	command := exec.Command("go", arguments...) //nolint:noctx,gosec // because main has no context, and the arguments are ours
	command.Dir = b.source
	// Only these settings of the environment can change the bytes.
	command.Env = append(slices.DeleteFunc(os.Environ(), changesBytes), "CGO_ENABLED=0", "GOWORK=off", "GOTOOLCHAIN="+toolchain,
		"GOOS="+p.OS, "GOARCH="+p.Architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build manager: %w\n%s", err, output)
	}
	return nil
}

// changesBytes says whether a variable of the go command changes what it builds. Where it finds modules and keeps its cache does
// not.
func changesBytes(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	kept := []string{
		"GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTMPDIR", "GOAUTH",
	}
	return strings.HasPrefix(name, "GO") && !slices.Contains(kept, name)
}

func (b build) annotations() map[string]string {
	const source = "https://github.com/capwin/cluster-api-provider-windows"
	return map[string]string{
		"org.opencontainers.image.title":         "Cluster API Provider Windows",
		"org.opencontainers.image.description":   "The infrastructure and the bootstrap manager",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        source,
		"org.opencontainers.image.documentation": source + "/blob/" + b.version + "/README.md",
		"org.opencontainers.image.version":       b.version,
		"org.opencontainers.image.revision":      b.revision,
	}
}

func (b build) writeModules(p platform, program []byte) error {
	list, err := modulesOf(bytes.NewReader(program), b.version)
	if err != nil {
		return fmt.Errorf("list modules: %w", err)
	}
	folder := filepath.Join(b.out, "sbom")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, fmt.Sprintf("manager-%s-%s.cdx.json", p.OS, p.Architecture)), list, 0o600)
}
