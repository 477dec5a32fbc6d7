package bootstrap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// withFileAt adds a file of the user.
func withFileAt(path string) change {
	return func(in *bootstrap.Input) {
		in.Config.Spec.Custom.Files = append(in.Config.Spec.Custom.Files, bootstrapv1.CustomFile{Path: path, Content: "a"})
	}
}

// pathWays are all ways to write the path of containerd's configuration, and of other places that are not the user's.
var pathWays = []struct{ path, want string }{
	{`C:\Program Files\containerd\config.toml`, `is in C:\Program Files\containerd`},
	{`c:\PROGRAM FILES\ContainerD\Config.TOML`, `is in C:\Program Files\containerd`},
	{`C:/Program Files/containerd/config.toml`, "is not a plain path"},
	{`C:\Program Files\\containerd\config.toml`, "is not a plain path"},
	{`C:\Program Files\.\containerd\config.toml`, "is not a plain path"},
	{`C:\a\..\Program Files\containerd\config.toml`, "is not a plain path"},
	{`C:\PROGRA~1\containerd\config.toml`, "is not a plain path"},
	{`C:\Program Files\containerd.\config.toml`, "is not a plain path"},
	{`C:\Program Files\containerd \config.toml`, "is not a plain path"},
	{`C:\Program Files\containerd\config.toml.`, "is not a plain path"},
	{`C:\Program Files\containerd\config.toml `, "is not a plain path"},
	{`C:\Program Files\containerd\config.toml::$DATA`, "is not a plain path"},
	{`C:\Program Files\containerd:x`, "is not a plain path"},
	{`\\?\C:\Program Files\containerd\config.toml`, "is not a plain path"},
	{`\\.\C:\Program Files\containerd\config.toml`, "is not a plain path"},
	{`\\localhost\c$\Program Files\containerd\config.toml`, "is not a plain path"},
	{`%ProgramFiles%\containerd\config.toml`, "is not a plain path"},
	{`$env:ProgramFiles\containerd\config.toml`, "is not a plain path"},
	{`C:Program Files\containerd\config.toml`, "is not a plain path"},
	{`\Program Files\containerd\config.toml`, "is not a plain path"},
	{"C:\\Program Files\\containerd\\config.toml\n", "is not a plain path"},
	{`C:\Documents and Settings\All Users\containerd\certs.d\x`, `is in C:\Documents and Settings`},
	{`C:\users\all users\containerd\certs.d\x`, `is in C:\Users\All Users`},
	{`C:\ProgramData\Application Data\containerd\certs.d\x`, `is in C:\ProgramData\Application Data`},

	{`C:\Program Files`, `must be a folder, because C:\Program Files\containerd is in it`},
	{`C:\RUN`, `must be a folder, because C:\run\kubeadm is in it`},
	{`C:\k`, `must be a folder, because C:\k\kubeadm.exe is in it`},
	{`C:\etc\cni`, `must be a folder, because C:\etc\cni\net.d is in it`},
	{`C:\var\lib\kubelet`, `must be a folder`},
	{`C:\var\log\PODS`, `is needed by the bootstrap itself, for C:\var\log\pods`},
	{`C:\var\log`, `is needed by the bootstrap itself`},
	{`C:\var\lib\cni`, `is needed by the bootstrap itself, for C:\var\lib\cni`},
	{`C:\run\flannel\subnet.env`, `is needed by the bootstrap itself, for C:\run\flannel`},
	{`C:\var\lib\kubelet\device-plugins\x.sock`, `is needed by the bootstrap itself`},

	{`C:\nul`, "is not a plain path"},
	{`C:\a\NUL`, "is not a plain path"},
	{`C:\con.txt`, "is not a plain path"},
	{`C:\COM1`, "is not a plain path"},
	{`C:\lpt9.log.txt`, "is not a plain path"},
	{`C:\aux.d\x`, "is not a plain path"},
	{`C:\a\prn .txt`, "is not a plain path"},
	{`C:\conin$`, "is not a plain path"},
	{`C:\ConOut$.txt`, "is not a plain path"},
	{`C:\com¹`, "is not a plain path"},
	{`C:\LPT³.a\x`, "is not a plain path"},
	{`C:\` + strings.Repeat("x", 238), "has 241 characters, as Windows counts them; use 240 at most"},
	{`C:\` + strings.Repeat("字", 238), "has 241 characters"},
	{`C:\` + strings.Repeat("😀", 119), "has 241 characters"},
}

func TestFilesReplaceNothing(t *testing.T) {
	for _, way := range pathWays {
		_, err := bootstrap.Render(plainInput(t, withFileAt(way.path)))
		refused, ok := errors.AsType[*bootstrap.InvalidError](err)
		if !ok || !strings.HasSuffix(refused.Field, "custom.files[0]") || !strings.Contains(refused.Message, way.want) {
			t.Errorf("%q: %v, want %s", way.path, err, way.want)
		}
	}
	_, err := bootstrap.Render(plainInput(t, onAzure, withFileAt(`C:\AzureData\customdata.bin`)))
	if err == nil || !strings.Contains(err.Error(), `is needed by the bootstrap itself, for C:\AzureData\CustomData*`) {
		t.Errorf("a file that the plan erases: %v", err)
	}
	_, err = bootstrap.Render(plainInput(t, withFileAt(`C:\a\b`), withFileAt(`C:\A`)))
	if err == nil || !strings.Contains(err.Error(), `files[1]: "C:\\A" must be a folder, because the file "C:\\a\\b" is in it`) {
		t.Errorf("a file where the folder of another one must be: %v", err)
	}
}

// Names that look like ours, or like devices, are the user's.
func TestFilesBesideOurs(t *testing.T) {
	for _, path := range []string{
		`C:\Program Files\containerd2\config.toml`, `C:\k\app.json`, `C:\runs`, `C:\var\log\app\a.log`, `C:\null`, `C:\console.txt`,
		`C:\a\com0`, `C:\com10.txt`, `C:\xnul`, `C:\a.con`, `C:\com`, `C:\conin`, `C:\lpt¹¹`, `C:\Kelvin`, `C:\Windows\notes.txt`,
		`C:\` + strings.Repeat("x", 237), `C:\` + strings.Repeat("字", 237), `C:\` + strings.Repeat("😀", 118) + "x",
		`C:\var\lib\kube-proxy\kubeconfig.conf`, `C:\ProgramData\app\a.conf`, `C:\Users\Default\a.txt`,
	} {
		if _, err := bootstrap.Render(plainInput(t, withFileAt(path))); err != nil {
			t.Errorf("%q (%d): %v", path, len(utf16.Encode([]rune(path))), err)
		}
	}
}

// Other fields with paths have the same eyes for devices.
func TestNoPathIsADevice(t *testing.T) {
	refuse(t, []mistake{
		{"log", "kubelet.log.directory", kubelet(`log: {directory: 'C:\a\nul'}`), "is not a plain path"},
		{"folder", "windows.defenderExclusions.folders", ofWindows(`defenderExclusions: {folders: ['C:\aux']}`), "is not a plain path"},
		{"csi-proxy", "windows.csiProxy.path", ofWindows(`csiProxy: {path: 'C:\con\csi-proxy.exe'}`), "is not a program on drive C:"},
		{"flag", "kubelet.extraArgs", withArg("image-credential-provider-config", `C:/prn/a.yaml`), `use a file such as C:\var`},
	})
}

var plainPath = regexp.MustCompile(`^[A-Za-z]:\\[^*?]*$`)

// pathsIn are all paths below a key that names places which a plan makes or clears.
func pathsIn(node any, key string, tell func(string)) {
	switch node := node.(type) {
	case string:
		if plainPath.MatchString(node) && map[string]bool{"path": true, "paths": true, "creates": true, "erase": true}[key] {
			tell(node)
		}
	case []any:
		for _, one := range node {
			pathsIn(one, key, tell)
		}
	case map[string]any:
		if node["reason"] == "FilesFailed" {
			return // the user's
		}
		for name, one := range node {
			pathsIn(one, name, tell)
		}
	}
}

// No list of places has to be kept: each path that a plan writes, runs a script from or clears is refused, in any golden plan.
func TestFilesReplaceNothingOfAnyPlan(t *testing.T) {
	tried := map[string]bool{}
	for _, golden := range goldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		var tree any
		expect.OK(t, json.Unmarshal(expect.Got(p.Encode())(t), &tree))
		pathsIn(tree, "", func(path string) {
			if tried[path] || plan.DeviceName.MatchString(path) {
				return
			}
			tried[path] = true
			in := plainInput(t, golden.change, withFileAt(strings.ToUpper(path)))
			field := fmt.Sprintf("WindowsBootstrapConfig spec.custom.files[%d]", len(in.Config.Spec.Custom.Files)-1)
			_, err := bootstrap.Render(in)
			if refused, ok := errors.AsType[*bootstrap.InvalidError](err); !ok || refused.Field != field {
				t.Errorf("%s: a file at %s: %v", golden.name, path, err)
			}
		})
	}
	t.Logf("%d places", len(tried))
	if len(tried) < 40 {
		t.Error("they are too few to show anything")
	}
}
