// Package expect says in one line what tests say all the time: this must not fail, these must be the same.
package expect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends the test at an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Got is for what returns a value or an error, which ends the test: text := expect.Got(os.ReadFile(name))(t).
func Got[V any](value V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		OK(t, err)
		return value
	}
}

// Same compares two worlds, and the test goes on.
func Same(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Fine tells of an error, and the test goes on: for what ends, and for what does not run in the test's own goroutine.
func Fine(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Says wants an error with this text in it, or no error where the text is empty.
func Says(t testing.TB, what string, err error, text string) {
	t.Helper()
	if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("%s: the error is %v, want %q", what, err, text)
	}
}

// ErrorOf is the error of a call whose value does not matter.
func ErrorOf[V any](_ V, err error) error { return err }
