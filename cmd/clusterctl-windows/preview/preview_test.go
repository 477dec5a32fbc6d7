package preview

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The notes that every machine of a MachineDeployment in git has, whichever its cloud is.
const (
	madeNote     = "Machine windows-1 does not exist yet; this is how MachineDeployment default/windows would make it"
	standInsNote = "placeholders stand for what the files do not have, and a real machine gets its own: "
	// adapterNote begins a warning of Render about adapters.
	adapterNote = "WindowsMachine spec.vsphere.networkInterfaces: "
)

func textOf(t *testing.T, file string) string {
	t.Helper()
	return string(expect.Got(os.ReadFile(file))(t))
}

// edited is a file with some texts replaced: what stands there and what shall, by turns.
func edited(t *testing.T, file string, oldnew ...string) string {
	t.Helper()
	text := textOf(t, file)
	for ; len(oldnew) > 1; oldnew = oldnew[2:] {
		if !strings.Contains(text, oldnew[0]) {
			t.Fatalf("%s has no %q", file, oldnew[0])
		}
		text = strings.Replace(text, oldnew[0], oldnew[1], 1)
	}
	return text
}

// withoutKind is a text without its documents of a kind.
func withoutKind(text, kind string) string {
	var left []string
	for document := range strings.SplitSeq(text, "---\n") {
		if !strings.Contains(document, "\nkind: "+kind+"\n") {
			left = append(left, document)
		}
	}
	return strings.Join(left, "---\n")
}

func setOf(t *testing.T, text string) *objects.Set {
	t.Helper()
	return expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t)
}

// usualStandIns are those of files from git that have an endpoint.
var usualStandIns = []string{
	"the bootstrap token", "the UID of the Machine",
	"the UID of the WindowsMachine, and the computer name and provider ID computed from it",
	"the cluster's CA in Secret default/blue-ca",
}

// gathered is the machine windows-1 of files, and those of its notes that not every machine of git has. Each thing that a
// placeholder stands for counts as one.
func gathered(t *testing.T, text string) (*Machine, []string) {
	t.Helper()
	m := expect.Got(Gather(setOf(t, text), "windows-1"))(t)
	var notes []string
	for _, note := range m.Notes {
		if list, ok := strings.CutPrefix(note, standInsNote); ok {
			for one := range strings.SplitSeq(list, "; ") {
				if !slices.Contains(usualStandIns, one) {
					notes = append(notes, one)
				}
			}
			continue
		}
		if note != madeNote && !strings.HasPrefix(note, adapterNote) {
			notes = append(notes, note)
		}
	}
	return m, notes
}

// refusedWith wants a refusal of exactly these words.
func refusedWith(t *testing.T, text, want string) {
	t.Helper()
	_, err := Gather(setOf(t, text), "windows-1")
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
