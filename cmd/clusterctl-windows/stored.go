package main

import (
	"bytes"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// takeStored shows what the guest got. If this release would render something else from the objects, or would refuse them, a
// note says so.
func (m *machine) takeStored() {
	m.userData = m.stored
	const got = "showing what the guest got, from Secret %s"
	data, err := scripts.Plan(m.stored)
	if err == nil {
		m.plan, err = plan.Decode(data)
	}
	if err != nil {
		m.note(got+"; this release cannot read its plan: %v", m.storedIn, err)
		return
	}
	m.planJSON = data
	// clusterctl move gives the Machine a new UID; the plan keeps the old one.
	m.owner.UID = types.UID(m.plan.Machine.UID)
	_, now, err := m.render()
	switch {
	case m.withoutCA != nil:
		m.note(got+"; without the Secret %s it is not compared with what this release would render", m.storedIn, m.withoutCA.Key)
	case err != nil:
		m.note(got+"; this release would refuse to render it: %v", m.storedIn, err)
	case bytes.Equal(now, data):
		m.note(got+"; this release would render the same", m.storedIn)
	default:
		m.note(got+"; this release would render something else, because another release or other objects were used then", m.storedIn)
	}
}
