// Package rules checks the body of a PUT as Azure does, by rules written by hand from the public reference of the REST API: they
// do not come from the SDK, whose types our own client is made of.
//
//	rules.go    a request and how it is checked
//	schema.go   the tree of known members: what is required, read-only, an id, one of some values, newer than an api-version
//	front.go    what ARM refuses itself
//	vm.go       the members of a VM
//	nic.go      the members of a NIC, and rules of NICs, made alone or with a VM
//	parts.go    rules of extensions and run commands
//	limits.go   rules of one member
//	together.go, disks.go, guest.go  rules of several members
//
// Sentences are Azure's where they are on record ([D], [V] as in package reply), else [I].
package rules

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// Request is a body with what it depends on.
type Request struct {
	ID      doc.ID
	Body    doc.Object
	Version string // api-version
	// Create is false for a PUT on something that exists and for a PATCH: required and read-only members are not looked at then.
	Create bool
}

// Rule is one rule. It returns nil if the request keeps it.
type Rule struct {
	Name  string
	Check func(Request) *reply.Error
}

// VM lists the rules of a VM's body, in the order in which they are tried: ARM's own, those of the members' tree, and the rest.
func VM() []Rule {
	return slices.Concat(front, frontVM, vmTree.rules(), limits, together, diskRules, guestRules, inlineRules)
}

// NIC lists the rules of a NIC's body.
func NIC() []Rule { return slices.Concat(front, nicTree.rules(), nicRules) }

// ByHand lists those of a VM, a NIC or a part of a VM that do not come from the tree.
func ByHand(of string) []Rule {
	switch of {
	case "nic":
		return slices.Concat(front, nicRules)
	case "part":
		return Part()
	}
	return slices.Concat(front, frontVM, limits, together, diskRules, guestRules, inlineRules)
}

var vmRules, nicAll = VM(), NIC()

// CheckVM returns the first rule's refusal.
func CheckVM(r Request) *reply.Error { return check(vmRules, r) }

// CheckNIC returns the first rule's refusal.
func CheckNIC(r Request) *reply.Error { return check(nicAll, r) }

func check(rules []Rule, r Request) *reply.Error {
	for _, rule := range rules {
		if refused := rule.Check(r); refused != nil {
			return refused
		}
	}
	return nil
}
