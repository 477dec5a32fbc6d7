package twins

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/capwin/cluster-api-provider-windows/test/sim/agent"
	"github.com/capwin/cluster-api-provider-windows/test/sim/agent/vectors"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Lab carries out a case by test/sim/agent, in dir.
func Lab(c *Case, dir string) (Outcome, error) {
	var v vectors.Vector
	if err := json.Unmarshal(c.vector(), &v); err != nil {
		return nil, fmt.Errorf("read the vector of %d: %w", c.Number, err)
	}
	stage, err := vectors.New(dir, &v, vectors.Agent{Root: agent.Root, Task: agent.TaskName, Run: agent.Run})
	if err != nil {
		return nil, err
	}
	o := Outcome{"died": false}
	started, console := []any{}, ""
	stage.Heard = func(error) { o["died"] = true }
	stage.OnCall = func(call *windows.Call) { started = append(started, seen(call)) }
	stage.Machine.OnSerial = func(_ string, text []byte) { console += string(text) }
	if err := live(stage); err != nil {
		return nil, err
	}
	o["effects"], o["started"], o["console"] = effects(stage.Effects), started, lines([]byte(console))
	if err := o.readDisk(filepath.Join(dir, "C")); err != nil {
		return nil, err
	}
	stage.Machine.Throw(nil, 0)
	stage.Machine.Hang(nil)
	o["access"], err = o.accessOf(stage.Machine)
	return o, err
}

// live turns a panic of the lab into an error: it must be told which plan was that.
func live(stage *vectors.Stage) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v\n%s", caught, debug.Stack())
		}
	}()
	return stage.Live()
}

// seen is what a program sees of how it was started.
func seen(call *windows.Call) tree {
	env := tree{}
	for name, value := range call.Env {
		env[name] = value
	}
	return tree{"argv": list(call.Argv), "env": env, "dir": call.Dir}
}

func (o Outcome) accessOf(machine *windows.Machine) (tree, error) {
	found := tree{}
	paths := append([]any{}, o["folders"].([]any)...)
	for path, content := range o["files"].(tree) {
		if content != aLink { // whose access is that of what it leads to
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		sddl, err := machine.Access(path.(string))
		if err != nil {
			return nil, err
		}
		if sddl != windows.Inherited {
			found[path.(string)] = sddl
		}
	}
	return found, nil
}

func list(texts []string) []any {
	made := make([]any, 0, len(texts))
	for _, text := range texts {
		made = append(made, timeless(text))
	}
	return made
}
