// Package image reads back what `make release` writes beside the manifests: the image, the lists of its modules and the
// provenance of everything.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	root     = "../../.."
	version  = "v0.1.0"
	image    = "registry.example.com/capwin/manager:test"
	revision = "0123456789012345678901234567890123456789"
	builder  = "https://builder.example.com/run/1"
)

// source is what an image is made from.
var source = []string{
	"api", "bootstrap", "controllers", "internal", "main.go", "go.mod", "go.sum",
}

// Two releases, from two folders, have the same bytes, and each says truly what is in it.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the manager for every platform")
	}
	tools := buildTools(t)
	first := tools.release(t, root)
	second := tools.release(t, copySource(t))
	expect.Same(t, "files of a second release", hashes(t, first), hashes(t, second))

	o := opened{t: t, dir: filepath.Join(first, "image"), used: map[string]bool{}}
	layout := read[index](o, "index.json")
	if len(layout.Manifests) != 1 || layout.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != version {
		t.Fatalf("the layout has %+v, want one image with the version", layout.Manifests)
	}
	all := blob[index](o, layout.Manifests[0])
	expect.Same(t, "revision of the image", revision, all.Annotations["org.opencontainers.image.revision"])
	var platforms []string
	for _, m := range all.Manifests {
		platforms = append(platforms, m.Platform.OS+"/"+m.Platform.Architecture)
		t.Run(m.Platform.Architecture, func(t *testing.T) {
			program := o.program(m)
			wantArchitecture(t, program, m.Platform.Architecture)
			wantModules(t, program, filepath.Join(first, "sbom", "manager-linux-"+m.Platform.Architecture+".cdx.json"))
		})
	}
	expect.Same(t, "platforms", []string{"linux/amd64", "linux/arm64"}, platforms)
	o.nothingElse()
	wantProvenance(t, first, layout.Manifests[0].Digest, all.Manifests)
	wantNamedByDigest(t, first, layout.Manifests[0].Digest)
}

// tools are the programs that `make release` runs, by their folders.
type tools map[string]string

func buildTools(t *testing.T) tools {
	t.Helper()
	all := tools{}
	for _, program := range []string{"./hack/image", "./hack/release"} {
		all[program] = filepath.Join(t.TempDir(), "program")
		build := exec.Command("go", "build", "-o", all[program], program)
		build.Dir = root
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, output)
		}
	}
	return all
}

func (all tools) run(t *testing.T, program string, arguments ...string) {
	t.Helper()
	if output, err := exec.Command(all[program], arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, output)
	}
}

// release runs both programs as make does.
func (all tools) release(t *testing.T, from string) (out string) {
	t.Helper()
	out = t.TempDir()
	all.run(t, "./hack/image", "-source", from, "-version", version, "-revision", revision, "-out", out)
	all.run(t, "./hack/release", "-source", root, "-version", version, "-image", image, "-out", filepath.Join(out, "repository"),
		"-built", out, "-revision", revision, "-builder", builder)
	expect.OK(t, os.Remove(filepath.Join(out, "repository", "clusterctl.yaml"))) // has the paths of this machine
	return out
}

// copySource is the source in another folder, whose name must not be in the image.
func copySource(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "elsewhere")
	for _, name := range source {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		expect.OK(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			target := filepath.Join(to, strings.TrimPrefix(path, from))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			return os.WriteFile(target, content, 0o600)
		}))
	}
	return dir
}

// hashes are those of all files below a folder.
func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	expect.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = hash(content)
		return err
	}))
	return all
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// The parts of an image that a runtime reads.
type (
	descriptor struct {
		MediaType, Digest string
		Size              int
		Platform          struct{ OS, Architecture string }
		Annotations       map[string]string
	}
	index struct {
		Manifests   []descriptor
		Annotations map[string]string
	}
	manifest struct {
		Config descriptor
		Layers []descriptor
	}
	config struct {
		OS, Architecture string
		Created          string
		Config           struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
)

// opened is a layout that is read as a registry client reads it: every blob is what its descriptor says.
type opened struct {
	t    *testing.T
	dir  string
	used map[string]bool
}

func read[T any](o opened, file string) (object T) {
	o.t.Helper()
	o.used[file] = true
	expect.OK(o.t, json.Unmarshal(expect.Got(os.ReadFile(filepath.Join(o.dir, file)))(o.t), &object))
	return object
}

func (o opened) bytes(d descriptor) []byte {
	o.t.Helper()
	name := "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:")
	o.used[name] = true
	content := expect.Got(os.ReadFile(filepath.Join(o.dir, name)))(o.t)
	if "sha256:"+hash(content) != d.Digest || len(content) != d.Size {
		o.t.Errorf("%s %s is not what its descriptor says", d.MediaType, d.Digest)
	}
	return content
}

