package bootstrap_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// ground knows at every step of a plan which folders users can no longer change.
type ground struct {
	access map[string]plan.Access
	// problems are what SYSTEM does on open ground.
	problems []string
	step     string
}

// closed are folders that Windows, or our loader, protects itself.
var closed = []string{`c:\windows`, `c:\program files`, `c:\programdata\capwin`}

// open are folders that Windows lets users make folders in; ours there are made first.
var open = []string{`c:`, `d:`, `e:`, `c:\programdata`, `c:\users`}

// obeyed is what SYSTEM reads without being told by a plan: the kubelet its settings, records of images, drivers' sockets and
// static pods, log collectors what lies beside the logs of pods, containerd plug-ins and registries, the agent its sentinel.
var obeyed = []string{
	`C:\var\lib\kubelet\config.yaml`, `C:\var\lib\kubelet\kubeadm-flags.env`, `C:\var\lib\kubelet\plugins_registry\driver.sock`,
	`C:\var\lib\kubelet\plugins\driver\csi.sock`, `C:\var\lib\kubelet\device-plugins\kubelet.sock`,
	`C:\etc\kubernetes\manifests\pod.yaml`,
	`C:\opt\cni\bin\win-bridge.exe`, `C:\etc\cni\net.d\10-a.conf`, `C:\ProgramData\containerd\certs.d\docker.io\hosts.toml`,
	`C:\Program Files\containerd\conf.d\a.toml`, `C:\k\kubelet.exe`, `C:\var\lib\cni\networks\a\10.0.0.1`, `C:\var\log\pods\a\0.log`,
	`C:\var\log\containers\a.log`, `C:\var\lib\kubelet\image_manager\pulled\sha256-a`,
	`C:\run\cluster-api\bootstrap-success.complete`, `C:\run\kubeadm\patches\a.yaml`,
	`C:\run\flannel\subnet.env`, `C:\run\capwin\scripts\a.ps1`,
}

// Nothing that SYSTEM writes, runs, reads or obeys lies where a user may write, at any step of any golden plan.
func TestFoldersAreClosedBeforeUse(t *testing.T) {
	paths := 0
	for _, golden := range goldens {
		g := walk(render(t, plainInput(t, golden.change)).Plan(), "")
		for _, problem := range g.problems {
			t.Errorf("%s: %s", golden.name, problem)
		}
		paths += len(g.access)
	}
	if paths < 2000 {
		t.Errorf("the plans close %d folders in all, which is too few to be true", paths)
	}
}

// The test above sees every folder step that a plan would lack.
func TestEveryFolderIsMissed(t *testing.T) {
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		for _, phase := range p.Phases {
			for _, one := range phase.Steps {
				folder, ok := one.(*plan.Directory)
				if ok && folder.Access != "" && len(walk(p, folder.Name).problems) == 0 {
					t.Errorf("%s: no one misses %s (%s)", golden.name, folder.Name, folder.Path)
				}
			}
		}
	}
}

// walk goes through a plan, but for the folder step without.
func walk(p *plan.Plan, without string) *ground {
	g := &ground{access: map[string]plan.Access{}}
	for _, channel := range p.Report {
		g.use("runs", channel.Program.String())
	}
	for _, phase := range slices.Concat(p.Phases, p.EveryBoot, p.Background) {
		for _, one := range phase.Steps {
			if _, isFolder := one.(*plan.Directory); !isFolder || one.Base().Name != without {
				g.step = phase.Name + "/" + one.Base().Name
				g.take(one)
			}
		}
	}
	g.step = "at last"
	for _, path := range obeyed {
		g.use("obeys", path)
	}
	for _, path := range p.Erase {
		if path.String() != `C:\AzureData\CustomData*` { // cloudbase-init's own copy
			g.use("erases", path.String())
		}
	}
	return g
}

