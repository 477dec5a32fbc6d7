package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// here is a location of the subscription.
func here(location string) region { return regionOf(armsim.Subscription, location) }

// TestFamilies: which sizes share a quota, and which are the same.
func TestFamilies(t *testing.T) {
	of := func(size, zone string) request.Choice { return request.Choice{Size: size, Zone: zone} }
	for name, c := range map[string]struct {
		one, other   string
		family, size bool
	}{
		"the same":          {"Standard_D4s_v5", "standard_d4S_v5", true, true},
		"another size":      {"Standard_D4s_v5", "Standard_D8s_v5", true, false},
		"another version":   {"Standard_D4s_v5", "Standard_D4s_v6", false, false},
		"another family":    {"Standard_D4s_v5", "Standard_D4as_v5", false, false},
		"constrained CPUs":  {"Standard_M8-4ms", "Standard_M16ms", true, false},
		"without a version": {"Standard_A1", "Basic_A1", false, false},
	} {
		one, other := of(c.one, "1"), of(c.other, "1")
		expect.Same(t, name+": family", c.family, here("r").familyOf(one) == here("R").familyOf(other))
		expect.Same(t, name+": size", c.size, here("r").sizeOf(one) == here("R").sizeOf(other))
	}
	expect.Same(t, "another zone", false, here("r").sizeOf(of("a", "1")) == here("r").sizeOf(of("a", "2")))
	expect.Same(t, "another region", false, here("r").familyOf(of("a", "")) == here("s").familyOf(of("a", "")))
}

// TestChoose: the first size that suits and is open; else that there is no room is told before what does not suit.
func TestChoose(t *testing.T) {
	full := fault.Judge(fault.Answer{Code: "AllocationFailed"})
	known := skus.Sizes{"one": {Name: "one"}, "two": {Name: "two"}}
	old := blue.Noon.Add(-doubtsAfter)
	for name, c := range map[string]struct {
		sizes   []string
		known   skus.Sizes
		full    []string
		choice  string
		says    string
		due     bool
		unknown bool
	}{
		"the first": {sizes: []string{"one", "two"}, known: known, choice: "one"},
		"the first is full": {
			sizes: []string{"one", "two"}, known: known, full: []string{"one"}, choice: "two", says: "AllocationFailed",
		},
		"the first is not offered": {sizes: []string{"odd", "two"}, known: known, choice: "two"},
		"none is offered":          {sizes: []string{"odd"}, known: known, says: "not offered", due: true},
		"all are full":             {sizes: []string{"one"}, known: known, full: []string{"one"}, says: "AllocationFailed"},
		"one is full, one not there": {
			sizes: []string{"odd", "one"}, known: known, full: []string{"one"}, says: "AllocationFailed", due: true,
		},
		"nothing is known":            {sizes: []string{"odd"}, choice: "odd", unknown: true},
		"nothing is known, it is out": {sizes: []string{"odd"}, full: []string{"odd"}, says: "AllocationFailed", unknown: true},
	} {
		a, m := &account{now: func() time.Time { return blue.Noon }}, blue.Machine()
		m.Spec.Azure = &infrav1.AzureVM{Location: "eastus", VMSize: c.sizes[0], FallbackVMSizes: c.sizes[1:]}
		shelf, _ := a.sizes.enter(here("eastus"), team(blue.Noon))
		shelf.sizes, shelf.began, shelf.failure = c.known, old, cloud.Errorf(cloud.Transient, "Other", "why")
		for _, size := range c.full {
			a.blocks.block(here("eastus"), request.Choice{Size: size}, full, blue.Noon)
		}
		s := &next.Survey{Now: blue.Noon}
		pursued(a, m).choose(s)
		got, says := "", ""
		if s.Choice != nil {
			got = s.Choice.Size
		}
		if s.Closed != nil {
			says = s.Closed.Message
		}
		expect.Same(t, name, c.choice, got)
		expect.Same(t, name+": told is "+says, true, strings.Contains(says, c.says) && (says == "") == (c.says == ""))
		expect.Same(t, name+": the list is due", c.due, s.SizesDue)
		expect.Same(t, name+": sizes are unknown", c.unknown, s.SizesUnknown != nil)
	}
	s := &next.Survey{}
	pursued(&account{}, cloud.Machine{}).choose(s)
	expect.Same(t, "a machine of another cloud has no choice", true, s.Choice == nil && s.Closed == nil)
}

// TestListSizes: a list that is had tells sizes and is good from when it began; one that is not is asked for again later.
func TestListSizes(t *testing.T) {
	for name, c := range map[string]struct {
		answer    said
		notBefore time.Duration
		known     int
	}{
		"had":       {said{http.StatusOK, `{"value":[{"resourceType":"virtualMachines","name":"one"}]}`}, 0, 1},
		"refused":   {said{http.StatusForbidden, denied}, sizesAgain, 0},
		"throttled": {said{http.StatusTooManyRequests, `{"error":{"message":"try again after '900' seconds"}}`}, 15 * time.Minute, 0},
	} {
		var s *sizeCache
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) {
			expect.Same(t, name+": it is under way", true, s.asking)
			return c.answer.status, c.answer.text
		}))
		s, _ = a.sizes.enter(here("eastus"), team(blue.Noon))
		expect.OK(t, a.listSizes(t.Context(), s))
		expect.Same(t, name+": sizes", c.known, len(s.sizes))
		expect.Same(t, name+": it is asked for", false, s.asking)
		expect.Same(t, name+": began", c.known > 0, s.began.Equal(blue.Noon))
		expect.Same(t, name+": why", c.known == 0, s.failure != nil)
		if c.notBefore > 0 {
			expect.Same(t, name+": again", blue.Noon.Add(c.notBefore), s.notBefore)
		}
	}
}
