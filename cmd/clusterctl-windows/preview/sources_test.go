package preview

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestSourcesThatAreElsewhere: no Secret is in git, and a plan of all that refers to them has the same steps as with them.
func TestSourcesThatAreElsewhere(t *testing.T) {
	const spec = `
      discovery: {kubeconfigFrom: {secret: {name: app, key: kubeconfig}}}
      windows:
        domain: {name: corp.example.com, credentialsRef: {name: app}}
        proxy: {http: 'http://proxy.example.com:3128', credentialsRef: {name: app}}
        trustedCertificates: [{name: own, contentFrom: {secret: {name: app, key: certificate}}}]
      containerd:
        registries:
        - {host: a.example.com, credentialsRef: {name: app}, caFrom: {configMap: {name: app, key: certificate}}}
        dropIns: [{name: own, contentFrom: {secret: {name: app, key: toml}}}]
      custom:
        files: [{path: 'C:\app\license.txt', contentFrom: {secret: {name: app, key: license}}}]
        preJoin: [{name: own, contentFrom: {configMap: {name: app, key: script}}}]
`
	m, notes := gathered(t, edited(t, vsphereFile, "{template: {spec: {bootstrapDeadlineSeconds: 1500}}}",
		"\n  template:\n    spec:"+spec))
	const absent, exact = " default/app is not in standard input; using placeholders for its keys ", "; for the exact plan, " +
		"add the output of: kubectl get "
	want := []string{
		"ConfigMap" + absent + "certificate, script" + exact + "configmap app -n default -o yaml",
		"Secret" + absent + "certificate, kubeconfig, license, password, toml, username" + exact + "secret app -n default -o yaml",
	}
	expect.Same(t, "notes", want, notes)
	if m.Shown.Plan == nil || strings.Contains(string(m.Shown.PlanJSON), "placeholder.app.password") {
		t.Error("there is no plan, or it shows what a Secret stands for")
	}
}