func blob[T any](o opened, d descriptor) (object T) {
	o.t.Helper()
	expect.OK(o.t, json.Unmarshal(o.bytes(d), &object))
	return object
}

// never is how the image says that it has no time: one would make other bytes each time.
const never = "0001-01-01T00:00:00Z"

// program is the only file of an image.
func (o opened) program(d descriptor) []byte {
	o.t.Helper()
	m := blob[manifest](o, d)
	c := blob[config](o, m.Config)
	expect.Same(o.t, "platform", d.Platform.OS+"/"+d.Platform.Architecture, c.OS+"/"+c.Architecture)
	expect.Same(o.t, "user and entry point", []string{"65532:65532", "/manager"},
		append([]string{c.Config.User}, c.Config.Entrypoint...))
	if len(m.Layers) != 1 || c.Created != never {
		o.t.Fatalf("%d layers, created %q", len(m.Layers), c.Created)
	}
	unpacked := expect.Got(gzip.NewReader(bytes.NewReader(o.bytes(m.Layers[0]))))(o.t)
	files := expect.Got(io.ReadAll(unpacked))(o.t)
	expect.Same(o.t, "layers", []string{"sha256:" + hash(files)}, c.RootFS.DiffIDs)
	archive := tar.NewReader(bytes.NewReader(files))
	header := expect.Got(archive.Next())(o.t)
	program := expect.Got(io.ReadAll(archive))(o.t)
	if header.Name != "manager" || header.Mode != 0o755 || header.Uid != 0 || header.ModTime.Unix() != 0 {
		o.t.Errorf("the image has %+v, want an executable manager of root without a time", header)
	}
	if next, err := archive.Next(); err != io.EOF {
		o.t.Errorf("the image has %+v besides the manager: %v", next, err)
	}
	return program
}

func (o opened) nothingElse() {
	o.t.Helper()
	o.used["oci-layout"] = true
	expect.Same(o.t, "files of the layout", slices.Sorted(maps.Keys(o.used)), slices.Sorted(maps.Keys(hashes(o.t, o.dir))))
}

// wantArchitecture runs the program where this machine can.
func wantArchitecture(t *testing.T, program []byte, architecture string) {
	t.Helper()
	binary := expect.Got(elf.NewFile(bytes.NewReader(program)))(t)
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	expect.Same(t, "machine", machines[architecture], binary.Machine)
	if libraries := expect.Got(binary.ImportedLibraries())(t); len(libraries) > 0 {
		t.Errorf("the manager needs %v, which the image does not have", libraries)
	}
	file := filepath.Join(t.TempDir(), "manager")
	expect.OK(t, os.WriteFile(file, program, 0o755))
	if runs(t, architecture) {
		output, err := exec.Command(file, "--v=8").CombinedOutput()
		if err == nil || !strings.Contains(string(output), "bodies of API requests") {
			t.Errorf("the manager took --v=8: %v\n%s", err, output)
		}
	}
}

func runs(t *testing.T, architecture string) bool {
	t.Helper()
	here := expect.Got(exec.Command("go", "env", "GOHOSTOS", "GOHOSTARCH").Output())(t)
	return slices.Equal(strings.Fields(string(here)), []string{"linux", architecture})
}

type list struct {
	SpecVersion string
	Metadata    struct{ Component component }
	Components  []component
}

type component struct {
	Name, Version, PURL string
	Hashes              []struct{ Alg, Content string }
}

// wantModules compares a list with what the program says of itself, and its hashes with go.sum.
func wantModules(t *testing.T, program []byte, file string) {
	t.Helper()
	l := list{}
	expect.OK(t, json.Unmarshal(expect.Got(os.ReadFile(file))(t), &l))
	expect.Same(t, "hash of the program", hash(program), l.Metadata.Component.Hashes[0].Content)
	info := expect.Got(buildinfo.Read(bytes.NewReader(program)))(t)
	sums := goSums(t)
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range info.Deps {
		want = append(want, "pkg:golang/"+module.Path+"@"+module.Version+" "+sums[module.Path+" "+module.Version])
	}
	var got []string
	for _, c := range l.Components {
		line := c.PURL
		for _, h := range c.Hashes {
			line += " " + h.Content
		}
		got = append(got, line)
	}
	expect.Same(t, "modules", want, got)
	if len(got) < 50 {
		t.Errorf("only %d modules", len(got))
	}
}

// goSums are the hashes of go.sum by module and version, in hexadecimal.
func goSums(t *testing.T) map[string]string {
	t.Helper()
	content := expect.Got(os.ReadFile(filepath.Join(root, "go.sum")))(t)
	sums := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		sum := expect.Got(base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[2], "h1:")))(t)
		sums[fields[0]+" "+fields[1]] = hex.EncodeToString(sum)
	}
	return sums
}
