package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// File is a file that render writes. If it has no content, an old file of this name is removed.
type File struct {
	Name, Description string
	Content           []byte
}

// Files are what the guest gets, before any of them is written, so that an error leaves the folder unchanged.
func (m *Machine) Files(showSecrets bool) ([]File, error) {
	view, aboutPlan, aboutData := m.Shown, "the plan, secrets masked",
		fmt.Sprintf("secrets masked; with them, about %d KiB", (len(m.Guest.UserData)+1023)/1024)
	if showSecrets {
		view, aboutPlan, aboutData = m.Guest, "the plan, secrets in clear", "what cloudbase-init runs, secrets in clear"
	}
	readable, err := readablePlan(view)
	if err != nil {
		return nil, err
	}
	return []File{
		{"userdata", aboutData, view.UserData},
		{"metadata", "the computer's name", m.Metadata()},
		{"node.json", aboutPlan, readable},
	}, nil
}

func readablePlan(g Guest) ([]byte, error) {
	if g.Plan == nil {
		return nil, nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, g.PlanJSON, "", "  "); err != nil {
		return nil, fmt.Errorf("indent plan: %w", err)
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}
