package skus

import (
	"encoding/json"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

// listed is the simulator's list as it goes over the wire.
func listed(t *testing.T, barred func(size, zone string) bool) Sizes {
	t.Helper()
	c := &compute.Compute{}
	c.Faults.Restricted = barred
	text, err := json.Marshal(c.SKUs("westeurope"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Listed
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var sizes []Size
	for _, entry := range all {
		if size, ok := Read(entry, "West Europe"); ok {
			sizes = append(sizes, size)
		}
	}
	return Index(sizes)
}

func TestSizesOfARegion(t *testing.T) {
	sizes := listed(t, nil)
	if len(sizes) != len(compute.Sizes) {
		t.Errorf("%d sizes, want %d: the disks of the list are none", len(sizes), len(compute.Sizes))
	}
	for _, want := range compute.Sizes {
		got, ok := sizes.Find(strings.ToUpper(want.Name))
		if !ok || got.CPUs != int64(want.Cores) || got.MemoryMiB != int64(want.MemoryGB*1024) || got.Accelerated != want.Accelerated {
			t.Errorf("%s is %+v, want %+v", want.Name, got, want)
		}
	}
}

func TestRefuse(t *testing.T) {
	barred := func(size, zone string) bool {
		return size == "Standard_D2s_v5" && zone == "" || size == "Standard_D8s_v5" && zone == "2"
	}
	const notOffered, unsuitable = infrav1.SizeNotOfferedReason, infrav1.SizeUnsuitableReason
	type spec = *infrav1.AzureVM
	const d4, d4d, b2, a1, dc, e2 = "Standard_D4s_v5", "Standard_D4ds_v5", "Standard_B2s", "Standard_A1_v2", "Standard_DC4as_v5",
		"Standard_E2ds_v6"
	fast := func(s spec) {
		s.NetworkInterfaces = []infrav1.AzureNetworkInterface{{AcceleratedNetworking: infrav1.AzureEnabled}}
	}
	ephemeral := func(at infrav1.AzureEphemeralPlacement, size int32) func(spec) {
		return func(s spec) { s.OSDisk.EphemeralPlacement, s.OSDisk.SizeGiB = at, size }
	}
	disks := func(n int, kind infrav1.AzureDataDiskType) func(spec) {
		return func(s spec) {
			for range n {
				s.DataDisks = append(s.DataDisks, infrav1.AzureDataDisk{Type: kind})
			}
		}
	}
	secure := func(kind infrav1.AzureSecurityType) func(spec) {
		return func(s spec) { s.SecurityProfile.SecurityType = kind }
	}
	nothing := func(spec) {}
	for name, test := range map[string]struct {
		size, zone string
		change     func(spec)
		reason     string // empty if it suits
		says       string
	}{
		"a plain size":                  {d4, "", nothing, "", ""},
		"its case does not count":       {"standard_d4S_v5", "3", nothing, "", ""},
		"a size that does not exist":    {"Standard_D4s_v99", "", nothing, notOffered, "Standard_D4s_v99 in westeurope is not offered"},
		"barred in the region":          {"Standard_D2s_v5", "", nothing, notOffered, "ask Azure's support"},
		"barred in the zone":            {"Standard_D8s_v5", "2", nothing, notOffered, "but in 1, 3"},
		"in another zone":               {"Standard_D8s_v5", "3", nothing, "", ""},
		"barred in a zone, none wanted": {"Standard_D8s_v5", "", nothing, "", ""},
		"not in this zone":              {e2, "1", nothing, notOffered, "but in 2, 3"},
		"in no zone":                    {a1, "1", nothing, notOffered, "remove the zones"},
		"Arm":                           {"Standard_D2ps_v5", "", nothing, unsuitable, "Arm processors"},
		"accelerated":                   {d4, "", fast, "", ""},
		"not accelerated":               {b2, "", fast, unsuitable, "leave out acceleratedNetworking"},
		"a cache for the disk":          {d4d, "", ephemeral(infrav1.AzureEphemeralCache, 100), "", ""},
		"a cache that is too small":     {d4d, "", ephemeral(infrav1.AzureEphemeralCache, 101), unsuitable, "ephemeralPlacement"},
		"another place for the disk":    {d4d, "", ephemeral(infrav1.AzureEphemeralResource, 150), "", ""},
		"the size of the image":         {d4d, "", ephemeral(infrav1.AzureEphemeralCache, 0), "", ""},
		"no ephemeral disks":            {d4, "", ephemeral(infrav1.AzureEphemeralCache, 0), unsuitable, "no room"},
		"NVMe is not known":             {e2, "", ephemeral(infrav1.AzureEphemeralNVMe, 64), "", ""},
		"all disks":                     {d4, "", disks(8, ""), "", ""},
		"a disk too many":               {d4, "", disks(9, ""), unsuitable, "so many disks"},
		"a premium disk":                {d4, "", disks(1, "Premium_LRS"), "", ""},
		"no premium disks":              {a1, "", disks(1, "PremiumV2_LRS"), unsuitable, "premium disks"},
		"no premium disk for Windows":   {a1, "", func(s spec) { s.OSDisk.Type = "Premium_LRS" }, unsuitable, "premium disks"},
		"the fastest disks":             {d4d, "1", disks(1, infrav1.AzureUltraSSD), "", ""},
		"the fastest disks elsewhere":   {d4d, "2", disks(1, infrav1.AzureUltraSSD), unsuitable, "UltraSSD_LRS"},
		"the fastest disks for CSI": {
			d4, "", func(s spec) { s.UltraSSD = infrav1.AzureEnabled }, unsuitable, "UltraSSD_LRS",
		},
		"an adapter too many": {
			d4, "", func(s spec) { s.NetworkInterfaces = make([]infrav1.AzureNetworkInterface, 3) }, unsuitable,
			"so many adapters",
		},
		"SCSI":    {d4, "", func(s spec) { s.DiskController = "SCSI" }, "", ""},
		"NVMe":    {e2, "", func(s spec) { s.DiskController = "NVMe" }, "", ""},
		"no NVMe": {d4, "", func(s spec) { s.DiskController = "NVMe" }, unsuitable, "diskController"},
		"spot":    {d4, "", func(s spec) { s.Priority = infrav1.AzurePrioritySpot }, "", ""},
		"no spot": {b2, "", func(s spec) { s.Priority = infrav1.AzurePrioritySpot }, unsuitable, "Spot"},
		"no encryption": {
			b2, "", func(s spec) { s.SecurityProfile.EncryptionAtHost = infrav1.AzureEnabled }, unsuitable,
			"encryptionAtHost",
		},
		"trusted launch":    {d4, "", secure(infrav1.AzureTrustedLaunch), "", ""},
		"no trusted launch": {a1, "", secure(infrav1.AzureTrustedLaunch), unsuitable, "TrustedLaunch"},
		"confidential":      {dc, "", secure(infrav1.AzureConfidentialVM), "", ""},
		"not confidential":  {d4, "", secure(infrav1.AzureConfidentialVM), unsuitable, "ConfidentialVM"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &infrav1.AzureVM{}
			test.change(s)
			got := listed(t, barred).Refuse(s, test.size, test.zone, "westeurope")
			if got == nil || test.reason == "" {
				if (got == nil) != (test.reason == "") {
					t.Fatalf("Refuse = %v, want %q", got, test.reason)
				}
				return
			}
			if got.Reason != test.reason || !strings.Contains(got.Message, test.says) || !strings.Contains(got.Message, ":") {
				t.Errorf("Refuse = %s: %s, want %s: ... %s", got.Reason, got.Message, test.reason, test.says)
			}
			if (got.Kind == cloud.Invalid) != (test.reason == unsuitable) || got.After == 0 {
				t.Errorf("Refuse = %+v", got)
			}
			if Sizes(nil).Refuse(s, test.size, test.zone, "westeurope") != nil {
				t.Error("a region of which nothing is known refuses a size")
			}
		})
	}
}

func TestLocation(t *testing.T) {
	for name, want := range map[string]string{"West Europe": "westeurope", "eastus2": "eastus2", "x' or name eq '": "xornameeq"} {
		if got := Location(name); got != want {
			t.Errorf("Location(%q) = %q, want %q", name, got, want)
		}
	}
}
