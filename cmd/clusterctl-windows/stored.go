package main

import (
	"bytes"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// takeStored shows what the guest got. What this release makes of the objects now may be something else: that is told and
// no more, even where it would refuse them.
func (m *machine) takeStored() {
	m.userData = m.stored
	const got = "what the guest got is shown, as it stands in Secret %s"
	data, err := scripts.Plan(m.stored)
	if err == nil {
		m.plan, err = plan.Decode(data)
	}
	if err != nil {
		m.note(got+"; another release rendered it, whose plan cannot be read here: %v", m.storedIn, err)
		return
	}
	m.planJSON = data
	// clusterctl move gives the Machine another UID; the plan keeps the first.
	m.owner.UID = types.UID(m.plan.Machine.UID)
	_, now, err := m.render()
	switch {
	case err != nil:
		m.note(got+"; this release would not render it: %v", m.storedIn, err)
	case bytes.Equal(now, data):
		m.note(got+"; this release would render the same", m.storedIn)
	default:
		m.note(got+"; this release would render something else: another one rendered it, or other objects", m.storedIn)
	}
}
