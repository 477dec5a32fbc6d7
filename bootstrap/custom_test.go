package bootstrap_test

import (
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Windows PowerShell 5.1 reads a file without a byte order mark in the machine's code page: what has other letters than ASCII
// gets one, and nothing else is changed.
func TestScriptsAreReadAsUTF8(t *testing.T) {
	const mark = "\ufeff"
	for _, test := range []struct {
		name, path, content, want string
	}{
		{"ASCII", `C:\x\a.ps1`, "'a'\n", "'a'\n"},
		{"letters", `C:\x\a.ps1`, "'Gr\u00fc\u00dfe'\n", mark + "'Gr\u00fc\u00dfe'\n"},
		{"a module", `C:\x\A.PSM1`, "'\u00fc'", mark + "'\u00fc'"},
		{"a mark is there", `C:\x\a.ps1`, mark + "'\u00fc'", mark + "'\u00fc'"},
		{"a batch file", `C:\x\a.cmd`, "echo \u00fc", "echo \u00fc"},
		{"another file", `C:\x\a.txt`, "\u00fc", "\u00fc"},
		{"another code page", `C:\x\a.ps1`, "'\xfc'", "'\xfc'"},
		{"UTF-16", `C:\x\a.ps1`, "\xff\xfe'\x00", "\xff\xfe'\x00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: "c", Key: "k"}}
			in := plainInput(t)
			in.Config.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: test.path, ContentFrom: from}}
			in.Config.Spec.Custom.PreJoin = []bootstrapv1.CustomScript{{Name: "s", ContentFrom: from}}
			in.Sources = map[string][]byte{"configmap/c/k": []byte(test.content)}
			written := map[string]string{}
			for _, phase := range render(t, in).Plan().Phases {
				for _, step := range phase.Steps {
					if file, ok := step.(*plan.File); ok {
						written[file.Path.String()] = file.Text.String() + string(file.Content)
					}
				}
			}
			expect.Same(t, test.path, test.want, written[test.path])
			script := written[`C:\run\capwin\scripts\pre-join-s.ps1`]
			if strings.HasSuffix(strings.ToLower(test.path), ".ps1") && script != test.want {
				t.Errorf("the script is %q, want %q", script, test.want)
			}
		})
	}
}

// Each list has its own names: a script of one may have the name of a script of another.
func TestScriptsOfOneName(t *testing.T) {
	one := `[{name: a, content: a}]`
	in := plainInput(t, spec(`custom: {preJoin: `+one+`, postJoin: `+one+`, everyBoot: `+one+`}`))
	written := map[string]bool{}
	for phase, file := range every[*plan.File](render(t, in).Plan()) {
		if name := file.Base().Name; strings.HasSuffix(name, "-a") {
			written[phase+"/"+name] = true
		}
	}
	expect.Same(t, "files", map[string]bool{"pre-join/write-a": true, "post-join/write-a": true, "post-join/keep-a": true}, written)
}
