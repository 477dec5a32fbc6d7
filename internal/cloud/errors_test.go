package cloud

import (
	"errors"
	"fmt"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// TestError: an error is of its kind and reason, says its sentence and nothing of its cause, and leads to that.
func TestError(t *testing.T) {
	cause := errors.New("no route to host")
	err := Errorf(Throttled, infrav1.CloudUnreachableReason, "wait %d s", 7)
	err.Err = cause
	if err.Kind != Throttled || err.Reason != infrav1.CloudUnreachableReason || err.Error() != "wait 7 s" || !errors.Is(err, cause) {
		t.Errorf("error = %+v", err)
	}
}

// TestMissing: only another spec helps a machine that lacks a field, and the sentence names the field.
func TestMissing(t *testing.T) {
	err := Missing("spec.vsphere.datacenter")
	want := "spec.vsphere.datacenter is not set, but a VM needs it; set it in a new WindowsMachineTemplate, or in a patch of the " +
		"ClusterClass, and use that in the MachineDeployment, which then replaces its machines"
	if err.Kind != Invalid || err.Reason != infrav1.SpecInvalidReason || err.Error() != want {
		t.Errorf("error = %+v", err)
	}
}

// TestNoSpec: the sentence names the part that is missing.
func TestNoSpec(t *testing.T) {
	err := NoSpec("spec.vsphere")
	if err.Kind != Invalid || err.Reason != infrav1.SpecInvalidReason ||
		err.Error() != "spec.vsphere is missing: add it with the settings of the VM" {
		t.Errorf("error = %+v", err)
	}
}

// TestNameTaken: the sentence names the place, the object and what to do with it.
func TestNameTaken(t *testing.T) {
	err := NameTaken("the folder", "VM or folder", "win-1", "rename or remove it")
	want := `the folder already has a VM or folder named "win-1" that does not belong to this machine: rename or remove it, ` +
		"or delete the Machine so that a new one gets another name"
	if err.Kind != Invalid || err.Reason != infrav1.NameTakenReason || err.Error() != want {
		t.Errorf("error = %+v", err)
	}
}

// TestLater: only a cloud that was not asked asks its caller to come later, also inside of another error.
func TestLater(t *testing.T) {
	err := LaterIn(time.Minute, "others are asking")
	if err.Kind != Later || err.After != time.Minute || err.Error() != "others are asking" || err.Reason != "" {
		t.Errorf("error = %+v", err)
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"later": {err, true}, "wrapped": {fmt.Errorf("observe: %w", err), true}, "nothing": {nil, false},
		"transient": {Errorf(Transient, "", "wait"), false}, "of another room": {errors.New("later"), false},
	} {
		if got := IsLater(c.err); got != c.want {
			t.Errorf("%s: IsLater = %v", name, got)
		}
	}
}

// TestClean: the first and the last printable character are kept, and so is a text that just fits.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		" a~":          " a~", //nolint:gocritic // because a blank is the first printable character
		"\x1f\x7fé\n":  "    ",
		"12345678":     "12345678",
		"123456789":    "12345...",
		"ééééééééé123": "     ...",
	} {
		if got := Clean(text, 8); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}
