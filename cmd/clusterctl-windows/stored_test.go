package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const gotNote = "note: showing what the guest got, from Secret team-a/" + machineName

// withSecret returns the machine with a bootstrap Secret that has this user data, and with some texts replaced.
func withSecret(t *testing.T, userData []byte, oldnew ...string) string {
	t.Helper()
	value := "  value: " + base64.StdEncoding.EncodeToString(userData) + "\n"
	return changed(t, machineFile, append(oldnew, "  token: ", value+"  token: ")...)
}

// The guest got what is in the Secret, even if the objects or the release have changed since then.
func TestStoredUserDataAreShown(t *testing.T) {
	first := ofController(t)
	inside := expect.Got(scripts.Plan(first))(t)
	for name, test := range map[string]struct{ reason, objects, says string }{
		"as it was": {"nothing has changed", withSecret(t, first), "; this release would render the same\n"},
		"moved": {
			"clusterctl move gives objects new UIDs",
			withSecret(t, first, "0b6f2f0e-52b0-4a5c-9d53-2f1f3f7f9d10", "11111111-52b0-4a5c-9d53-2f1f3f7f9d10"),
			"; this release would render the same\n",
		},
		"another endpoint": {
			"the Cluster was changed", withSecret(t, first, "host: 10.0.0.10", "host: 10.0.0.11"),
			"; this release would render something else, because another release or other objects were used then\n",
		},
		"refused now": {
			"rules become stricter", withSecret(t, first, "version: v1.36.3", "version: v1.29.0"),
			"; this release would refuse to render it: " +
				`Machine spec.version: "v1.29.0" is not supported; use v1.30.0 or a later v1` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := rendered(t, t.TempDir(), test.objects, "--machine", machineName, "--show-secrets")
			if files["userdata"] != string(first) {
				t.Errorf("%s: userdata is not what the guest got", test.reason)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(files["node.json"])); err != nil || compact.String() != string(inside) {
				t.Errorf("%s: node.json is not the plan that the guest got (%v)", test.reason, err)
			}
			hidden := rendered(t, t.TempDir(), test.objects, "--machine", machineName)["node.json"]
			if strings.Contains(hidden, testSecret) {
				t.Error("the token in node.json is not masked")
			}
			got := call(t, test.objects, "plan", "-f", "-", "--machine", machineName)
			if got.Code != exitDone || got.Err != gotNote+test.says || !strings.Contains(got.Out, "10.0.0.10 port 6443") {
				t.Errorf("%s: %d %s", test.reason, got.Code, got.Err)
			}
		})
	}
}

// User data from another release is shown as bytes only, and no plan of this release is shown with it.
func TestStoredUserDataOfAnotherRelease(t *testing.T) {
	objects, folder := withSecret(t, []byte("#ps1_sysnative\nexit 0\n")), t.TempDir()
	rendered(t, folder, readText(t, machineFile), "--machine", machineName)
	files := rendered(t, folder, objects, "--machine", machineName)
	if len(files) != 1 || files["metadata"] == "" {
		t.Errorf("without --show-secrets, files are %v", files)
	}
	files = rendered(t, folder, objects, "--machine", machineName, "--show-secrets")
	if _, left := files["node.json"]; left || files["userdata"] != "#ps1_sysnative\nexit 0\n" || files["metadata"] == "" {
		t.Errorf("files are %v", files)
	}
	got := call(t, objects, "plan", "-f", "-", "--machine", machineName)
	const note = "; this release cannot read its plan: the user data was not rendered by this release\n"
	const refused = "this release cannot read the plan in Secret team-a/" + machineName + "; use the release that rendered it\n"
	if got.Code != exitRefused || got.Out != "" || got.Err != gotNote+note+refused {
		t.Errorf("got %+v", got)
	}
}
