package main

import (
	"regexp"
	"strings"
	"testing"
)

// goWords are what a user should never read: a type of Go, or a regular expression.
var goWords = regexp.MustCompile(`\b(main|objects|plan|json|v1|v1beta[12])\.[A-Z]|Go (value|struct)|` +
	`should match '|regex|\[\^|\]\*|\\\.|%!`)

// wrongSpecs are specs of a WindowsBootstrapConfig that a user may well write, and that are refused.
var wrongSpecs = []string{
	"windows: {timeZone: Europe/Berlin}",
	"windows: {timeZone: 5}",
	"windows: {ntpServers: [http://time]}",
	"windows: {ntpServers: time.example.com}",
	"windows: {proxy: {http: 'proxy:3128'}}",
	"windows: {proxy: {http: 'http://user:secret@proxy:3128'}}",
	"windows: {users: [{name: admin, sshAuthorizedKeys: [AAAA]}]}",
	"windows: {pageFileMiB: 2GB}",
	"custom: {files: [{path: 'C:/a.txt', content: a}]}",
	"custom: {files: [{path: 'a.txt', content: a}]}",
	"custom: {files: [{path: '\\\\server\\share\\a.txt', content: a}]}",
	"custom: {files: {path: 'C:\\a.txt'}}",
	"custom: {scripts: [{name: A B, content: a}]}",
	"custom: {scripts: a}",
	"node: {labels: {'a b': c}}",
	"node: {labels: {a: 'b c'}}",
	"node: {taints: [{key: a, effect: Never}]}",
	"node: {taints: [{effect: NoSchedule}]}",
	"kubelet: {flags: {--v: '2'}}",
	"kubelet: {extraArgs: {--v: '2'}}",
	"kubelet: {reserved: {memory: 2GB}}",
	"kubelet: {config: a}",
	"containerd: {registries: [{host: docker.io, mirrors: [{url: mirror}]}]}",
	"containerd: {registries: a}",
	"network: {mode: Any}",
	"network: a",
	"bootstrapDeadlineSeconds: 1h",
	"bootstrapDeadlineSeconds: 1",
	"[]",
}

func TestRefusalsAreInWords(t *testing.T) {
	for _, spec := range wrongSpecs {
		objects := changed(t, machineFile, "    node:\n      labels:\n        example.com/pool: blue\n", "    "+spec+"\n")
		checkWords(t, spec, call(t, objects, "plan", "-f", "-", "--machine", machineName))
	}
	for name, c := range refusals(t) {
		checkWords(t, name, call(t, c.objects, "plan", "-f", "-", "--machine", c.machine))
	}
}

func checkWords(t *testing.T, what string, got ended) {
	t.Helper()
	if got.Code != exitRefused {
		t.Errorf("%s is not refused: %+v", what, got)
	}
	for line := range strings.Lines(got.Err) {
		if found := goWords.FindString(line); found != "" {
			t.Errorf("%s: %q is no word for a user: %s", what, found, line)
		}
		if strings.Contains(line, "secret@") {
			t.Errorf("%s: a secret is shown: %s", what, line)
		}
	}
}
