package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func withReports(in *bootstrap.Input) { in.Reports = true }

// TestReports: a guest reports to its object before any other channel, with its node's credentials as soon as it has them. What
// it logs in with until then is the token in a file that nothing before the closed folders writes and the channel erases.
func TestReports(t *testing.T) {
	plain := render(t, plainInput(t, onAzure)).Plan()
	told := render(t, plainInput(t, onAzure, withReports)).Plan()
	expect.Same(t, "channels without an object", len(told.Report)-1, len(plain.Report))
	channel := told.Report[0]
	expect.Same(t, "the first channel", plan.ChannelReplace, channel.Do)
	expect.Same(t, "its logins", `C:\etc\kubernetes\kubelet.conf C:\run\kubeadm\report.yaml`,
		channel.Logins[0].String()+" "+channel.Logins[1].String())
	expect.Same(t, "what it erases", `C:\run\kubeadm\report.yaml`, channel.Erase[0].String())
	var argv []string
	for _, value := range channel.Argv {
		argv = append(argv, value.String())
	}
	id, _, _ := strings.Cut(testToken, ".")
	name := bootstrap.GuestReport(told.Machine.Node, id)
	expect.Same(t, "its program", `C:\k\kubectl.exe --request-timeout 10s replace --raw `+
		`/api/v1/namespaces/capwin-guests/configmaps/`+name+` -f <object> --kubeconfig <login>`, strings.Join(argv, " "))
	prepare := told.Phases[0].Steps
	login := slices.IndexFunc(prepare, func(s plan.Step) bool { return s.Base().Name == "report-login" })
	closed := slices.IndexFunc(prepare, func(s plan.Step) bool { return s.Base().Name == "kubeadm-folder" })
	if login < 0 || login < closed {
		t.Errorf("the login is step %d of %s, before the folder is closed by step %d", login, told.Phases[0].Name, closed)
	}
	for _, one := range told.EveryBoot {
		for _, s := range one.Steps {
			if strings.Contains(s.Base().Name, "report") {
				t.Errorf("every boot has step %s", s.Base().Name)
			}
		}
	}
}
