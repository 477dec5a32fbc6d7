// Package clones finds the clones under way that may still make the VM of a machine. A caller may rely on this, and need not
// read how:
//
//   - A task does not name the VM that it makes. A clone is a suspect only if our own user started it, and if its template has
//     the name in the machine's spec. So the clones of a backup, of other users and of other templates hold up none of our
//     machines. The age of a clone does not count: no two clocks agree.
//   - What cannot be read of a clone counts against it.
//   - Earlier asks about the clones that were begun before this process, with one list for all machines; Rivals asks about
//     those of any process. Both ask the vCenter again while suspects are left, unless it pushes their end.
//   - The suspects of a machine are those of the first answer, or of the first one after the time that Rivals is given. Later
//     clones are not added until Forget.
//   - Update returns the keys of the machines whose suspect has ended, and no others.
//   - All of it takes from the share of the account's namespace. A machine whose suspects find no room gets the session's error
//     ErrNoRoom until they do.
package clones

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// Tasks is a set of tasks.
type Tasks = map[types.ManagedObjectReference]bool

// Clones are those of one account.
type Clones struct {
	session  *session.Session
	now      func() time.Time
	ownTasks func() Tasks // the tasks of this process; what they make is known

	mu       sync.Mutex
	earlier  []clone // of the first list
	asked    time.Time
	machines map[cloud.MachineID]*suspicion
	room     *session.Loan
}

// What a clone of the first list and a suspect of a machine take, in bytes.
const (
	perClone   = 512
	perSuspect = 128
)

// suspicion holds the clones that may make a machine's VM.
type suspicion struct {
	key      cloud.Key
	tasks    Tasks
	listed   time.Time // when the tasks were read
	followed bool      // the vCenter pushes their end
}

// In returns the clones of the account that a session belongs to.
func In(s *session.Session, now func() time.Time, ownTasks func() Tasks) *Clones {
	return &Clones{session: s, now: now, ownTasks: ownTasks, machines: map[cloud.MachineID]*suspicion{}, room: s.Loan()}
}

// Earlier reports whether a clone that was begun before this process may still make m's VM, and whether one may have made it.
func (c *Clones) Earlier(ctx context.Context, m cloud.Machine) (running, ended bool, err error) {
	if err := c.askOnce(ctx); err != nil {
		return false, false, err
	}
	c.mu.Lock()
	s, candidates := c.machines[m.ID()], concerning(m, c.earlier, account(c.session.User()))
	if s == nil && len(candidates) > 0 {
		s, err = c.suspect(m, candidates, c.asked)
	}
	c.mu.Unlock()
	if s == nil {
		return false, false, err
	}
	running, err = c.left(ctx, m)
	return running, true, err
}

// Rivals reports whether a clone of any process may still make m's VM. Answers from before the cutoff do not count: a request
// that was under way then may have begun one.
func (c *Clones) Rivals(ctx context.Context, m cloud.Machine, cutoff time.Time) (running bool, err error) {
	c.mu.Lock()
	s := c.machines[m.ID()]
	c.mu.Unlock()
	if s != nil && !s.listed.Before(cutoff) {
		return c.left(ctx, m)
	}
	now := c.now()
	clones, err := c.list(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, err = c.suspect(m, concerning(m, clones, account(c.session.User())), now); err != nil {
		return false, err
	}
	return len(s.tasks) > 0, nil
}

// Forget drops the suspects of m, so that the next question asks the vCenter anew.
func (c *Clones) Forget(m cloud.Machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(m.ID())
}

func (c *Clones) forget(id cloud.MachineID) {
	if s := c.machines[id]; s != nil {
		c.room.Give(len(s.tasks) * perSuspect)
		delete(c.machines, id)
	}
}

// Close gives all room back.
func (c *Clones) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.earlier, c.asked, c.machines = nil, time.Time{}, map[cloud.MachineID]*suspicion{}
	c.room.End()
}

// Tasks returns the tasks whose end is awaited.
func (c *Clones) Tasks() Tasks {
	c.mu.Lock()
	defer c.mu.Unlock()
	tasks := Tasks{}
	for _, s := range c.machines {
		maps.Copy(tasks, s.tasks)
	}
	return tasks
}

// Followed notes that the vCenter pushes the end of these tasks, and of no others.
func (c *Clones) Followed(tasks Tasks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.machines {
		s.followed = true
		for t := range s.tasks {
			s.followed = s.followed && tasks[t]
		}
	}
}

// Update applies a change of a task, and returns the keys of the machines whose suspect it was. A task that leaves the view has
// ended: the vCenter removes it some minutes later, and we take none out of the view that is waited for.
func (c *Clones) Update(u types.ObjectUpdate) (keys []cloud.Key) {
	ended := u.Kind == types.ObjectUpdateKindLeave
	for _, change := range u.ChangeSet {
		ended = ended || change.Name == "info.state" && !active(change.Val)
	}
	if !ended {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.machines {
		if s.tasks[u.Obj] {
			delete(s.tasks, u.Obj)
			c.room.Give(perSuspect)
			keys = append(keys, s.key)
		}
	}
	return keys
}

// left narrows the suspects of m to those that are still running, and reports whether there are any.
func (c *Clones) left(ctx context.Context, m cloud.Machine) (bool, error) {
	c.mu.Lock()
	s := c.machines[m.ID()]
	sure := s == nil || len(s.tasks) == 0 || s.followed
	left := s != nil && len(s.tasks) > 0
	c.mu.Unlock()
	if sure {
		return left, nil
	}
	clones, err := c.list(ctx)
	if err != nil {
		return true, err
	}
	running := Tasks{}
	for _, candidate := range clones {
		running[candidate.task] = candidate.active
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machines[m.ID()] == s {
		count := len(s.tasks)
		maps.DeleteFunc(s.tasks, func(t types.ManagedObjectReference, _ bool) bool { return !running[t] })
		c.room.Give((count - len(s.tasks)) * perSuspect)
	}
	return len(s.tasks) > 0, nil
}

// suspect notes the clones that are under way; c.mu is held.
func (c *Clones) suspect(m cloud.Machine, candidates []clone, listed time.Time) (*suspicion, error) {
	ownTasks := c.ownTasks()
	s := &suspicion{key: m.Key, tasks: Tasks{}, listed: listed}
	for _, candidate := range candidates {
		if candidate.active && !ownTasks[candidate.task] {
			s.tasks[candidate.task] = true
		}
	}
	c.forget(m.ID())
	if err := c.room.Take(len(s.tasks) * perSuspect); err != nil {
		return nil, session.Classify(err)
	}
	c.machines[m.ID()] = s
	return s, nil
}

func (c *Clones) askOnce(ctx context.Context) error {
	c.mu.Lock()
	asked := c.asked
	c.mu.Unlock()
	if !asked.IsZero() {
		return nil
	}
	now := c.now()
	clones, err := c.list(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() {
		return nil
	}
	ownTasks := c.ownTasks()
	clones = slices.DeleteFunc(clones, func(candidate clone) bool { return ownTasks[candidate.task] })
	if err := c.room.Take(len(clones) * perClone); err != nil {
		return session.Classify(err)
	}
	c.earlier, c.asked = clones, now
	return nil
}
