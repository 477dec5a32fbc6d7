package bootstrap

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	customField          = "WindowsBootstrapConfig spec.custom"
	scriptsDirectory     = step.OwnDirectory + `\scripts`
	bootsDirectory       = step.OwnDirectory + `\boots`
	defaultScriptSeconds = 300
)

// custom is what was read of spec.custom: the users' own files and scripts.
type custom struct {
	files             []customFile
	preJoin, postJoin []customScript
	// everyBoot scripts stay on the node, beside the others that are erased at the end.
	everyBoot []customScript
}

type customFile struct {
	path    string
	access  plan.FileAccess
	content step.Content
}

// customScript is a script and the path from which it runs.
type customScript struct {
	name, path string
	content    step.Content
	seconds    int
}

func readCustom(spec bootstrapv1.Custom, contents step.Contents, deadlineSeconds int) (custom, error) {
	var c custom
	var err error
	if c.files, err = readFiles(spec.Files, contents); err != nil {
		return c, err
	}
	if c.preJoin, err = readScripts("preJoin", step.PhasePreJoin, spec.PreJoin, contents); err != nil {
		return c, err
	}
	if c.postJoin, err = readScripts("postJoin", step.PhasePostJoin, spec.PostJoin, contents); err != nil {
		return c, err
	}
	if c.everyBoot, err = readBootScripts(spec.EveryBoot); err != nil {
		return c, err
	}
	return c, c.checkTime(deadlineSeconds)
}

// readBootScripts reads them as other scripts, but for their folder, which stays.
func readBootScripts(wanted []bootstrapv1.BootScript) ([]customScript, error) {
	const hook = "everyBoot"
	var alike []bootstrapv1.CustomScript
	for i, script := range wanted {
		if script.Content == "" {
			field := fmt.Sprintf("%s.%s[%d].content", customField, hook, i)
			return nil, step.Invalid(field, "must not be empty; use the text of the script")
		}
		alike = append(alike, bootstrapv1.CustomScript{
			Name: script.Name, Type: script.Type, Content: script.Content, TimeoutSeconds: script.TimeoutSeconds,
		})
	}
	scripts, err := readScripts(hook, "boot", alike, nil)
	for i := range scripts {
		scripts[i].path = bootsDirectory + strings.TrimPrefix(scripts[i].path, scriptsDirectory)
	}
	return scripts, err
}

// checkTime refuses scripts that could take all of the time that the guest has: the bootstrap would fail by its
// deadline, and never say which script was too slow.
func (c custom) checkTime(deadlineSeconds int) error {
	total := 0
	for _, script := range slices.Concat(c.preJoin, c.postJoin) {
		total += script.seconds
	}
	if total > 0 && total >= deadlineSeconds {
		return step.Invalid(customField,
			"the scripts may take %d s together, and bootstrapDeadlineSeconds is %d; lower timeoutSeconds, or raise it",
			total, deadlineSeconds)
	}
	return nil
}

// checkKubeletStart refuses a delayed start where everyBoot starts the kubelet; see handOver.
func (c custom) checkKubeletStart(start plan.Start) error {
	if len(c.everyBoot) == 0 || start != plan.StartDelayedAuto {
		return nil
	}
	return step.Invalid("WindowsBootstrapConfig spec.kubelet.start",
		"%s has no effect with custom.everyBoot, after whose scripts the bootstrap starts the kubelet; remove one of the two",
		bootstrapv1.ServiceStartAutomaticDelayed)
}

func readFiles(wanted []bootstrapv1.CustomFile, contents step.Contents) ([]customFile, error) {
	seen := map[string]bool{}
	var files []customFile
	for i, file := range wanted {
		field := fmt.Sprintf("%s.files[%d]", customField, i)
		if err := step.CheckFile(field, file.Path); err != nil {
			return nil, err
		}
		lower := strings.ToLower(file.Path)
		if seen[lower] {
			return nil, step.Invalid(field, "path %q is used twice; remove one of the two files", file.Path)
		}
		seen[lower] = true
		read, err := contents.Content(field, file.Content, file.ContentFrom)
		if err != nil {
			return nil, err
		}
		access, err := fileAccess(field, file.Access, read.Secret)
		if err != nil {
			return nil, err
		}
		files = append(files, customFile{file.Path, access, read})
	}
	return files, nil
}

