//go:build cloudbaseinit

package cloudbaseinit

import (
	"maps"
	"strings"
	"testing"
)

// TestErased: the controllers take user data away once the node has joined, and leave the metadata. At the next boot nothing
// fails, nothing runs, and the computer keeps its name: also of a guest that restarted before cloudbase-init had noted that the
// user data were done, for which an exit code stands here that asks for that.
func TestErased(t *testing.T) {
	t.Parallel()
	given := guestinfo(padded, "base64")
	left := maps.Clone(given)
	delete(left, "guestinfo.userdata")
	delete(left, "guestinfo.userdata.encoding")
	noted := machine{Name: "noted", Cloud: onVSphere, ComputerName: imageName, Guestinfo: given, Later: left}
	unnoted := noted
	unnoted.Name, unnoted.ExitCode = "not noted", 1003
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			for _, o := range play(t, r, []machine{noted, unnoted}) {
				last := o.last()
				if len(o.processes()) == 0 || len(last.Processes) > 0 || last.Rebooted || last.Error != "" {
					t.Errorf("%s: %d processes before, then %+v", o.Name, len(o.processes()), last.Processes)
				}
				if found := complaints.FindAllString(last.Log, 3); len(found) > 0 {
					t.Errorf("%s: the last boot complains: %q", o.Name, found)
				}
				if ran := strings.Contains(last.Log, userDataRuns); ran != (o.Name == unnoted.Name) {
					t.Errorf("%s: the user data plug-in runs: %v", o.Name, ran)
				}
				if last.ComputerName != "win-1" {
					t.Errorf("%s: the computer is called %s", o.Name, last.ComputerName)
				}
			}
		})
	}
}

// TestErasedWithMetadata shows why the metadata stay: without them 1.1.4 fails at each boot.
func TestErasedWithMetadata(t *testing.T) {
	t.Parallel()
	m := machine{
		Name: "nothing left", Cloud: onVSphere, ComputerName: imageName, Guestinfo: guestinfo(padded, "base64"),
		Later: map[string]string{"guestinfo.other": "x"},
	}
	for _, r := range releases {
		if said := play(t, r, []machine{m})[0].last().Log; !strings.Contains(said, "No metadata service found") {
			t.Errorf("%s finds metadata where there are none:\n%s", r.version, said)
		}
	}
}
