package windows

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/apirules"
)

func TestTheAPIKnowsTheSameNames(t *testing.T) {
	apirules.Check(t, "../../config/crd/bases", map[string]string{
		"users": apirules.In(builtInUsers), "user names": apirules.Matches(userName), "keys": apirules.Matches(sshKey),
		"time zones": apirules.Matches(windowsZone), "time servers": apirules.Matches(timeServer),
		"addresses of time servers": "!" + apirules.Matches(dotted), "features": apirules.Matches(featureName),
		"domains": apirules.Matches(domainName), "units": apirules.Matches(organizationalUnit),
		"processes": apirules.Matches(processName), "programs": apirules.Matches(program), "classes": apirules.Matches(guid),
		"proxies": apirules.Matches(proxyURL), "exceptions": apirules.Matches(noProxyName),
		"addresses among exceptions": "!" + apirules.Matches(dottedPort),
	})
}