func fileAccess(field string, wanted bootstrapv1.FileAccess, secret bool) (plan.FileAccess, error) {
	switch {
	case wanted == bootstrapv1.FileAccessInherited && secret:
		return "", step.Invalid(field, "access Inherited would let every user read a Secret; remove access")
	case wanted == bootstrapv1.FileAccessAdministrators || wanted == "" && secret:
		return plan.FileAdmin, nil
	case wanted == bootstrapv1.FileAccessInherited || wanted == "":
		return plan.FileInherit, nil
	}
	return "", step.Invalid(field, "access %q is not valid; use Administrators or Inherited", wanted)
}

func readScripts(hook, phase string, wanted []bootstrapv1.CustomScript, contents step.Contents) ([]customScript, error) {
	seen := map[string]bool{}
	var scripts []customScript
	for i, script := range wanted {
		field := fmt.Sprintf("%s.%s[%d]", customField, hook, i)
		if err := step.CheckName(field, script.Name, seen); err != nil {
			return nil, err
		}
		suffix, ok := scriptSuffixes[script.Type]
		if !ok {
			return nil, step.Invalid(field, "type %q is not valid; use PowerShell or Cmd", script.Type)
		}
		read, err := contents.Content(field, script.Content, script.ContentFrom)
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

func (c custom) steps() step.Part {
	var p step.Part
	for i, file := range c.files {
		write := step.File(fmt.Sprintf("file-%d", i+1), step.ReasonFilesFailed, file.path, marked(file.path, file.content.Bytes))
		write.Access, write.Secret = file.access, file.content.Secret
		p.Add(step.PhasePrepare, write)
		p.Redact = append(p.Redact, file.content.SecretText()...)
	}
	for _, script := range c.preJoin {
		script.addTo(&p, step.PhasePreJoin, step.ReasonPreJoinScriptFailed)
	}
	for _, script := range c.postJoin {
		script.addTo(&p, step.PhasePostJoin, step.ReasonPostJoinScriptFailed)
	}
	for _, script := range c.everyBoot {
		write := script.write()
		write.Name = "keep-" + script.name // a script of postJoin may have the same name
		p.Add(step.PhasePostJoin, write)
		run := script.run(step.ReasonEveryBootScriptFailed)
		run.Optional, run.RebootExitCodes = true, nil
		p.EveryBoot = append(p.EveryBoot, run)
	}
	if len(c.preJoin)+len(c.postJoin) > 0 {
		p.Erase = plan.Texts(scriptsDirectory + `\*`)
	}
	return p
}

// utf8Mark is the byte order mark of UTF-8.
const utf8Mark = "\ufeff"

var powerShellFile = regexp.MustCompile(`(?i)\.ps[md]?1$`)

// marked is a content as Windows PowerShell 5.1 reads it: without a mark it takes letters that are not ASCII for those of the
// machine's code page. What is not UTF-8 stays as it is, for its author knows for which code page it was written.
func marked(path string, content []byte) []byte {
	ascii := !bytes.ContainsFunc(content, func(r rune) bool { return r > unicode.MaxASCII })
	if ascii || !powerShellFile.MatchString(path) || !utf8.Valid(content) || bytes.HasPrefix(content, []byte(utf8Mark)) {
		return content
	}
	return append([]byte(utf8Mark), content...)
}

// addTo writes a script where only administrators can read it, and runs it, unchanged but for a byte order mark. All scripts are
// erased at the end. What a script from a Secret prints is not reported, because PowerShell shows the line that failed.
func (s customScript) addTo(p *step.Part, phase, reason string) {
	p.Add(phase, s.write(), s.run(reason))
	p.Redact = append(p.Redact, s.content.SecretText()...)
}

func (s customScript) write() *plan.File {
	write := step.PrivateFile("write-"+s.name, step.ReasonNodeFilesFailed, s.path, marked(s.path, s.content.Bytes))
	write.Secret = s.content.Secret
	return write
}

func (s customScript) run(reason string) *plan.Run {
	common := plan.Common{Name: "run-" + s.name, Reason: reason, TimeoutSeconds: s.seconds}
	return step.Script(common, s.path, plan.Program{RebootExitCodes: []int{step.ExitReboot}, Quiet: s.content.Secret})
}
