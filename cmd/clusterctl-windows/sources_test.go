package main

import (
	"strings"
	"testing"
)

// standIns begins the note that lists placeholders.
const standIns = "note: placeholders stand for what the files do not have, and a real machine gets its own: "

const appSecret = `
---
apiVersion: v1
kind: Secret
metadata: {name: app, namespace: team-a}
stringData: {license: a-license-of-the-app}
`

// configWithFile returns the machine, with a config that takes a file from a Secret.
func configWithFile(t *testing.T) string {
	t.Helper()
	return changed(t, machineFile, "    node:\n      labels:", `    custom:
      files:
      - path: 'C:\app\license.txt'
        contentFrom: {secret: {name: app, key: license}}
    node:
      labels:`)
}

// A kubeconfig for discovery has a CA, so that the Secret with the cluster's CA is not needed.
func TestDiscoverySource(t *testing.T) {
	const discovery = "    discovery: {kubeconfigFrom: {secret: {name: app, key: license}}}\n"
	text := strings.Replace(configWithFile(t), "    custom:", discovery+"    custom:", 1)
	got := call(t, text+appSecret, "plan", "-f", "-", "--machine", machineName)
	if got.Code == 0 || !strings.Contains(got.Err, "spec.discovery.kubeconfigFrom.secret: the content is not a kubeconfig") {
		t.Errorf("exit %d\n%s", got.Code, got.Err)
	}
	got = call(t, strings.Replace(text, "blue-ca", "other-ca", 1), "plan", "-f", "-", "--machine", machineName)
	if got.Code != 0 || strings.Contains(got.Err, "blue-ca") || !strings.Contains(got.Err, "kubectl get secret app") {
		t.Errorf("exit %d\n%s", got.Code, got.Err)
	}
}

// A review has no Secrets of applications.
func TestMissingSource(t *testing.T) {
	got := call(t, configWithFile(t), "plan", "-f", "-", "--machine", machineName)
	const note = "note: Secret team-a/app is not in standard input; using a placeholder for its key license; for the exact " +
		"plan, add the output of: kubectl get secret app -n team-a -o yaml\n"
	if got.Code != exitDone || got.Err != note || !strings.Contains(got.Out, `writes C:\app\license.txt, with secrets`) {
		t.Errorf("got %+v", got)
	}
}

// Warnings of the rendering are printed as notes.
func TestWarningsAreNotes(t *testing.T) {
	got := call(t, changed(t, machineFile, "version: v1.36.3", "version: v1.99.0"), "plan", "-f", "-", "--machine", machineName)
	if got.Code != 0 || !strings.Contains(got.Err, "Machine spec.version: v1.99.0 is newer than") {
		t.Errorf("exit %d\n%s", got.Code, got.Err)
	}
}

func TestSources(t *testing.T) {
	for name, test := range map[string]struct{ reason, more, out, err string }{
		"there": {"a file from a Secret is part of the plan", appSecret, `writes C:\app\license.txt, with secrets`, ""},
		"empty": {
			"the message names the missing key", strings.Replace(appSecret, "license:", "other:", 1), "",
			"no value for the key license",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, configWithFile(t)+test.more, "plan", "-f", "-", "--machine", machineName)
			if !strings.Contains(got.Out, test.out) || !strings.Contains(got.Err, test.err) || (got.Code == 0) != (test.err == "") {
				t.Errorf("%s: exit %d\n%s\n%s", test.reason, got.Code, got.Out, got.Err)
			}
		})
	}
}