// take looks at what a step writes and runs, then at every path that it names.
func (g *ground) take(one plan.Step) {
	switch step := one.(type) {
	case *plan.Directory:
		g.folder(step)
	case *plan.File:
		if !strings.HasPrefix(step.Name, "file-") { // a user's own file, in a place of the user's own
			g.use("writes", step.Path.String())
		}
		if root := containerdRoot.FindStringSubmatch(step.Text.String()); root != nil {
			g.use("moves containerd to", root[1])
		}
	case *plan.Reservations:
		g.use("writes", step.Path.String())
	case *plan.Run:
		if strings.HasSuffix(step.Argv[0].String(), "VMwareToolboxCmd.exe") {
			g.use("writes", `C:\ProgramData\VMware\VMware Tools\tools.conf`)
		}
		g.command(step.Argv)
		g.command(step.Undo)
		g.program(step.Program)
	case *plan.Fact:
		g.command(step.Argv)
	case *plan.Service:
		g.command(step.Command)
	case *plan.WaitFor:
		g.named(step.Target.String())
	case *plan.Registry:
		if step.ValueName == "PagingFiles" { // which Windows makes and guards itself
			if drive := step.Values[0].String()[:1]; drive != "C" && drive != "?" {
				g.use("moves the page file to a drive with", drive+`:\containerd\root`)
			}
			return
		}
		if strings.EqualFold(step.ValueName, "path") {
			g.problems = append(g.problems, g.step+" changes PATH")
		}
		for _, value := range append(step.Values, step.Value) {
			g.named(value.String())
		}
	case *plan.Remove:
		g.removed(step)
	}
}

// containerdRoot is what our drop-in says.
var containerdRoot = regexp.MustCompile(`(?m)^root = '(.+)'$`)

func (g *ground) folder(step *plan.Directory) {
	path := strings.ToLower(step.Path.String())
	above := path[:strings.LastIndexByte(path, '\\')]
	if !slices.Contains(open, above) {
		g.use("makes", step.Path.String())
	}
	if g.access[path] != plan.AccessAdmin {
		g.access[path] = step.Access
	}
}

func (g *ground) program(p plan.Program) {
	g.named(p.Directory)
	g.named(p.Creates.String())
}

// removed: what is removed lies in folders of ours, or is one of them.
func (g *ground) removed(step *plan.Remove) {
	for _, path := range step.Paths {
		g.use("removes", path.String())
	}
}

// command starts with a program, by its full path or by a name of Windows', which interpreters look for in System32 alone.
func (g *ground) command(argv []plan.Value) {
	for i, arg := range argv {
		if text := arg.String(); i > 0 || strings.Contains(text, `\`) {
			g.named(text)
		} else if !slices.Contains(ofSystem32, text) {
			g.problems = append(g.problems, g.step+" runs "+text+" by its bare name, and it is no program of Windows'")
		}
	}
}

// ofSystem32 are the programs that plans run by their names.
var ofSystem32 = []string{
	"sc.exe", "route.exe", "certutil.exe", "cmd.exe", "w32tm.exe", "curl.exe", "netsh.exe", "tzutil.exe",
	"findstr.exe",
}

// pathInText is a path somewhere in an argument.
var pathInText = regexp.MustCompile(`[A-Za-z]:\\[^"|,;=]*`)

// named are paths within a text.
func (g *ground) named(text string) {
	for _, path := range pathInText.FindAllString(text, -1) {
		g.use("names", strings.TrimSpace(path))
	}
}

// use notes a path that is not on closed ground.
func (g *ground) use(how, path string) {
	if path = strings.ToLower(path); path != "" && !g.isClosed(path) {
		g.problems = append(g.problems, g.step+" "+how+" "+path+", where a user may write")
	}
}

// isClosed: no user makes or replaces the path. A folder of administrators closes all below it, a guarded one what lies in it;
// and the folders above them must be closed as well.
func (g *ground) isClosed(path string) bool {
	for _, place := range closed {
		if path == place || strings.HasPrefix(path, place+`\`) {
			return true
		}
	}
	cut := strings.LastIndexByte(path, '\\')
	if cut < 0 {
		return false
	}
	switch above := path[:cut]; {
	case slices.Contains(open, above):
		return g.access[path] != "" && g.access[path] != plan.AccessInherit
	case g.access[above] == plan.AccessGuarded:
		return g.isClosed(above)
	case g.access[above] == plan.AccessAdmin:
		return g.isClosed(above)
	default:
		return g.under(above) && g.isClosed(above)
	}
}

// under says that a folder for administrators lies above.
func (g *ground) under(path string) bool {
	for at, access := range g.access {
		if access == plan.AccessAdmin && strings.HasPrefix(path, at+`\`) {
			return true
		}
	}
	return false
}
