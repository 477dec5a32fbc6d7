package azure

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/login"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

// storing is an account that reads boot logs as the manager does, from a storage service of the simulator's address.
func (s *stage) storing(suffix string) *account {
	s.t.Helper()
	a := s.watched()
	grant := placement.OwnSecret(cloud.Asker{Namespace: "default"}, "azure")
	file := filepath.Join(s.t.TempDir(), "clouds.json")
	text := expect.Got(json.Marshal(map[string]any{"clouds": []map[string]string{{
		"name": "Lab", "resourceManagerEndpoint": s.Endpoint(), "authority": s.Endpoint(), "caBundle": string(s.CA()),
		"storageSuffix": suffix,
	}}}))(s.t)
	expect.OK(s.t, os.WriteFile(file, text, 0o600))
	who := expect.Got(login.Open(login.Request{
		Grant: grant, Book: expect.Got(clouds.Load(file))(s.t), Cloud: "Lab", Secret: map[string][]byte{
			"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": []byte(armsim.Secret),
			"cloud": []byte("Lab"),
		},
	}))(s.t)
	a.calls.Principal.BootLog = who.BootLog
	return a
}

// write has the guest write to its console.
func (s *stage) write(m cloud.Machine, lines ...string) {
	var guest compute.Host
	s.Change(func(in *armsim.Inside) { guest = in.Compute.Drive(armsim.VMID(m.Name)) })
	for _, line := range lines {
		guest.Write([]byte(line + "\r\n"))
	}
}

func TestLastWords(t *testing.T) {
	const disabled, setUp = infrav1.AzureBootDisabled, "SAC is aware that setup is done."
	host := func(s *stage) string { return strings.TrimPrefix(s.Endpoint(), "https://") }
	elsewhere := func(*stage) string { return "storage.example.com" }
	withoutRight := func(s *stage, _ *cloud.Machine) {
		s.grant(roleOf(s.t))
	}
	long := strings.Repeat("a line of Windows that says nothing of use\r\n", 1<<16) // 2.8 MiB
	for name, c := range map[string]struct {
		suffix func(*stage) string
		change func(*stage, *cloud.Machine)
		says   []string
		want   string // the lines, or what the error says
	}{
		"what the agent wrote": {
			host, nil,
			[]string{"noise", "\x1b[32mCAPWIN uid=u phase=join state=Failed\x07"},
			setUp + "|CAPWIN uid=u phase=join state=Failed",
		},
		"after much noise": {
			host, nil,
			[]string{"CAPWIN too long ago", long, "EVENT: The CMD command is now available."},
			"EVENT: The CMD command is now available.",
		},
		"nothing of the agent": {host, nil, []string{"noise"}, setUp},
		"a blue screen": {
			host, nil,
			[]string{`<PROPERTY NAME="STOPCODE" TYPE="string"><VALUE>"0xE2"</VALUE></PROPERTY>`},
			setUp + `|STOPCODE" TYPE="string"><VALUE>"0xE2"</VALUE></PROPERTY>`,
		},
		"no boot log":       {host, func(_ *stage, m *cloud.Machine) { m.Spec.Azure.BootDiagnostics.Type = disabled }, nil, ""},
		"no VM":             {host, func(_ *stage, m *cloud.Machine) { m.ProviderID = "" }, nil, ""},
		"another cloud":     {host, func(_ *stage, m *cloud.Machine) { m.Server = "another" }, nil, ""},
		"a foreign address": {elsewhere, nil, []string{"CAPWIN x"}, "the address is not one of the cloud's hosts; let the manager"},
		"no right": {
			host, withoutRight,
			[]string{"CAPWIN x"},
			"Azure refuses the action Microsoft.Compute/virtualMachines/retrievebootdiagnosticsdata/action on /subscriptions/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			a, m := s.storing(c.suffix(s)), s.machine("m")
			s.run(a, m)
			s.write(m, c.says...)
			s.live(a, 2*time.Minute)
			if c.change != nil {
				c.change(s, &m)
			}
			s.Forget()
			lines, err := a.LastWords(t.Context(), m)
			got := strings.Join(lines, "|")
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != c.want || !strings.Contains(got, c.want) || strings.Contains(got, "sig=") {
				t.Errorf("LastWords = %q, want %q", got, c.want)
			}
			if calls := s.ByClass(); calls["POST vm boot log"] > 1 || calls["GET boot log"] > 1 || calls["HEAD boot log"] > 1 {
				t.Errorf("calls: %v", calls)
			}
		})
	}
}

