package preview

import (
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
)

// standIn notes what a placeholder stands for. Every plan of files from git has some, so that all of them are one note.
func (m *Machine) standIn(text string) {
	m.standIns = append(m.standIns, text)
}

func (m *Machine) noteStandIns() {
	if len(m.standIns) > 0 {
		m.note("placeholders stand for what the files do not have, and a real machine gets its own: %s", strings.Join(m.standIns, "; "))
	}
}

// placeholders is the namespace of the UUIDs that stand in for UIDs.
var placeholders = uuid.MustParse("d2c0f5f6-7d0e-4c53-9a4f-0d6f0b6a9a11")

// fillUIDs sets placeholders for UIDs, which only an API server can give. The Machine's UID is in the plan, and the VM's name
// is computed from the WindowsMachine's UID.
func (m *Machine) fillUIDs() {
	for _, object := range []struct {
		kind, follow string
		uid          *types.UID
	}{
		{"Machine", "", &m.Owner.UID},
		{"WindowsMachine", ", and the computer name and provider ID computed from it", &m.Windows.UID},
	} {
		if *object.uid != "" || object.kind == "WindowsMachine" && m.Windows.Spec.ProviderID != "" {
			continue
		}
		name := m.Owner.Namespace + "/" + m.Owner.Name
		*object.uid = types.UID(uuid.NewSHA1(placeholders, []byte(object.kind+" "+name)).String())
		m.Provisional = m.Provisional || object.kind == "WindowsMachine"
		m.standIn("the UID of the " + object.kind + object.follow)
	}
}
