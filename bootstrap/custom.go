package bootstrap

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	// ownDirectory holds what only the bootstrap needs.
	ownDirectory     = `C:\run\capwin`
	scriptsDirectory = ownDirectory + `\scripts`

	defaultScriptSeconds = 300
	// exitReboot is Windows' own way to say: done, after a restart.
	exitReboot = 3010
)

// scriptName is a name of a step and a file.
var scriptName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// customPart is the users' own files and scripts.
func customPart(n *node) (part, error) {
	var p part
	if err := p.files(n); err != nil {
		return part{}, err
	}
	for _, hook := range []struct {
		field, phase, reason string
		scripts              []bootstrapv1.CustomScript
	}{
		{"preJoin", phasePreJoin, ReasonPreJoinScriptFailed, n.spec.Custom.PreJoin},
		{"postJoin", phasePostJoin, ReasonPostJoinScriptFailed, n.spec.Custom.PostJoin},
	} {
		seen := map[string]bool{}
		for i, script := range hook.scripts {
			field := fmt.Sprintf("WindowsBootstrapConfig spec.custom.%s[%d]", hook.field, i)
			if seen[script.Name] {
				return part{}, invalid(field, "the name %q is there twice; write another one", script.Name)
			}
			seen[script.Name] = true
			if err := p.script(n, field, hook.phase, hook.reason, script); err != nil {
				return part{}, err
			}
		}
	}
	return p, nil
}

func (p *part) files(n *node) error {
	seen := map[string]bool{}
	for i, file := range n.spec.Custom.Files {
		field := fmt.Sprintf("WindowsBootstrapConfig spec.custom.files[%d]", i)
		if err := checkPath(field, file.Path); err != nil {
			return err
		}
		lower := strings.ToLower(file.Path)
		if seen[lower] {
			return invalid(field, "the path %q is there twice; leave one out", file.Path)
		}
		seen[lower] = true
		read, err := n.read(field, file.Content, file.ContentFrom)
		if err != nil {
			return err
		}
		access, err := fileAccess(field, file.Access, read.secret)
		if err != nil {
			return err
		}
		step := fileStep(fmt.Sprintf("file-%d", i+1), ReasonFilesFailed, file.Path, read.bytes)
		step.Access = access
		p.add(phasePrepare, step)
		p.redact = append(p.redact, read.secretText()...)
	}
	return nil
}

// fileStep keeps text readable in the plan; bytes that are none go as they are.
func fileStep(name, reason, path string, data []byte) *plan.File {
	step := &plan.File{Common: plan.Common{Name: name, Reason: reason}, Path: plan.Text(path)}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		step.Text = plan.Text(string(data))
	} else {
		step.Content = data
	}
	return step
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

// script writes a script where only administrators read it, and runs it as it is. All are erased in the end.
func (p *part) script(n *node, field, phase, reason string, script bootstrapv1.CustomScript) error {
	if !scriptName.MatchString(script.Name) {
		return invalid(field, "name %q is none; write small letters, digits and dashes, 40 at most", script.Name)
	}
	suffix, known := map[bootstrapv1.ScriptType]string{
		"": ".ps1", bootstrapv1.ScriptPowerShell: ".ps1", bootstrapv1.ScriptCmd: ".cmd",
	}[script.Type]
	if !known {
		return invalid(field, "type %q is none; write PowerShell or Cmd", script.Type)
	}
	read, err := n.read(field, script.Content, script.ContentFrom)
	if err != nil {
		return err
	}
	path := scriptsDirectory + `\` + phase + "-" + script.Name + suffix
	file := fileStep("write-"+script.Name, ReasonNodeFilesFailed, path, read.bytes)
	file.Access = plan.AccessAdmin
	if len(p.erase) == 0 {
		p.erase = plan.Texts(scriptsDirectory + `\*`)
	}
	p.add(phase, file, &plan.Script{
		Common:  plan.Common{Name: "run-" + script.Name, Reason: reason, TimeoutSeconds: orDefault(script.TimeoutSeconds, defaultScriptSeconds)},
		Path:    plan.Text(path),
		Program: plan.Program{RebootExitCodes: []int{exitReboot}},
	})
	p.redact = append(p.redact, read.secretText()...)
	return nil
}
