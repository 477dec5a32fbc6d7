package guest

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// remoteAccess are the features of a router; its service is there in every Windows Server, and disabled.
var remoteAccess = []string{"RemoteAccess", "Routing", "RSAT-RemoteAccess-PowerShell"}

// router plays Install-RemoteAccess, which makes Windows a router once its features are there, and fails the second time.
func (p *power) router(call *windows.Call) int {
	command := call.Argv[len(call.Argv)-1]
	if !strings.Contains(command, "Install-RemoteAccess -VpnType RoutingOnly") {
		return call.Fail("the lab's PowerShell does not play %s", command)
	}
	states, err := call.Machine.Features(remoteAccess)
	if err != nil {
		return call.Fail("%v", err)
	}
	for _, name := range remoteAccess {
		if states[name] != "Installed" {
			return call.Fail("Install-RemoteAccess : The term is not recognized, because %s is %s", name, states[name])
		}
	}
	key := windows.ServicesKey + `\RemoteAccess`
	start, _, err := call.Machine.ReadRegistry(key, "Start")
	if err == nil && start.Number != 2 {
		err = call.Machine.WriteRegistry(key, "Start", windows.DWord(2))
	} else if err == nil && !strings.Contains(command, "RoutingStatus") {
		return call.Fail("Install-RemoteAccess : RemoteAccess is already installed")
	}
	if err != nil {
		return call.Fail("%v", err)
	}
	return 0
}
