package windows

import (
	"context"
	"crypto/sha1" //nolint:gosec // because Windows names certificates by it
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func run(t *testing.T, m *Machine, argv ...string) Result {
	t.Helper()
	return expect.Got(m.Run(t.Context(), Command{Argv: argv, Limit: time.Minute}))(t)
}

// A batch file runs line by line, and its last exit code is its own.
func TestBatch(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.Install(`C:\k\seven.exe`, func(_ context.Context, call *Call) int { call.Print("%s", call.Argv[1]); return 7 }))
	for _, c := range []struct {
		name, text, out string
		code            int
	}{
		{"output", "@echo off\r\nrem nothing\r\necho hello world\r\n", "hello world\r\n", 0},
		{"a file", "echo one>C:\\out.txt\r\n", "", 0},
		{"a program", "C:\\k\\seven.exe \"a b\"\r\n", "a b\n", 7},
		{"an end", "exit /b 3\r\necho never\r\n", "", 3},
		{"no program", "frobnicate\r\n", "", 9009},
		{"a variable", "@set \"HERE=%SystemRoot%;%nothing%.\"\r\n@echo %here%\r\n", "C:\\Windows;.\r\n", 0},
		{"not on the path", "@seven.exe 1\r\n", "", 9009},
		{"on the path", "@set \"PATH=%SystemRoot%\\Sysnative;C:\\k;%PATH%\"\r\n@seven.exe 1\r\n", "1\n", 7},
		{"a folder", "echo one>C:\\d\\e\\f.txt\r\n@rd /s /q \"C:\\d\"\r\n", "", 0},
		{"no folder", "@rd /s /q \"C:\\d\"\r\n", "", 2},
	} {
		expect.OK(t, m.Put(`C:\run.cmd`, []byte(c.text)))
		done := run(t, m, "cmd.exe", "/d", "/c", `C:\run.cmd`)
		if done.ExitCode != c.code || done.Stdout != c.out {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.name, done.ExitCode, done.Stdout, c.code, c.out)
		}
	}
	if text, err := m.ReadFile(`C:\out.txt`); err != nil || string(text) != "one\r\n" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
	if m.DirectoryExists(`C:\d`) {
		t.Error("rd leaves a folder")
	}
	expect.OK(t, m.Put(`C:\here.txt`, nil))
	done := run(t, m, "cmd.exe", "/d", "/c", "net.exe", "stop", "nobody", "&", "del", "/f", "/q", `C:\here.txt`, `C:\nowhere.txt`)
	if !strings.Contains(done.Stdout, `Could Not Find C:\nowhere.txt`) {
		t.Errorf("two commands: %+v", done)
	}
	if m.FileExists(`C:\here.txt`) {
		t.Error("the second command did not run, or del leaves a file")
	}
	if done := run(t, m, "cmd.exe", "/d", "/c", "echo", "%nothing%"); done.Stdout != "%nothing%\r\n" {
		t.Errorf("a variable of a command line that is not set: %q", done.Stdout)
	}
	if done := run(t, m, "cmd.exe", "/d", "/c", "copy", "/y", `C:\out.txt`, `C:\copied.txt`); done.ExitCode != 0 {
		t.Errorf("copy: %+v", done)
	}
	if text, err := m.ReadFile(`C:\copied.txt`); err != nil || string(text) != "one\r\n" {
		t.Errorf("the copy holds %q (%v)", text, err)
	}
	if done := run(t, m, "cmd.exe", "/d", "/c", "copy", "/y", `C:\nowhere.txt`, `C:\copied.txt`); done.ExitCode != 1 {
		t.Errorf("copy of what is not there: %+v", done)
	}
	if done := run(t, m, "cmd.exe", "/d", "/c", "echo", "10.244.1.0/24"); done.Stdout != "10.244.1.0/24\r\n" {
		t.Errorf("echo: %q", done.Stdout)
	}
}

