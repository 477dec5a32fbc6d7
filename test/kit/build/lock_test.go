package build_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/build"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock := expect.Got(build.Lock(t.Context(), path, nil))(t)
	progress := &bytes.Buffer{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := build.Lock(ctx, path, progress); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock gives error %v, want a deadline", err)
	}
	if want := "waiting: another process is building the same programs\n"; progress.String() != want {
		t.Errorf("progress is %q, want %q once", progress, want)
	}
	unlock()
	again, err := build.Lock(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("a lock that was given back: %v", err)
	}
	again()
}
