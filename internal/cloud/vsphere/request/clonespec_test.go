package request

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

func TestCloneSpec(t *testing.T) {
	ref := func(kind string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: "1"}
	}
	m := machines.VSphere("m")
	m.Spec.VSphere.CPUs, m.Spec.VSphere.MemoryMiB = 4, 8192
	m.Cluster = cloud.ClusterMark{Name: "c", UID: "1-2-3"}
	at := places.Placement{Template: ref("VirtualMachine"), Folder: ref("Folder"), Pool: ref("ResourcePool")}
	got, err := CloneSpec(m, machines.Hello, at)
	if err != nil {
		t.Fatal(err)
	}
	metadata := `{"instance-id":"` + seen.IDOf(m) + `","local-hostname":"` + m.Name + `"}`
	want := types.VirtualMachineCloneSpec{
		PowerOn:  true,
		Location: types.VirtualMachineRelocateSpec{Folder: &at.Folder, Pool: &at.Pool},
		Config: &types.VirtualMachineConfigSpec{
			Uuid: seen.IDOf(m), InstanceUuid: seen.IDOf(m), NumCPUs: 4, MemoryMB: 8192,
			ExtraConfig: []types.BaseOptionValue{
				&types.OptionValue{Key: "guestinfo.userdata", Value: pack(machines.Hello)},
				&types.OptionValue{Key: "guestinfo.userdata.encoding", Value: "gzip+base64"},
				&types.OptionValue{Key: "guestinfo.metadata", Value: base64.StdEncoding.EncodeToString([]byte(metadata))},
				&types.OptionValue{Key: "guestinfo.metadata.encoding", Value: "base64"},
				&types.OptionValue{Key: "capwin.owner", Value: "default/m"},
				&types.OptionValue{Key: "capwin.providerID", Value: m.ProviderID},
				&types.OptionValue{Key: "capwin.cluster", Value: "c/1-2-3"},
				&types.OptionValue{Key: "capwin.userDataDigest", Value: cloud.DigestOf(m.ProviderID, machines.Hello)},
				&types.OptionValue{Key: "capwin.userData", Value: "given"},
				&types.OptionValue{Key: "guestinfo.capwin.report", Value: ""},
				&types.OptionValue{Key: "disk.EnableUUID", Value: "TRUE"},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	t.Run("datastore", func(t *testing.T) {
		store := ref("Datastore")
		at := at
		at.Datastore = &store
		got, err := CloneSpec(m, machines.Hello, at)
		if err != nil || got.Location.Datastore == nil || got.Config.DeviceChange != nil {
			t.Fatalf("cloneSpec = %+v, %v", got, err)
		}
	})
	t.Run("of an OVA", func(t *testing.T) {
		at := at
		at.VAppConfig = new(true)
		got, err := CloneSpec(m, machines.Hello, at)
		if err != nil || got.Config.VAppConfigRemoved == nil || !*got.Config.VAppConfigRemoved {
			t.Fatalf("cloneSpec = %+v, %v", got, err)
		}
	})
	for wanted, want := range map[infrav1.NestedVirtualization]*bool{
		"": nil, infrav1.NestedVirtualizationEnabled: new(true), infrav1.NestedVirtualizationDisabled: new(false),
	} {
		t.Run("nested virtualization "+string(wanted), func(t *testing.T) {
			m := machines.VSphere("m")
			m.Spec.VSphere.NestedVirtualization = wanted
			got, err := CloneSpec(m, machines.Hello, at)
			if diff := cmp.Diff(want, got.Config.NestedHVEnabled); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	t.Run("more user data than fits", func(t *testing.T) {
		data := make(cloud.UserData, MaxUserData)
		_, _ = rand.Read(data)
		_, err := CloneSpec(m, data, at)
		cloudtest.WantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	})
}

// TestLastUserData: as much as a guest can read is given to it, and no more.
func TestLastUserData(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	data := make(cloud.UserData, MaxUserData)
	_, _ = rand.Read(data)
	most := MaxUserData / 4 * 3
	for len(pack(data[:most])) > MaxUserData {
		most--
	}
	if n := len(pack(data[:most])); n != MaxUserData {
		t.Fatalf("packed user data of %d bytes, want %d", n, MaxUserData)
	}
	if _, err := guestinfo(m, data[:most]); err != nil {
		t.Errorf("user data that just fit: %v", err)
	}
	_, err := guestinfo(m, data[:most+1])
	cloudtest.WantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	expect.Says(t, "one byte more", err, "has 60004 bytes, but a vSphere guest can read only 60000")
}

// TestCoresPerSocket: the vCenter refuses a number of CPUs that is not a multiple of the cores per socket, the template's too.
func TestCoresPerSocket(t *testing.T) {
	for name, c := range map[string]struct {
		cpus, cores, ofTemplate int32
		want                    int32 // 0 is the template's
	}{
		"all the template's":         {0, 0, 4, 0},
		"the template's fit":         {8, 0, 4, 0},
		"the template's do not":      {6, 0, 4, 1},
		"fewer CPUs than a socket's": {2, 0, 4, 1},
		"the vCenter chooses":        {6, 0, 0, 0},
		"the spec's":                 {8, 2, 4, 2},
		"the spec's, over a choice":  {8, 8, 0, 8},
	} {
		t.Run(name, func(t *testing.T) {
			got := coresPerSocket(infrav1.VSphereVM{CPUs: c.cpus, CoresPerSocket: c.cores}, c.ofTemplate)
			if (got == nil) != (c.want == 0) || got != nil && *got != c.want {
				t.Errorf("got %v, want %d", got, c.want)
			}
		})
	}
}

// What is shown offline is what a VM gets.
func TestMetadataIsThatOfTheClone(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	want := Metadata(m)
	options, err := guestinfo(m, machines.Hello)
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
