package armsim

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Call is one request to ARM. Requests for tokens are calls of class "token".
type Call struct {
	Method string
	// Class is what kind of call it is: "vm", "vm list", "vm status list", "vm view", "vm operation", "vm boot log", "nic", "nic
	// list", "nic operation", "disk", "disk list", "sku list", or the type of the resource.
	Class string
	// Resource is the name of the VM, NIC or disk, the group for a list in a group, "" for other lists.
	Resource string
	// ID is the resource's id in lower case, Version the api-version, Principal the caller's client id, Status the answer.
	ID, Version, Principal string
	Status                 int
	// Page counts the pages of a list, from 1.
	Page int
	// Body is what was sent.
	Body doc.Object
}

// Count is what calls are counted by.
type Count struct{ Method, Class, Resource string }

// Calls are all calls so far, in the order of their answers.
func (c *Cloud) Calls() (calls []Call) {
	c.Change(func(w *Inside) { calls = append(calls, w.calls...) })
	return calls
}

// Counts counts the calls to ARM by method, class and resource. Tokens and metadata are left out.
func (c *Cloud) Counts() map[Count]int {
	counts := map[Count]int{}
	for _, call := range c.Calls() {
		if call.Class != "token" && call.Class != "metadata" {
			counts[Count{call.Method, call.Class, call.Resource}]++
		}
	}
	return counts
}

// Forget begins to count anew.
func (c *Cloud) Forget() { c.Change(func(w *Inside) { w.calls = nil }) }

// ByClass adds up calls by method and class: "PUT vm".
func (c *Cloud) ByClass() map[string]int {
	counts := map[string]int{}
	for k, n := range c.Counts() {
		counts[k.Method+" "+k.Class] += n
	}
	return counts
}

// OfVM counts the calls that name a VM, by method and class.
func (c *Cloud) OfVM(name string) map[string]int {
	counts := map[string]int{}
	for k, n := range c.Counts() {
		if strings.HasPrefix(k.Class, "vm") && doc.Same(k.Resource, name) {
			counts[k.Method+" "+k.Class] += n
		}
	}
	return counts
}
