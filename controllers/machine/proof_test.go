package machine

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// toldOfLeft are the events about what a machine that is let go leaves in the cloud.
func toldOfLeft(orphans ...string) (told []string) {
	recorder := events.NewFakeRecorder(2)
	(&Reconciler{Events: recorder}).leave(&facts{windows: &infrav1.WindowsMachine{}}, cloud.VM{Orphans: orphans})
	close(recorder.Events)
	for event := range recorder.Events {
		told = append(told, event)
	}
	return told
}

func TestLeave(t *testing.T) {
	const text = "Warning OrphanedResource Resources that stay in the cloud, because nothing proves that they were made for this " +
		"machine: %d. Find out whose they are, and delete them by hand: %s"
	many := make([]string, 12)
	for n := range many {
		many[n] = fmt.Sprint("disk d-", n)
	}
	for name, c := range map[string]struct {
		reason  string
		orphans []string
		want    string
	}{
		"one": {"it is named", []string{"disk d"}, `"disk d"`},
		"two": {"each is told from the other", []string{"disk d", "network interface n"}, `"disk d", "network interface n"`},
		"twelve": {
			"ten are enough to begin with", many, `"disk d-0", "disk d-1", "disk d-2", "disk d-3", "disk d-4", "disk d-5", "disk d-6", ` +
				`"disk d-7", "disk d-8", "disk d-9"`,
		},
		"a name with other bytes": {"it comes from the cloud", []string{"disk \n\x1b[31m%sä"}, `"disk   [31m%s "`},
		"a name that looks like two": {
			"a quote in it does not end it", []string{`disk d", "disk of-others`}, `"disk d\", \"disk of-others"`,
		},
		"a long name": {
			"it leaves room for others", []string{strings.Repeat("y", 4096), "disk d"}, `"` + strings.Repeat("y", 125) + `...", "disk d"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Same(t, c.reason, fmt.Sprintf(text, len(c.orphans), c.want), strings.Join(toldOfLeft(c.orphans...), "\n"))
		})
	}
	expect.Same(t, "events about nothing", 0, len(toldOfLeft()))
}

// TestLongLeave: the API server drops an event whose note has more than 1024 bytes.
func TestLongLeave(t *testing.T) {
	all := make([]string, 500)
	for n := range all {
		all[n] = strings.Repeat(`"`, 500)
	}
	_, note, _ := strings.Cut(toldOfLeft(all...)[0], "OrphanedResource ")
	expect.Same(t, "bytes of the note", 900, len(note))
	if !strings.Contains(note, ": 500. Find out whose they are") || !strings.HasSuffix(note, "...") {
		t.Errorf("the note says neither how many there are nor that it is cut: %s", note)
	}
}
