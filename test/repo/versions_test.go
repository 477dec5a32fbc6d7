package repo

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// leastVersions are those with which what we ship has no known hole; advisory says which hole an older version has.
var leastVersions = []struct{ name, version, advisory string }{
	{"go", "1.26.6", "GO-2026-6090: crypto/tls has no limit after the handshake; GO-2026-5972: encoding/asn1 recurses"},
	{"google.golang.org/grpc", "1.83.2", "CVE-2026-84445 (GHSA-2v4p-qf9q-27wj): a request without a host ends an xDS server"},
	{"golang.org/x/net", "0.55.0", "CVE-2026-39821 (GO-2026-5026): idna accepts labels that look like another name"},
	{"golang.org/x/crypto", "0.55.0", "CVE-2026-56854: an ssh server ignores source-address restrictions"},
	{"golang.org/x/text", "0.40.0", "CVE-2026-56852 (GO-2026-5970): norm never ends on invalid UTF-8"},
	{"go.opentelemetry.io/otel", "1.44.0", "CVE-2026-41178 (GO-2026-5158): baggage headers have no limit"},
}

// older versions are allowed in modules that we do not ship: what they build listens on the loopback address of a test.
var older = map[string]string{
	"test/repo/tools google.golang.org/grpc":       "no program of it is an xDS server, and a change builds all servers again",
	"test/upstream/kubelet google.golang.org/grpc": "it parses settings and listens nowhere",
}

// The vulnerability database is asked by `make vulncheck`; these versions are held even where it cannot be reached.
func TestLeastVersions(t *testing.T) {
	used := map[string]bool{}
	for _, folder := range []string{".", "test/repo/tools", "test/upstream/kubelet"} {
		has := moduleVersions(t, folder)
		for _, least := range leastVersions {
			version, ok := has[least.name]
			exception := folder + " " + least.name
			if !ok || compareVersions(version, least.version) >= 0 {
				continue
			}
			if used[exception] = true; older[exception] == "" {
				t.Errorf("%s/go.mod has %s %s, want at least %s: %s", folder, least.name, version, least.version, least.advisory)
			}
		}
	}
	for exception := range older {
		if !used[exception] {
			t.Errorf("%s is an exception and need not be one", exception)
		}
	}
}

// The toolchain line makes every build use that Go or a newer one. A go command that may not download keeps to its own.
func TestToolchainRuns(t *testing.T) {
	wanted, running := moduleVersions(t, ".")["go"], strings.TrimPrefix(runtime.Version(), "go")
	if compareVersions(running, wanted) < 0 {
		t.Errorf("this is Go %s; go.mod wants %s: install it or unset GOTOOLCHAIN", running, wanted)
	}
}

// Those who build with Docker get the same Go.
func TestDockerfileHasTheToolchain(t *testing.T) {
	content := expect.Got(os.ReadFile(filepath.Join(root, "Dockerfile")))(t)
	found := regexp.MustCompile(`(?m)^ARG GO_IMAGE=golang:(\S+)$`).FindStringSubmatch(string(content))
	if want := moduleVersions(t, ".")["go"]; len(found) != 2 || found[1] != want {
		t.Errorf("Dockerfile has %v, want GO_IMAGE=golang:%s", found, want)
	}
	if strings.Contains(string(content), ":latest") {
		t.Error("Dockerfile has an image whose tag moves")
	}
}

// moduleVersions returns what a go.mod requires, without the v; "go" is the toolchain's version, or the language's.
func moduleVersions(t *testing.T, folder string) map[string]string {
	t.Helper()
	content := expect.Got(os.ReadFile(filepath.Join(root, folder, "go.mod")))(t)
	versions := map[string]string{}
	line := regexp.MustCompile(`(?m)^\s*(?:require )?(\S+) v(\d\S*)(?: // indirect)?$`)
	for _, found := range line.FindAllStringSubmatch(string(content), -1) {
		versions[found[1]] = found[2]
	}
	if found := regexp.MustCompile(`(?m)^toolchain go(\S+)$`).FindStringSubmatch(string(content)); found != nil {
		versions["go"] = found[1]
	}
	return versions
}

// compareVersions compares the numbers of two versions.
func compareVersions(a, b string) int {
	as, bs := numbers(a), numbers(b)
	for i := range max(len(as), len(bs)) {
		if c := cmp.Compare(at(as, i), at(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

func numbers(version string) []int {
	release, _, _ := strings.Cut(version, "-")
	var all []int
	for part := range strings.SplitSeq(release, ".") {
		number, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		all = append(all, number)
	}
	return all
}

func at(numbers []int, i int) int {
	if i < len(numbers) {
		return numbers[i]
	}
	return 0
}

// What the page says of the rights of nodes was tried on these versions.
func TestVersionsOfRights(t *testing.T) {
	script := expect.Got(os.ReadFile(filepath.Join(root, "test", "kit", "servers", "rights.sh")))(t)
	found := regexp.MustCompile(`(?m)^for version in v(\S+) "\$pinned" v(\S+); do$`).FindStringSubmatch(string(script))
	if found == nil {
		t.Fatal("rights.sh names no versions")
	}
	pinned := moduleVersions(t, "test/repo/tools")["k8s.io/kubernetes"]
	text := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "contributing", "permissions.md")))(t))
	page := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"on a real API server of Kubernetes " + pinned + ".", "on " + found[1] + ", " + pinned + " and " + found[2] + ",",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/contributing/permissions.md does not say %q", want)
		}
	}
}
