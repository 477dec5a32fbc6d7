package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"sync"
)

// MemoryVM is a VM that no cloud has.
type MemoryVM struct {
	mu   sync.Mutex
	info map[string]string
}

// NewMemoryVM has metadata and user data as cloudbase-init reads them.
func NewMemoryVM(uid, hostname string, userData []byte) *MemoryVM {
	return &MemoryVM{info: map[string]string{
		"guestinfo.metadata":          fmt.Sprintf(`{"instance-id":%q,"local-hostname":%q}`, uid, hostname),
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
func (*MemoryVM) Hardware(context.Context) (Hardware, error) {
	return Hardware{UUID: "420f7a1c-5d1e-4b6a-8f52-0c9f5f3b2a11", CPUs: 4, MemoryMiB: 16384}, nil
}

// Guestinfo is part of VM.
func (v *MemoryVM) Guestinfo(_ context.Context, key string) (string, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, found := v.info[key]
	return value, found, nil
}

// SetGuestinfo is part of VM.
func (v *MemoryVM) SetGuestinfo(_ context.Context, key, value string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.info[key] = value
	return nil
}

// SetNetwork is part of VM. Nothing reads what it is told.
func (*MemoryVM) SetNetwork(context.Context, string, []Adapter) error { return nil }
