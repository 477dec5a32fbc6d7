package plan

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
)

// Validate says all that is wrong with a plan: phase, step and field. Interpreters need not ask; renderers must.
func (p *Plan) Validate() error {
	c := &checker{facts: startFacts()}
	c.must(p.Version == Version, "version", "%d is not %d", p.Version, Version)
	c.must(p.Machine.UID != "" && p.Machine.Name != "" && p.Machine.Node != "", "machine", "must have uid, name and node")
	c.must(p.DeadlineSeconds >= 0 && p.WaitSeconds >= 0 && p.MaxReboots >= 0, "deadlineSeconds",
		"deadlineSeconds, waitSeconds and maxReboots must not be negative")
	for _, channel := range p.Report {
		c.channel(channel)
	}
	for _, secret := range p.Redact {
		c.must(len(secret) >= 8, "redact", "has a text of %d characters: so short, it would hide what is no secret", len(secret))
	}
	for _, pattern := range p.Erase {
		c.pattern("erase", pattern)
	}
	if p.Logs != nil {
		c.where = "logs"
		p.Logs.check(c)
	}
	c.phases(p.Phases)
	c.phases(p.EveryBoot)
	c.secrets(p.EveryBoot, p.Redact)
	return errors.Join(c.problems...)
}

func (c *checker) phases(phases []Phase) {
	names := map[string]bool{}
	for _, phase := range phases {
		c.where = "phase " + phase.Name
		c.must(lineName.fits(phase.Name), "name", "%q must be letters, digits, '.' and '-', 63 at most", phase.Name)
		c.must(!names[phase.Name], "name", "%q is there twice", phase.Name)
		names[phase.Name] = true
		steps := map[string]bool{}
		for _, step := range phase.Steps {
			base := step.Base()
			c.step = base
			c.must(!steps[base.Name], "name", "%q is there twice", base.Name)
			steps[base.Name] = true
			c.common(base)
			step.check(c)
		}
		c.step = nil
	}
	c.where = ""
}

func (c *checker) common(base *Common) {
	c.must(lineName.fits(base.Name), "name", "%q must be letters, digits, '.' and '-', 63 at most", base.Name)
	if base.Reason != "" {
		c.reason("reason", base.Reason)
	}
	c.must(base.TimeoutSeconds >= 0, "timeoutSeconds", "must not be negative")
	c.must(base.Attempts >= 0, "attempts", "must not be negative")
	c.must(base.DelaySeconds == nil || *base.DelaySeconds >= 0, "delaySeconds", "must not be negative")
	if base.When != nil {
		c.test("when.", *base.When)
	}
}

// channelFields are those that belong to a channel.
var channelFields = map[ChannelKind][4]bool{
	ChannelGuestInfo: {true, true, false, false},
	ChannelAzure:     {false, false, true, false},
	ChannelConsole:   {false, false, false, true},
}

func (c *checker) channel(channel Channel) {
	wanted, known := channelFields[channel.Do]
	c.must(known, "report", "channel '%s' is unknown", channel.Do)
	found := [4]bool{channel.Program != nil, channel.Key != "", channel.URL != "", channel.Port != ""}
	if channel.Do == ChannelConsole {
		found[3] = true // no port is standard output
	}
	c.must(!known || found == wanted, "report",
		"channel '%s': guestinfo has program and key, azure has url, console may have port", channel.Do)
	if channel.Program != nil {
		c.program("report.program", channel.Program)
	}
}

// secrets: what runs at every boot stays on the disk in clear when redact is long gone.
func (c *checker) secrets(phases []Phase, secrets []string) {
	for _, secret := range secrets {
		c.must(secret == "" || !holds(reflect.ValueOf(phases), secret), "everyBoot", "holds a value of redact: it would stay on the disk in clear")
	}
}

// holds looks for a secret in all that a value is made of: in texts, in names, across the parts of a Value, in bytes.
func holds(value reflect.Value, secret string) bool {
	switch value.Kind() {
	case reflect.String:
		return tells(value.String(), secret)
	case reflect.Pointer, reflect.Interface:
		return holds(value.Elem(), secret)
	case reflect.Struct:
		for _, field := range value.Fields() {
			if holds(field, secret) {
				return true
			}
		}
	case reflect.Map:
		for name, item := range value.Seq2() {
			if holds(name, secret) || holds(item, secret) {
				return true
			}
		}
	case reflect.Slice:
		return listHolds(value, secret)
	}
	return false
}

func listHolds(list reflect.Value, secret string) bool {
	switch known := list.Interface().(type) {
	case []byte:
		return strings.Contains(string(known), secret)
	case Value:
		return tells(known.sample(), secret)
	}
	for _, item := range list.Seq2() {
		if holds(item, secret) {
			return true
		}
	}
	return false
}

// tells: base64 hides nothing.
func tells(text, secret string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	return err == nil && strings.Contains(string(decoded), secret)
}
