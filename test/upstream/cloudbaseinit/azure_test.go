//go:build cloudbaseinit

package cloudbaseinit

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestReadyWaits: the loader waits for the bootstrap, and the real AzureService says Ready only when the loader has ended. Where
// Windows restarts meanwhile, cloudbase-init runs the same user data again, and says Ready after that.
func TestReadyWaits(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			p := provisioned(t, "blue-az-x7k2p", rendered(nil))
			p.CutOff = 1
			o := play(t, r, []machine{p.machine})[0]
			expect.Same(t, "boots", 3, len(o.Boots))
			expect.Same(t, "what Azure hears in each boot",
				[]string{"Provisioning", "Provisioning, Ready", "Provisioning, Ready"}, heard(o.Boots))
			expect.Same(t, "programs in the boot after both", 0, len(o.last().Processes))
			all := o.processes()
			expect.Same(t, "runs of the loader", 2, len(all))
			for _, run := range all {
				expect.Same(t, "what Azure has heard when the loader begins", "Provisioning", told(run.Heard))
				checkScript(t, p, []process{run})
			}
			checkMarks(t, p, o)
		})
	}
}

func heard(boots []boot) []string {
	var all []string
	for _, b := range boots {
		all = append(all, told(b.Health))
	}
	return all
}

// told names what a guest has said to Azure's host agent; what has no name stands as it is.
func told(health []string) string {
	all := slices.Clone(health)
	for i, said := range health {
		for text, word := range map[string]string{
			"<SubStatus>Provisioning</SubStatus>": "Provisioning", "<State>Ready</State>": "Ready",
		} {
			if strings.Contains(said, text) {
				all[i] = word
			}
		}
	}
	return strings.Join(all, ", ")
}
