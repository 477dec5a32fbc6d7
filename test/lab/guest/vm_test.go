package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

const reportKey = "guestinfo.capwin.report"

// fakeVM is a VM in memory.
type fakeVM struct {
	mu       sync.Mutex
	info     map[string]string
	reports  []plan.Report
	host     string
	reported chan struct{}
}

func newVM(userData []byte, hostname string) *fakeVM {
	return &fakeVM{reported: make(chan struct{}, 1000), info: map[string]string{
		"guestinfo.metadata": base64.StdEncoding.EncodeToString([]byte(`{"instance-id":"uid-1",` +
			`"local-hostname":"` + hostname + `"}`)),
		"guestinfo.metadata.encoding": "base64",
		"guestinfo.userdata":          packed(userData),
		"guestinfo.userdata.encoding": "gzip+base64",
	}}
}

func packed(data []byte) string {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, _ = writer.Write(data) // a bytes.Buffer takes everything
	_ = writer.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// Hardware is part of VM.
func (v *fakeVM) Hardware(context.Context) (Hardware, error) {
	return Hardware{UUID: "420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", CPUs: 4, MemoryMiB: 16384}, nil
}

// Guestinfo is part of VM.
func (v *fakeVM) Guestinfo(_ context.Context, key string) (string, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, found := v.info[key]
	return value, found, nil
}

// SetGuestinfo is part of VM.
func (v *fakeVM) SetGuestinfo(_ context.Context, key, value string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.info[key] = value
	if key != reportKey {
		return nil
	}
	var report plan.Report
	if err := json.Unmarshal([]byte(value), &report); err != nil {
		return err
	}
	v.reports = append(v.reports, report)
	v.reported <- struct{}{}
	return nil
}

// SetAddress is part of VM.
func (v *fakeVM) SetAddress(_ context.Context, hostname, address string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.host = hostname + " " + address
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
func (v *fakeVM) awaitEnd(t *testing.T, limit time.Duration) plan.Report {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if report := v.last(); report.State == plan.StateSucceeded || report.State == plan.StateFailed {
			return report
		}
		select {
		case <-v.reported:
		case <-timer.C:
			t.Fatalf("no end after %v, the last report is %+v", limit, v.last())
		}
	}
}

// repack changes the text of the plan in user data: pairs of what is there and what shall be.
func repack(t *testing.T, userData []byte, replace ...string) []byte {
	t.Helper()
	text := expect.Got(scripts.Plan(userData))(t)
	return scripts.UserData([]byte(strings.NewReplacer(replace...).Replace(string(text))))
}
