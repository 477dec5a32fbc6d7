package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const modText = `module example.com/tools

require (
	k8s.io/kubernetes v1.36.3
	sigs.k8s.io/cluster-api v1.14.2 // indirect
)

require go.etcd.io/etcd/server/v3 v3.6.14
`

func TestVersion(t *testing.T) {
	tools := toolset{mod: []byte(modText)}
	for module, want := range map[string]string{
		kubernetesModule: "v1.36.3", capiModule: "v1.14.2", etcdModule: "v3.6.14",
		// It begins like one that is there.
		"sigs.k8s.io/cluster-api/api": "",
	} {
		got, err := tools.version(module)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("version of %s is %q, %v; want %q", module, got, err, want)
		}
	}
}

func TestKeyFollowsWhatProgramsAreMadeFrom(t *testing.T) {
	key := func(mod, sum string) string {
		return expect.Got(toolset{mod: []byte(mod), sum: []byte(sum)}.key())(t)
	}
	first := key(modText, "sum")
	if !strings.HasPrefix(first, "kubernetes-v1.36.3-capi-v1.14.2-") {
		t.Errorf("key %s does not tell its versions", first)
	}
	if again := key(modText, "sum"); again != first {
		t.Errorf("the same sources have keys %s and %s", first, again)
	}
	for reason, other := range map[string]string{
		"a version changed":    key(strings.Replace(modText, "v1.36.3", "v1.36.4", 1), "sum"),
		"a dependency changed": key(modText+"require example.com/other v1.0.0\n", "sum"),
		"a checksum changed":   key(modText, "other sum"),
	} {
		if other == first {
			t.Errorf("%s and the key did not", reason)
		}
	}
	if _, err := (toolset{mod: []byte("module example.com/tools\n")}).key(); err == nil {
		t.Error("tools without Kubernetes have a key")
	}
}

func TestLdflagsStampVersions(t *testing.T) {
	for _, c := range []struct{ module, version, want string }{
		{etcdModule, "v3.6.14", "-s -w"},
		{capiModule, "v1.14.2", "-s -w" +
			" -X sigs.k8s.io/cluster-api/version.gitVersion=v1.14.2 -X sigs.k8s.io/cluster-api/version.gitMajor=1" +
			" -X sigs.k8s.io/cluster-api/version.gitMinor=14 -X sigs.k8s.io/cluster-api/version.gitTreeState=clean"},
	} {
		expect.Same(t, "ldflags of "+c.module, c.want, ldflags(c.module, c.version))
	}
}

func TestFindTools(t *testing.T) {
	tools := expect.Got(findTools())(t)
	for _, p := range programs {
		if _, err := tools.version(p.module); err != nil {
			t.Errorf("program %s: %v", p.name, err)
		}
		if !bytes.Contains(tools.mod, []byte("\t"+p.pkg+"\n")) {
			t.Errorf("program %s: %s is not a tool of %s", p.name, p.pkg, tools.dir)
		}
	}
	if root, found := rootAbove(t.TempDir()); found {
		t.Errorf("a temporary folder is taken for a part of the repository %s", root)
	}
}

func TestEnsureTakesReadyFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(FolderVariable, dir)
	if _, err := Ensure(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "clusterctl") {
		t.Errorf("an empty folder gives error %v, want one that names what is missing", err)
	}
	for _, name := range contents() {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	got, err := Ensure(t.Context(), nil)
	if want := (Binaries{Dir: dir}); got != want || err != nil {
		t.Errorf("a full folder gives %v, %v; want %v", got, err, want)
	}
}

// tiny is a store over a module with one small program.
func tiny(t *testing.T, source string) (store, *bytes.Buffer) {
	t.Helper()
	tools := toolset{dir: t.TempDir(), mod: []byte("require tiny v1.2.3")}
	for name, content := range map[string]string{"go.mod": "module tiny\n\ngo 1.26\n", "main.go": source} {
		expect.OK(t, os.WriteFile(filepath.Join(tools.dir, name), []byte(content), 0o600))
	}
	progress := &bytes.Buffer{}
	return store{Binaries: Binaries{Dir: t.TempDir()}, tools: tools, progress: progress}, progress
}

var tinyProgram = program{name: "tool", module: "tiny", pkg: "tiny", cost: time.Second}

func TestBuild(t *testing.T) {
	s, progress := tiny(t, `package main; func main() { print("hello") }`)
	expect.OK(t, s.buildAll(t.Context(), []program{tinyProgram}))
	if _, err := run(command(t.Context(), s.Path("tool"))); err != nil {
		t.Error(err)
	}
	want := "building 1 server, once: it stays in your cache\nbuilding 1 of 1, about 10 s left: tool, 0s\nbuilt in "
	if !strings.HasPrefix(progress.String(), want) {
		t.Errorf("progress is %q, want %q...", progress, want)
	}
	onlyHolds(t, s.Dir, "tool")
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	s, _ := tiny(t, "package main; func main() { undefined() }")
	err := s.buildAll(t.Context(), []program{tinyProgram})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("got error %v, want the compiler's", err)
	}
	onlyHolds(t, s.Dir)
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	s, _ := tiny(t, "package main; func main() {}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.buildAll(ctx, []program{tinyProgram}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want cancelled", err)
	}
	onlyHolds(t, s.Dir)
}

func TestDownloadedProgramsAreTaken(t *testing.T) {
	s, _ := tiny(t, "package main")
	downloaded := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		expect.OK(t, os.WriteFile(filepath.Join(downloaded, name), []byte("downloaded"), 0o600))
	}
	expect.OK(t, s.write("kubectl", []byte("built before")))
	expect.OK(t, s.take(downloaded))
	onlyHolds(t, s.Dir, "etcd", "kube-apiserver", "kubectl")
	if kept, err := os.ReadFile(s.Path("kubectl")); err != nil || string(kept) != "built before" {
		t.Errorf("kubectl is %q, %v; want the one that was there", kept, err)
	}
	if s.lacksDownloadable() {
		t.Error("something is left to download")
	}
}

func onlyHolds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := expect.Got(os.ReadDir(dir))(t)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	expect.Same(t, "files in the folder", want, got)
}

// A test that finds no servers ends with what to do: building them would take longer than go test waits.
func TestNotBuilt(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", folder)
	expect.Says(t, "no servers", expect.ErrorOf(Ensure(t.Context(), nil)),
		fmt.Sprintf("of the programs that tests run, %s and %d more are not built: run `make servers`",
			contents()[0], len(contents())-1))
	expect.Says(t, "one", notBuilt([]string{"kubectl"}), "of the programs that tests run, kubectl is not built: run `make servers`")
	t.Setenv(FolderVariable, folder)
	expect.Says(t, "an empty folder", expect.ErrorOf(Ensure(t.Context(), nil)),
		FolderVariable+"="+folder+" has no "+strings.Join(contents(), ", ")+": unset it and run `make servers`")
	for _, name := range contents()[1:] {
		expect.OK(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	expect.Same(t, "one missing", FolderVariable+"="+folder+" has no "+contents()[0]+": unset it and run `make servers`",
		expect.ErrorOf(Ensure(t.Context(), nil)).Error())
}
