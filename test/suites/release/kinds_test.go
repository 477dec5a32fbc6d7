package release

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// installProviders installs the kinds of the providers to which flavors leave their Linux machines.
func installProviders(t *testing.T, management *servers.Management) {
	t.Helper()
	expect.OK(t, servers.InstallCAPV(t.Context(), management))
	expect.OK(t, servers.InstallCAPZ(t.Context(), management))
}

// strictly offers objects to an API server that must take every field and have nothing to warn of.
func (u user) strictly(management *servers.Management, objects []byte) {
	u.t.Helper()
	u.kubectl(management, objects,
		"apply", "--server-side", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
}

// flavors of a release, by the names of its files.
func flavors(t *testing.T, repository string) (names []string) {
	t.Helper()
	const prefix = "cluster-template-"
	folder := filepath.Join(repository, "infrastructure-windows", version)
	for _, file := range expect.Got(filepath.Glob(filepath.Join(folder, prefix+"*.yaml")))(t) {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), ".yaml"))
	}
	if len(names) == 0 {
		t.Fatal("the release has no flavor")
	}
	return names
}
