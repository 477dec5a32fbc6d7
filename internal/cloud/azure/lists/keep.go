package lists

import (
	"path"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// What a record takes besides what it refers to, in bytes, with what maps and the allocator round up.
const (
	perVM       = 900
	perResource = 500
	perPower    = 500
)

// computerName is what a machine's VM may be named: no other name is asked for.
var computerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,14}$`)

// isName reports whether a VM may be a machine's by its key.
func isName(vm string) bool { return computerName.MatchString(path.Base(vm)) }

// KeepVM keeps the record of a VM if it is in the group and may be a machine's by its name. Marks decide nothing here: what else
// may write tags may have changed them.
func (s *Scope) KeepVM(vm calls.VM) (r Record, bytes int) {
	r, ok := RecordOf(vm)
	if !ok || !isName(r.Key) || r.ID.Parent().Key() != s.Key {
		return r, 0
	}
	return r, perVM + tenants.SizeOf(r)
}

// Shown is what a list shows of whether a VM runs.
type Shown struct {
	ID    arm.ID
	Power *next.Power // empty between two states; nil if Azure shows nothing
}

// KeepPower returns what keeps the power state of a VM, if it is in a group of a scope or has the name of a machine's VM, which
// may have been moved. The names are asked for once the list has begun: it proves something of all of them.
func (l *Lists) KeepPower(names func() map[string]bool) func(calls.VM) (Shown, int) {
	groups := map[string]bool{}
	for _, s := range l.AllScopes() {
		groups[s.Key] = true
	}
	return func(vm calls.VM) (shown Shown, bytes int) {
		id, ok := arm.Parse(vm.ID)
		if !ok || !isName(id.Key()) || !groups[id.Parent().Key()] && !names()[strings.ToLower(id.Name())] {
			return shown, 0
		}
		shown.ID = id
		if p := vm.Properties; p != nil && p.InstanceView != nil {
			shown.Power = new(powerOf(p.InstanceView.Statuses))
		}
		return shown, perPower + 2*len(vm.ID)
	}
}

// Resource is what is kept of an adapter, disk or public IP.
type Resource struct {
	ID       arm.ID
	Mark     cloud.Marked
	UniqueID string // Azure's own
	Attached bool   // something uses it
	VM       string // the key of the VM that has it; empty if none has
	Adapter  string // the key of the adapter that has a public IP
	// Addresses are an adapter's, and Public is true if it has a public IP.
	Addresses []string
	Public    bool
}

// KeepResource keeps an adapter, disk or public IP, unless it belongs to what cannot be a machine's VM.
func KeepResource(shown calls.Resource) (r Resource, bytes int) {
	id, ok := arm.Parse(shown.ID)
	vm, isVM := arm.Parse(shown.User())
	if !ok || shown.User() != "" && (!isVM || !isName(vm.Key())) {
		return r, 0
	}
	r = Resource{ID: id, Mark: arm.ReadMark(shown.Tags), UniqueID: shown.UniqueID(), Attached: shown.Attached()}
	if isVM {
		r.VM = vm.Key()
	}
	if config, ok := arm.Parse(shown.Properties.IPConfiguration.ID); ok && len(config.Names) > 1 {
		r.Adapter = config.Parent().Adapter(config.Names[0]).Key()
	}
	for _, config := range shown.Properties.IPConfigurations {
		if address := config.Properties.PrivateIPAddress; address != "" {
			r.Addresses = append(r.Addresses, cloud.Clean(address, 64))
		}
		r.Public = r.Public || config.Properties.PublicIPAddress.ID != ""
	}
	return r, perResource + tenants.SizeOf(r)
}

// forget gives back what the scope keeps. A caller that still has it keeps what it reads for a moment.
func (s *Scope) forget() {
	s.Do(func(state *State) {
		state.forgotten = true
		for _, held := range s.Held {
			held.End()
		}
		state.dropSweep()
	})
}

func (s *State) dropSweep() {
	s.Held[Remnants].Give(s.Sweeping.Kept)
	s.Sweeping = Sweeping{}
}
