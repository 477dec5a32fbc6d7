package agent

import (
	"strings"
	"testing"
)

// The adapters of the VM were changed in vCenter: no adapter has the wanted MAC.
func TestAdapterIsMissing(t *testing.T) {
	t.Parallel()
	v := networkWorld(mustRead(t, "network-overlay-flannel-two-adapters"))
	v.World.Adapters = v.World.Adapters[:1]
	report := lived(t, v).end()
	missing := strings.Contains(report.Message, "no adapter has the MAC 005056000002")
	if report.Reason != "AddressesNotSet" || report.Step != "addresses-2" || !missing {
		t.Errorf("%s: %q %s", report.Step, report.Reason, report.Message)
	}
}
