//go:build cloudbaseinit

package cloudbaseinit

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
				o.same(t, s.name+" ("+s.reason+")", s.wanted(r), judge(o, s.userData))
			}
		})
	}
}

// same compares, and shows at a difference what the guest complained about.
func (o outcome) same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, -want +got:\n%s%q", what, diff, complaints.FindAllString(o.said(), 3))
	}
}

func azureMachine(name string, customData []byte) machine {
	return machine{
		Name: name, Cloud: onAzure, ComputerName: "win-1", HostName: "win-1", InstanceID: "id-1", CustomData: customData,
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
		{"gzip", "is not unpacked, and is not text", scripts.Gzip([]byte(script)), raised},
		{"cloud-config in gzip", "neither", scripts.Gzip(scripts.UserData([]byte(`{"version":1}`))), raised},
		{"base64", "is not decoded", []byte(padded), unsupported},
		{"byte order mark", "stands before byte 0", []byte("\ufeff" + script), unsupported},
		{"leading newline", "not at byte 0", []byte("\n" + script), unsupported},
		{"multipart words", "in the first paragraph", []byte("#ps1_sysnative\n# Content-Type: multipart\n\nexit 0"), multipart},
		{"jinja", "line 1", []byte("## template: jinja\n" + script), jinja},
		{"as much as Azure carries", "65,535 bytes", []byte(script + strings.Repeat("#", 65_535-len(script))), powershell64},
		{"empty", "is nothing", []byte{}, none},
		{"no custom data", "is nothing", nil, none},
	}
	var machines []machine
	for _, c := range all {
		machines = append(machines, azureMachine(c.name, c.data))
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, machines) {
				c := all[i]
				o.same(t, c.name+" ("+c.reason+")", named(c.taken), judge(o, c.data))
				if failed := strings.Contains(o.said(), "<SubStatus>ProvisioningFailed</SubStatus>"); failed != (c.taken == raised) {
					t.Errorf("%s: Azure hears of a failure: %v", c.name, failed)
				}
			}
		})
	}
}

// Why our metadata say nothing of the network: the images' release does not look, and the newest renames the adapter and
// sets addresses behind our plan's back.
func TestNetworkMetadata(t *testing.T) {
	t.Parallel()
	network := base64.StdEncoding.EncodeToString([]byte(`
version: 2
ethernets:
  id0: {match: {macaddress: "00:50:56:00:00:01"}, set-name: eth0, mtu: 1400, addresses: [10.0.0.5/24],
  gateway4: 10.0.0.1, nameservers: {addresses: [10.0.0.2]}}
`))
	g := guestinfo(padded, "base64")
	g["guestinfo.metadata"] = `{"instance-id":"uid-1","local-hostname":"win-1","network":"` + network +
		`","network.encoding":"base64"}`
	g["guestinfo.metadata.encoding"] = "plaintext"
	for _, r := range releases {
		var want [][]any
		if r == newest {
			want = [][]any{
				{"rename_network_adapter", "Ethernet0", "eth0"},
				{"set_network_adapter_mtu", "eth0", 1400.0},
				{"enable_network_adapter", "eth0", true},
				{"set_static_network_config", "eth0", "10.0.0.5", "24", "10.0.0.1", []any{"10.0.0.2"}},
			}
		}
		o := play(t, r, []machine{{Name: "network", Cloud: onVSphere, ComputerName: imageName, Guestinfo: g}})[0]
		var got [][]any
		for _, b := range o.Boots {
			got = append(got, b.Network...)
		}
		o.same(t, r.version, want, got)
	}
}

// What the exit code of a script means, and that of a batch file of runcmd, where both codes that ask for a reboot also ask
// for another run. Our loader has 0 and 1; the others show that this test would see a difference.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	// What of it happens in at most five boots.
	type happens struct{ runs, boots int }
	once, always := happens{1, 2}, happens{5, 5}
	all := []struct {
		code           int
		script, runcmd happens
	}{
		{0, once, once},
		{1, once, once},
		{2, once, once},
		{-1, once, once},
		{3010, once, once},
		{1000, once, once},
		{1001, happens{1, 3}, always},
		{1002, happens{2, 2}, once},
		{1003, always, always},
		{1004, once, once},
	}
	var machines []machine
	for _, c := range all {
		for _, text := range []string{script, "#cloud-config\nruncmd: [dir]\n"} {
			m := azureMachine("exit", []byte(text))
			m.ExitCode = c.code
			machines = append(machines, m)
		}
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for i, o := range play(t, r, machines) {
				c, what, want := all[i/2], "a script", all[i/2].script
				if i%2 == 1 {
					what, want = "runcmd", c.runcmd
				}
				if got := (happens{len(o.processes()), len(o.Boots)}); got != want {
					t.Errorf("exit %d of %s: %+v, want %+v", c.code, what, got, want)
				}
				if strings.Contains(o.said(), "ProvisioningFailed") {
					t.Errorf("exit %d of %s: Azure hears of it", c.code, what)
				}
			}
		})
	}
}

// None of the codes that mean something is ours.
func TestLoaderExits(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, found := range regexp.MustCompile(`(?mi)^ *exit\b *(\S*)`).FindAllStringSubmatch(scripts.Loader(), -1) {
		codes = append(codes, found[1])
	}
	expect.Same(t, "the loader's exit codes,", []string{"0", "1"}, codes)
}

// The check for secrets in product_test.go is worth something: a MIME message does end in log and serial port, whole.
func TestMIMEIsLogged(t *testing.T) {
	t.Parallel()
	leaky := azureMachine("leaky", []byte(mime))
	for _, r := range releases {
		b := play(t, r, []machine{leaky})[0].Boots[0]
		if !strings.Contains(b.Log, script) || !strings.Contains(b.COM2, script) {
			t.Errorf("%s logs less than was thought:\n%s", r.version, b.Log)
		}
		if !slices.ContainsFunc(b.Processes, func(p process) bool {
			return string(p.Script) == script+"\n" || string(p.Script) == script
		}) {
			t.Errorf("%s does not run the part", r.version)
		}
	}
}
