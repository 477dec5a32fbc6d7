package vsphere

import (
	"encoding/base64"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// What is shown offline is what a VM gets.
func TestMetadataIsThatOfTheClone(t *testing.T) {
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}})
	want, err := Metadata(m)
	if err != nil {
		t.Fatal(err)
	}
	options, err := guestinfo(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range options {
		if o := option.GetOptionValue(); o.Key == "guestinfo.metadata" {
			if got, _ := o.Value.(string); got != base64.StdEncoding.EncodeToString(want) {
				t.Errorf("a VM gets %v, want %s", o.Value, want)
			}
			return
		}
	}
	t.Error("a VM gets no metadata")
}
