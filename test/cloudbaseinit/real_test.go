//go:build cloudbaseinit

package cloudbaseinit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// What would have become of our script, had we packed it otherwise: why it is packed as it is.
func TestSamples(t *testing.T) {
	t.Parallel()
	all := samples()
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, guests(all)) {
				s := all[i]
				if diff := cmp.Diff(s.wanted(r), judge(o, s.userData)); diff != "" {
					t.Errorf("%s (%s), -want +got:\n%s%q", s.name, s.reason, diff, complaints.FindAllString(o.said(), 3))
				}
			}
		})
	}
}

func guests(all []sample) []machine {
	var machines []machine
	for _, s := range all {
		machines = append(machines, machine{Name: s.name, Cloud: onVSphere, ComputerName: imageName, Guestinfo: s.guestinfo})
	}
	return machines
}

// Azure's custom data arrive as they are, also where vSphere's service would unpack them, and what raises is told.
func TestSamplesOnAzure(t *testing.T) {
	t.Parallel()
	all := []struct {
		name, reason string
		data         []byte
		taken        string
	}{
		{"plain", "ours", []byte(script), powershell64},
		{"gzip", "is not unpacked, and is no text", scripts.Gzip([]byte(script)), raised},
		{"base64", "is not decoded", []byte(padded), unsupported},
		{"byte order mark", "stands before byte 0", []byte("\ufeff" + script), unsupported},
		{"leading newline", "not at byte 0", []byte("\n" + script), unsupported},
		{"multipart words", "in the first paragraph", []byte("#ps1_sysnative\n# Content-Type: multipart\n\nexit 0"), multipart},
		{"jinja", "line 1", []byte("## template: jinja\n" + script), jinja},
		{"empty", "is nothing", []byte{}, none},
		{"no custom data", "is nothing", nil, none},
	}
	var machines []machine
	for _, c := range all {
		machines = append(machines, machine{
			Name: c.name, Cloud: onAzure, ComputerName: "win-1", HostName: "win-1", InstanceID: "id-1", CustomData: c.data,
		})
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, machines) {
				c := all[i]
				if diff := cmp.Diff(named(c.taken), judge(o, c.data)); diff != "" {
					t.Errorf("%s (%s), -want +got:\n%s%q", c.name, c.reason, diff, complaints.FindAllString(o.said(), 3))
				}
				if failed := strings.Contains(o.said(), "<SubStatus>ProvisioningFailed</SubStatus>"); failed != (c.taken == raised) {
					t.Errorf("%s: Azure hears of a failure: %v", c.name, failed)
				}
			}
		})
	}
}

// What the exit code of a script means. Our loader has 0 and 1; the others show that this test would see a difference.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	all := []struct {
		code int
		// runs of the script in at most five boots.
		runs, boots int
	}{{0, 1, 2}, {1, 1, 2}, {2, 1, 2}, {-1, 1, 2}, {3010, 1, 2}, {1000, 1, 2}, {1001, 1, 3}, {1002, 2, 2}, {1003, 5, 5}, {1004, 1, 2}}
	var machines []machine
	for _, c := range all {
		machines = append(machines, machine{
			Name: "exit", Cloud: onAzure, ComputerName: "win-1", HostName: "win-1", InstanceID: "id-1", CustomData: []byte(script), ExitCode: c.code,
		})
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, machines) {
				c := all[i]
				if runs := len(o.processes()); runs != c.runs || len(o.Boots) != c.boots {
					t.Errorf("exit %d: %d runs in %d boots, want %d in %d", c.code, runs, len(o.Boots), c.runs, c.boots)
				}
				if strings.Contains(o.said(), "ProvisioningFailed") {
					t.Errorf("exit %d: Azure hears of it", c.code)
				}
			}
		})
	}
}

// The check for secrets in product_test.go is worth something: a MIME message does end in log and serial port, whole.
func TestMIMEIsLogged(t *testing.T) {
	t.Parallel()
	leaky := machine{Name: "leaky", Cloud: onAzure, ComputerName: "win-1", HostName: "win-1", InstanceID: "id-1", CustomData: []byte(mime)}
	for _, r := range releases {
		b := play(t, r, []machine{leaky})[0].Boots[0]
		if !strings.Contains(b.Log, script) || !strings.Contains(b.COM2, script) {
			t.Errorf("%s logs less than was thought:\n%s", r.version, b.Log)
		}
		if !slices.ContainsFunc(b.Processes, func(p process) bool { return string(p.Script) == script+"\n" || string(p.Script) == script }) {
			t.Errorf("%s does not run the part", r.version)
		}
	}
}
