package guest

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

func TestGuestDataEncodings(t *testing.T) {
	t.Parallel()
	plain := base64.StdEncoding.EncodeToString([]byte("hello"))
	for _, c := range []struct {
		name, reason, value, encoding, want, problem string
	}{
		{"plaintext", "said so", "hello", "plaintext", "hello", ""},
		{"no encoding", "is plaintext", "hello", "", "hello", ""},
		{"blank encoding", "guests can not delete keys, they set a space", "hello", " \r\n", "hello", ""},
		{"base64", "the long name", plain + "\r\n", "base64\r\n", "hello", ""},
		{"b64", "the short name", plain, "b64", "hello", ""},
		{"gzip+base64", "the long name", packed([]byte("hello")), "gzip+base64", "hello", ""},
		{"gz+b64", "the short name", packed([]byte("hello")), "gz+b64", "hello", ""},
		{"wrapped base64", "Python skips what is no base64", plain[:4] + "\n" + plain[4:], "base64", "hello", ""},
		{"more after the padding", "Python ends there", plain + plain, "base64", "hello", ""},
		{"padding too early", "is skipped", "=" + plain[:1] + "=" + plain[1:], "base64", "hello", ""},
		{"no value", "there is none", "", "base64", "", ""},
		{"no value in gzip", "there is none", "\r\n", "gz+b64", "", ""},
		{"other encoding", "raises", "hello", "zstd", "", "Encoding zstd not supported"},
		{"upper case", "names are compared as they are", plain, "Base64", "", "Encoding Base64 not supported"},
		{"gzip without base64", "no such encoding", "hello", "gzip", "", "Encoding gzip not supported"},
		{"broken padding", "raises", plain[:len(plain)-1], "base64", "", "incorrect padding"},
		{"no gzip", "raises", plain, "gzip+base64", "", "not a gzipped file"},
	} {
		data, err := decodeGuestData([]byte(c.value), c.encoding)
		expect.Says(t, c.name+" ("+c.reason+")", err, c.problem)
		if c.problem == "" && string(data) != c.want {
			t.Errorf("%s (%s): %q", c.name, c.reason, data)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, reason string
		want         format
	}{
		{"#ps1_sysnative\nexit", "ours", powershell64},
		{"#ps1\r\nexit", "the same", powershell64},
		{"#ps1_x86\nexit", "32 bits", powershell32},
		{"#ps1_sysnative\n# Content-Type: multipart\n\nexit", "the words in the first paragraph", multipart},
		{"#ps1_sysnative\n\n# Content-Type: multipart", "the words after it", powershell64},
		{"## template: jinja\n#cloud-config\n", "line 1", jinja},
		{"#cloud-config\n", "byte 0", cloudConfig},
		{"# cloud-config\n", "a blank too many", unsupported},
		{"\n#ps1\nexit", "not at byte 0", unsupported},
		{"\ufeff#ps1\nexit", "a BOM is before it", unsupported},
		{"#ps1\vexit", "a vertical tab is a blank", powershell64},
		{"#PS1\nexit", "compared as it is", unsupported},
		{"#ps1\r\n\r\n# Content-Type: multipart", "only \\n\\n ends a paragraph", multipart},
		{"##template:JINJA \n#ps1\n", "in any case", jinja},
		{"## template:\njinja\n", "not line 1", unsupported},
		{"\n-----BEGIN CERTIFICATE-----\n", "for another plugin", certificate},
		{"rem  cmd \n", "", batchFile},
		{"#! /usr/bin/env  python\n", "", pythonScript},
		{"#!/bin/bash\n", "", bashScript},
		{"hi <powershell>exit</powershell>", "anywhere", ec2Config},
		{"#\x00p\x00s\x001\x00\n\x00", "UTF-16", unsupported},
		{"#ps1", "nothing after it", unsupported},
	} {
		if got := formatOf([]byte(c.text)); got != c.want {
			t.Errorf("%q (%s): %s, want %s", c.text, c.reason, got, c.want)
		}
	}
}

func TestComputerNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"win-1": "win-1", "win-1.example.com": "win-1", "a-very-long-computer-name": "a-very-long-com",
		"a-very-longcom-puter": "a-very-longcom0",
	} {
		if got := netBIOSName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// initLog is where cloudbase-init writes.
const initLog = "Program Files/Cloudbase Solutions/Cloudbase-Init/log/cloudbase-init.log"

// smallPlan makes a file and reports.
const smallPlan = `{"version":1,"machine":{"namespace":"ns","name":"m","uid":"uid-1","node":"win-1","cluster":"c"},
"waitSeconds":1,
"report":[{"do":"guestinfo","program":"C:\\Program Files\\VMware\\VMware Tools\\rpctool.exe","key":"guestinfo.capwin.report"}],
"phases":[{"name":"main","steps":[
 {"do":"check","name":"name","fact":"computerName","is":"WIN-1"},
 {"do":"fact","name":"version","argv":["C:\\k\\kubeadm.exe","version","-o","short"],"match":"v([\\d.]+)","set":"kubeadm"},
 {"do":"file","name":"hello","path":"C:\\hello.txt","text":["on ",{"fact":"osBuild"},".",
  {"fact":"osUbr"},", kubeadm ",{"fact":"kubeadm"}]},
 {"do":"run","name":"zone","argv":["tzutil.exe","/s","UTC"]},
 {"do":"run","name":"ports","argv":["netsh.exe","interface","ipv4","set","dynamicport","tcp","start=34000","num=31536"]},
 {"do":"reboot","name":"again","if":"always"},
 {"do":"serviceState","name":"runtime","service":"containerd","state":"running"},
 {"do":"waitFor","name":"pipe","for":"pipe","target":"containerd-containerd"}]}]}`

func TestBoot(t *testing.T) {
	t.Parallel()
	vm := newVM(scripts.UserData([]byte(smallPlan)), "win-1.example.com")
	guest := &Simulated{Dir: t.TempDir(), Address: "10.0.0.7", Build: "26100.1", KubernetesVersion: "v1.35.0"}
	off := powerOn(t, guest, vm)
	report := vm.awaitEnd(t)
	if report.State != plan.StateSucceeded || report.Reboots != 1 || report.Facts.OS != "26100.1" ||
		report.Facts.MemoryMiB != "16384" {
		t.Errorf("report is %+v", report)
	}
	off()
	if got := diskFile(t, guest, "hello.txt"); got != "on 26100.1, kubeadm 1.35.0" {
		t.Errorf("hello.txt: %q", got)
	}
	if vm.host != "WIN-1 10.0.0.7" {
		t.Errorf("VMware Tools say %q", vm.host)
	}
	said := diskFile(t, guest, initLog)
	if strings.Count(said, "Executing plugin 'UserDataPlugin'") != 1 || strings.Count(said, "Setting hostname: win-1") != 1 {
		t.Errorf("cloudbase-init did not run each plugin once:\n%s", said)
	}
	off = powerOn(t, guest, vm) // the same disk once more: nothing is left to do
	wait.Until(t, "the second power-on", func() (any, bool) {
		done := effects(t, guest)
		return done, strings.Count(done, "service containerd Running") == 4
	})
	off()
	if n := strings.Count(effects(t, guest), "file "+agent.Sentinel); n != 1 {
		t.Errorf("the sentinel was written %d times", n)
	}
}

func diskFile(t *testing.T, guest *Simulated, name string) string {
	t.Helper()
	return string(expect.Got(os.ReadFile(filepath.Join(guest.Dir, "C", name)))(t))
}

func effects(t *testing.T, guest *Simulated) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(guest.Dir, "effects.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// What cloudbase-init refuses or ignores is a line in its log, and no node.
func TestRefusals(t *testing.T) {
	t.Parallel()
	good := scripts.UserData([]byte(smallPlan))
	const noZip = "Encoding zip not supported"
	changed := func(old, with string) func(*fakeVM) {
		text := strings.Replace(string(good), old, with, 1)
		return set("userdata", packed([]byte(text)), "gz+b64")
	}
	script := base64.StdEncoding.EncodeToString(scripts.Gzip([]byte("exit 2\n")))
	padded := base64.StdEncoding.EncodeToString([]byte("not a gzipped file, but longer than its head"))
	ours := blobAfter(string(good), `loader.ps1'`)
	for _, c := range []struct {
		name   string
		change func(v *fakeVM)
		says   string
	}{
		{"no metadata", func(v *fakeVM) { delete(v.info, "guestinfo.metadata") }, "'NoneType' object has no attribute 'read'"},
		{"nothing", func(v *fakeVM) { clear(v.info) }, "No metadata service found"},
		{"metadata no YAML", set("metadata", "{", ""), "No metadata service found"},
		{"number as instance id", set("metadata", "instance-id: 5", ""), "CRITICAL"},
		{"user data no UTF-8", set("userdata", "#ps1\n\xff", ""), "plugin 'UserDataPlugin' failed"},
		{"unknown encoding of metadata", func(v *fakeVM) { v.info["guestinfo.metadata.encoding"] = "zip" }, noZip},
		{"unknown encoding", func(v *fakeVM) { v.info["guestinfo.userdata.encoding"] = "zip" }, noZip},
		{"too large", func(v *fakeVM) { v.info["guestinfo.userdata"] += strings.Repeat("A", 64<<10) }, "more than the 65536"},
		{"no user data", func(v *fakeVM) { delete(v.info, "guestinfo.userdata") }, "Plugins execution done"},
		{"byte order mark", set("userdata", packed(append([]byte("\ufeff"), good...)), "gz+b64"), "Unsupported user_data format"},
		{"a script", set("userdata", "#ps1_sysnative\nWrite-Output 1\n", ""), "does not run a PowerShell script"},
		{"a multipart", set("userdata", "Content-Type: multipart/mixed\n\n", ""), "does not run a MIME message"},
		{"broken YAML", set("userdata", "#cloud-config\nruncmd: [dir\n", ""), "plugin 'UserDataPlugin' failed"},
		{"nothing in it", set("userdata", "#cloud-config\n", ""), "Empty yaml stream"},
		{"no commands", set("userdata", "#cloud-config\nruncmd: []\n", ""), "No cloud-config runcmd entries found"},
		{"a command that is a mapping", set("userdata", "#cloud-config\nruncmd:\n- a: b\n", ""), "unrecognized type"},
		{
			"a plugin that it does not have", set("userdata", "#cloud-config\nbootcmd: [dir]\n", ""),
			"'bootcmd' is currently not supported",
		},
		{"another loader", changed(ours, "    "+script), "PowerShell does not play"},
		{"a damaged loader", changed(ours, ours[:100]), "Processing plugin write_files failed"},
		{"a loader without gzip", changed(ours, "    "+padded), "Fail to decompress gzip content"},
		{"a folder without a plan", changed(`\plan.json`, `\plan.jsom`), "reason=LoaderFailed"},
		{"another agent", changed(blobAfter(string(good), `agent.ps1'`), "    "+script), "plays the agent of this release only"},
		{"no files", changed("write_files:", "files:"), `The argument 'C:\\Windows\\Temp\\capwin-`},
		{"a plan that is not a plan", set("userdata", packed(scripts.UserData([]byte("[]"))), "gz+b64"), "reason=LoaderFailed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			vm := newVM(good, "win-1")
			c.change(vm)
			guest := &Simulated{Dir: t.TempDir()}
			off := powerOn(t, guest, vm)
			log := filepath.Join(guest.Dir, "C", filepath.FromSlash(initLog))
			wait.Until(t, c.says, func() (any, bool) {
				text, err := os.ReadFile(log)
				return string(text), err == nil && strings.Contains(string(text), c.says)
			})
			off()
			if strings.Contains(effects(t, guest), "task.enable") {
				t.Error("the task was started")
			}
		})
	}
}

// blobAfter is the content of a file of user data.
func blobAfter(userData, name string) string {
	_, rest, _ := strings.Cut(userData, name)
	_, rest, _ = strings.Cut(rest, "content: |\n")
	blob, _, _ := strings.Cut(rest, "\n- path")
	return blob
}

func set(name, value, encoding string) func(*fakeVM) {
	return func(v *fakeVM) { v.info["guestinfo."+name], v.info["guestinfo."+name+".encoding"] = value, encoding }
}

func TestFaults(t *testing.T) {
	t.Parallel()
	failed := func(reason, message string) plan.Report {
		return plan.Report{State: plan.StateFailed, Reason: reason, Message: message}
	}
	for _, c := range []struct {
		name   string
		faults Faults
		step   string
		want   plan.Report
	}{
		{
			"kubeadm of another version",
			Faults{Kubeadm: "v1.29.0"},
			`{"do":"fact","name":"f","argv":["C:\\k\\kubeadm.exe","version","-o","short"],"match":"v([\\d.]+)","set":"kubeadm"},
			 {"do":"check","name":"c","reason":"WrongVersion","fact":"kubeadm","atLeast":"1.36",
			  "say":["the image has kubeadm ",{"fact":"kubeadm"}]}`,
			failed("WrongVersion", "the image has kubeadm 1.29.0"),
		},
		{
			"a program hangs",
			Faults{Hangs: "kubeadm.exe"},
			`{"do":"run","name":"r","argv":["C:\\k\\kubeadm.exe","reset","-f"],"timeoutSeconds":1}`,
			failed("RunFailed", "kubeadm.exe did not end within 1 s and was stopped"),
		},
		{
			"no network",
			Faults{Unreachable: true},
			`{"do":"waitFor","name":"w","for":"https","host":"127.0.0.1","port":1,"insecure":true,"timeoutSeconds":1,"say":"no answer"}`,
			failed("WaitForFailed",
				`no answer after 1 s (Get "https://127.0.0.1:1/healthz": dial tcp 127.0.0.1:1: connectex: `+errCut.Error()+")"),
		},
		{
			"an unknown program",
			Faults{},
			`{"do":"run","name":"r","argv":["C:\\k\\flannel.exe"]}`,
			failed("RunFailed", `The system cannot find the file specified: C:\k\flannel.exe`),
		},
		{
			"the agent is killed once",
			Faults{KillAgentIn: "second"},
			`{"do":"file","name":"first","path":"C:\\a.txt","text":"a"},{"do":"file","name":"second","path":"C:\\b.txt","text":"b"}`,
			plan.Report{State: plan.StateSucceeded},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Split(smallPlan, `"phases"`)[0] + `"phases":[{"name":"main","steps":[` + c.step + `]}]}`
			vm := newVM(scripts.UserData([]byte(text)), "win-1")
			powerOn(t, &Simulated{Dir: t.TempDir(), Faults: c.faults}, vm)
			got := vm.awaitEnd(t)
			expect.Same(t, "", c.want, plan.Report{State: got.State, Reason: got.Reason, Message: got.Message})
		})
	}
}

// Silent: the node comes up and does not report it.
func TestSilent(t *testing.T) {
	t.Parallel()
	vm := newVM(scripts.UserData([]byte(smallPlan)), "win-1")
	guest := &Simulated{Dir: t.TempDir(), Faults: Faults{Silent: true}}
	off := powerOn(t, guest, vm)
	wait.Until(t, "the sentinel", func() (any, bool) {
		done := effects(t, guest)
		return done, strings.Contains(done, "task.disable "+agent.TaskName)
	})
	off()
	if vm.host != "" || len(vm.reports) > 0 {
		t.Errorf("heard of %q, %v", vm.host, vm.reports)
	}
	machine, err := windows.New(guest.Dir)
	if err != nil || machine.ComputerName() != "WIN-1" || machine.TaskEnabled(agent.TaskName) {
		t.Errorf("the disk does not keep what was done: %v", err)
	}
}
