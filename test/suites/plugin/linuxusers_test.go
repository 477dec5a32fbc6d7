package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// ofCluster: the management cluster knows who is to run kube-proxy, and which Nodes will come.
func (m *mixed) ofCluster(t *testing.T) {
	m.make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prod-kubeconfig"}, Data: map[string][]byte{"value": []byte(m.raw)},
	})
	machine := func(name, computer string, cni bootstrapv1.CNI, taints *[]bootstrapv1.NodeTaint) {
		meta := metav1.ObjectMeta{
			Namespace: "team", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "prod"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: "1",
			}},
		}
		config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: meta}
		config.Spec.Network.Mode, config.Spec.Network.CNI, config.Spec.Node.Taints = "Overlay", cni, taints
		m.make(config)
		windows := &infrav1.WindowsMachine{ObjectMeta: meta}
		expect.OK(t, yaml.Unmarshal([]byte(machineSpec), &windows.Spec))
		m.make(windows)
		windows.Status.ComputerName = computer
		expect.OK(t, m.Status().Update(t.Context(), windows))
	}
	machine("pool-0", "win-0", bootstrapv1.CNIFlannel, nil)
	machine("pool-1", "", bootstrapv1.CNIFlannel, &[]bootstrapv1.NodeTaint{})
	found, code := m.findings(t, "--cluster", "prod", "-n", "team")
	expect.Same(t, "exit code", 1, code)
	// The one without taints is a config's; nothing but a taint kept this workload off.
	checkResults(t, found, map[string]cloud.Result{"Deployment team/careless": cloud.CheckFailed, "kube-proxy": cloud.CheckFailed})
	careless := found["Deployment team/careless"].Message
	if !strings.Contains(careless, "team/pool-1 has no taint that keeps pods off") {
		t.Error(careless)
	}
	for _, object := range []client.Object{&bootstrapv1.WindowsBootstrapConfig{}, &infrav1.WindowsMachine{}} {
		expect.OK(t, m.DeleteAllOf(t.Context(), object, client.InNamespace("team")))
	}
	for args, sentence := range map[string]string{
		"--cluster prod": "the Secret default/prod-kubeconfig with the kubeconfig of Cluster default/prod cannot be read from the ",
		"--cluster x":    "it is not there; name its namespace with -n",
	} {
		got := m.check(t, strings.Fields(args)...)
		if got.code != 1 || !strings.Contains(got.err, sentence) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// machineSpec is one that the API server takes.
const machineSpec = `
identityRef: {kind: Secret, name: vcenter}
vsphere: {datacenter: dc0, template: windows, networkInterfaces: [{name: lan, network: VM Network}]}
`

// as returns a kubeconfig with which the admin acts as somebody.
func (m *mixed) as(t *testing.T, user string) string {
	t.Helper()
	config := expect.Got(clientcmd.Load([]byte(m.raw)))(t)
	for _, one := range config.AuthInfos {
		one.Impersonate = user
	}
	return inFile(t, "kubeconfig", string(expect.Got(clientcmd.Write(*config))(t)))
}

// examples runs each line of the command's example, in a folder with what it names.
func (m *mixed) examples(t *testing.T) {
	config := expect.Got(clientcmd.Load([]byte(m.raw)))(t)
	config.Contexts["prod"] = config.Contexts[config.CurrentContext]
	config.Contexts["management"] = config.Contexts[config.CurrentContext]
	folder := filepath.Dir(inFile(t, "prod.kubeconfig", string(expect.Got(clientcmd.Write(*config))(t))))
	m.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}})
	m.make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "prod-kubeconfig"}, Data: map[string][]byte{"value": []byte(m.raw)},
	})
	ran := 0
	for line := range strings.Lines(run(t, "check", "linux", "--help").out) {
		arguments, isExample := strings.CutPrefix(strings.TrimSpace(line), "clusterctl windows ")
		if !isExample || strings.Contains(arguments, "[") {
			continue
		}
		ran++
		command := exec.CommandContext(t.Context(), program(), strings.Fields(arguments)...)
		command.Dir, command.Env = folder, append(os.Environ(), "KUBECONFIG="+filepath.Join(folder, "prod.kubeconfig"))
		if out, err := command.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	expect.Same(t, "examples", 4, ran) // one with the current context
}

// noRights: a user who may nothing is told what is lacking, in one sentence.
func (m *mixed) noRights(t *testing.T) {
	got := run(t, "check", "linux", "--kubeconfig", m.as(t, "dev"))
	if got.code != 1 || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err,
		"so there are no verdicts: list nodes, list daemonsets, list deployments, list statefulsets; a ClusterRole must give them") {
		t.Errorf("got %+v", got)
	}
}

