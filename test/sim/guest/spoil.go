package guest

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
)

// spoil is told what happens on the disk, and does its part of the faults there.
func (p *power) spoil(effect string) {
	if p.guest.Faults.BadBlock && effect == `keep `+agent.Root+`\plan.json` {
		p.badBlock(agent.Root + `\plan.json`)
	}
	p.kill(effect)
}

// badBlock gives the plan's first step a kind that does not exist.
func (p *power) badBlock(path string) {
	text, err := readHost(p.machine, path)
	if err != nil {
		return
	}
	before, phases, _ := strings.Cut(text, `"phases":`)
	text = before + `"phases":` + strings.Replace(phases, `"do":"`, `"do":"#`, 1)
	host, err := p.machine.HostPath(path)
	if err == nil {
		err = os.WriteFile(host, []byte(text), 0o600)
	}
	if err != nil {
		panic(fmt.Sprintf("the disk of the simulated Windows cannot be spoiled: %v", err))
	}
}

// kill ends the agent in the step of the fault: the effect is the state that says that the step begins.
func (p *power) kill(effect string) {
	step := p.guest.Faults.KillAgentIn
	if step == "" || effect != `keep `+agent.Root+`\state.json` {
		return
	}
	// The machine must not be asked here; its disk may.
	text, err := readHost(p.machine, agent.Root+`\state.json`)
	if err != nil || !strings.Contains(text, `"stepName":"`+step+`"`) {
		return
	}
	p.mu.Lock()
	first := !p.killed
	p.killed = true
	p.mu.Unlock()
	if first {
		runtime.Goexit()
	}
}
