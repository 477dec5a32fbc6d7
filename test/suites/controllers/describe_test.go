package controllers

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestDescribe: of a machine whose bootstrap has failed, `clusterctl describe`, which leaves out what repeats the owner, shows
// the reason and the words of the guest.
func TestDescribe(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	s.tell(state, `{"version":1,"state":"Failed","reason":"JoinFailed","message":"kubeadm: connection refused",`+
		`"phase":{"index":8,"of":10,"name":"join"}}`)
	m.Await(t, "failure", world.Windows("Ready False JoinFailed"), func(s world.State) string {
		if s.Core == nil || !strings.Contains(s.String(), "InfrastructureReady False JoinFailed") {
			return "the Machine does not have it"
		}
		return ""
	})
	clusterctl := expect.Got(servers.Ensure(t.Context(), t.Output()))(t).Path("clusterctl")
	describe := exec.CommandContext(t.Context(), clusterctl, "describe", "cluster", world.ClusterName, "--namespace="+s.Name,
		"--kubeconfig="+shared.Management.KubeconfigFile)
	describe.Env = append(describe.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	shown := strings.Split(string(expect.Got(describe.Output())(t)), "\n")
	const failure = `Bootstrap 8/10 join failed after 0s: "kubeadm: connection refused" (JoinFailed)`
	for _, of := range []string{"WindowsBootstrapConfig", "WindowsMachine"} {
		line := regexp.MustCompile(of + ` ` + s.Name + `/m +False +JoinFailed +\d+s +` + regexp.QuoteMeta(failure))
		if !slices.ContainsFunc(shown, line.MatchString) {
			t.Errorf("clusterctl describe does not show %s of the %s:\n%s", failure, of, strings.Join(shown, "\n"))
		}
	}
}