// someRights: who sees the workloads gets the verdicts, and is told what else they depend on.
func (m *mixed) someRights(t *testing.T) {
	m.kubectl(t, "rights", "kubectl create clusterrole looker --verb=list --resource=nodes,daemonsets.apps,deployments.apps,"+
		"statefulsets.apps && kubectl create clusterrolebinding looker --clusterrole=looker --user=looker")
	found := m.findingsOf(t, "looker")
	checkResults(t, found, map[string]cloud.Result{
		"Nodes": cloud.CheckWarning, "policies": cloud.CheckSkipped, "Deployment kube-system/coredns": cloud.CheckOK,
	})
	if !strings.Contains(found["Nodes"].Message, "it does not show you RuntimeClasses, Namespaces, Service kube-system/kube-dns, ") {
		t.Error(found["Nodes"].Message)
	}
}

// mayNotTry: who sees the policies and may make nothing, also by a dry run, does not hear that they act.
func (m *mixed) mayNotTry(t *testing.T) {
	m.kubectl(t, "more rights", "kubectl create clusterrole viewer --verb=list --resource=nodes,daemonsets.apps,deployments.apps,"+
		"statefulsets.apps,validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies,"+
		"mutatingadmissionpolicybindings && kubectl create clusterrolebinding viewer --clusterrole=viewer --user=viewer")
	found := m.findingsOf(t, "viewer")
	checkResults(t, found, map[string]cloud.Result{"policies": cloud.CheckWarning})
	if !strings.Contains(found["policies"].Message, "whether they act was not tried") {
		t.Error(found["policies"].Message)
	}
}

// findingsOf are those that a user gets.
func (m *mixed) findingsOf(t *testing.T, user string) map[string]report.Finding {
	t.Helper()
	found := map[string]report.Finding{}
	got := run(t, "check", "linux", "--kubeconfig", m.as(t, user), "-o", "json")
	var list report.FindingList
	expect.OK(t, json.Unmarshal([]byte(got.out), &list))
	for _, one := range list.Items {
		found[one.Check] = one
	}
	return found
}

// many are more than one page of a list has.
func (m *mixed) many(t *testing.T) {
	before, _ := m.findings(t)
	const more = 600
	var made errgroup.Group
	made.SetLimit(8)
	for n := range more {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("many-", n)}}
		set.Spec.Template.Labels = map[string]string{"app": set.Name}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/many:1"}}
		made.Go(func() error { return m.Create(t.Context(), set) })
	}
	expect.OK(t, made.Wait())
	after, code := m.findings(t)
	expect.Same(t, "exit code", 0, code)
	expect.Same(t, "findings", len(before)+more, len(after))
}

// badInput is refused in a sentence that says what to write.
func (m *mixed) badInput(t *testing.T) {
	const exec = "exec: {command: /bin/false, apiVersion: client.authentication.k8s.io/v1}\n    "
	evil := strings.Replace(m.raw, "client-certificate-data:", exec+"client-certificate-data:", 1)
	m.make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "evil-kubeconfig"}, Data: map[string][]byte{"value": []byte(evil)},
	})
	dead := inFile(t, "kubeconfig", strings.ReplaceAll(m.raw, "server: https://", "server: https://u:canary-1@127.0.0.2:1/"))
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"":                                            {1, "your kubeconfig has no current context; name a cluster"},
		"--cluster prod":                              {1, "your kubeconfig has no current context; name a cluster"},
		"--kubeconfig " + m.file + " -n team":         {2, "--namespace is that of a Cluster: name it with --cluster NAME"},
		"--kubeconfig " + m.file + " extra":           {2, `unexpected argument "extra"`},
		"--kubeconfig " + m.file + " -o xml":          {2, "use one of json, yaml, name"},
		"--kubeconfig " + m.file + "x":                {1, "--kubeconfig " + m.file + "x: "},
		"--kubeconfig " + m.file + " --context other": {1, `the kubeconfig has no context "other"`},
		"--kubeconfig " + dead: {
			1, "where pods go cannot be read from the cluster https://u:xxxxx@127.0.0.2:1/",
		},
		"--kubeconfig " + m.file + " -n team --cluster evil": {1, "the kubeconfig in Secret evil-kubeconfig is refused: user.exec "},
	} {
		got := run(t, append([]string{"check", "linux"}, strings.Fields(line)...)...)
		if got.code != want.code || !strings.Contains(got.err, want.says) || got.out != "" || strings.Contains(got.err, "canary") {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
