package guest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

const reportKey = "guestinfo.capwin.report"

// fakeVM is a VM in memory.
type fakeVM struct {
	*MemoryVM
	reports []plan.Report
	host    string
}

func newVM(userData []byte, hostname string) *fakeVM {
	v := &fakeVM{MemoryVM: NewMemoryVM("uid-1", hostname, userData)}
	v.info["guestinfo.metadata"] = base64.StdEncoding.EncodeToString([]byte(v.info["guestinfo.metadata"]))
	v.info["guestinfo.metadata.encoding"] = "base64"
	return v
}

// SetGuestinfo is part of VM.
func (v *fakeVM) SetGuestinfo(ctx context.Context, key, value string) error {
	if err := v.MemoryVM.SetGuestinfo(ctx, key, value); err != nil || key != reportKey {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var report plan.Report
	if err := json.Unmarshal([]byte(value), &report); err != nil {
		return err
	}
	v.reports = append(v.reports, report)
	return nil
}

// SetNetwork is part of VM.
func (v *fakeVM) SetNetwork(_ context.Context, hostname string, adapters []Adapter) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.host = hostname
	for _, adapter := range adapters {
		v.host += " " + strings.Join(adapter.Addresses, " ")
	}
	return nil
}

func (v *fakeVM) last() plan.Report {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.reports) == 0 {
		return plan.Report{}
	}
	return v.reports[len(v.reports)-1]
}

// powerOn plays the guest until the test ends or off is called.
func powerOn(t *testing.T, guest Guest, vm VM) (off func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- guest.Boot(ctx, vm) }()
	off = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("boot: %v", err)
		}
	})
	t.Cleanup(off)
	return off
}

// awaitEnd waits for the last report of a bootstrap.
func (v *fakeVM) awaitEnd(t *testing.T) plan.Report {
	t.Helper()
	wait.Until(t, "the end of the bootstrap", func() (any, bool) {
		report := v.last()
		return report, report.State == plan.StateSucceeded || report.State == plan.StateFailed
	})
	return v.last()
}

// repack changes the text of the plan in user data: pairs of what is there and what shall be.
func repack(t *testing.T, userData []byte, replace ...string) []byte {
	t.Helper()
	text := expect.Got(scripts.Plan(userData))(t)
	return scripts.UserData([]byte(strings.NewReplacer(replace...).Replace(string(text))))
}
