package bootstrap_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	kubeadmv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// clusterInfo is what kubeadm puts into the ConfigMap cluster-info: a cluster without a name, and nobody in it.
func clusterInfo(server string, ca []byte) string {
	return "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: " +
		base64.StdEncoding.EncodeToString(ca) +
		"\n    server: " + server + "\n  name: \"\"\ncontexts: null\ncurrent-context: \"\"\npreferences: {}\nusers: null\n"
}

// discoveredBy gives the machine a kubeconfig, and no CA of its cluster.
func discoveredBy(text string) change {
	return func(in *bootstrap.Input) {
		in.Config.Spec.Discovery.KubeconfigFrom.Secret = bootstrapv1.KeyReference{Name: "discovery", Key: "kubeconfig"}
		in.ClusterCA = nil
		source(in, "secret/discovery/kubeconfig", text)
	}
}

func withDiscovery(in *bootstrap.Input) {
	discoveredBy(clusterInfo("https://inside.example.com:8443", secondCA))(in)
}

// The file's cluster and CA count, not the Cluster's; the node still comes with its token.
func TestDiscoveryByFile(t *testing.T) {
	for _, version := range []string{"v1.30.14", "v1.36.3"} {
		p := render(t, plainInput(t, withDiscovery, ofVersion(version))).Plan()
		want := kubeadmv1.Discovery{
			File: kubeadmv1.FileDiscovery{KubeConfigPath: "/run/kubeadm/discovery.yaml"}, TLSBootstrapToken: testToken,
		}
		expect.Same(t, version, want, joinConfiguration(t, p).Discovery)
		file := stepOf[*plan.File](t, p, "discovery")
		if file.Path.String() != `C:\run\kubeadm\discovery.yaml` || file.Access != plan.FileAdmin {
			t.Errorf("%s: the file is %s, for %s", version, file.Path, file.Access)
		}
		if !erased(p, file) {
			t.Errorf("%s: the file is left on the node", version)
		}
		// kubeadm takes a drive for the scheme of a URL, and so the path has none: it is that of the folder.
		if join := stepOf[*plan.Run](t, p, "kubeadm-join"); join.Directory != `C:\run\kubeadm` {
			t.Errorf("%s: kubeadm runs in %q", version, join.Directory)
		}
		wait := stepOf[*plan.WaitFor](t, p, "api-server-identity")
		if wait.Host.String() != "inside.example.com" || wait.Port.String() != "8443" {
			t.Errorf("%s: waits for %s port %s", version, wait.Host, wait.Port)
		}
	}
}

// However the user's file is written, the node gets server and CA and nothing else.
func TestDiscoveryFileIsOurs(t *testing.T) {
	named := `{"kind": "Config", "apiVersion": "v1", "current-context": "me@blue",
	  "contexts": [{"name": "me@blue", "context": {"cluster": "blue", "user": "me"}}],
	  "clusters": [{"name": "blue", "cluster": {"server": "https://10.0.0.10", "certificate-authority-data": "` +
		base64.StdEncoding.EncodeToString(firstCA) + `"}}]}`
	for name, text := range map[string]string{"cluster-info": clusterInfo("https://10.0.0.10:443/", firstCA), "with names": named} {
		var got map[string]any
		file := stepOf[*plan.File](t, render(t, plainInput(t, discoveredBy(text))).Plan(), "discovery")
		expect.OK(t, yaml.Unmarshal([]byte(file.Text.String()), &got))
		want := map[string]any{
			"apiVersion": "v1", "kind": "Config", "contexts": []any{}, "users": []any{}, "current-context": "",
			"clusters": []any{map[string]any{"name": "", "cluster": map[string]any{
				"server": "https://10.0.0.10:443", "certificate-authority-data": base64.StdEncoding.EncodeToString(firstCA),
			}}},
		}
		expect.Same(t, name, want, got)
	}
}

