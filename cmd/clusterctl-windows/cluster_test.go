package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

const clusterToken = "canary-token-of-the-kubeconfig"

// clusterWith returns a kubeconfig with the context "management" for an API server that has Secrets, by namespace and name. It
// answers a GET of a Secret as the real one does: the object, or a Status
// (https://kubernetes.io/docs/reference/using-api/api-concepts/); test/suites/admission has the real one.
func clusterWith(t *testing.T, secrets map[string]string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var namespace, name string
		_, err := fmt.Sscanf(strings.ReplaceAll(r.URL.Path, "/", " "), " api v1 namespaces %s secrets %s", &namespace, &name)
		w.Header().Set("Content-Type", "application/json")
		secret, there := secrets[namespace+"/"+name]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+clusterToken:
			answer(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		case namespace == "kube-system":
			answer(w, http.StatusForbidden, "Forbidden", `secrets "`+name+`" is forbidden: User "dev" cannot get resource "secrets"`)
		case err != nil || r.Method != http.MethodGet || !there:
			answer(w, http.StatusNotFound, "NotFound", `secrets "`+name+`" not found`)
		default:
			data, _ := yaml.YAMLToJSON([]byte(strings.TrimPrefix(secret, "---\n")))
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return kubeconfigOf(t, server.URL, ca, "default")
}

func answer(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}

func kubeconfigOf(t *testing.T, server string, ca []byte, namespace string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: clusterToken}
	config.Contexts["management"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	config.CurrentContext = "management"
	return string(expect.Got(clientcmd.Write(*config))(t))
}

// inFile writes a text to a file, and returns its name.
func inFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestSecretOfACluster: what the files lack is read from the cluster that the user names, and from no other.
func TestSecretOfACluster(t *testing.T) {
	v := vcenter.New(t)
	pool, login := checkedPool(t), checkedLogin(v)
	there := inFile(t, clusterWith(t, map[string]string{"team-a/vcenter": strings.Replace(login, "name: vcenter",
		"name: vcenter\n  namespace: team-a", 1)}))
	for name, c := range map[string]struct {
		input string
		args  []string
		code  int
		says  string
	}{
		"there":               {pool, []string{"--kubeconfig", there, "-n", "team-a"}, exitDone, ""},
		"there, by a context": {pool, []string{"--kubeconfig", there, "--context", "management", "-n", "team-a"}, exitDone, ""},
		"not asked":           {pool, []string{"-n", "team-a"}, exitRefused, "set VSPHERE_SERVER"},
		"in the files":        {pool + login, []string{"--kubeconfig", there}, exitDone, ""},
		"not there": {
			pool, []string{"--kubeconfig", there}, exitRefused, "the Secret default/vcenter is not in the files, and cannot be read " +
				"from the cluster https://127.0.0.1:",
		},
		"not allowed": {pool, []string{"--kubeconfig", there, "-n", "kube-system"}, exitRefused, "cannot get resource"},
		"no such context": {
			pool,
			[]string{"--kubeconfig", there, "--context", "managemen"},
			exitRefused,
			`the kubeconfig has no context "managemen"; did you mean management?`,
		},
		"no such kubeconfig": {pool, []string{"--kubeconfig", there + "x"}, exitRefused, "--kubeconfig " + there + "x: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", there) // which nobody asks for
			for _, name := range []string{"SERVER", "USERNAME", "PASSWORD", "TLS_THUMBPRINT_SHA256"} {
				t.Setenv("VSPHERE_"+name, "")
			}
			got := call(t, c.input, append([]string{"check", "vsphere", "-f", "-"}, c.args...)...)
			if got.Code != c.code || !strings.Contains(got.Err, c.says) || strings.Count(got.Err, "\n") > 1 {
				t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
			}
			if strings.Contains(got.Out+got.Err, clusterToken) || strings.Contains(got.Out+got.Err, vcenter.Password) {
				t.Error("the output has a secret")
			}
		})
	}
}

// TestNamespaceOfAContext: an object without a namespace is where kubectl would make it.
func TestNamespaceOfAContext(t *testing.T) {
	config := inFile(t, kubeconfigOf(t, "https://127.0.0.1:1", nil, "team-b"))
	got := call(t, checkedPool(t), "check", "vsphere", "-f", "-", "--kubeconfig", config)
	if !strings.Contains(got.Err, "the Secret team-b/vcenter is not in the files") {
		t.Errorf("got %+v", got)
	}
}

// TestContextsAreCompleted: a shell offers the contexts of the kubeconfig that the command line has so far.
func TestContextsAreCompleted(t *testing.T) {
	t.Setenv("KUBECONFIG", inFile(t, kubeconfigOf(t, "https://127.0.0.1:1", nil, "")))
	for want, args := range map[string][]string{
		"management\n:4\n": {"--context", ""}, ":4\n": {"--kubeconfig", "/does/not/exist", "--context", ""},
	} {
		got := call(t, "", append([]string{"__complete", "check", "azure"}, args...)...)
		expect.Same(t, strings.Join(args, " "), want, got.Out)
	}
}

// TestDeadCluster: a server that is not there, or says nothing, ends in a sentence. The time that it has is in the sentence.
func TestDeadCluster(t *testing.T) {
	t.Parallel()
	silent := expect.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	for server, says := range map[string]string{
		"https://127.0.0.1:1":               "connection refused; look at the address in --kubeconfig ",
		"https://" + silent.Addr().String(): "has not answered within 8s; look at the address in --kubeconfig ",
		"https://u:canary-1@localhost:1":    "cannot be read from the cluster https://u:xxxxx@localhost:1",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			got := call(t, checkedPool(t), "check", "vsphere", "-f", "-", "--kubeconfig", inFile(t, kubeconfigOf(t, server, nil, "")))
			if got.Code != exitRefused || !strings.Contains(got.Err, says) || strings.Count(got.Err, "\n") != 1 ||
				strings.Contains(got.Err, "canary") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestCurrentContext: check linux, which only reads, follows it; smoke, which starts privileged pods, does not.
func TestCurrentContext(t *testing.T) {
	t.Setenv("KUBECONFIG", inFile(t, kubeconfigOf(t, "https://127.0.0.1:1", nil, "team-b")))
	const (
		note = "note: reading the cluster of your current context, management; name another cluster with --context or --kubeconfig\n"
		dead = "the cluster https://127.0.0.1:1"
	)
	got := call(t, "", "check", "linux")
	if got.Code != exitRefused || !strings.HasPrefix(got.Err, note) || !strings.Contains(got.Err, dead) {
		t.Errorf("got %+v", got)
	}
	got = call(t, "", "check", "linux", "--cluster", "prod")
	if got.Code != exitRefused || !strings.HasPrefix(got.Err, note) || !strings.Contains(got.Err, dead) {
		t.Errorf("got %+v", got)
	}
	if got := call(t, "", "check", "linux", "--context", "management"); strings.Contains(got.Err, "note:") {
		t.Errorf("who names a cluster knows it: %s", got.Err)
	}
	if got := call(t, "", "smoke"); got.Code != exitUsage {
		t.Errorf("smoke takes a cluster that nobody named: %+v", got)
	}
	t.Setenv("KUBECONFIG", inFile(t, "not: a kubeconfig"))
	if got := call(t, "", "check", "linux"); got.Code != exitRefused || strings.Contains(got.Err, "note:") ||
		strings.Count(got.Err, "\n") != 1 {
		t.Errorf("got %+v", got)
	}
}
