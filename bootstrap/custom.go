package bootstrap

import (
	"cmp"
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	customField          = "WindowsBootstrapConfig spec.custom"
	scriptsDirectory     = ownDirectory + `\scripts`
	defaultScriptSeconds = 300
)

// custom is spec.custom, read and found good: the users' own files and scripts.
type custom struct {
	files             []customFile
	preJoin, postJoin []customScript
}

type customFile struct {
	path    string
	access  plan.Access
	content content
}

// customScript is run where it is written.
type customScript struct {
	name, path string
	content    content
	seconds    int
}

func readCustom(spec bootstrapv1.Custom, from contents) (custom, error) {
	var c custom
	var err error
	if c.files, err = readFiles(spec.Files, from); err != nil {
		return c, err
	}
	if c.preJoin, err = readScripts("preJoin", phasePreJoin, spec.PreJoin, from); err != nil {
		return c, err
	}
	c.postJoin, err = readScripts("postJoin", phasePostJoin, spec.PostJoin, from)
	return c, err
}

func readFiles(wanted []bootstrapv1.CustomFile, from contents) ([]customFile, error) {
	seen := map[string]bool{}
	var files []customFile
	for i, file := range wanted {
		field := fmt.Sprintf("%s.files[%d]", customField, i)
		if err := checkPath(field, file.Path); err != nil {
			return nil, err
		}
		lower := strings.ToLower(file.Path)
		if seen[lower] {
			return nil, invalid(field, "the path %q is there twice; leave one out", file.Path)
		}
		seen[lower] = true
		read, err := from.of(field, file.Content, file.ContentFrom)
		if err != nil {
			return nil, err
		}
		access, err := fileAccess(field, file.Access, read.secret)
		if err != nil {
			return nil, err
		}
		files = append(files, customFile{file.Path, access, read})
	}
	return files, nil
}

func fileAccess(field string, wanted bootstrapv1.FileAccess, secret bool) (plan.Access, error) {
	switch {
	case wanted == bootstrapv1.FileAccessInherited && secret:
		return "", invalid(field, "access Inherited would show a Secret to everybody; leave access out")
	case wanted == bootstrapv1.FileAccessAdministrators || wanted == "" && secret:
		return plan.AccessAdmin, nil
	case wanted == bootstrapv1.FileAccessInherited || wanted == "":
		return plan.AccessInherit, nil
	}
	return "", invalid(field, "access %q is none; write Administrators or Inherited", wanted)
}

func readScripts(hook, phase string, wanted []bootstrapv1.CustomScript, from contents) ([]customScript, error) {
	seen := map[string]bool{}
	var scripts []customScript
	for i, script := range wanted {
		field := fmt.Sprintf("%s.%s[%d]", customField, hook, i)
		if seen[script.Name] {
			return nil, invalid(field, "the name %q is there twice; write another one", script.Name)
		}
		seen[script.Name] = true
		if !scriptName.MatchString(script.Name) {
			return nil, invalid(field, "name %q is none; write small letters, digits and dashes, 40 at most", script.Name)
		}
		suffix, known := scriptSuffixes[script.Type]
		if !known {
			return nil, invalid(field, "type %q is none; write PowerShell or Cmd", script.Type)
		}
		read, err := from.of(field, script.Content, script.ContentFrom)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, customScript{
			script.Name, scriptsDirectory + `\` + phase + "-" + script.Name + suffix, read,
			int(cmp.Or(script.TimeoutSeconds, defaultScriptSeconds)),
		})
	}
	return scripts, nil
}

var scriptSuffixes = map[bootstrapv1.ScriptType]string{
	"": ".ps1", bootstrapv1.ScriptPowerShell: ".ps1", bootstrapv1.ScriptCmd: ".cmd",
}

func (c custom) steps() part {
	var p part
	for i, file := range c.files {
		write := fileStep(fmt.Sprintf("file-%d", i+1), ReasonFilesFailed, file.path, file.content.bytes)
		write.Access = file.access
		p.add(phasePrepare, write)
		p.redact = append(p.redact, file.content.secretText()...)
	}
	for _, script := range c.preJoin {
		script.addTo(&p, phasePreJoin, ReasonPreJoinScriptFailed)
	}
	for _, script := range c.postJoin {
		script.addTo(&p, phasePostJoin, ReasonPostJoinScriptFailed)
	}
	if len(c.preJoin)+len(c.postJoin) > 0 {
		p.erase = plan.Texts(scriptsDirectory + `\*`)
	}
	return p
}

// addTo writes a script where only administrators read it, and runs it as it is. All are erased in the end.
func (s customScript) addTo(p *part, phase, reason string) {
	p.add(phase, privateFile("write-"+s.name, ReasonNodeFilesFailed, s.path, s.content.bytes), &plan.Script{
		Common:  plan.Common{Name: "run-" + s.name, Reason: reason, TimeoutSeconds: s.seconds},
		Path:    plan.Text(s.path),
		Program: plan.Program{RebootExitCodes: []int{exitReboot}},
	})
	p.redact = append(p.redact, s.content.secretText()...)
}
