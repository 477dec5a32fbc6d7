package machines

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// stage is the folder in which a machine lives: its disks, and world.json with all else.
type stage struct {
	t       *testing.T
	machine Machine
	base    string
	secrets Secrets
}

const root = `C:\ProgramData\capwin\`

// secretsOf are found once for each machine.
var secretsOf sync.Map

func findSecrets(t *testing.T, m Machine) Secrets {
	t.Helper()
	if known, ok := secretsOf.Load(m.Name); ok {
		return known.(Secrets)
	}
	found := expect.Got(SecretsOf(m))(t)
	secretsOf.Store(m.Name, found)
	return found
}

// newStage is a machine at the moment at which cloudbase-init starts the loader.
func newStage(t *testing.T, m Machine, base string) *stage {
	t.Helper()
	s := &stage{t, m, base, findSecrets(t, m)}
	expect.OK(t, os.RemoveAll(base))
	for path, text := range Files(m.Plan) {
		expect.OK(t, Put(base, path, []byte(text)))
	}
	world := World(m)
	world["staging"] = expect.Got(Stage(base, m.UserData))(t)
	s.write(world)
	return s
}

func (s *stage) write(world map[string]any) {
	s.t.Helper()
	expect.OK(s.t, os.WriteFile(filepath.Join(s.base, "world.json"), expect.Got(json.Marshal(world))(s.t), 0o600))
}

func (s *stage) world() map[string]any {
	s.t.Helper()
	world := map[string]any{}
	expect.OK(s.t, json.Unmarshal(expect.Got(os.ReadFile(filepath.Join(s.base, "world.json")))(s.t), &world))
	return world
}

// read is a file of the machine, or nothing.
func (s *stage) read(path string) string {
	text, err := os.ReadFile(HostPath(s.base, path))
	if err != nil {
		return ""
	}
	return string(text)
}

// state is what the agent has kept.
type state struct {
	State                                plan.State
	Reason, Message, PhaseName, StepName string
	ExitCode                             int
	LastLines, Warnings                  []string
	Reboots                              int
	Boot                                 *struct {
		State           plan.State
		Reason, Message string
	}
}

func (s *stage) state() state {
	s.t.Helper()
	var read state
	text := s.read(root + "state.json")
	if text != "" {
		expect.OK(s.t, json.Unmarshal([]byte(text), &read))
	}
	return read
}
