package agent

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/agent/vectors"
)

type (
	vector       = vectors.Vector
	expectation  = vectors.Expectation
	world        = vectors.World
	command      = vectors.Command
	worldAdapter = vectors.Adapter
	worldAddress = vectors.Address
	worldRoute   = vectors.Route
)

// stage is a world in which the agent lives.
type stage struct {
	t *testing.T
	*vectors.Stage
}

func newStage(t *testing.T, v *vector) *stage {
	t.Helper()
	made := expect.Got(vectors.New(t.TempDir(), v, vectors.Agent{Root: Root, Task: TaskName, Run: Run}))(t)
	return &stage{t: t, Stage: made}
}

// lived is a stage on which the machine rests.
func lived(t *testing.T, v *vector) *stage {
	t.Helper()
	s := newStage(t, v)
	s.live()
	return s
}

func (s *stage) live() {
	s.t.Helper()
	expect.OK(s.t, s.Live())
}

// start is one life of the agent; it says whether the machine starts once more.
func (s *stage) start() bool {
	s.t.Helper()
	return expect.Got(s.Start())(s.t)
}

func (s *stage) put(path, text string) {
	s.t.Helper()
	expect.OK(s.t, s.Machine.Put(path, []byte(text)))
}

func (s *stage) read(path string, into any) {
	s.t.Helper()
	text, err := s.Machine.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		s.t.Fatalf("read %s: %v", filepath.Base(path), err)
	}
}
