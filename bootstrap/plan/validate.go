package plan

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Validate returns everything that is wrong with a plan, by phase, step and field. A renderer must call it; an interpreter
// need not.
func (p *Plan) Validate() error {
	c := &checker{facts: startFacts(), factNames: factNames()}
	c.must(p.Version == Version, "version", "%d is not %d", p.Version, Version)
	c.must(p.Machine.UID != "" && p.Machine.Name != "" && p.Machine.Node != "", "machine", "must have uid, name and node")
	c.must(p.Machine.UID == "" || printable.MatchString(p.Machine.UID), "machine.uid",
		"%+q must be printable ASCII, because each report shows it as it is", p.Machine.UID)
	c.atMost("deadlineSeconds", p.DeadlineSeconds, week)
	c.atMost("waitSeconds", p.WaitSeconds, week)
	c.atMost("maxReboots", p.MaxReboots, 100)
	for _, channel := range p.Report {
		c.channel(channel)
	}
	for _, secret := range p.Redact {
		c.must(len(secret) >= 8, "redact",
			"has a text of %d characters, which is so short that it would hide more than the secret", len(secret))
	}
	for _, pattern := range p.Erase {
		c.pattern("erase", pattern)
	}
	if p.Logs != nil {
		c.position = "logs"
		p.Logs.check(c)
	}
	c.phases(p.Phases)
	c.everyBoot = true
	c.phases(p.EveryBoot)
	c.everyBoot = false
	c.phases(p.Background)
	c.must(len(p.Background) == 0 || len(p.EveryBoot) > 0, "background", "needs everyBoot, for which the task stays enabled")
	c.must(!p.ShowsSecret(), "everyBoot", "holds a value of redact: it would stay on the disk in plain text")
	return errors.Join(c.problems...)
}

func (c *checker) phases(phases []Phase) {
	names, seen := map[string]bool{}, map[string]string{}
	for _, phase := range phases {
		c.position = "phase " + phase.Name
		c.must(lineName.MatchString(phase.Name), "name", "%q must be letters, digits, '.' and '-', 63 at most", phase.Name)
		c.must(!names[phase.Name], "name", "%q is used twice", phase.Name)
		c.name("name", phase.Name, seen)
		names[phase.Name] = true
		steps := map[string]bool{}
		for _, step := range phase.Steps {
			base := step.Base()
			c.position = fmt.Sprintf("phase %s, step %s", phase.Name, base.Name)
			c.must(!steps[base.Name], "name", "%q is used twice", base.Name)
			steps[base.Name] = true
			c.common(base)
			step.check(c)
		}
	}
	c.position = ""
}

func (c *checker) common(base *Common) {
	c.must(lineName.MatchString(base.Name), "name", "%q must be letters, digits, '.' and '-', 63 at most", base.Name)
	if base.Reason != "" {
		c.reason("reason", base.Reason)
	}
	c.atMost("timeoutSeconds", base.TimeoutSeconds, week)
	c.atMost("attempts", base.Attempts, 100)
	if base.DelaySeconds != nil {
		c.atMost("delaySeconds", *base.DelaySeconds, week)
	}
	c.must(!base.Always || c.everyBoot, "always", "belongs to steps of everyBoot")
	if base.When != nil {
		c.test("when.", *base.When)
	}
}

// channelFields are the fields of each channel: program, key, url, port, argv, logins and body.
var channelFields = map[ChannelKind][7]bool{
	ChannelGuestInfo: {true, true, false, false, false, false, false},
	ChannelAzure:     {false, false, true, false, false, false, false},
	ChannelConsole:   {false, false, false, true, false, false, false},
	ChannelReplace:   {false, false, false, false, true, true, true},
}

func (c *checker) channel(channel Channel) {
	wanted, ok := channelFields[channel.Do]
	c.must(ok, "report", "channel '%s' is unknown", channel.Do)
	found := [7]bool{
		channel.Program != nil, channel.Key != "", channel.URL != "", channel.Port != "",
		len(channel.Argv) > 0, len(channel.Logins) > 0, channel.Body != nil,
	}
	if channel.Do == ChannelConsole {
		found[3] = true // no port is standard output
	}
	c.must(!ok || found == wanted, "report",
		"channel '%s': guestinfo has program and key, azure has url, console may have port, "+
			"replace has argv, logins and body", channel.Do)
	for _, login := range channel.Logins {
		c.path("report.logins", login)
	}
	c.must(len(channel.Erase) == 0 || channel.Do == ChannelReplace, "report", "channel '%s' has no logins to erase", channel.Do)
	for _, pattern := range channel.Erase {
		c.pattern("report.erase", pattern)
	}
	c.body(channel.Body)
	if channel.Program != nil {
		c.program("report.program", channel.Program)
	}
}

// body may have the report, and facts that are known before the first step.
func (c *checker) body(body Tree) {
	c.facts[FactReport] = true
	c.tree("report.body", body)
	delete(c.facts, FactReport)
}

// ShowsSecret tells whether a value of redact stands in what runs at every boot or behind it: that stays on the disk in clear,
// without the list of secrets.
func (p *Plan) ShowsSecret() bool {
	data, err := json.Marshal([][]Phase{p.EveryBoot, p.Background})
	var tree any
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	return err != nil || slices.ContainsFunc(p.Redact, func(secret string) bool { return secret != "" && holds(tree, secret) })
}

// holds looks for a secret in a tree of JSON: in texts, in names, in what base64 hides, and across the parts of a value.
func holds(node any, secret string) bool {
	switch node := node.(type) {
	case string:
		decoded, err := base64.StdEncoding.DecodeString(node)
		return strings.Contains(node, secret) || err == nil && strings.Contains(string(decoded), secret)
	case []any:
		var joined strings.Builder
		for _, item := range node {
			part, _ := item.(string)
			joined.WriteString(part)
			if holds(item, secret) {
				return true
			}
		}
		return holds(joined.String(), secret)
	case map[string]any:
		for name, item := range node {
			if strings.Contains(name, secret) || holds(item, secret) {
				return true
			}
		}
	}
	return false
}
