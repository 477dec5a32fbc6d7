package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// wantCommandsOfTheHead runs the commands that make the Secrets of the flavor windows on vSphere. They have what the plain flavor
// has.
func (u user) wantCommandsOfTheHead(management *servers.Management) {
	u.t.Helper()
	u.kubectl(management, nil, "create", "namespace", "head")
	template := string(expect.Got(os.ReadFile("../../../templates/cluster-template-windows.yaml"))(u.t))
	head, _, _ := strings.Cut(template, "apiVersion:")
	var script []string
	within := false
	for line := range strings.Lines(head) {
		command, indented := strings.CutPrefix(line, "#   ")
		within = indented && (strings.HasPrefix(command, "kubectl create secret") || within && strings.HasPrefix(command, "  "))
		if within {
			script = append(script, command)
		}
	}
	text := strings.ReplaceAll(strings.Join(script, ""), "=VCENTER ", "=vcenter.example.com ")
	text = regexp.MustCompile(`\bNAME\b`).ReplaceAllString(text, "demo")
	kubeconfig := filepath.Join(u.home, "head.kubeconfig")
	expect.OK(u.t, os.WriteFile(kubeconfig, expect.Got(os.ReadFile(management.KubeconfigFile))(u.t), 0o600))
	shell := func(text string, more ...string) {
		command := exec.CommandContext(u.t.Context(), "sh", "-e", "-c", "kubectl config set-context --current --namespace head\n"+text)
		command.Env = slices.Concat(u.command().Env, []string{
			"KUBECONFIG=" + kubeconfig, "PATH=" + filepath.Dir(u.binaries.Path("kubectl")) + ":" + os.Getenv("PATH"),
		}, more)
		output(u.t, command)
	}
	shell(text)
	u.wantLogins(management, variables["VSPHERE_PASSWORD"])

	page := string(expect.Got(os.ReadFile("../../../docs/day-two.md"))(u.t))
	_, rotation, _ := strings.Cut(page, "initialises no new Node:\n\n```sh\n")
	rotation, _, found := strings.Cut(rotation, "```\n")
	if !found {
		u.t.Fatal("docs/day-two.md does not rotate the password of a flavor's cluster")
	}
	shell(rotation, "NAMESPACE=head", "CLUSTER=demo", "VSPHERE_PASSWORD=rotated: #1")
	u.wantLogins(management, "rotated: #1")
}

// wantLogins looks at the Secrets of a Cluster of the flavor windows.
func (u user) wantLogins(management *servers.Management, password string) {
	u.t.Helper()
	login := u.secret(management, "demo")
	for key, want := range map[string]string{
		"server": variables["VSPHERE_SERVER"], "username": variables["VSPHERE_USERNAME"], "password": password,
		"thumbprint": variables["VSPHERE_TLS_THUMBPRINT_SHA256"],
	} {
		expect.Same(u.t, key, want, string(login.Data[key]))
	}
	set := u.secret(management, "demo-vsphere-cloud-secret")
	expect.Same(u.t, "type", addonsv1.ClusterResourceSetSecretType, set.Type)
	want := u.plainLogin()
	want["password_1"] = password
	expect.Same(u.t, "login of the cloud provider", want, manifest(u.t, set.Data["secret.yaml"]))
	if len(set.Data) != 1 {
		u.t.Errorf("it has %d files, of which the last may have another password", len(set.Data))
	}
}

func (u user) secret(management *servers.Management, name string) (secret corev1.Secret) {
	u.t.Helper()
	expect.OK(u.t, json.Unmarshal(u.kubectl(management, nil, "get", "secret", name, "-n", "head", "-o", "json"), &secret))
	return secret
}

// plainLogin is the login of the cloud provider in the plain flavor.
func (u user) plainLogin() map[string]string {
	u.t.Helper()
	all := named(objectsIn(u.t, u.generate("demo", "--flavor", "windows-vsphere")))
	data := all["Secret/demo-vsphere-cloud-secret"]["stringData"].(tree)
	return manifest(u.t, []byte(data["vsphere-cloud-secret.yaml"].(string)))
}

// manifest is what a Secret in YAML has, with its name.
func manifest(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var secret corev1.Secret
	expect.OK(t, yaml.UnmarshalStrict(text, &secret))
	all := secret.StringData
	if all == nil {
		all = map[string]string{}
	}
	for key, value := range secret.Data {
		all[key] = string(value)
	}
	all["name"] = secret.Namespace + "/" + secret.Name
	return all
}

// The templates of a class end with a hash of their file: the class of another release has others.
func TestNamesOfClassTemplates(t *testing.T) {
	t.Parallel()
	source, out := t.TempDir(), t.TempDir()
	touch(t, sources...)
	expect.OK(t, os.CopyFS(filepath.Join(source, "config"), os.DirFS("../../../config")))
	expect.OK(t, os.CopyFS(filepath.Join(source, "templates"), os.DirFS("../../../templates")))
	metadata := expect.Got(os.ReadFile("../../../metadata.yaml"))(t)
	expect.OK(t, os.WriteFile(filepath.Join(source, "metadata.yaml"), metadata, 0o600))
	release := func() map[string]bool {
		run(t, nil, program(t, "release"), "-source", source, "-version", version, "-out", out)
		all := map[string]bool{}
		for _, cloud := range []string{"vsphere", "azure"} {
			file := filepath.Join(out, "infrastructure-windows", version, "clusterclass-windows-"+cloud+".yaml")
			for name := range named(objectsIn(t, string(expect.Got(os.ReadFile(file))(t)))) {
				if !strings.HasPrefix(name, "ClusterClass/") {
					all[name] = true
				}
			}
		}
		return all
	}
	before := release()
	file := filepath.Join(source, "templates", "clusterclass-windows-azure.yaml")
	text := expect.Got(os.ReadFile(file))(t)
	expect.OK(t, os.WriteFile(file, []byte(strings.Replace(string(text), "diskSizeGB: 128", "diskSizeGB: 256", 1)), 0o600))
	after := release()
	if len(before) != 14 || len(after) != 14 {
		t.Errorf("templates before: %v, after: %v, want 7 for each cloud", before, after)
	}
	for name := range before {
		if same := after[name]; same != strings.Contains(name, "vsphere") || strings.Contains(name, "HASH") {
			t.Errorf("%s: after a change of Azure's class alone, is it there? %t", name, same)
		}
	}
}
