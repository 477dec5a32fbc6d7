package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// rootAccess is what the loader gives to the agent's folder.
const rootAccess = "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

// loader is loader.ps1, in its order; the agent that it starts is the one in test/sim/agent.
func (p *power) loader(ctx context.Context, call *windows.Call, folder string) int {
	line, err := p.load(ctx, call, folder)
	if err == nil {
		call.Print("%s\r", line)
		return 0
	}
	call.Print("CAPWIN state=Failed phase=loader reason=LoaderFailed: %v\r", err)
	p.removeStaging(call, folder)
	return 1
}

// told is what the loader looks at of plan and state.
type told struct {
	UID       string       `json:"uid"`
	State     plan.State   `json:"state"`
	PhaseName string       `json:"phaseName"`
	Reason    string       `json:"reason"`
	Machine   plan.Machine `json:"machine"`
	// WaitSeconds and Hold are the plan's, Elapsed the state's.
	WaitSeconds *int `json:"waitSeconds"`
	Hold        bool `json:"hold"`
	Elapsed     int  `json:"elapsed"`
}

// load puts the files into their places for a new machine, registers and starts the task, waits for a first result.
func (p *power) load(ctx context.Context, call *windows.Call, folder string) (marker string, err error) {
	text, err := p.machine.ReadFile(folder + `\plan.json`)
	if err != nil {
		return "", err
	}
	var wanted told
	if err := json.Unmarshal(text, &wanted); err != nil {
		return "", err
	}
	uid := wanted.Machine.UID
	kept := p.read("plan.json")
	access, err := p.machine.Access(agent.Root) // an error where there is none
	if err != nil || access != rootAccess || kept == nil || kept.Machine.UID != uid {
		if err := p.furnishRoot(folder, text); err != nil {
			return "", err
		}
	}
	p.removeStaging(call, folder)
	if state := p.stateOf(uid); state.State != plan.StateSucceeded && state.State != plan.StateFailed {
		if err := p.machine.EnableTask(agent.TaskName); err != nil {
			return "", err
		}
		p.startTask(ctx)
	}
	if err := p.await(ctx, wanted); err != nil {
		return "", err
	}
	state := p.stateOf(uid)
	return fmt.Sprintf("CAPWIN uid=%s state=%s phase=%s reason=%s", uid, state.State, state.PhaseName, state.Reason), nil
}

// await keeps cloudbase-init waiting as long as the plan wants.
func (p *power) await(ctx context.Context, wanted told) error {
	wait, uid := 60, wanted.Machine.UID
	if wanted.WaitSeconds != nil {
		wait = *wanted.WaitSeconds
	}
	for range wait - p.stateOf(uid).Elapsed {
		if state := p.stateOf(uid).State; state == plan.StateSucceeded || !wanted.Hold && state != plan.StateRunning {
			return nil
		}
		if err := p.machine.Clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// furnishRoot begins anew: what is there is another machine's, whose disk was cloned, or was made by a user of Windows.
func (p *power) furnishRoot(folder string, text []byte) error {
	m := p.machine
	script, err := m.ReadFile(folder + `\agent.ps1`)
	if err != nil {
		return err
	}
	if string(script) != scripts.Agent() {
		return errors.New("the lab plays the agent of this release only")
	}
	if err := m.Remove(agent.Root); err != nil {
		return err
	}
	if err := m.MakeDirectory(agent.Root); err != nil {
		return err
	}
	if err := m.Protect(agent.Root, rootAccess); err != nil {
		return err
	}
	if err := m.Keep(agent.Root+`\agent.ps1`, script); err != nil {
		return err
	}
	return m.Keep(agent.Root+`\plan.json`, text)
}

// removeStaging leaves a folder that is in use to the next command of the cloud-config.
func (p *power) removeStaging(call *windows.Call, folder string) {
	if err := p.machine.Remove(folder); err != nil {
		call.Print("CAPWIN the folder of the loader is in use\r")
	}
}

func (p *power) stateOf(uid string) told {
	if state := p.read("state.json"); state != nil && state.UID == uid {
		return *state
	}
	return told{UID: uid, State: plan.StateRunning}
}

// read is nil where there is no such file, or half of one.
func (p *power) read(name string) *told {
	text, err := p.machine.ReadFile(agent.Root + `\` + name)
	if err != nil {
		return nil
	}
	found := &told{}
	if json.Unmarshal(text, found) != nil {
		return nil
	}
	return found
}
