package vcenter

import (
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// turnTime is what a VM takes at the least to come or go.
	turnTime = 250 * time.Millisecond
	// turnLimit is how long the next one waits for it; one that fails never comes.
	turnLimit = time.Second
)

// turns keep VMs from coming and going at the same time: the simulator (v0.56.0) locks up for good when one does before
// all watches have taken in the one before (a view waits for its filter, and the filter for the view).
type turns struct {
	turn chan struct{}

	mu sync.Mutex
	// moved counts the VMs that came and went, waits the times that each watch has asked for more.
	moved int
	waits map[string]int
	// then is what the long-lived watches had asked for when the last VM came or went.
	then map[string]int
}

func newTurns() *turns { return &turns{turn: make(chan struct{}, 1), waits: map[string]int{}} }

// call takes a turn for what makes a VM come or go, and notes what the watches do.
func (t *turns) call(session string, method *simulator.Method) {
	watch := session + method.This.Value
	switch method.Name {
	case "CloneVM_Task", "Destroy_Task":
		t.turn <- struct{}{}
		t.mu.Lock()
		before := t.moved
		t.mu.Unlock()
		go t.finish(before)
	case "WaitForUpdatesEx":
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waits[watch]++
	case "DestroyPropertyCollector":
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waits, watch)
	}
}

// finish ends a turn when the VM has moved and all watches have seen it.
func (t *turns) finish(before int) {
	defer func() { <-t.turn }()
	least, limit := time.After(turnTime), time.After(turnLimit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var waits map[string]int
	for <-least; ; {
		switch {
		case waits == nil:
			waits = t.whenMoved(before)
		case t.seen(waits):
			return
		}
		select {
		case <-limit:
			return
		case <-tick.C:
		}
	}
}

// whenMoved gives what the long-lived watches had asked for when the VM moved, nil before.
func (t *turns) whenMoved(before int) map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moved == before {
		return nil
	}
	return t.then
}

func (t *turns) seen(waits map[string]int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for watch, times := range waits {
		if now, there := t.waits[watch]; there && now == times {
			return false
		}
	}
	return true
}

// Reference is part of simulator.RegisterObject.
func (*turns) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Turns", Value: "turns"}
}

// PutObject is part of simulator.RegisterObject.
func (t *turns) PutObject(_ *simulator.Context, object mo.Reference) {
	if _, ok := object.(*simulator.VirtualMachine); ok {
		t.move()
	}
}

// UpdateObject is part of simulator.RegisterObject.
func (*turns) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject is part of simulator.RegisterObject.
func (t *turns) RemoveObject(_ *simulator.Context, object types.ManagedObjectReference) {
	if object.Type == "VirtualMachine" {
		t.move()
	}
}

func (t *turns) move() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved++
	t.then = maps.Clone(t.waits)
	maps.DeleteFunc(t.then, func(_ string, times int) bool { return times < 10 }) // those that wait for a task only
}
