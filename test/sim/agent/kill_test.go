package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// killPoints is how often the agent was killed in each of the two ways; a change of the agent that takes points away is seen
// here.
const killPoints = 165

// longPlan has one of all that must not be done twice or half: two reasons to reboot, a program with undo, a user, a network.
const longPlan = `{"version":1,"machine":{"namespace":"ns","name":"m","uid":"uid-1","node":"win-1","cluster":"c"},
"report":[{"do":"guestinfo","program":"rpctool.exe","key":"guestinfo.capwin.report"}],
"redact":["s3cret-value"],"erase":["C:\\AzureData\\Custom*"],
"phases":[
 {"name":"prepare","steps":[
  {"do":"directory","name":"folder","path":"C:\\k","access":"admin"},
  {"do":"file","name":"secret","path":"C:\\k\\join.yaml","text":"token: s3cret-value","access":"admin"},
  {"do":"registry","name":"number","key":"HKEY_LOCAL_MACHINE\\SOFTWARE\\a","valueName":"n","type":"DWord","value":"7"},
  {"do":"registry","name":"proxy","key":"HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment",
   "valueName":"HTTP_PROXY","value":"http://p:3128"},
  {"do":"run","name":"ports","argv":["netsh.exe","interface","ipv4","set","dynamicport","tcp","start=34000","num=31536"]},
  {"do":"localUser","name":"user","user":"capi","groups":["S-1-5-32-544"],"sshKeys":["ssh-ed25519 AAAA x"]},
  {"do":"fact","name":"pages-before","argv":["pages.exe"],"match":"size (\\d+)|\\z","set":"pages","say":"no pages"},
  {"do":"registry","name":"pages","key":"HKEY_LOCAL_MACHINE\\SOFTWARE\\a","valueName":"pages","value":"8192",
   "when":{"fact":"pages","isNot":"8192"}},
  {"do":"reboot","name":"pages-reboot","if":"always","when":{"fact":"pages","isNot":"8192"}},
  {"do":"feature","name":"containers","features":["Containers"]}]},
 {"name":"join","steps":[
  {"do":"service","name":"service","service":"kubelet",
   "command":["C:\\k\\kubelet.exe","--windows-service"]},
  {"do":"run","name":"restarts","argv":["sc.exe","failure","kubelet","reset=","900","actions=","restart/10000"]},
  {"do":"hnsNetwork","name":"net","request":{"Name":"External","Type":"L2Bridge"}},
  {"do":"fact","name":"version","argv":["kubeadm.exe","version"],"match":"v([\\d.]+)","set":"kubeadm"},
  {"do":"run","name":"join","argv":["kubeadm.exe","join"],"creates":"C:\\etc\\kubelet.conf","attempts":2,
   "undo":["kubeadm.exe","reset"]},
  {"do":"serviceState","name":"start","service":"kubelet","state":"running"},
  {"do":"remove","name":"clean","paths":["C:\\k\\join.yaml"]}]}],
"everyBoot":[{"name":"network","steps":[{"do":"hnsCleanup","name":"stale","networks":["Calico*"]}]}],
"background":[{"name":"later","steps":[
{"do":"file","name":"late","path":"C:\\k\\late.txt","content":"YWJj"},{"do":"remove","name":"old","paths":["C:\\k\\old.txt"]}]}]}`

func longVector() *vector {
	return &vector{Plan: json.RawMessage(longPlan), World: world{
		Files:     map[string]string{`C:\AzureData\CustomData.bin`: "s3cret-value"},
		Features:  map[string]string{"Containers": "Available"},
		Addresses: []worldAddress{{Index: 9, Address: "10.0.0.5/24"}}, ManagementIP: "10.0.0.5", FeatureReboot: true,
		Commands: []*command{
			{Argv: []string{"rpctool.exe"}},
			{Argv: []string{"pages.exe"}},
			{Argv: []string{"kubeadm.exe", "version"}, Out: "v1.36.3"},
			{Argv: []string{"kubeadm.exe", "reset"}, Writes: map[string]string{`C:\reset`: "done"}},
			{Argv: []string{"kubeadm.exe", "join"}, Exit: 1, Times: new(1)},
			{Argv: []string{"kubeadm.exe", "join"}, Writes: map[string]string{`C:\etc\kubelet.conf`: "joined"}},
		},
	}}
}

// errKilled is thrown out of the agent where a real one would just end.
var errKilled = errors.New("killed")

// way is what happens after a kill: the task starts the agent again, or the machine lost its power.
type way string

const (
	taskRestarts way = "the task restarts it"
	powerLoss    way = "the machine loses power"
)

func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, how := range []way{taskRestarts, powerLoss} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			want := (&killer{stage: newStage(t, longVector())}).live(how)
			point := 0
			for ; ; point++ {
				k := &killer{stage: newStage(t, longVector()), at: point + 1}
				got := k.live(how)
				if !k.killed {
					break
				}
				if how == powerLoss && got.Reboots < want.Reboots {
					got.Reboots = want.Reboots // the loss of power was the reboot that a feature wants
				}
				if difference := cmp.Diff(want, got); difference != "" {
					t.Fatalf("killed at point %d, %s: -want +got\n%s", point+1, k.where, difference)
				}
			}
			t.Logf("killed at %d points", point)
			if point < killPoints {
				t.Errorf("killed at %d points, at least %d are pinned", point, killPoints)
			}
		})
	}
}

// killer ends the agent at the at'th point: before a door that changes something, or after an effect.
type killer struct {
	*stage
	at, seen int
	killed   bool
	where    string
}