// TestBootLogOfAVMThatIsNotSeen: what has the name of a VM that left the lists may be somebody else's, and so is its boot log.
func TestBootLogOfAVMThatIsNotSeen(t *testing.T) {
	s := newStage(t)
	a, m := s.storing(strings.TrimPrefix(s.Endpoint(), "https://")), s.machine("m")
	s.run(a, m)
	s.Change(func(in *armsim.Inside) { in.Compute.Delete(armsim.VMID(m.Name), true) })
	s.live(a, 20*time.Minute)
	s.foreign(m.Name, map[string]string{"owner": "finance"})
	s.write(m, "CAPWIN of somebody else")
	s.Forget()
	expect.Same(t, "lines", 0, len(expect.Got(a.LastWords(t.Context(), m))(t)))
	expect.Same(t, "boot logs that are asked for", 0, s.ByClass()["POST vm boot log"])
}

// TestBootLogOfAChosenCloud: a cloud whose addresses a Secret has is not even asked for the address of a log.
func TestBootLogOfAChosenCloud(t *testing.T) {
	s := newStage(t)
	a, m := s.storing(strings.TrimPrefix(s.Endpoint(), "https://")), s.machine("m")
	s.run(a, m)
	s.write(m, "CAPWIN x")
	s.live(a, 2*time.Minute)
	a.choose(t)
	s.Forget()
	expect.Same(t, "lines", 0, len(expect.Got(a.LastWords(t.Context(), m))(t)))
	expect.Same(t, "boot logs that are asked for", 0, s.ByClass()["POST vm boot log"])
}

// TestHostileConsole: a guest writes what it likes; ten short lines of printable text are all that comes of it.
func TestHostileConsole(t *testing.T) {
	log := strings.Repeat("CAPWIN \x1b]0;evil\x07\u202e<script>\x00"+strings.Repeat("x", 1000)+"\n"+"SAC again\n", 100)
	got := lastWords(log)
	if len(got) != mostLines {
		t.Errorf("%d lines", len(got))
	}
	for _, line := range got {
		if len(line) > lineLength || line != cloud.Clean(line, lineLength) {
			t.Errorf("%q", line)
		}
	}
	expect.Same(t, "the same line many times", 1, len(lastWords(strings.Repeat("CAPWIN x\n", 50))))
	expect.Same(t, "a line with two marks", []string{"CAPWIN x SAC y"}, lastWords("a SAC b CAPWIN x SAC y\n"))
}

// TestConsoleThatDoesNotCome: no error has the address, whose signature opens the log to anybody.
func TestConsoleThatDoesNotCome(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	for why, err := range map[string]error{
		"it does not answer in time": context.DeadlineExceeded, "the answer is a redirect": errors.New("the answer is a redirect"),
	} {
		a.calls.Principal.BootLog = func(_ context.Context, address string) ([]byte, error) {
			if !strings.Contains(address, "sig=") {
				t.Errorf("the address is %q", address)
			}
			return nil, err
		}
		_, got := a.LastWords(t.Context(), m)
		expect.Says(t, "the error", got, why+"; let the manager reach the storage service")
	}
	if s.Names(armsim.Group, compute.VM)[0] != m.Name {
		t.Error("the VM is gone")
	}
	for over, cut := range []bool{false, true} {
		text := unreadable(errors.New(strings.Repeat("x", lineLength+over))).Message
		expect.Same(t, "a long cause is cut: "+text, cut, strings.Contains(text, "..."))
	}
}
