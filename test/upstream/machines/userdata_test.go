package machines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// cloudbase-init finds the loader, the packed agent and the plan; of the plan, only paths of the agent's own files are changed.
func TestStage(t *testing.T) {
	base := t.TempDir()
	const text = `{"phases":[{"steps":[{"argv":["C:\\a"],"do":"run","creates":"C:\\k\\x y"},{"body":{"path":"C:\\b"},` +
		`"for":"https","path":"/healthz","n":12345678901234567890},{"path":["D:\\",{"fact":"f"}]}]}]}`
	folder := expect.Got(Stage(base, scripts.UserData([]byte(text))))(t)
	if !strings.HasPrefix(folder, base+"/C/Windows/Temp/capwin-") {
		t.Errorf("the folder is %s", folder)
	}
	read := func(name string) string { return string(expect.Got(os.ReadFile(filepath.Join(folder, name)))(t)) }
	expect.Same(t, "the loader", scripts.Loader(), read("loader.ps1"))
	expect.Same(t, "the agent", scripts.Agent(), read("agent.ps1"))
	want := `{"phases":[{"steps":[{"argv":["C:\\a"],"creates":"` + base + `/C/k/x y","do":"run"},{"body":{"path":"C:\\b"},` +
		`"for":"https","n":12345678901234567890,"path":"/healthz"},{"path":["` + base + `/D/",{"fact":"f"}]}]}]}`
	expect.Same(t, "the plan", want, read("plan.json"))
}

func TestUnpackRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML":   "\t",
		"no base64": "write_files: [{path: a, content: '*'}]",
		"no gzip":   "write_files: [{path: a, content: AAAA}]",
	} {
		if _, err := Unpack([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
