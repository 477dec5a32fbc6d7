package tenants

import "time"

const (
	// forVMs is how many times as many of a kind a namespace may have for machines that may have a VM: a count stops new machines
	// alone. Users can make any machine look so, which is why this has an end, too.
	forVMs = 2
	// turn is how long one stays in use, beyond that, before it has to give its place to another one.
	turn = time.Minute
)

// Demand is that of a machine which needs one more of a kind than its namespace uses.
type Demand struct {
	Kind  Kind
	Count int
	// ForVM is true if the machine may have a VM, or is deleted.
	ForVM bool
	// Idle is how long the one was not used that would give its place; zero if none may.
	Idle time.Duration
}

// Room is what a demand finds.
type Room int

const (
	// NoRoom has the machine wait.
	NoRoom Room = iota
	// FreeRoom lets the namespace use one more.
	FreeRoom
	// RoomByTurn lets it use one more in place of the one that is idle.
	RoomByTurn
)

// Room decides a demand. Machines that may have a VM find more room than new ones, and beyond that take turns.
func (l Limits) Room(namespace string, d Demand) Room {
	switch {
	case d.Count < l.Bound(namespace, d.Kind, d.ForVM):
		return FreeRoom
	case d.ForVM && d.Idle >= turn:
		return RoomByTurn
	default:
		return NoRoom
	}
}

// Bound is how many of a kind a namespace may have at a time for such machines, those of all machines included.
func (l Limits) Bound(namespace string, kind Kind, forVM bool) int {
	if forVM {
		return l.Allowed(namespace, kind) * forVMs
	}
	return l.Allowed(namespace, kind)
}
