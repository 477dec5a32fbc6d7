package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

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
	unsupported  format = "nothing it knows"
)

// scriptFormats are tried in order, at byte 0 but for the last.
var scriptFormats = []struct {
	match  *regexp.Regexp
	format format
}{
	{regexp.MustCompile(`(?i)^rem cmd\s`), batchFile},
	{regexp.MustCompile(`(?i)^#!\s*/usr/bin/env\spython\s`), pythonScript},
	{regexp.MustCompile(`(?i)^#!`), bashScript},
	{regexp.MustCompile(`(?i)^#(ps1|ps1_sysnative)\s`), powershell64},
	{regexp.MustCompile(`(?i)^#ps1_x86\s`), powershell32},
	{regexp.MustCompile(`(?i)</?(script|powershell)>`), ec2Config},
}

var blankLine = regexp.MustCompile(`\r?\n\r?\n`)

// formatOf decides in cloudbase-init's order.
func formatOf(data []byte) format {
	head := data
	if end := blankLine.FindIndex(data); end != nil {
		head = data[:end[0]]
	}
	if bytes.Contains(head, []byte("Content-Type: multipart")) {
		return multipart
	}
	if line, _, _ := bytes.Cut(data, []byte("\n")); strings.TrimRight(string(line), " \r") == "## template: jinja" {
		return jinja
	}
	if bytes.HasPrefix(data, []byte("#cloud-config")) {
		return cloudConfig
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
func (p *power) userData(ctx context.Context, _ map[string]any) error {
	data, err := p.guestData(ctx, "userdata")
	if err != nil {
		return err
	}
	if len(data) == 0 {
		p.logInit("DEBUG", "User data not found in metadata")
		return nil
	}
	p.logInit("DEBUG", "User data content length: %d", len(data))
	switch format := formatOf(data); format {
	case unsupported:
		p.logInit("WARNING", "Unsupported user_data format")
		return nil
	case powershell64:
		return p.script(ctx, data)
	default:
		p.logInit("ERROR", "the lab does not run %s: user data must be the loader of this release", format)
		return nil
	}
}

// script runs the loader. A failing script is no failure to cloudbase-init.
func (p *power) script(ctx context.Context, data []byte) error {
	text, err := scripts.Plan(data)
	if err != nil {
		p.logInit("ERROR", "the lab does not run this script: %v", err)
		return nil
	}
	line, err := p.load(ctx, text)
	if err != nil {
		line = fmt.Sprintf("CAPWIN state=failed phase=loader reason=LoaderFailed: %v", err)
	}
	p.logInit("DEBUG", "User_data stdout:\nb'%s\\r\\n'", line)
	return nil
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