func TestDiscoveryRefused(t *testing.T) {
	good := clusterInfo("https://10.0.0.10:6443", firstCA)
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("nothing to change: %q", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	key := "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	beside := func(field string) string { return change("    server:", "    "+field+"\n    server:") }
	user := func(fields string) string { return change("users: null", "users: [{name: admin, user: {"+fields+"}}]") }
	const noKubeconfig, users = "the content is not a kubeconfig", "the kubeconfig has users"
	const address = "must be https, host and port only"
	for _, test := range []struct{ name, reason, text, want string }{
		{"nothing", "the Secret may be made later", "", `Secret discovery has no content under the key "kubeconfig"`},
		{"no YAML", "a file of another kind", "{" + hidden, noKubeconfig},
		{
			"a long one", "what YAML makes of it takes long", strings.Repeat("%TAG !a! a\n", 6000) + "--- a",
			"the kubeconfig has 66005 bytes, of which at most 65536 are read",
		},
		{"another kind", "a Secret's manifest", change("kind: Config", "kind: Secret"), noKubeconfig},
		{"unknown field", "a typing error", change("users: null", "user: null"), noKubeconfig},
		{"field twice", "which one counts nobody knows", good + "kind: Config\n", noKubeconfig},
		{"client key", "somebody's credentials", user("client-key-data: " + hidden), users},
		{"token", "somebody's credentials", user("token: " + hidden), users},
		{"plugin", "a program to run", user("exec: {command: a.exe}"), users},
		{"no cluster", "nothing to join", "kind: Config\n", "has 0 clusters"},
		{
			"two clusters", "which one counts nobody knows",
			change("contexts: null", "- {name: b, cluster: {server: 'https://b'}}\ncontexts: null"), "has 2 clusters",
		},
		{
			"no verification", "anybody could answer", beside("insecure-skip-tls-verify: true"),
			"has insecure-skip-tls-verify: a node does not join a cluster that it cannot verify",
		},
		{
			"file of a CA", "it is not on the node", change("certificate-authority-data: ", "certificate-authority: C"),
			"has certificate-authority: that file is not on the node",
		},
		{"proxy", "kubeadm drops it", beside("proxy-url: http://p:1"), "has proxy-url: kubeadm ignores it; use spec.windows.proxy"},
		{"server name", "kubeadm drops it", beside("tls-server-name: a"), "has tls-server-name"},
		{
			"odd key", "nobody knows what it does", beside("" + hidden + ": a"),
			"must have server and certificate-authority-data and nothing else",
		},
		{"http", "anybody could answer", change("https://", "http://"), "the server of the kubeconfig must be https"},
		{"no server", "nothing to join", change("server: https://10.0.0.10:6443", "server: ''"), `must be https`},
		{"no host", "nothing to join", change("10.0.0.10:6443", ""), `must be https, host and port only`},
		{"password", "somebody's credentials", change("10.0.0.10", "me:"+hidden+"@10.0.0.10"), address},
		{"path", "kubelets join no path", change(":6443", ":6443/k8s/blue"), address},
		{"no URL", "nothing to join", change("10.0.0.10", "%zz"), "is not a URL"},
		{"port 0", "nobody listens", change(":6443", ":0"), "the port of the kubeconfig's server"},
		{"large port", "there is none such", change(":6443", ":70000"), "host or port of the kubeconfig's server"},
		{"odd host", "no name, no address", change("10.0.0.10", "a_b"), "host or port of the kubeconfig's server"},
		{"no CA", "a node trusts nobody blindly", clusterInfo("https://a", nil), "has no valid certificate-authority-data"},
		{
			"no base64", "nothing can be made of it", change("certificate-authority-data: ", "certificate-authority-data: '-'# "),
			"has no valid certificate-authority-data",
		},
		{"key as CA", "somebody mixed up the keys", clusterInfo("https://a", []byte(key)), "a private key does not belong here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, discoveredBy(test.text)))
			refused, ok := errors.AsType[*bootstrap.InvalidError](err)
			if !ok || refused.Field != "WindowsBootstrapConfig spec.discovery.kubeconfigFrom.secret" {
				t.Fatalf("%v, though %s", err, test.reason)
			}
			if !strings.Contains(refused.Message, test.want) || strings.Contains(refused.Message, hidden) {
				t.Errorf("%q, want %q and no secret: %s", refused.Message, test.want, test.reason)
			}
		})
	}
}
