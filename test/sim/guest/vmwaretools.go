package guest

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	rpctoolPath = `C:\Program Files\VMware\VMware Tools\rpctool.exe`
	toolboxPath = `C:\Program Files\VMware\VMware Tools\VMwareToolboxCmd.exe`
	toolsConf   = `C:\ProgramData\VMware\VMware Tools\tools.conf`
)

// toolsConfOfImage is what image-builder and an administrator wrote.
const toolsConfOfImage = "[logging]\n# what the administrator wants\nlog = true\n\n" +
	"[guestinfo]\nexclude-nics=vEthernet*\npoll-interval=30\n"

// largestValue that VMware Tools carry.
const largestValue = 64 << 10

// tellNetwork has VMware Tools report the adapters of Windows when they start, and whenever something of that changes.
func (p *power) tellNetwork(ctx context.Context) {
	if p.guest.Faults.Silent {
		return
	}
	var told []Adapter
	for began := false; ctx.Err() == nil; began = true {
		now := p.reported()
		if !began || !reflect.DeepEqual(now, told) {
			told = now
			if err := p.vm.SetNetwork(ctx, p.machine.ComputerName(), now); err != nil && ctx.Err() == nil {
				p.note("VMware Tools: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-p.readdressed:
		}
	}
}

// changesNetwork: real VMware Tools look every 30 seconds, or as often as poll-interval says.
func changesNetwork(effect string) bool {
	return slices.ContainsFunc([]string{"address.", "adapter.", "hns ", "service VMTools "}, func(begin string) bool {
		return strings.HasPrefix(effect, begin)
	})
}

// reported are the adapters that have addresses and are not hidden. A vSwitch leaves none to the adapter below it, so that the
// adapter of the vSwitch is all that there is to report.
func (p *power) reported() (all []Adapter) {
	hidden := p.excludedNICs()
	for _, adapter := range p.machine.AddressedAdapters() {
		hides := func(pattern string) bool {
			matches, err := path.Match(pattern, adapter.Name)
			return err == nil && matches
		}
		if !slices.ContainsFunc(hidden, hides) {
			mac := strings.ToLower(strings.ReplaceAll(adapter.MAC, "-", ":"))
			all = append(all, Adapter{MAC: mac, Addresses: adapter.Addresses})
		}
	}
	return all
}

// excludedNICs are the names of adapters that tools.conf hides, with * and ? for any (vmware/open-vm-tools,
// lib/include/conf.h, CONFNAME_GUESTINFO_EXCLUDENICS).
func (p *power) excludedNICs() []string {
	text, err := p.machine.ReadFile(toolsConf)
	if err != nil {
		return nil // no file hides nothing
	}
	_, section, _ := strings.Cut("\n"+string(text), "\n[guestinfo]\n")
	for line := range strings.Lines(section) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case strings.HasPrefix(key, "["):
			return nil
		case key == "exclude-nics":
			return strings.Split(value, ",")
		}
	}
	return nil
}

// rpctool is the guest's side of guestinfo.
func (p *power) rpctool(ctx context.Context, call *windows.Call) int {
	if len(call.Argv) != 2 {
		return call.Fail("rpctool: Usage: rpctool <text>")
	}
	verb, rest, _ := strings.Cut(call.Argv[1], " ")
	key, value, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(key, "guestinfo.") {
		return call.Fail("Unknown command")
	}
	switch verb {
	case "info-get":
		value, found, err := p.vm.Guestinfo(ctx, key)
		if err != nil || !found {
			return call.Fail("No value found")
		}
		call.Print("%s", value)
		return 0
	case "info-set":
		if p.guest.Faults.Silent || len(value) > largestValue {
			return call.Fail("Failed to send message")
		}
		if err := p.vm.SetGuestinfo(ctx, key, value); err != nil {
			return call.Fail("Failed to send message: %v", err)
		}
		return 0
	}
	return call.Fail("Unknown command")
}

// toolbox is VMwareToolboxCmd.exe; played is `config set SECTION KEY VALUE`. It changes one key, and keeps all other lines of the
// file, comments too (open-vm-tools, toolbox/toolboxcmd-config.c, which writes a GKeyFile).
func toolbox(_ context.Context, call *windows.Call) int {
	if len(call.Argv) != 6 || call.Argv[1] != "config" || call.Argv[2] != "set" {
		call.Fail("VMwareToolboxCmd: the lab plays config set SECTION KEY VALUE")
		return 64
	}
	text, err := call.Machine.ReadFile(toolsConf)
	if err != nil {
		text = nil // it makes a new one
	}
	changed := setKey(strings.Split(strings.TrimSpace(string(text)), "\n"), call.Argv[3], call.Argv[4], call.Argv[5])
	if err := call.Machine.Put(toolsConf, []byte(strings.TrimSpace(strings.Join(changed, "\n"))+"\n")); err != nil {
		call.Fail("Error writing config: %v", err)
		return 75
	}
	return 0
}

// setKey changes the key in its section, or adds it there.
func setKey(lines []string, section, key, value string) []string {
	begin := slices.Index(lines, "["+section+"]")
	if begin < 0 {
		return append(lines, "", "["+section+"]", key+"="+value)
	}
	for i, line := range lines[begin+1:] {
		name, _, _ := strings.Cut(line, "=")
		switch {
		case strings.TrimSpace(name) == key:
			lines[begin+1+i] = key + "=" + value
			return lines
		case strings.HasPrefix(line, "["):
			return slices.Insert(lines, begin+1, key+"="+value)
		}
	}
	return slices.Insert(lines, begin+1, key+"="+value)
}
