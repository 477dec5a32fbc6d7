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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
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
var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

func (b build) write() error {
	if b.revision == "" {
		return fmt.Errorf("no -revision: name the commit of the source, as make does")
	}
	toolchain, err := b.toolchain()
	if err != nil {
		return err
	}
	var images []mutate.IndexAddendum
	for _, p := range platforms {
		image, err := b.makeImage(p, toolchain)
		if err != nil {
			return fmt.Errorf("make image for %s: %w", p, err)
		}
		images = append(images, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	dir := filepath.Join(b.out, "image")
	digest, err := writeLayout(dir, images, b.version, b.annotations())
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	fmt.Printf("wrote %s with image %s\n", dir, digest)
	return nil
}

// makeImage builds the manager, and writes the list of its modules.
func (b build) makeImage(p v1.Platform, toolchain string) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "manager-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "manager")
	if err := b.compile(p, toolchain, file); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := b.writeModules(p, program); err != nil {
		return nil, err
	}
	return imageOf(p, program, b.annotations())
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

func (b build) compile(p v1.Platform, toolchain, file string) error {
	linked := "-s -w -buildid= -X github.com/capwin/cluster-api-provider-windows/internal/version.release=" + b.version
	arguments := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o", file, "."}
	command := exec.Command("go", arguments...)
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

func (b build) writeModules(p v1.Platform, program []byte) error {
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
