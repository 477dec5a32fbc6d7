package preview

import (
	"bytes"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// takeStored shows what the guest got. A note reports it if this release would render something else from the objects, or would
// refuse them.
func (m *Machine) takeStored() {
	m.Guest = Guest{UserData: m.stored}
	const got = "showing what the guest got, from Secret %s"
	data, err := scripts.Plan(m.stored)
	if err == nil {
		if m.Guest.Plan, err = plan.Decode(data); err != nil {
			err = errors.New("it is not a plan of this release") // the error itself may show a secret
		}
	}
	if err != nil {
		m.note(got+"; this release cannot read its plan: %v", m.StoredIn, err)
		return
	}
	m.Guest.PlanJSON = data
	// clusterctl move gives the Machine a new UID; the plan keeps the old one.
	m.Owner.UID = types.UID(m.Guest.Plan.Machine.UID)
	guest, shown, err := m.render()
	switch {
	case m.withoutCA != nil:
		m.note(got+"; without the Secret %s it is not compared with what this release would render", m.StoredIn, m.withoutCA.Key)
	case err != nil:
		m.note(got+"; this release would refuse to render it: %v", m.StoredIn, err)
	case bytes.Equal(guest.PlanJSON, data):
		m.note(got+"; this release would render the same", m.StoredIn)
		m.Shown = shown
		return
	default:
		m.note(got+"; this release would render something else, because another release or other objects were used then", m.StoredIn)
	}
	if m.Shown, err = Hide(m.Guest); err != nil {
		m.note("the secrets in it cannot be masked: %v", err)
	}
}