// end is what must be the same, wherever the agent was killed.
type end struct {
	State, Boot plan.State
	Reason      string
	Reboots     int
	Facts       map[string]string
	Files       map[string]string
	Registry    map[string]windows.RegistryKey
	Services    map[string]string
	Firewall    map[string]string
	Users       map[string]*windows.User
	HNS         []string
	TaskLeft    bool
}

func (k *killer) live(how way) end {
	k.t.Helper()
	count := func(what string) {
		if k.seen++; k.seen == k.at {
			k.killed, k.where = true, what
			panic(errKilled)
		}
	}
	k.OnEffect = count
	k.Machine.OnDoor = func(door string) {
		verb, _, _ := strings.Cut(door, "-")
		if verb != "Get" && verb != "Read" && verb != "Test" { // which change nothing
			count(door)
		}
	}
	for range 2 { // the bootstrap, then a later start of the machine
		for lives := 0; ; lives++ {
			if lives > 20 {
				k.t.Fatalf("killed at point %d, %s: no end", k.at, k.where)
			}
			killed := k.life()
			if !killed && !k.Machine.RebootAsked() {
				break
			}
			if k.Machine.RebootAsked() || how == powerLoss {
				k.powerCycle()
			}
		}
		k.powerCycle()
	}
	return k.end()
}

// life runs the agent until it ends or is killed.
func (k *killer) life() (killed bool) {
	k.t.Helper()
	defer func() {
		if caught := recover(); caught != nil && caught != errKilled { //nolint:errorlint // because it is what we threw
			panic(caught)
		}
		killed = killed || k.killed && k.seen == k.at
	}()
	expect.OK(k.t, Run(context.Background(), k.Machine))
	return false
}

func (k *killer) powerCycle() {
	k.t.Helper()
	expect.OK(k.t, k.Machine.Boot())
	expect.OK(k.t, k.Machine.Setup(func(s *windows.State) {
		if !slices.ContainsFunc(s.HNS, func(item map[string]any) bool { return item["Name"] == "Calico" }) {
			s.HNS = append(s.HNS, map[string]any{"kind": "networks", "ID": "stale", "Name": "Calico", "Type": "Overlay"})
		}
	}))
}

func (k *killer) end() end {
	k.t.Helper()
	k.Machine.OnDoor, k.OnEffect = nil, nil
	var last state
	k.read(Root+`\state.json`, &last)
	got := end{
		State: last.State, Reason: last.Reason, Reboots: last.Reboots, Facts: last.Facts,
		Files: k.files(), Services: map[string]string{}, TaskLeft: !k.Has("task.disable " + TaskName),
	}
	if last.Boot != nil {
		got.Boot = last.Boot.State
	}
	expect.OK(k.t, k.Machine.Setup(func(s *windows.State) {
		got.Registry, got.Firewall, got.Users = maps.Clone(s.Registry), maps.Clone(s.Firewall), maps.Clone(s.Users)
		for name, service := range s.Services {
			got.Services[name] = service.ImagePath
		}
		for _, item := range s.HNS {
			got.HNS = append(got.HNS, item["Name"].(string))
		}
	}))
	return got
}

// files are those of the disk but the agent's own, whose times and attempts may differ.
func (k *killer) files() map[string]string {
	k.t.Helper()
	found := map[string]string{}
	root := expect.Got(k.Machine.HostPath(`C:\`))(k.t)
	expect.OK(k.t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/ProgramData/capwin/") {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root)] = string(text)
		return err
	}))
	return found
}

// harmless doors may fail without failing the bootstrap: a channel of reports, and the task, which finds nothing to do.
var harmless = []string{"Disable-ScheduledTask", "Invoke-WebRequest", "rpctool.exe", `C:\k\kubectl.exe`, "wevtutil.exe"}

func TestEveryDoorFails(t *testing.T) {
	t.Parallel()
	vectors, tried := 0, 0
	for _, file := range vectorFiles(t) {
		if readVector(t, file).Expect.State != string(plan.StateSucceeded) {
			continue
		}
		vectors++
		doors := map[string]bool{}
		s := newStage(t, readVector(t, file))
		s.Machine.OnDoor = func(door string) { doors[door] = true }
		s.live()
		delete(doors, "keep")
		for door := range doors {
			tried++
			failDoor(t, file, door)
		}
	}
	t.Logf("%d doors of %d vectors failed", tried, vectors)
}

func failDoor(t *testing.T, file, door string) {
	t.Helper()
	v := readVector(t, file)
	if v.World.Hangs[door] > 0 {
		return // it does not come to an error
	}
	v.World.Throws, v.World.ThrowTimes = map[string]string{door: "broken here"}, nil
	s := newStage(t, v)
	told := ""
	s.Heard = func(err error) { told += err.Error() }
	s.live()
	report := s.end()
	if report.State == plan.StateFailed {
		if report.Reason == "" || !strings.Contains(report.Message, "broken here") || s.Machine.FileExists(Sentinel) {
			t.Errorf("%s, %s fails: %s %q", v.Name, door, report.Reason, report.Message)
		}
		return
	}
	told += strings.Join(report.Warnings, "\n")
	if report.Boot != nil {
		told += report.Boot.Message
	}
	channel := door == "Invoke-Program" && strings.Contains(file, "-report-") // what would tell it has failed
	// Windows itself drops a lease when DHCP is switched off, maybe before the agent does.
	lease := door == "Remove-NetIPAddress" &&
		slices.ContainsFunc(v.World.Addresses, func(a worldAddress) bool { return a.Origin == "Dhcp" })
	if !strings.Contains(told, "broken here") && !slices.Contains(harmless, door) && !channel && !lease {
		t.Errorf("%s: %s failed, and no report tells it", v.Name, door)
	}
}
