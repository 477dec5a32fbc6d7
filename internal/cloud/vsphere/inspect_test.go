package vsphere

import (
	"testing"
)

func TestInspectTry(t *testing.T) {
	v := newStage(t)
	v.Count()
	found, err := Inspect(t.Context(), v.Credentials(), *v.spec().VSphere)
	v.Must(err)
	for _, f := range found {
		t.Logf("%-40s %-8s %s", f.Check, f.Result, f.Text)
	}
	t.Log(v.Count(), v.Sessions())
}
