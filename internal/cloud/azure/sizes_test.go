package azure

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

const skuList = "GET sku list"

func TestSizesAreAskedForOnceADay(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	var all sync.WaitGroup
	for i := range 40 {
		m := s.machine(fmt.Sprint("m-", i))
		all.Go(func() { _, _ = a.Ensure(t.Context(), m) })
	}
	all.Wait()
	for i := range 40 {
		_, _ = a.Ensure(t.Context(), s.machine(fmt.Sprint("m-", i)))
	}
	if n := s.ByClass(); n[skuList] != 1 || n["PUT vm"] == 0 {
		t.Errorf("calls are %v, want one list of sizes for 40 machines", n)
	}
	s.run(a, s.machine("m-0"))
	vm := expect.Got(a.Observe(t.Context(), s.machine("m-0")))(t)
	if vm.Size != (cloud.Size{CPUs: 4, MemoryMiB: 16384}) {
		t.Errorf("the size is %+v", vm.Size)
	}
	s.Advance(25 * time.Hour)
	s.Forget()
	_, _ = a.Ensure(t.Context(), s.machine("tomorrow"))
	_, _ = a.Ensure(t.Context(), s.machine("tomorrow, too"))
	if n := s.ByClass(); n[skuList] != 1 || n["PUT vm"] != 2 {
		t.Errorf("calls of the next day are %v", n)
	}
}

// TestNewProcessKnowsSizes has a process that finds VMs: one list tells all of their sizes.
func TestNewProcessKnowsSizes(t *testing.T) {
	s := newStage(t)
	first := s.watched()
	for _, name := range []string{"a", "b"} {
		s.run(first, s.machine(name))
	}
	s.Forget()
	second := s.watched()
	for _, name := range []string{"a", "b", "a"} {
		if vm := expect.Got(second.Observe(t.Context(), s.machine(name)))(t); vm.Size.CPUs != 4 {
			t.Errorf("%s has the size %+v", name, vm.Size)
		}
	}
	if n := s.ByClass(); n[skuList] != 1 {
		t.Errorf("calls are %v", n)
	}
}

// accelerated says what the request for a VM said of its adapter.
func (s *stage) accelerated(name string) (fast bool) {
	for _, call := range s.Calls() {
		if call.Method == http.MethodPut && call.Class == "vm" && doc.Same(call.Resource, name) {
			for _, one := range doc.List(call.Body, "properties", "networkProfile", "networkInterfaceConfigurations") {
				fast = doc.Flag(one, "properties", "enableAcceleratedNetworking")
			}
		}
	}
	return fast
}

func TestAcceleratedNetworkingBySize(t *testing.T) {
	for _, test := range []struct {
		size   string
		wanted infrav1.AzureState
		want   bool
	}{
		{"Standard_D4s_v5", "", true},
		{"Standard_D4s_v5", infrav1.AzureDisabled, false},
		{"Standard_B2s", "", false},
	} {
		s := newStage(t)
		m := s.machine("m")
		m.Spec.Azure.VMSize, m.Spec.Azure.NetworkInterfaces[0].AcceleratedNetworking = test.size, test.wanted
		s.run(s.watched(), m)
		if got := s.accelerated(m.Name); got != test.want {
			t.Errorf("%+v: the adapter is accelerated: %t", test, got)
		}
	}
}

func TestSizesThatDoNotFitAreSkipped(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Restricted = func(size, zone string) bool { return size == "Standard_D2s_v5" && zone == "" }
	})
	m := s.machine("m")
	m.Spec.Azure.VMSize = "Standard_D4s_v99"
	m.Spec.Azure.FallbackVMSizes = []string{"Standard_D2s_v5", "Standard_B2s", "Standard_D4as_v5"}
	m.Spec.Azure.NetworkInterfaces[0].AcceleratedNetworking = infrav1.AzureEnabled
	s.run(s.watched(), m)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"PUT vm": 1})
	for _, call := range s.Calls() {
		if call.Method == http.MethodPut && doc.Text(call.Body, "properties", "hardwareProfile", "vmSize") != "Standard_D4as_v5" {
			t.Errorf("the VM is %v", call.Body)
		}
	}
}

func TestNoSizeIsLeft(t *testing.T) {
	s := newStage(t)
	barred := true
	s.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Restricted = func(_, zone string) bool { return barred && zone == "" }
	})
	a, m := s.watched(), s.machine("m")
	_, err := a.Ensure(t.Context(), m)
	refused, ok := errors.AsType[*cloud.Error](err)
	if !ok || refused.Reason != infrav1.SizeNotOfferedReason || !strings.Contains(refused.Message, "Standard_D4s_v5 in westeurope") {
		t.Fatalf("Ensure = %v, want that the size is not offered", err)
	}
	s.live(a, 50*time.Minute)
	_, again := a.Ensure(t.Context(), m)
	if n := s.ByClass(); n["PUT vm"] != 0 || n[skuList] != 1 || again == nil || again.Error() != err.Error() {
		t.Errorf("Ensure = %v, calls are %v", again, n)
	}
	s.Change(func(*armsim.Inside) { barred = false })
	s.live(a, 11*time.Minute)
	s.run(a, m)
}

// TestWithoutSizes has a list that cannot be had. Nothing waits for it.
func TestWithoutSizes(t *testing.T) {
	for name, test := range map[string]struct {
		refusal armsim.Refusal
		says    string
	}{
		"no right": {
			armsim.Refusal{
				Status: http.StatusForbidden, Code: "AuthorizationFailed", Message: "The client does not have authorization to perform " +
					"action 'Microsoft.Compute/skus/read' over scope '/subscriptions/1' or the scope is invalid.",
			},
			"Microsoft.Compute/skus/read",
		},
		"an error": {armsim.Refusal{Status: http.StatusBadGateway, Code: "BadGateway", Message: "Later."}, "BadGateway"},
		"throttled": {
			armsim.Refusal{Status: http.StatusTooManyRequests, Code: "TooManyRequests", Message: "Later.", RetryAfter: time.Minute},
			"waits as long as Azure asks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			refuse := func(call armsim.Call) *armsim.Refusal {
				if call.Class == "sku list" {
					return &test.refusal
				}
				return nil
			}
			s.Change(func(in *armsim.Inside) { in.Faults.Refuse = refuse })
			a, m := s.watched(), s.machine("m")
			m.Spec.Azure.VMSize = "Standard_D2s_v5"
			vm, err := a.Ensure(t.Context(), m)
			if n := s.ByClass(); err != nil || n[skuList] != 1 || n["PUT vm"] != 1 || !strings.Contains(vm.Detail, test.says) {
				t.Errorf("Ensure = %+v, %v; calls are %v", vm, err, n)
			}
			s.run(a, m)
			if n := s.ByClass()[skuList]; n > 1 {
				t.Errorf("%d lists", n)
			}
			s.Change(func(in *armsim.Inside) { in.Faults.Refuse = nil })
			s.live(a, 6*time.Minute)
			if vm := expect.Got(a.Observe(t.Context(), m))(t); vm.Size.CPUs != 2 {
				t.Errorf("the size is %+v once it can be had", vm.Size)
			}
		})
	}
}
