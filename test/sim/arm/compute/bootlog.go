package compute

import (
	"bytes"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// written is something that a guest wrote to COM1, the only port that boot diagnostics show [D serial-console-windows].
type written struct {
	at   time.Time
	line []byte
}

func (m *machine) write(now time.Time, line []byte) {
	m.serial = append(m.serial, written{at: now, line: bytes.Clone(line)})
}

func (m *machine) logged() bool {
	return doc.Flag(m.r.Body, "properties", "diagnosticsProfile", "bootDiagnostics", "enabled")
}

// BootLog is what the log shows now: it is late.
func (c *Compute) BootLog(id doc.ID) []byte {
	m := c.find(id)
	if m == nil {
		return nil
	}
	var log []byte
	for _, w := range m.serial {
		if !c.World.Clock.Now().Before(w.at.Add(c.Times.BootLog)) {
			log = append(log, w.line...)
		}
	}
	return log
}

// MayReadBootLog refuses VMs without boot diagnostics [V].
func (c *Compute) MayReadBootLog(id doc.ID) *reply.Error {
	m := c.find(id)
	switch {
	case m == nil:
		return reply.ResourceNotFound(VM, id.Name(), id.Group)
	case !m.logged():
		return reply.New(409, "OperationNotAllowed", "The Boot Diagnostics is not enabled for VM '%s'.", id.Name())
	case m.power == "":
		return reply.New(404, "NotFound", "The serial console log and screenshot of VM '%s' are not available yet.", id.Name())
	}
	return nil
}
