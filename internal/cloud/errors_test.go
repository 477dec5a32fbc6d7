package cloud

import (
	"errors"
	"testing"

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
