package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// hidden is what the Secrets of these tests hold: it may stand in files for administrators and nowhere else.
const hidden = "correct-horse-battery"

// settingsGoldens are machines of whose Windows the user has said something.
var settingsGoldens = []golden{
	{"files", "text, bytes, a Secret for administrators only", []func(*bootstrap.Input){withFiles}},
	{"scripts", "before and after the join, written before they run, erased in the end", []func(*bootstrap.Input){withScripts}},
}

func custom(change func(*bootstrapv1.Custom)) func(*bootstrap.Input) {
	return func(in *bootstrap.Input) { change(&in.Config.Spec.Custom) }
}

// source puts a text where the spec refers to.
func source(in *bootstrap.Input, name, text string) {
	if in.Sources == nil {
		in.Sources = map[string][]byte{}
	}
	in.Sources[name] = []byte(text)
}

func fromSecret(name, key string) bootstrapv1.ContentSource {
	return bootstrapv1.ContentSource{Secret: bootstrapv1.KeyReference{Name: name, Key: key}}
}

func fromConfigMap(name, key string) bootstrapv1.ContentSource {
	return bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: name, Key: key}}
}

func withFiles(in *bootstrap.Input) {
	in.Config.Spec.Custom.Files = []bootstrapv1.CustomFile{
		{Path: `C:\etc\app.conf`, Content: "pool=blue\r\n"},
		{Path: `C:\etc\app.key`, ContentFrom: fromSecret("app", "key")},
		{Path: `C:\etc\logo.png`, ContentFrom: fromConfigMap("app", "logo"), Access: bootstrapv1.FileAccessAdministrators},
	}
	source(in, "secret/app/key", hidden)
	source(in, "configmap/app/logo", "\x89PNG\x00\xff")
}

func withScripts(in *bootstrap.Input) {
	in.Config.Spec.Custom.PreJoin = []bootstrapv1.CustomScript{
		{Name: "agent", Content: "Write-Output 'hello'"},
		{Name: "drivers", Type: bootstrapv1.ScriptCmd, ContentFrom: fromConfigMap("app", "drivers"), TimeoutSeconds: 900},
	}
	in.Config.Spec.Custom.PostJoin = []bootstrapv1.CustomScript{
		{Name: "agent", Type: bootstrapv1.ScriptPowerShell, ContentFrom: fromSecret("app", "register")},
	}
	source(in, "configmap/app/drivers", "@echo off\r\nexit /b 0\r\n")
	source(in, "secret/app/register", "register.exe --key\n"+hidden)
}

// settingsRefused are mistakes of users.
var settingsRefused = []struct {
	name, field, want string
	change            func(*bootstrap.Input)
}{
	{"file without content", "spec.custom.files[0]", "write either content or contentFrom", withFile(bootstrapv1.CustomFile{Path: `C:\a`})},
	{
		"file with two contents", "spec.custom.files[0]", "write either content or contentFrom",
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a", ContentFrom: fromSecret("a", "b")}),
	},
	{
		"content that is not there", "spec.custom.files[0]", `Secret a has nothing under the key "b"`,
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, ContentFrom: fromSecret("a", "b")}),
	},
	{"relative path", "spec.custom.files[0]", `"etc\\a" is no plain path`, withFile(bootstrapv1.CustomFile{Path: `etc\a`, Content: "a"})},
	{"other drive", "spec.custom.files[0]", "is no plain path on drive C:", withFile(bootstrapv1.CustomFile{Path: `D:\a`, Content: "a"})},
	{"slashes", "spec.custom.files[0]", "is no plain path", withFile(bootstrapv1.CustomFile{Path: `C:/a`, Content: "a"})},
	{"way up", "spec.custom.files[0]", "is no plain path", withFile(bootstrapv1.CustomFile{Path: `C:\a\..\run\kubeadm\a`, Content: "a"})},
	{"stream", "spec.custom.files[0]", "is no plain path", withFile(bootstrapv1.CustomFile{Path: `C:\a:b`, Content: "a"})},
	{"wildcard", "spec.custom.files[0]", "is no plain path", withFile(bootstrapv1.CustomFile{Path: `C:\a*`, Content: "a"})},
	{"our folder", "spec.custom.files[0]", `is below C:\run\kubeadm`, withFile(bootstrapv1.CustomFile{Path: `c:\RUN\kubeadm\join-config.yaml`, Content: "a"})},
	{"our sentinel", "spec.custom.files[0]", `is below C:\run\cluster-api`, withFile(bootstrapv1.CustomFile{Path: `C:\run\cluster-api\bootstrap-success.complete`, Content: "a"})},
	{
		"file twice", "spec.custom.files[1]", "is there twice",
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a"}, bootstrapv1.CustomFile{Path: `c:\A`, Content: "a"}),
	},
	{
		"Secret for all", "spec.custom.files[0]", "access Inherited would show a Secret to everybody",
		func(in *bootstrap.Input) {
			withFile(bootstrapv1.CustomFile{Path: `C:\a`, ContentFrom: fromSecret("a", "b"), Access: "Inherited"})(in)
			source(in, "secret/a/b", hidden)
		},
	},
	{"odd access", "spec.custom.files[0]", `access "All" is none`, withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a", Access: "All"})},
	{"script without a name", "spec.custom.preJoin[0]", `name "" is none`, withPreJoin(bootstrapv1.CustomScript{Content: "a"})},
	{"script of odd type", "spec.custom.preJoin[0]", `type "Perl" is none`, withPreJoin(bootstrapv1.CustomScript{Name: "a", Type: "Perl", Content: "a"})},
	{
		"script twice", "spec.custom.preJoin[1]", `the name "a" is there twice`,
		withPreJoin(bootstrapv1.CustomScript{Name: "a", Content: "a"}, bootstrapv1.CustomScript{Name: "a", Content: "b"}),
	},
	{"script without content", "spec.custom.preJoin[0]", "write either content or contentFrom", withPreJoin(bootstrapv1.CustomScript{Name: "a"})},
}

