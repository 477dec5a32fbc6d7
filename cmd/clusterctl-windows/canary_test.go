package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/canary"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// canaryInputs are the keys of Secrets in canaryObjects, by what they are, and whether the user data has them.
var canaryInputs = map[string]struct {
	secret, key string
	used        bool
	// around is text around the secret.
	before, after string
}{
	"user of the domain":                   {"domain", "username", true, "", ""},
	"password of the domain":               {"domain", "password", true, "", ""},
	"user of the proxy":                    {"proxy", "username", true, "", ""},
	"password of the proxy":                {"proxy", "password", true, "", ""},
	"user of a registry":                   {"registry", "username", true, "", ""},
	"password of a registry":               {"registry", "password", true, "", ""},
	"user of a mirror":                     {"mirror", "username", true, "", ""},
	"password of a mirror":                 {"mirror", "password", true, "", ""},
	"file":                                 {"app", "file", true, "", ""},
	"file with bytes":                      {"app", "bytes", true, "\x00\xff", ""},
	"script before the join":               {"app", "pre", true, "exit 0 # ", ""},
	"script after the join":                {"app", "post", true, "rem ", "\r\n"},
	"drop-in of containerd":                {"app", "dropin", true, "a = '''", "'''"},
	"key that is not referred to":          {"app", "other", false, "", ""},
	"text around a CA that Windows trusts": {"trust", "ca.crt", false, "", "\n@CA@"},
	"text around a registry's CA":          {"trust", "registry.crt", false, "", "\n@CA@"},
	"text behind the cluster's CA":         {"blue-ca", "tls.crt", false, "@CA@", ""},
	"key of the cluster's CA":              {"blue-ca", "tls.key", false, "", ""},
	"password of the vCenter":              {"vcenter", "password", false, "", ""},
	"another key beside the token":         {machineName, "old", false, "", ""},
	"another machine's user data":          {"blue-windows-x7k2p-other", "value", false, "", ""},
}

const canaryConfig = `    custom:
      files:
      - {path: 'C:\app\file', contentFrom: {secret: {name: app, key: file}}}
      - {path: 'C:\app\bytes', contentFrom: {secret: {name: app, key: bytes}}}
      preJoin: [{name: pre, contentFrom: {secret: {name: app, key: pre}}}]
      postJoin: [{name: post, type: Cmd, contentFrom: {secret: {name: app, key: post}}}]
    containerd:
      registries:
      - host: registry.example.com
        caFrom: {secret: {name: trust, key: registry.crt}}
        credentialsRef: {name: registry}
        mirrors: [{url: 'https://mirror.example.com'}]
      - {host: mirror.example.com, credentialsRef: {name: mirror}}
      dropIns: [{name: own, contentFrom: {secret: {name: app, key: dropin}}}]
    windows:
      domain: {name: corp.example.com, credentialsRef: {name: domain}}
      proxy: {http: 'http://proxy.example.com:3128', https: 'http://proxy.example.com:3129', credentialsRef: {name: proxy}}
      trustedCertificates: [{name: own, contentFrom: {secret: {name: trust, key: ca.crt}}}]
    node:
      labels:`

// canaryObjects is the machine of the other tests with all inputs, and more keys in its Secrets.
func canaryObjects(t *testing.T, value string, more map[string]map[string]string) string {
	t.Helper()
	ca := readText(t, "../../bootstrap/testdata/ca.crt")
	secrets := map[string]map[string]string{machineName: {"token": testToken}}
	for name, input := range canaryInputs {
		if secrets[input.secret] == nil {
			secrets[input.secret] = map[string]string{}
		}
		text := input.before + canary.Of(name, value) + input.after
		secrets[input.secret][input.key] = strings.ReplaceAll(text, "@CA@", ca)
	}
	for name, keys := range more {
		maps.Copy(secrets[name], keys)
	}
	text := without(t, machineFile, "name: blue-ca", "  token: ")
	if !strings.Contains(text, "    node:\n      labels:") {
		t.Fatal("there is no place for the inputs")
	}
	text = strings.Replace(text, "    node:\n      labels:", canaryConfig, 1)
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		text += "---\n" + canarySecret(t, name, secrets[name])
	}
	return text
}

// canarySecret has its values in data as an API server writes them, and as JSON, which is YAML too.
func canarySecret(t *testing.T, name string, keys map[string]string) string {
	t.Helper()
	data := map[string][]byte{}
	for key, text := range keys {
		data[key] = []byte(text)
	}
	text := expect.Got(json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": name, "namespace": "team-a"}, "data": data,
	}))(t)
	return string(text) + "\n"
}

