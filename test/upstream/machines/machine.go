// Package machines lives whole lives of rendered machines by the scripts that nodes run, in a PowerShell and the stand-ins' world
// of test/upstream/powershell: all golden plans, and machines that a generator renders. The user data of each is unpacked as
// cloudbase-init does it, the loader is started on it, its task starts the packed agent, and Windows starts again until the
// bootstrap has ended, and twice after. Then programs fail, commands throw, and the power goes. `make test-machines` runs all of
// it.
package machines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// Machine is one that was rendered.
type Machine struct {
	Name string
	// UserData is what the cloud gives cloudbase-init.
	UserData []byte
	Plan     *plan.Plan
	// Traits are what the generator has drawn for it.
	Traits []string
}

// String hides the machine: its plan holds secrets.
func (Machine) String() string { return "[hidden]" }

// GoString hides the machine.
func (Machine) GoString() string { return "[hidden]" }

// Golden are the machines of all golden plans below root, which is that of the repository.
func Golden(root string) ([]Machine, error) {
	files, err := filepath.Glob(filepath.Join(root, "bootstrap", "testdata", "golden", "*.json"))
	if err != nil {
		return nil, err
	}
	var all []Machine
	for _, file := range files {
		machine, err := golden(file)
		if err != nil {
			return nil, fmt.Errorf("golden plan %s: %w", filepath.Base(file), err)
		}
		all = append(all, machine)
	}
	return all, nil
}

func golden(file string) (Machine, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Machine{}, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return Machine{}, err
	}
	p, err := plan.Decode(compact.Bytes())
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	return Machine{Name: name, UserData: scripts.UserData(compact.Bytes()), Plan: p}, err
}

// everyStep is of all phases, also those of later boots and of the background.
func everyStep(p *plan.Plan) []plan.Step {
	var all []plan.Step
	for _, phases := range [][]plan.Phase{p.Phases, p.EveryBoot, p.Background} {
		for _, phase := range phases {
			all = append(all, phase.Steps...)
		}
	}
	return all
}

// stepsOf are those of a kind.
func stepsOf[S plan.Step](p *plan.Plan) []S {
	var found []S
	for _, step := range everyStep(p) {
		if one, ok := step.(S); ok {
			found = append(found, one)
		}
	}
	return found
}
