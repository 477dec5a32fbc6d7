package lists

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// decoded is what a text of Azure's has.
func decoded[T any](t *testing.T, text string) (value T) {
	t.Helper()
	expect.OK(t, json.Unmarshal([]byte(text), &value))
	return value
}

// TestKeepVM: of a VM that may be a machine's is kept what its record has, and nothing of any other.
func TestKeepVM(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	long := strings.Repeat("x", 1000)
	for name, id := range map[string]string{
		"a long name": blue.Group.VM("not-one-of-ours-").String(), "an odd name": blue.Group.VM("vm_1").String(),
		"another group": blue.OtherGroup.VM("win-1").String(), "no ID": "x",
	} {
		_, bytes := s.KeepVM(calls.VM{ID: id})
		expect.Same(t, name, 0, bytes)
	}
	text := `{"id":"` + strings.ToUpper(blue.VM.String()) + `","zones":["1` + long + `","2"],"tags":{"Capwin-Machine":"m",
		"capwin-namespace":"` + long + `","other":"x"},"properties":{"vmId":"` + blue.ID + `","instanceView":{},
		"storageProfile":{"osDisk":{"managedDisk":{"id":"x"}},"dataDisks":[` + strings.Repeat(`{},`, 99) + `{}]},
		"networkProfile":{"networkInterfaces":[` + strings.Repeat(`{},`, 9) + `{"id":"` + blue.NIC.String() + `"}]}}}`
	vm := decoded[calls.VM](t, text)
	got, bytes := s.KeepVM(vm)
	expect.Same(t, "bytes are those of a record", true, bytes > perVM && bytes < 5*perVM)
	want, _ := RecordOf(vm)
	expect.Same(t, "the record", want, got)
	expect.Same(t, "its mark", cloud.Key{Name: "m"}, got.Mark.Key)
}

// TestKeepPower: of a VM is kept whether it runs, if it is in a group of machines or has the name of a machine's VM.
func TestKeepPower(t *testing.T) {
	var l Lists
	l.Scope(blue.Group)
	keep := l.KeepPower(func() map[string]bool { return map[string]bool{"moved": true} })
	const rest = `,"tags":{"a":"b"},"properties":{"vmId":"x","instanceView":{"statuses":[{"code":"a"},
		{"code":"PowerState/running","message":"b"}]}}}`
	for name, c := range map[string]struct {
		id   string
		kept bool
	}{
		"a VM of the group":    {blue.VM.String(), true},
		"a VM that was moved":  {blue.OtherGroup.VM("Moved").String(), true},
		"a VM of another one":  {blue.OtherGroup.VM("win-1").String(), false},
		"a VM that is not one": {blue.Group.VM("not-one-of-ours-").String(), false},
		"no VM":                {"x", false},
	} {
		vm := decoded[calls.VM](t, `{"id":"`+c.id+`"`+rest)
		shown, bytes := keep(vm)
		expect.Same(t, name, c.kept, bytes > 0)
		if c.kept {
			expect.Same(t, name+": runs", next.PoweredOn, *shown.Power)
		}
	}
	silent, bytes := keep(calls.VM{ID: blue.VM.String()})
	expect.Same(t, "a VM without a state", true, bytes > 0 && silent.Power == nil)
}

// TestStatesAreFew: the states of VMs that a list lacks are dropped once they are too many to be late.
func TestStatesAreFew(t *testing.T) {
	p := &Powers{}
	shown := Shown{ID: blue.VM}
	for extra, want := range map[int]int{manyStates + 1: manyStates + 2, manyStates + 2: 1} {
		p.Do(func(state *PowerState) {
			state.States = map[string]next.Power{blue.VM.Key(): next.PoweredOn}
			for i := range extra {
				state.States[strings.Repeat("x", i+1)] = next.Stopped
			}
		})
		p.Take([]Shown{shown}, blue.Noon, blue.Noon, nil)
		p.Do(func(state *PowerState) { expect.Same(t, "states", want, len(state.States)) })
		expect.Same(t, "that of the VM", next.PoweredOn, p.Get(blue.VM.Key()))
	}
}

// TestKeepResource: what belongs to nothing or to what may be a machine's VM is kept, with our marks of its tags.
func TestKeepResource(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		text string
		kept bool
	}{
		"an adapter":             {`"properties":{"virtualMachine":{"id":"` + blue.VM.String() + `"}}`, true},
		"a disk":                 {`"managedBy":"` + blue.VM.String() + `"`, true},
		"of no VM":               {`"name":"x"`, true},
		"of another VM":          {`"managedBy":"` + blue.Group.VM("not-one-of-ours-").String() + `"`, false},
		"of something else":      {`"managedBy":"x"`, false},
		"of a long ID":           {`"properties":{"ipConfiguration":{"id":"` + long + `"}}`, true},
		"with a thousand others": {`"tags":{"a":"` + long + `"}`, true},
	} {
		resource := decoded[calls.Resource](t, `{"id":"`+blue.NIC.String()+`",`+c.text+"}")
		r, bytes := KeepResource(resource)
		expect.Same(t, name, c.kept, bytes > 0)
		expect.Same(t, name+": bytes are those of a record", true, bytes < 4*perResource)
		if c.kept {
			expect.Same(t, name+": it is used", resource.Attached(), r.Attached)
		}
	}
	_, bytes := KeepResource(calls.Resource{ID: "x"})
	expect.Same(t, "no resource", 0, bytes)
}
