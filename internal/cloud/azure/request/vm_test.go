package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the golden files anew")

var blueGroup = arm.GroupID("11111111-2222-3333-4444-555555555555", "Blue")

func blueWant() Want {
	return Want{
		Machine: cloud.Machine{
			Identity: cloud.Identity{Name: "win-1", ProviderID: arm.ProviderID(blueGroup.VM("win-1"))},
			Key:      cloud.Key{Namespace: "team", Name: "blue-win-1"},
			Cluster:  cloud.ClusterMark{Name: "blue", UID: "u"},
			Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
				Image: infrav1.AzureImage{ID: blueGroup.String() + "/providers/Microsoft.Compute/images/ws2022"},
			}},
		},
		Placement: infrav1.AzurePlacement{
			SubscriptionID: blueGroup.Subscription, ResourceGroup: blueGroup.Group,
			Location: "westeurope", Tags: map[string]infrav1.AzureTagValue{"team": "blue"},
			SubnetIDs: []string{blueGroup.Subnet("net", "nodes").String()},
		},
		Choice:   Choice{Size: "Standard_D4s_v5"},
		UserData: cloud.UserData("#cloud-config\n"),
		Password: "secret",
	}
}

func TestBodies(t *testing.T) {
	full, fixed, pods := blueWant(), blueWant(), blueWant()
	fullWant(&full)
	fullWant(&fixed)
	fixed.Machine.Spec.Azure.NetworkInterfaces[0].PrivateAddress = "10.1.5.5"
	pods.Placement.OutboundPoolID = blueGroup.Pool("blue", "out").String()
	pods.Machine.Spec.Azure.NetworkInterfaces = []infrav1.AzureNetworkInterface{{SecondaryAddresses: 2}}
	for name, body := range map[string]any{
		"plain": VM(blueWant()), "full": VM(full), "adapter-plain": Adapter(blueWant(), 0), "adapter-full": Adapter(fixed, 0),
		"adapter-pods": Adapter(pods, 0),
	} {
		got, err := json.MarshalIndent(body, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + name + ".json"
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
			t.Errorf("%s: -update writes it anew\n%s", name, diff)
		}
	}
}

// TestOneDeletionRemovesAll: each thing that Azure makes for the VM goes with it, and bears our marks or our name.
func TestOneDeletionRemovesAll(t *testing.T) {
	w := blueWant()
	w.Placement.SubnetIDs = append(w.Placement.SubnetIDs, w.Placement.SubnetIDs[0])
	vm := VM(w).Properties
	if got := *vm.StorageProfile.OSDisk.DeleteOption; got != "Delete" {
		t.Errorf("the disk has %s", got)
	}
	names := map[string]bool{*vm.StorageProfile.OSDisk.Name: true}
	for _, adapter := range vm.NetworkProfile.NetworkInterfaceConfigurations {
		if got := *adapter.Properties.DeleteOption; got != "Delete" {
			t.Errorf("adapter %s has %s", *adapter.Name, got)
		}
		marks := map[string]string{}
		for name, value := range adapter.Tags {
			marks[name] = *value
		}
		if !arm.Belongs(w.Machine, arm.ReadMark(marks)) {
			t.Errorf("adapter %s has the tags %v", *adapter.Name, marks)
		}
		names[*adapter.Name] = true
	}
	if len(names) != 3 {
		t.Errorf("names: %v", names)
	}
}

func TestCheckUserData(t *testing.T) {
	if err := CheckUserData(make(cloud.UserData, MaxUserData)); err != nil {
		t.Error(err)
	}
	err := CheckUserData(make(cloud.UserData, MaxUserData+1))
	told, _ := errors.AsType[*cloud.Error](err)
	if told == nil || told.Kind != cloud.Invalid ||
		!strings.Contains(told.Message, "have 65536 bytes, but Azure takes at most 65535") {
		t.Errorf("one byte over: %#v", err)
	}
	w := blueWant()
	w.UserData = make(cloud.UserData, MaxUserData)
	if encoded := len(*VM(w).Properties.OSProfile.CustomData); encoded > 87380 {
		t.Errorf("%d encoded bytes, Azure takes 87,380", encoded)
	}
}

func TestPassword(t *testing.T) {
	one, err := Password(bytes.NewReader(make([]byte, 100)))
	if err != nil || len(one) < 12 || len(one) > 123 {
		t.Errorf("%d characters, %v", len(one), err)
	}
	for name, is := range map[string]func(rune) bool{
		"small": unicode.IsLower, "capital": unicode.IsUpper,
		"digit": unicode.IsDigit,
	} {
		if !strings.ContainsFunc(one, is) {
			t.Errorf("%s has no %s letter", one, name)
		}
	}
	for random, want := range map[byte]string{0: "A", 63: "_", 64: "A", 255: "_"} {
		got, err := Password(bytes.NewReader(bytes.Repeat([]byte{random}, 100)))
		if want = classes + strings.Repeat(want, passwordLength); got != want || err != nil {
			t.Errorf("of bytes %d: %s, %v", random, got, err)
		}
	}
	if _, err := Password(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("without random bytes: %v", err)
	}
}

// TestChoices: a size is tried in all zones before the next size.
func TestChoices(t *testing.T) {
	for name, c := range map[string]struct {
		zones  []string
		domain string
		want   []Choice
	}{
		"no zones":         {nil, "", []Choice{{"D2", ""}, {"D4", ""}}},
		"two zones":        {[]string{"2", "1"}, "", []Choice{{"D2", "2"}, {"D2", "1"}, {"D4", "2"}, {"D4", "1"}}},
		"a failure domain": {[]string{"2", "1"}, "3", []Choice{{"D2", "3"}, {"D4", "3"}}},
	} {
		spec := &infrav1.AzureVM{VMSize: "D2", FallbackVMSizes: []string{"D4"}, Zones: c.zones}
		expect.Same(t, name, c.want, Choices(spec, c.domain))
	}
}
