package next

import (
	"testing"
	"time"
)

// TestProven: two looks without a VM prove nothing while Azure gives no list, as in a storm of 404 to everything.
func TestProven(t *testing.T) {
	for name, test := range map[string]struct {
		listed, first, last time.Time
		times               int
		want                bool
	}{
		"two looks, and a list after the first":   {ago(0), ago(time.Minute), ago(time.Minute - Apart), 2, true},
		"two looks, and no list since":            {ago(time.Hour), ago(time.Minute), ago(0), 2, false},
		"a list that began with the first look":   {ago(time.Minute), ago(time.Minute), ago(0), 2, false},
		"a hundred looks, and no list since":      {ago(time.Hour), ago(30 * time.Minute), ago(0), 100, false},
		"one look":                                {ago(0), ago(time.Minute), ago(time.Minute), 1, false},
		"two looks at once, and a list":           {ago(0), ago(time.Minute), ago(time.Minute - time.Second), 2, false},
		"a list before all looks, and none since": {ago(2 * time.Minute), ago(time.Minute), ago(0), 3, false},
	} {
		s := Survey{Now: noon, Listed: test.listed, Missed: Missed{Times: test.times, First: test.first, Last: test.last}}
		if got := s.proven(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
