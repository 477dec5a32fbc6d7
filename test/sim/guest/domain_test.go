package guest

import (
	"os"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// A machine that has joined its domain is a member after a restart, and says so however often it is asked before.
func TestMemberAfterRestart(t *testing.T) {
	t.Parallel()
	const folder = `C:\run\capwin\`
	m := expect.Got(windows.New(t.TempDir()))(t)
	p := &power{machine: m, guest: &Simulated{Domain: Domain{Name: "corp.example.com", Username: "joiner", Password: "p"}}}
	script := expect.Got(os.ReadFile("../../../bootstrap/windows/domainjoin.ps1"))(t)
	expect.OK(t, m.Put(folder+"domain-join.ps1", script))
	expect.OK(t, m.Put(folder+"domain-join.json", []byte(`{"domain": "corp.example.com", "username": "joiner", "password": "p"}`)))
	join := func() int {
		argv := []string{"powershell.exe", "-File", folder + "domain-join.ps1"}
		return p.powershell(t.Context(), &windows.Call{Machine: m, Argv: argv})
	}
	expect.OK(t, m.Boot())
	for range 2 {
		expect.Same(t, "before the restart", needsRestart, join())
	}
	expect.OK(t, m.Boot())
	expect.Same(t, "after it", 0, join())
}