func TestCertutil(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a certificate")})
	for path, content := range map[string][]byte{`C:\ca.crt`: block, `C:\no.crt`: []byte("nothing")} {
		expect.OK(t, m.Put(path, content))
	}
	add := func(path string) int { return run(t, m, "certutil.exe", "-f", "-addstore", "Root", path).ExitCode }
	if code := add(`C:\ca.crt`); code != 0 {
		t.Errorf("a certificate is not taken: %d", code)
	}
	sum := sha1.Sum([]byte("a certificate")) //nolint:gosec // because Windows names certificates by it
	if there, err := m.HasRegistryKey(fmt.Sprintf(`%s\%X`, rootsKey, sum)); err != nil || !there {
		t.Errorf("the certificate is not among the roots: %v", err)
	}
	if code := add(`C:\no.crt`); code == 0 {
		t.Error("a file without a certificate is taken")
	}
	m.Throw(map[string]string{"Write-Registry": "locked"}, -1)
	if code := add(`C:\ca.crt`); code != -2147024891 {
		t.Errorf("a locked store: %d", code)
	}
}

// Time goes faster for all that waits, and the date is another thing than the ticks.
func TestFastClockAndWrongDate(t *testing.T) {
	t.Parallel()
	clock := NewFastClock(1000)
	begin := clock.Now()
	if err := clock.Sleep(t.Context(), 10*time.Second); err != nil || clock.Now().Sub(begin) < 10*time.Second {
		t.Errorf("slept %v, %v", clock.Now().Sub(begin), err)
	}
	limited, cancel := clock.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := clock.Sleep(limited, time.Hour); err == nil {
		t.Error("a limit of ten seconds lets pass an hour")
	}
	m := newMachine(t)
	m.SetTime(-time.Hour)
	if late := time.Since(m.Time()); late < time.Hour || late > 2*time.Hour {
		t.Errorf("the date is wrong by %v", late)
	}
}

// A service that was deleted in use can not be changed.
func TestDoomedService(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.Setup(func(s *State) { s.Services["kubelet"] = &Service{State: Stopped, Doomed: true} }))
	if done := run(t, m, "sc.exe", "config", "kubelet", "start=", "auto"); done.ExitCode != errMarkedForDelete {
		t.Errorf("exit code %d", done.ExitCode)
	}
}

// Lines are found by their beginning, and a page is there while its program is.
func TestFindstrAndCurl(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.Put(`C:\subnet.env`, []byte("FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n")))
	find := func(text string) Result { return run(t, m, "findstr.exe", "/b", "/l", "/c:"+text, `C:\subnet.env`) }
	expect.Same(t, "what is there", "FLANNEL_SUBNET=10.244.3.1/24\r\n", find("FLANNEL_SUBNET=10.244.3.").Stdout)
	expect.Same(t, "what is not at the beginning", 1, find("SUBNET=").ExitCode)
	const url = "http://127.0.0.1:10249/metrics"
	ask := func() Result { return run(t, m, "curl.exe", "--silent", "--noproxy", "*", url) }
	expect.Same(t, "nobody", 7, ask().ExitCode)
	stop := m.ServePage(url, func() string { return "page" })
	expect.Same(t, "somebody", "page\n", ask().Stdout)
	stop()
	expect.Same(t, "nobody any more", 7, ask().ExitCode)
}

// A port is excluded once, and shown in numbers.
func TestExcludedPorts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	netsh := func(words string) Result {
		return run(t, m, append([]string{"netsh.exe", "interface", "ipv4"}, strings.Fields(words)...)...)
	}
	const add = "add excludedportrange protocol=udp startport=65330 numberofports=1 store=persistent"
	expect.Same(t, "the first time", 0, netsh(add).ExitCode)
	expect.OK(t, m.Boot())
	if again := netsh(add); again.ExitCode != 1 || !strings.Contains(again.Stderr, "used by another process") {
		t.Errorf("the second time: %d %s", again.ExitCode, again.Stderr)
	}
	if shown := netsh("show excludedportrange protocol=udp"); !strings.Contains(shown.Stdout, " 65330       65330     *") {
		t.Errorf("shown is %s", shown.Stdout)
	}
	if other := netsh("show excludedportrange protocol=tcp"); strings.Contains(other.Stdout, "65330") {
		t.Errorf("of TCP is shown %s", other.Stdout)
	}
	for _, wrong := range []string{"startport=0 numberofports=1", "startport=65535 numberofports=2", "startport=1"} {
		expect.Same(t, wrong, 1, netsh("add excludedportrange protocol=udp "+wrong).ExitCode)
	}
}
