// Package expect says in one line what tests say all the time: this must not fail, these must be the same.
package expect

import (
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
