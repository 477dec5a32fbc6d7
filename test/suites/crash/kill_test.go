package crash

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestKilledManager does to the real manager what TestCrash does to its controllers: SIGKILL at a call to the vCenter. What a
// process keeps in package variables is lost here as well.
func TestKilledManager(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	program := filepath.Join(t.TempDir(), "manager")
	expect.OK(t, servers.BuildManager(t.Context(), program))
	for _, plan := range []world.Plan{
		{Effect: "vcenter CloneVM_Task #1"},
		{Effect: "vcenter CloneVM_Task #1", After: true},
		{Effect: "vcenter Destroy_Task #1", After: true},
	} {
		t.Run(plan.String(), func(t *testing.T) {
			t.Parallel()
			at := newPlace(t)
			r := &run{namespace: at.Namespace, vcenter: at.vcenter.Owner(t), machine: at.NewMachine("killed")}
			managers := &managers{program: program, run: r}
			managers.start(t, plan)
			t.Cleanup(func() { managers.end(t) })
			r.machine.Create(t)
			r.joinedAndGone(t)
			managers.mu.Lock()
			defer managers.mu.Unlock()
			if !managers.gates[0].Hit() || len(managers.gates) != 2 {
				t.Errorf("%d managers ran", len(managers.gates))
			}
		})
	}
}

// managers are the processes of one machine's life, one after the other.
type managers struct {
	program string
	run     *run

	mu    sync.Mutex
	over  bool
	gates []*world.Gate
	last  *exec.Cmd
	kept  sync.WaitGroup
	logs  []*bytes.Buffer
	fails error
}

func (m *managers) start(t *testing.T, plan world.Plan) {
	gate := &world.Gate{Plan: plan}
	f := front(m.run.vcenter, func() *world.Gate { return gate })
	m.run.namespace.SetCredentials(t, f.Credentials())
	log := &bytes.Buffer{}
	manager := exec.Command(m.program,
		"--kubeconfig="+m.run.namespace.Management.KubeconfigFile, "--namespace="+m.run.namespace.Name, "--health-addr=127.0.0.1:0",
		"--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics=true")
	manager.Stdout, manager.Stderr = log, log
	gate.Kill = func() { _ = manager.Process.Kill() }
	if err := errors.Join(manager.Start(), servers.NoteStart("capwin")); err != nil {
		m.fails = errors.Join(m.fails, err)
		return
	}
	m.gates, m.logs, m.last = append(m.gates, gate), append(m.logs, log), manager
	m.kept.Go(func() {
		_ = manager.Wait() // it was killed
		f.Close()
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.over {
			m.start(t, world.Plan{})
		}
	})
}

func (m *managers) end(t *testing.T) {
	m.mu.Lock()
	m.over = true
	_ = m.last.Process.Kill()
	m.mu.Unlock()
	m.kept.Wait()
	if m.fails != nil {
		t.Error(m.fails)
	}
	if t.Failed() {
		for _, log := range m.logs {
			t.Logf("a manager said:\n%s", log)
		}
	}
}

// TestSteady looks again and again at a machine with which all is well: it must cost the vCenter and Kubernetes nothing.
func TestSteady(t *testing.T) {
	r := begin(t, newPlace(t), false)
	r.claimed(t)
	r.joined(t)
	p := r.Process()
	p.Reconcile(t, world.Machines, r.machine.Key)
	p.Reconcile(t, world.Configs, r.machine.Key)
	effects := p.Gate.Effects()
	want, before := p.Reads(world.Machines, r.machine.Key)
	const looks = 10
	for range looks {
		p.Reconcile(t, world.Machines, r.machine.Key)
		p.Reconcile(t, world.Configs, r.machine.Key)
	}
	expect.Same(t, "something was changed", effects, p.Gate.Effects())
	got, after := p.Reads(world.Machines, r.machine.Key)
	if after-before < looks {
		t.Errorf("%d looks, want %d at least", after-before, looks)
	}
	for _, reads := range []map[string]int{want, got} { // by the clock: test/suites/cost counts them
		delete(reads, "management GET secrets")
	}
	expect.Same(t, "looking again costs reads", want, got)
	r.machine.Delete(t)
	r.gone(t)
}