func withFile(files ...bootstrapv1.CustomFile) func(*bootstrap.Input) {
	return custom(func(c *bootstrapv1.Custom) { c.Files = files })
}

func withPreJoin(scripts ...bootstrapv1.CustomScript) func(*bootstrap.Input) {
	return custom(func(c *bootstrapv1.Custom) { c.PreJoin = scripts })
}

func TestSettingsRefused(t *testing.T) {
	for _, test := range settingsRefused {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, test.change))
			var refused *bootstrap.InvalidError
			if !errors.As(err, &refused) || refused.Field != "WindowsBootstrapConfig "+test.field {
				t.Fatalf("%v, want one of %s", err, test.field)
			}
			if !strings.Contains(refused.Message, test.want) || strings.Contains(refused.Message, hidden) {
				t.Errorf("%q, want %q and no secret", refused.Message, test.want)
			}
		})
	}
}

// Whatever a spec refers to must be known before it is rendered.
func TestSourcesAreComplete(t *testing.T) {
	for _, golden := range settingsGoldens {
		in := plainInput(t, golden.changes...)
		listed := map[string]bool{}
		for _, source := range bootstrap.Sources(in.Config.Spec) {
			listed[source.String()] = true
		}
		for name := range in.Sources {
			if !listed[name] {
				t.Errorf("%s: %s is not listed", golden.name, name)
			}
			delete(listed, name)
		}
		if len(listed) > 0 {
			t.Errorf("%s: listed and not used: %v", golden.name, listed)
		}
	}
}

// What comes from a Secret is hidden, or stands where only administrators look; nothing of it outlives the bootstrap in
// the plan.
func TestSecretsOfSettings(t *testing.T) {
	for _, golden := range settingsGoldens {
		p := render(t, plainInput(t, golden.changes...)).Plan()
		everyBoot := &plan.Plan{Phases: p.EveryBoot}
		data, err := everyBoot.Encode()
		if err != nil || strings.Contains(string(data), hidden) {
			t.Errorf("%s: everyBoot tells a secret (%v)", golden.name, err)
		}
		for _, phase := range p.Phases {
			for _, step := range phase.Steps {
				one := plan.Plan{Phases: []plan.Phase{{Name: "a", Steps: []plan.Step{step}}}}
				data, err := one.Encode()
				if err != nil {
					t.Fatal(err)
				}
				file, isFile := step.(*plan.File)
				if strings.Contains(string(data), hidden) && (!isFile || file.Access != plan.AccessAdmin) {
					t.Errorf("%s: %s/%s shows a secret", golden.name, phase.Name, step.Base().Name)
				}
			}
		}
	}
}
