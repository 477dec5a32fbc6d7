//go:build cloudbaseinit

package cloudbaseinit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// source makes the user data of a machine.
type source func(t *testing.T, object *infrav1.WindowsMachine) []byte

// rendered by the product, after a change of the plainest input.
func rendered(change func(*bootstrap.Input)) source {
	return func(t *testing.T, object *infrav1.WindowsMachine) []byte {
		t.Helper()
		return render(t, object, change)
	}
}

// goldens are all golden plans as user data, by the cloud that they are for: from the plainest to the one with everything.
func goldens(t *testing.T) map[string]map[string]source {
	t.Helper()
	files, err := filepath.Glob("../../../bootstrap/testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans: %v", err)
	}
	all := map[string]map[string]source{onVSphere: {}, onAzure: {}}
	for _, file := range files {
		text := expect.Got(os.ReadFile(file))(t)
		var told struct{ Report []plan.Channel }
		var packed bytes.Buffer // as it was before it was indented for people
		expect.OK(t, json.Compact(&packed, text))
		expect.OK(t, json.Unmarshal(text, &told))
		cloud := onAzure
		if told.Report[0].Do == plan.ChannelGuestInfo {
			cloud = onVSphere
		}
		data := scripts.UserData(packed.Bytes())
		all[cloud]["golden-"+strings.TrimSuffix(filepath.Base(file), ".json")] = func(*testing.T, *infrav1.WindowsMachine) []byte {
			return data
		}
	}
	for cloud, largest := range map[string]string{onVSphere: "golden-everything", onAzure: "golden-everything-azure"} {
		if all[cloud][largest] == nil {
			t.Errorf("%s is not among the golden plans for %s", largest, cloud)
		}
	}
	return all
}

// What a cloud carries: a guestinfo value has at most 64 KiB, Azure's API takes 87,380 letters of base64 for 65,535 bytes.
func checkSize(t *testing.T, p product) {
	t.Helper()
	if size := len(p.Guestinfo["guestinfo.userdata"]); size > 64<<10 {
		t.Errorf("guestinfo.userdata has %d bytes", size)
	}
	if size := base64.StdEncoding.EncodedLen(len(p.CustomData)); size > 87_380 {
		t.Errorf("the custom data have %d letters", size)
	}
}

// vSphere's metadata say who the machine is and nothing else: no network, no account, no key.
func checkMetadata(t *testing.T, p product) {
	t.Helper()
	if p.Cloud != onVSphere {
		return
	}
	text, err := base64.StdEncoding.DecodeString(p.Guestinfo["guestinfo.metadata"])
	if err != nil || p.Guestinfo["guestinfo.metadata.encoding"] != "base64" {
		t.Fatalf("metadata in %q: %v", p.Guestinfo["guestinfo.metadata.encoding"], err)
	}
	want := `{"instance-id":"` + p.instanceID + `","local-hostname":"` + p.computer + `"}`
	if string(text) != want {
		t.Errorf("metadata are %s, want %s", text, want)
	}
}
