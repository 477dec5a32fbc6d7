//go:build cloudbaseinit

package cloudbaseinit

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// sample is a guest on vSphere that was given something else than we give.
type sample struct {
	name, reason string
	guestinfo    map[string]string
	userData     []byte
	want         verdict
	// wantNewest is what the newest release does otherwise.
	wantNewest *verdict
}

// wanted of a release.
func (s sample) wanted(r release) verdict {
	if r == newest && s.wantNewest != nil {
		return *s.wantNewest
	}
	return s.want
}

const (
	script       = "#ps1_sysnative\nexit 0\n"
	goodMetadata = `{"instance-id":"uid-1","local-hostname":"win-1"}`
)

// padded is the script in base64, which ends in "==".
var padded = base64.StdEncoding.EncodeToString([]byte(script))

// named is the verdict of user data that stand beside good metadata, which name the computer.
func named(taken string) verdict {
	return verdict{Taken: taken, Computer: "win-1", Again: taken == raised}
}

func samples() []sample {
	all := formats()
	all = append(all, encodings()...)
	return append(all, metadata()...)
}

// formats: by what user data are recognised.
func formats() []sample {
	var all []sample
	for _, c := range []struct{ name, reason, text, taken string }{
		{"ours", "the header that we use", script, powershell64},
		{"ps1", "the same, with Windows' line ends", "#ps1\r\nexit 0\r\n", powershell64},
		{"ps1 and tab", "any white space ends the header", "#ps1\texit 0", powershell64},
		{"ps1 and vertical tab", "which Python takes for white space", "#ps1\vexit 0", powershell64},
		{"ps1_x86", "32 bits", "#ps1_x86\nexit 0", powershell32},
		{"upper case", "headers are compared as they are", "#PS1_SYSNATIVE\nexit 0", unsupported},
		{"header alone", "nothing after it", "#ps1", unsupported},
		{"leading newline", "not at byte 0", "\n" + script, unsupported},
		{"leading blank", "not at byte 0", " " + script, unsupported},
		{"byte order mark", "stands before byte 0", "\ufeff" + script, unsupported},
		{"UTF-16", "a NUL follows every letter", wide(script), unsupported},
		{"UTF-16 with mark", "is no UTF-8", "\xff\xfe" + wide(script), raised},
		{"Latin-1", "is no UTF-8, whatever the header says", "#ps1_sysnative\n# caf\xe9\n", raised},
		{"multipart words", "in the first paragraph", "#ps1_sysnative\n# Content-Type: multipart\n\nexit 0", multipart},
		{"multipart words later", "in the second paragraph", "#ps1_sysnative\n\n# Content-Type: multipart", powershell64},
		{"multipart words in small letters", "are compared as they are", "#ps1_sysnative\n# content-type: multipart\n", powershell64},
		{"multipart words, CRLF", "only \\n\\n ends a paragraph", "#ps1_sysnative\r\n\r\n# Content-Type: multipart\r\n", multipart},
		{"multipart", "a real one", mime, multipart},
		{"jinja", "line 1", "## template: jinja\n#cloud-config\nruncmd: [dir]\n", jinja},
		{"jinja, any blanks and case", "line 1", "##template:JINJA \n" + script, jinja},
		{"jinja as part of a word", "is another engine's", "## template: jinja2\n" + script, unsupported},
		{"jinja, its name in line 2", "not line 1", "## template:\njinja\n", unsupported},
		{"jinja in line 2", "not line 1", "#ps1\n## template: jinja\n", powershell64},
		{"cloud-config", "byte 0", "#cloud-config\nruncmd: [dir]\n", cloudConfig},
		{"cloud-config, broken", "is no YAML", "#cloud-config\nruncmd: [dir\n", raised},
		{"cloud-config, a list", "is no mapping", "#cloud-config\n- dir\n", raised},
		{"# cloud-config", "a blank too many", "# cloud-config\nruncmd: [dir]\n", unsupported},
		{"certificate, indented", "blanks before it do no harm", " \n-----BEGIN CERTIFICATE-----\n", certificate},
		{"certificate", "is for another plugin", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", certificate},
		{"batch", "", "rem cmd dir\r\n", batchFile},
		{"batch, more blanks", "any number", "rem  cmd dir\r\n", batchFile},
		{"batch, upper case", "is compared as it is", "REM CMD dir\r\n", unsupported},
		{"Python", "", "#! /usr/bin/env python\n", pythonScript},
		{"Python, more blanks", "any number", "#!/usr/bin/env  python\n", pythonScript},
		{"python3", "is not Python to it", "#! /usr/bin/env python3\n", bashScript},
		{"bash", "", "#!/bin/bash\n", bashScript},
		{"EC2Config", "anywhere", "hi <powershell>exit</powershell>", ec2Config},
		{"EC2Config, end only", "is recognised, nothing runs", "hi </script>", ec2Config},
		{"EC2Config, upper case", "is compared as it is", "<POWERSHELL>exit</POWERSHELL>", unsupported},
		{"text", "is nothing", "hello", unsupported},
	} {
		all = append(all, sample{
			name: c.name, reason: c.reason, want: named(c.taken), userData: []byte(c.text),
			guestinfo: guestinfo(base64.StdEncoding.EncodeToString([]byte(c.text)), "base64"),
		})
	}
	return all
}

// mime is a part that would have been enough of its own.
const mime = "Content-Type: multipart/mixed; boundary=b\nMIME-Version: 1.0\n\n" +
	"--b\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"a.ps1\"\n\n" + script + "\n--b--\n"

// encodings: how a value comes out of guestinfo. What does not, takes the metadata with it: one exception ends the service.
func encodings() []sample {
	packed := base64.StdEncoding.EncodeToString(scripts.Gzip([]byte(script)))
	var all []sample
	for _, c := range []struct{ name, reason, value, encoding, data, taken string }{
		{"plaintext", "rpctool ends its answer with a line end", script, "plaintext", script + "\r\n", powershell64},
		{"plaintext, header alone", "the same line end", "#ps1", "plaintext", "#ps1\r\n", powershell64},
		{"blank encoding", "is plaintext: guests can not delete keys, they set a space", script, " ", script + "\r\n", powershell64},
		{"b64", "the short name", padded, "b64", script, powershell64},
		{"gzip+base64", "ours", packed, "gzip+base64", script, powershell64},
		{"gz+b64", "the short name", packed, "gz+b64", script, powershell64},
		{"gzip in base64", "user data are looked at, too", packed, "base64", script, powershell64},
		{"wrapped base64", "Python skips what is no base64", padded[:4] + "\n" + padded[4:], "base64", script, powershell64},
		{"more after the padding", "Python ends there", padded + padded, "base64", script, powershell64},
		{"empty", "is the line end of rpctool", "", "plaintext", "\r\n", unsupported},
		{"empty base64", "is nothing", "", "base64", "", none},
		{"empty gzip", "is nothing, too", "", "gzip+base64", "", none},
		{"gzip, cut off", "raises", packed[:40], "gzip+base64", script, noMetadata},
		{"gzip in base64, cut off", "raises where it is unpacked", packed[:40], "base64", script, raised},
		{"padding too early", "is skipped", "=" + padded[:1] + "=" + padded[1:], "base64", script, powershell64},
		{"one letter too many", "raises", padded[:4] + "A", "base64", script, noMetadata},
		{"unknown encoding", "raises", padded, "zstd", script, noMetadata},
		{"upper case encoding", "names are compared as they are", padded, "Base64", script, noMetadata},
		{"gzip without base64", "no such encoding", packed, "gzip", script, noMetadata},
		{"broken padding", "raises", padded[:len(padded)-1], "base64", script, noMetadata},
		{"no gzip", "raises", padded, "gzip+base64", script, noMetadata},
	} {
		want := named(c.taken)
		if c.taken == noMetadata {
			want = verdict{Taken: noMetadata}
		}
		all = append(all, sample{
			name: c.name, reason: c.reason, guestinfo: guestinfo(c.value, c.encoding), userData: []byte(c.data), want: want,
		})
	}
	bare := guestinfo(script, "")
	delete(bare, "guestinfo.userdata.encoding")
	all = append(all, sample{
		name: "no encoding", reason: "is plaintext", guestinfo: bare, userData: []byte(script + "\r\n"),
		want: named(powershell64),
	})
	missing := guestinfo("", "")
	delete(missing, "guestinfo.userdata")
	return append(all, sample{name: "no user data", reason: "is nothing", guestinfo: missing, want: named(none)})
}

// metadata: who the machine is. Without an instance id, nothing is remembered.
func metadata() []sample {
	unnamed := verdict{Taken: powershell64, Again: true}
	nothing := verdict{Taken: noMetadata}
	var all []sample
	for _, c := range []struct {
		name, reason, text string
		want               verdict
		newest             *verdict
	}{
		{"YAML", "is read as well as JSON", "instance-id: uid-1\nlocal-hostname: win-1\n", named(powershell64), nil},
		{"not YAML", "raises", "{", nothing, nil},
		{"a list", "is no metadata, but there is user data", "- a", unnamed, nil},
		{"null", "is no metadata, but there is user data", "null", unnamed, nil},
		{"empty mapping", "is no metadata, but there is user data", "{}", unnamed, nil},
		{"no instance id", "runs at every boot", `{"local-hostname":"win-1"}`, verdict{powershell64, "win-1", true}, nil},
		{"empty instance id", "is one", `{"instance-id":"","local-hostname":"win-1"}`, named(powershell64), nil},
		{
			"number as instance id", "is not text", "instance-id: 5\nlocal-hostname: win-1\n",
			verdict{Taken: crashed},
			new(named(powershell64)),
		},
		{"empty host name", "does not count", hostName(""), verdict{Taken: powershell64}, nil},
		{"zero as instance id", "is an empty one", "instance-id: 0\nlocal-hostname: win-1\n", named(powershell64), nil},
		{"empty text", "is no metadata, but there is user data", "", unnamed, nil},
		{"no host name", "the name stays", `{"instance-id":"uid-1"}`, verdict{Taken: powershell64}, nil},
		{
			"number as host name", "is not text: that plugin fails alone", "instance-id: uid-1\nlocal-hostname: 5\n",
			verdict{Taken: powershell64},
			nil,
		},
		{"qualified host name", "cut at the first dot", hostName("win-1.example.com"), named(powershell64), nil},
		{"long host name", "cut at 15", hostName("a-very-long-computer-name"), verdict{powershell64, "a-very-long-com", false}, nil},
		{
			"cut at a hyphen", "which becomes a 0", hostName("a-very-longcom-puter"),
			verdict{powershell64, "a-very-longcom0", false},
			nil,
		},
		{"hyphen at the end", "of a short one, too", hostName("win-"), verdict{powershell64, "win0", false}, nil},
		{"the name it has", "in another case", hostName(strings.ToLower(imageName)), verdict{Taken: powershell64}, nil},
	} {
		g := guestinfo(padded, "base64")
		g["guestinfo.metadata"] = base64.StdEncoding.EncodeToString([]byte(c.text))
		all = append(all, sample{
			name: "metadata: " + c.name, reason: c.reason, guestinfo: g, userData: []byte(script), want: c.want,
			wantNewest: c.newest,
		})
	}
	encoded := guestinfo(padded, "base64")
	encoded["guestinfo.metadata.encoding"] = "zip"
	missing := guestinfo(padded, "base64")
	delete(missing, "guestinfo.metadata")
	return append(
		all,
		sample{name: "metadata: unknown encoding", reason: "raises", guestinfo: encoded, userData: []byte(script), want: nothing},
		sample{
			name: "metadata: none", reason: "raises in 1.1.4", guestinfo: missing, userData: []byte(script), want: nothing,
			wantNewest: &unnamed,
		},
		sample{name: "metadata: nothing at all", reason: "is another cloud", want: nothing},
	)
}

func guestinfo(userData, encoding string) map[string]string {
	return map[string]string{
		"guestinfo.metadata":          base64.StdEncoding.EncodeToString([]byte(goodMetadata)),
		"guestinfo.metadata.encoding": "base64",
		"guestinfo.userdata":          userData,
		"guestinfo.userdata.encoding": encoding,
	}
}

func hostName(name string) string { return `{"instance-id":"uid-1","local-hostname":"` + name + `"}` }

// wide is UTF-16, little end first, without a mark.
func wide(text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return string(out)
}
