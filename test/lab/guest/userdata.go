package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/lab/agent"
)

// format is what cloudbase-init takes user data for.
type format string

const (
	multipart    format = "a MIME message"
	jinja        format = "a jinja template"
	cloudConfig  format = "a cloud-config"
	batchFile    format = "a batch file"
	pythonScript format = "a Python script"
	bashScript   format = "a bash script"
	powershell64 format = "a PowerShell script"
	powershell32 format = "a PowerShell script of 32 bits"
	ec2Config    format = "EC2Config tags"
	certificate  format = "a certificate"
	unsupported  format = "nothing it knows"
)

// scriptFormats are tried in order, at byte 0 but for the last. Python takes a vertical tab for white space.
var scriptFormats = []struct {
	match  *regexp.Regexp
	format format
}{
	{regexp.MustCompile(`^rem[\s\v]+cmd[\s\v]`), batchFile},
	{regexp.MustCompile(`^#![\s\v]*/usr/bin/env[\s\v]+python[\s\v]`), pythonScript},
	{regexp.MustCompile(`^#!`), bashScript},
	{regexp.MustCompile(`^#(ps1|ps1_sysnative)[\s\v]`), powershell64},
	{regexp.MustCompile(`^#ps1_x86[\s\v]`), powershell32},
	{regexp.MustCompile(`</?(script|powershell)>`), ec2Config},
}

var jinjaLine = regexp.MustCompile(`(?i)^##[\s\v]*template:[ \t\r\f\v]*jinja[ \t\r\f\v]*(\n|$)`)

// formatOf decides in cloudbase-init's order.
func formatOf(data []byte) format {
	paragraph, _, _ := bytes.Cut(data, []byte("\n\n"))
	switch {
	case bytes.Contains(paragraph, []byte("Content-Type: multipart")):
		return multipart
	case jinjaLine.Match(data):
		return jinja
	case bytes.HasPrefix(data, []byte("#cloud-config")):
		return cloudConfig
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN CERTIFICATE-----")):
		return certificate
	}
	for _, one := range scriptFormats {
		if one.match.Match(data) {
			return one.format
		}
	}
	return unsupported
}

// userData runs what it can: our loader, around any plan. All else would run on a real machine, or be ignored there; here
// it is a line in the log, and the node never comes.
func (p *power) userData(ctx context.Context, found *instance) (err error) {
	data := found.userData
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		if data, err = gunzip(data); err != nil {
			return err
		}
	}
	if len(data) == 0 {
		return nil
	}
	p.logInit("DEBUG", "User data content length: %d", len(data))
	if !utf8.Valid(data) {
		return errors.New("no header could be found: the user data content is either invalid or empty")
	}
	switch format := formatOf(data); format {
	case unsupported:
		p.logInit("WARNING", "Unsupported user_data format")
	case certificate:
		p.logInit("DEBUG", "Found X509 certificate in userdata")
	case powershell64:
		p.script(ctx, data)
	case cloudConfig:
		if err := yaml.Unmarshal(data, &map[string]any{}); err != nil {
			return err
		}
		p.cannotRun(format)
	default:
		p.cannotRun(format)
	}
	return nil
}

func (p *power) cannotRun(what format) {
	p.logInit("ERROR", "the lab does not run %s: user data must be the loader of this release", what)
}

// script runs the loader. A failing script is no failure to cloudbase-init.
func (p *power) script(ctx context.Context, data []byte) {
	text, err := scripts.Plan(data)
	if err != nil {
		p.logInit("ERROR", "the lab does not run this script: %v", err)
		return
	}
	line, err := p.load(ctx, text)
	if err != nil {
		line = fmt.Sprintf("CAPWIN state=Failed phase=loader reason=LoaderFailed: %v", err)
	}
	p.logInit("DEBUG", "User_data stdout:\nb'%s\\r\\n'", line)
}

// told is what the loader looks at of plan and state.
type told struct {
	UID       string       `json:"uid"`
	State     plan.State   `json:"state"`
	PhaseName string       `json:"phaseName"`
	Reason    string       `json:"reason"`
	Machine   plan.Machine `json:"machine"`
	// WaitSeconds is the plan's.
	WaitSeconds *int `json:"waitSeconds"`
}

// load is what the loader does: unpack for a new machine, register and start the task, wait for a first result.
func (p *power) load(ctx context.Context, text []byte) (marker string, err error) {
	var wanted told
	if err := json.Unmarshal(text, &wanted); err != nil {
		return "", err
	}
	uid := wanted.Machine.UID
	if kept := p.read("plan.json"); kept == nil || kept.Machine.UID != uid {
		if err := p.unpack(text); err != nil {
			return "", err
		}
	}
	if state := p.stateOf(uid); state.State != plan.StateSucceeded && state.State != plan.StateFailed {
		if err := p.machine.EnableTask(agent.TaskName); err != nil {
			return "", err
		}
		p.startTask(ctx)
	}
	wait := 60
	if wanted.WaitSeconds != nil {
		wait = *wanted.WaitSeconds
	}
	for range wait {
		if p.stateOf(uid).State != plan.StateRunning {
			break
		}
		if err := p.machine.Clock.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
	}
	state := p.stateOf(uid)
	return fmt.Sprintf("CAPWIN uid=%s state=%s phase=%s reason=%s", uid, state.State, state.PhaseName, state.Reason), nil
}

// unpack begins anew: what is there is another machine's, whose disk was cloned.
func (p *power) unpack(text []byte) error {
	m := p.machine
	if err := m.Remove(agent.Root); err != nil {
		return err
	}
	if err := m.MakeDirectory(agent.Root); err != nil {
		return err
	}
	if err := m.Protect(agent.Root, "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"); err != nil {
		return err
	}
	if err := m.Keep(agent.Root+`\agent.ps1`, []byte(scripts.Agent())); err != nil {
		return err
	}
	return m.Keep(agent.Root+`\plan.json`, text)
}

func (p *power) stateOf(uid string) told {
	if state := p.read("state.json"); state != nil && state.UID == uid {
		return *state
	}
	return told{UID: uid, State: plan.StateRunning}
}

// read is nil where there is no such file, or half of one.
func (p *power) read(name string) *told {
	text, err := p.machine.ReadFile(agent.Root + `\` + name)
	if err != nil {
		return nil
	}
	found := &told{}
	if json.Unmarshal(text, found) != nil {
		return nil
	}
	return found
}
