package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/canary"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// canaryRefusals are objects that are refused because of a secret, or near one. @V@ stands for the secret, @Q@ for it as a text
// of YAML, and @B@ for it in base64.
func canaryRefusals(t *testing.T) map[string]string {
	t.Helper()
	spec := func(text string) string {
		return changed(t, machineFile, "    node:\n      labels:", text+"\n    node:\n      labels:")
	}
	secret := func(name, keys string) string {
		return "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: team-a}\n" + keys + "\n"
	}
	server := func(url string) string {
		return spec("    discovery: {kubeconfigFrom: {secret: {name: app, key: file}}}") + secret("app", "stringData:\n  file: |\n"+
			"    apiVersion: v1\n    kind: Config\n"+
			"    clusters: [{name: '', cluster: {server: "+url+", certificate-authority-data: QQ==}}]")
	}
	trust := spec("    windows: {trustedCertificates: [{name: own, contentFrom: {secret: {name: app, key: file}}}]}")
	file := spec(`    custom: {files: [{path: 'C:\a', contentFrom: {secret: {name: app, key: file}}}]}`)
	return map[string]string{
		"proxy":                  spec("    windows: {proxy: {http: 'http://u:@U@@proxy.example.com:3128'}}"),
		"proxy without a host":   spec("    windows: {proxy: {http: 'http://u:@U@'}}"),
		"proxy that is a secret": spec("    windows: {proxy: {http: @Q@}}"),
		"no proxy":               spec("    windows: {proxy: {http: 'http://p:1', noProxy: [@Q@]}}"),
		"SSH key":                spec("    windows: {users: [{name: ops, role: Administrator, sshAuthorizedKeys: [@Q@]}]}"),
		"SSH keys":               spec("    windows: {users: [{name: ops, role: Administrator, sshKeys: [@Q@]}]}"),
		"certificate":            spec("    windows: {trustedCertificates: [{name: own, content: @Q@}]}"),
		"mirror":                 spec("    containerd: {registries: [{host: a.example.com, mirrors: [{url: 'https://u:@U@@a.io'}]}]}"),
		"content with NUL":       spec(`    custom: {files: [{path: 'C:\a', content: "\0@U@"}]}`),
		"content twice":          spec(`    custom: {files: [{path: 'C:\a', content: @Q@, contentFrom: {secret: {name: a, key: b}}}]}`),
		"password in the spec":   spec("    windows: {domain: {name: corp.example.com, password: @Q@}}"),
		"password as a list":     spec("    windows: {domain: {name: [@Q@]}}"),
		"one of a few words":     spec("    windows: {users: [{name: ops, role: @Q@}]}"),
		"type of a script":       spec("    custom: {preJoin: [{name: a, type: @Q@, content: exit}]}"),
		"kind of a reference":    strings.Replace(spec(""), "kind: Secret, name: vcenter", "kind: @Q@, name: vcenter", 1),
		"a key twice":            file + secret("app", "stringData: {@Q@: a, @Q@: b}"),
		"a name of a field":      spec("    custom: {@Q@: a}"),
		"trust in a secret":      trust + secret("app", "stringData: {file: @Q@}"),
		"key in a certificate": trust + secret("app",
			`stringData: {file: "-----BEGIN @U@-----\nQQ==\n-----END @U@-----\n"}`),
		"kubeconfig that is a secret": spec("    discovery: {kubeconfigFrom: {secret: {name: app, key: file}}}") +
			secret("app", "stringData: {file: @Q@}"),
		"password of a server": server("'https://u:@U@@a.example.com'"),
		"path of a server":     server("'https://a.example.com/@U@'"),
		"query of a server":    server("'https://a.example.com?@U@'"),
		"host of a server":     server("'https://_@U@'"),
		"port of a server":     server("'https://a.example.com:@U@'"),
		"CA of a server":       strings.Replace(server("'https://a.example.com'"), "QQ==", "@B@", 1),
		"token":                changed(t, machineFile, "YWJjZGVmLjAxMjM0NTY3ODlhYmNkZWY=", "@B@"),
		"stored data":          changed(t, machineFile, "  token: ", "  value: @B@\n  token: "),
		"another key":          file + secret("app", "stringData: {other: @Q@}"),
		"text in data":         file + secret("app", "data: {file: @Q@}"),
		"a list in data":       file + secret("app", "stringData: {file: [@Q@]}"),
		"YAML":                 file + secret("app", "stringData:\n  file: @V@"),
		"a quote":              file + secret("app", "stringData:\n  file: \"@V@"),
		"an alias":             file + secret("app", "stringData:\n  file: *@V@"),
		"a tag":                file + secret("app", "stringData:\n  file: !@V@ x"),
		"a directive":          file + "\n---\n%@V@\n",
		"a number":             file + secret("app", "stringData:\n  file: 0x@V@: y: z"),
		"JSON":                 `{"apiVersion":"v1","kind":"Secret","stringData":{"file":"@V@`,
		"JSON behind a string": `{"apiVersion":"v1","kind":"Secret","stringData":{"file":@V@}}`,
		"not an object":        "@V@",
		"a list":               "[@Q@]",
		"CA":                   changed(t, machineFile, "  tls.crt: ", "  tls.key: @B@\n  tls.crt: AAAA"),
	}
}

// Refused objects are not shown with their secrets.
func TestCanariesInRefusals(t *testing.T) {
	outputs := map[string]bool{}
	refused := 0
	for what, template := range canaryRefusals(t) {
		for _, value := range canary.Values() {
			text := canary.Of(what, value)
			quoted := string(expect.Got(json.Marshal(text))(t))
			objects := strings.NewReplacer("@V@", text, "@Q@", quoted, "@B@", base64.StdEncoding.EncodeToString([]byte(text)),
				"@U@", strings.NewReplacer("'", "", `"`, "", `\`, "", "\n", "", "\r", "").Replace(text)).Replace(template)
			search := canary.Search{Window: 7}
			search.Add(what, value)
			got := call(t, objects, "plan", "-f", "-", "--machine", machineName)
			if got.Code == exitDone {
				continue // the value is good there, and no secret
			}
			refused++
			for where, output := range map[string]string{what + ": standard output": got.Out, what + ": standard error": got.Err} {
				outputs[where] = true
				for whose, part := range search.In(output) {
					t.Errorf("%s has %q of %s: %.400s", where, part, whose, output)
				}
			}
		}
	}
	t.Logf("%d refusals x %d values x %d outputs, %d times refused",
		len(canaryRefusals(t)), len(canary.Values()), len(outputs), refused)
}
