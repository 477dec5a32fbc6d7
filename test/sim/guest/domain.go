package guest

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Domain is one of Active Directory, with who may join machines to it.
type Domain struct{ Name, Username, Password string }

// What Windows says of a domain that it does not find, and of who may not join machines.
var (
	errNoDomain = errors.New("the specified domain either does not exist or could not be contacted")
	errNoEntry  = errors.New("the user name or password is incorrect")
)

// needsRestart is how programs on Windows say that they are done after a restart.
const needsRestart = 3010

var fileBeside = regexp.MustCompile(`Join-Path \$PSScriptRoot '([^']+)'`)

// powershell is powershell.exe -File FILE. Of all scripts it plays five: the loader of this release, and those that join a
// domain, list a gMSA plug-in, make a data drive and prepare a node for Antrea, known by their commands.
func (p *power) powershell(ctx context.Context, call *windows.Call) int {
	if slices.Contains(call.Argv, "-Command") {
		return p.router(call)
	}
	script := call.Argv[slices.Index(call.Argv, "-File")+1]
	text, err := call.Machine.ReadFile(script)
	if err != nil {
		return call.Fail("The argument '%s' to the -File parameter does not exist.", script)
	}
	if string(text) == scripts.Loader() {
		return p.loader(ctx, call, strings.TrimSuffix(script, `\`+windows.Base(script)))
	}
	if strings.Contains(string(text), "RtlAdjustPrivilege") && strings.Contains(string(text), `CCG\COMClasses'`) {
		return p.listPlugin(call)
	}
	if strings.Contains(string(text), "Initialize-Disk -Number $disk.Number") {
		return p.prepareDrive(call)
	}
	if strings.Contains(string(text), `\Prepare-AntreaAgent.ps1`) {
		return prepareAntrea(call)
	}
	found := fileBeside.FindStringSubmatch(string(text))
	if found == nil || !strings.Contains(string(text), "Add-Computer @join") {
		return call.Fail("the lab's PowerShell does not play %s", script)
	}
	member, err := p.joinDomain(strings.TrimSuffix(script, windows.Base(script)) + found[1])
	if err != nil {
		return call.Fail("Add-Computer : Computer '%s' failed to join domain '%s' from its current workgroup 'WORKGROUP' "+
			"with following error message: %v",
			call.Machine.ComputerName(), p.guest.Domain.Name, err)
	}
	if member {
		return 0
	}
	return needsRestart
}

func prepareAntrea(call *windows.Call) int {
	if err := cni.PrepareAntrea(call.Machine); err != nil {
		return call.Fail("%v", err)
	}
	return 0
}

// pluginList belongs to TrustedInstaller: SYSTEM may not write there.
const pluginList = windows.ControlKey + `\CCG\COMClasses`

// listPlugin takes the key, and gives it back.
func (p *power) listPlugin(call *windows.Call) int {
	class, listed := call.Env["CAPWIN_CLASS"], false
	err := call.Machine.Setup(func(s *windows.State) {
		if _, listed = s.Registry[pluginList]; listed && class != "" {
			s.SetValue(pluginList+`\`+class, "", windows.Text(""))
		}
	})
	if err != nil || !listed || class == "" {
		return call.Fail("HKLM\\%s does not exist; the feature Containers makes it (%v)", pluginList, err)
	}
	return 0
}

// joinDomain says whether the machine was a member when it was started. Windows names the new domain at once
// (Win32_ComputerSystem asks the policy of LSA, which the join has changed), but is its member after a restart.
func (p *power) joinDomain(file string) (member bool, err error) {
	text, err := p.machine.ReadFile(file)
	if err != nil {
		return false, err
	}
	var wanted struct{ Domain, Username, Password string }
	if err := json.Unmarshal(text, &wanted); err != nil {
		return false, err
	}
	switch {
	case !strings.EqualFold(wanted.Domain, p.guest.Domain.Name):
		return false, errNoDomain
	case wanted.Username != p.guest.Domain.Username || wanted.Password != p.guest.Domain.Password:
		return false, errNoEntry
	}
	return member, p.machine.Setup(func(s *windows.State) {
		if s.Domain != wanted.Domain {
			s.Domain, s.DomainBoot = wanted.Domain, s.Boots
		}
		member = s.DomainBoot < s.Boots
	})
}