// canaryOutputs are everything that the program prints and writes about objects, by where.
func canaryOutputs(t *testing.T, what, objects string, flags ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	add := func(command string, got ended) {
		seen[what+": exit of "+command] = fmt.Sprint(got.Code)
		seen[what+": standard output of "+command], seen[what+": standard error of "+command] = got.Out, got.Err
	}
	add("plan", call(t, objects, "plan", "-f", "-", "--machine", machineName))
	add("plan --diff", call(t, objects, "plan", "-f", "-", "--machine", machineName, "--diff", machineFile))
	add("plan --diff, back", call(t, objects, "plan", "-f", machineFile, "--machine", machineName, "--diff", "-"))
	folder := t.TempDir()
	got := call(t, objects, append([]string{"render", "-f", "-", "--machine", machineName, "-o", folder}, flags...)...)
	got.Out = canarySizes.ReplaceAllString(strings.ReplaceAll(got.Out, folder, "DIR"), "about N KiB")
	add("render", got)
	for _, entry := range expect.Got(os.ReadDir(folder))(t) {
		seen[what+": "+entry.Name()] = readText(t, filepath.Join(folder, entry.Name()))
	}
	return seen
}

// canarySizes are told in KiB, which says nothing of a secret but that it is long.
var canarySizes = regexp.MustCompile(`about \d+ KiB`)

// canaryStored adds user data that the guest got, as it would be rendered now, and with another endpoint.
func canaryStored(t *testing.T, value, objects string) map[string]string {
	t.Helper()
	inClear := canaryOutputs(t, "in clear", objects, "--show-secrets")
	secrets := map[string]map[string]string{machineName: {"value": inClear["in clear: userdata"]}}
	stored := canaryObjects(t, value, secrets)
	seen := canaryOutputs(t, "stored", stored)
	maps.Copy(seen, canaryOutputs(t, "stored before a change", strings.Replace(stored, "host: 10.0.0.10", "host: 10.0.0.11", 1)))
	secrets[machineName]["value"] = "#cloud-config\n" + canary.Of("another machine's user data", value)
	maps.Copy(seen, canaryOutputs(t, "stored by another release", canaryObjects(t, value, secrets)))
	return seen
}

// Nothing of a Secret is in any output without --show-secrets. So all outputs are the same whatever the secrets are, which also
// holds for those that are too short to be searched for; and no part of a secret is in them, as deep as they can be decoded.
func TestCanaries(t *testing.T) {
	search, outputs, first := canary.Search{Window: 7}, map[string]bool{}, map[string]string{}
	for _, value := range canary.Values() {
		for input := range canaryInputs {
			search.Add(input, value)
		}
		objects := canaryObjects(t, value, nil)
		seen := canaryOutputs(t, "rendered", objects)
		maps.Copy(seen, canaryStored(t, value, objects))
		if seen["rendered: exit of render"] != "0" {
			t.Fatalf("%s: %s", value, seen["rendered: standard error of render"])
		}
		for where, text := range seen {
			outputs[where] = true
			if old, known := first[where]; known && old != text {
				t.Errorf("%s depends on secrets: it is another one with %s", where, value)
			}
			first[where] = text
		}
	}
	for where, text := range first {
		for whose, part := range search.In(text) {
			t.Errorf("%s: %s has %q of %s", "leak", where, part, whose)
		}
	}
	t.Logf("%d inputs x %d values x %d outputs: %d parts searched for",
		len(canaryInputs), len(canary.Values()), len(outputs), search.Len())
}

// With --show-secrets all that the guest needs is found by the same search.
func TestCanariesAreSeen(t *testing.T) {
	for _, value := range []string{"quotes", "lines of a PC", "a login", "257 characters"} {
		seen := canaryOutputs(t, "in clear", canaryObjects(t, value, nil), "--show-secrets")
		for _, name := range []string{"userdata", "node.json"} {
			search := canary.Search{Window: 7}
			for input := range canaryInputs {
				search.Add(input, value)
			}
			found := search.In(seen["in clear: "+name])
			for input, about := range canaryInputs {
				if _, ok := found[value+" in the "+input]; ok != about.used {
					t.Errorf("%s: %s in the %s: found in %s: %v", "blind", value, input, name, !about.used)
				}
			}
		}
	}
}
