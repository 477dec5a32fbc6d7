package guest

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"unicode/utf8"
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

// userData runs cloud-configs. All else would run on a real machine, or be ignored there; here it is a line in the log, and
// the node never comes.
func (p *power) userData(ctx context.Context, found *instance) (err error) {
	data := found.userData
	if !found.packed && bytes.HasPrefix(data, []byte("\x1f\x8b")) {
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
	case cloudConfig:
		return p.cloudConfig(ctx, data)
	default:
		p.cannotRun(format)
	}
	return nil
}

func (p *power) cannotRun(what format) {
	p.logInit("ERROR", "the lab does not run %s: user data must be a cloud-config", what)
}
