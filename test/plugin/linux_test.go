package plugin

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/report"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

var updateLinux = flag.Bool("linux.update", false, "write testdata/linux.txt")

// mixed is an API server that is workload cluster and management cluster at once. No controller runs behind it.
type mixed struct {
	client.Client

	t                   *testing.T
	programs, file, raw string
}

// TestCheckLinux runs the program clusterctl-windows against a real API server: before there is a Windows Node, with workloads
// that land and others, after the commands that it prints, and for users who may not look.
func TestCheckLinux(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	m := startMixed(t)
	for _, one := range []struct {
		name string
		try  func(*testing.T)
	}{
		{"before the first pool", m.beforeWindows},
		{"what lands", m.lands},
		{"formats", m.formats},
		{"of a Cluster", m.ofCluster},
		{"the commands mend it", m.mend},
		{"with the policies", m.withPolicies},
		{"examples", m.examples},
		{"no rights", m.noRights},
		{"some rights", m.someRights},
		{"bad input", m.badInput},
	} {
		t.Run(one.name, func(t *testing.T) {
			m.t = t
			one.try(t)
		})
	}
}

func startMixed(t *testing.T) *mixed {
	t.Helper()
	binaries := expect.Got(servers.Ensure(t.Context(), os.Stderr))(t)
	programs := filepath.Dir(binaries.Path("kubectl"))
	environment := &envtest.Environment{
		BinaryAssetsDirectory: programs, CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config := expect.Got(environment.Start())(t)
	t.Cleanup(func() { _ = environment.Stop() })
	scheme := environment.Scheme
	for _, add := range []error{infrav1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)} {
		expect.OK(t, add)
	}
	m := &mixed{
		t: t, programs: programs, raw: string(environment.KubeConfig),
		Client: expect.Got(client.New(config, client.Options{Scheme: scheme}))(t),
	}
	m.file = inFile(t, "kubeconfig", m.raw)
	m.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	m.node("linux-0", map[string]string{corev1.LabelOSStable: "linux"})
	// As kubeadm v1.36.3 has them: internal/placement/testdata/workloads.json.
	m.workload("Deployment", "kube-system", "coredns", `nodeSelector: {kubernetes.io/os: linux}`, "k8s-app: kube-dns")
	m.workload("DaemonSet", "kube-system", "kube-proxy",
		`{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{operator: Exists}]}`, "")
	m.make(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: []corev1.ServicePort{{Port: 53}}},
	})
	return m
}

func (m *mixed) make(o client.Object) { expect.OK(m.t, m.Create(m.t.Context(), o)) }

func (m *mixed) node(name string, labels map[string]string, taints ...corev1.Taint) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
	m.make(node)
	node.Status.NodeInfo.KubeletVersion = "v1.36.3"
	expect.OK(m.t, m.Status().Update(m.t.Context(), node))
}

// workload makes one with this spec of its pods, and this label.
func (m *mixed) workload(kind, namespace, name, spec, label string) {
	m.t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
	if key, value, ok := strings.Cut(label, ": "); ok {
		template.Labels[key] = value
	}
	expect.OK(m.t, yaml.UnmarshalStrict([]byte(spec), &template.Spec))
	if len(template.Spec.Containers) == 0 {
		template.Spec.Containers = []corev1.Container{{Name: name, Image: "example.com/" + name + ":v1.0.0"}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	switch kind {
	case "Deployment":
		m.make(&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}})
	case "DaemonSet":
		m.make(&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}})
	case "StatefulSet":
		m.make(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}})
	}
}

func (m *mixed) check(t *testing.T, args ...string) ended {
	t.Helper()
	return run(t, "clusterctl-windows", append([]string{"check", "linux", "--kubeconfig", m.file}, args...)...)
}

// findings are those of the program, by what they are about.
func (m *mixed) findings(t *testing.T, args ...string) (map[string]report.Finding, int) {
	t.Helper()
	got := m.check(t, append(args, "-o", "json")...)
	var list report.FindingList
	if err := json.Unmarshal([]byte(got.out), &list); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	all := map[string]report.Finding{}
	for _, one := range list.Items {
		all[one.Check] = one
	}
	return all, got.code
}

// checkResults compares results by what they are about. What is not named does not matter.
func checkResults(t *testing.T, found map[string]report.Finding, want map[string]cloud.Result) {
	t.Helper()
	for check, result := range want {
		if found[check].Result != result {
			t.Errorf("%s is %q, want %q: %s", check, found[check].Result, result, found[check].Message)
		}
	}
}

// beforeWindows: the verdicts are for the first Node, so that a pool can be prepared.
func (m *mixed) beforeWindows(t *testing.T) {
	found, code := m.findings(t)
	expect.Same(t, "exit code", 0, code)
	checkResults(t, found, map[string]cloud.Result{
		"Nodes": cloud.CheckWarning, "policies": cloud.CheckWarning, "first writes": cloud.CheckOK,
		"Deployment kube-system/coredns": cloud.CheckOK, "DaemonSet kube-system/kube-proxy": cloud.CheckOK,
	})
	const says = "there is none on Windows, so the verdicts are for a first one with the taint os=windows:NoSchedule"
	if !strings.HasPrefix(found["Nodes"].Message, says) {
		t.Error(found["Nodes"].Message)
	}
	m.workload("DaemonSet", "kube-system", "node-local-dns", `tolerations: [{operator: Exists}]`, "")
	found, code = m.findings(t)
	expect.Same(t, "exit code with NodeLocal DNSCache", 1, code)
	checkResults(t, found, map[string]cloud.Result{
		"DaemonSet kube-system/node-local-dns": cloud.CheckFailed, "first writes": cloud.CheckWarning,
	})
}

const image = "sigwindowstools/kube-proxy:v1.37.0-calico-hostprocess"

// lands has Windows Nodes and workloads of each verdict, and compares the table.
func (m *mixed) lands(t *testing.T) {
	windows := map[string]string{corev1.LabelOSStable: "windows", corev1.LabelWindowsBuild: "10.0.20348"}
	m.node("win-0", windows, corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule})
	m.workload("DaemonSet", "team", "agent", `tolerations: [{operator: Exists}]`, "")
	m.workload("Deployment", "team", "careless", `{}`, "")
	m.workload("StatefulSet", "team", "iis", `nodeSelector: {kubernetes.io/os: windows}`, "")
	m.workload("Deployment", "kube-system", "metrics", `{}`, "")
	m.workload("DaemonSet", "kube-system", "kube-proxy-windows", `{nodeSelector: {kubernetes.io/os: windows}, `+
		`tolerations: [{operator: Exists}], containers: [{name: kube-proxy, image: "`+image+`"}]}`, "")
	got := m.check(t)
	expect.Same(t, "exit code", 1, got.code)
	expect.Same(t, "the error", "not all pods stay where they can run, or a kube-proxy is wrong: see what failed above\n", got.err)
	const golden = "testdata/linux.txt"
	if *updateLinux {
		expect.OK(t, os.MkdirAll("testdata", 0o750))
		expect.OK(t, os.WriteFile(golden, []byte(got.out), 0o600))
	}
	expect.Same(t, "the table", string(expect.Got(os.ReadFile(golden))(t)), got.out)
}

// formats: programs get the same findings, and the commands beside them.
func (m *mixed) formats(t *testing.T) {
	found, code := m.findings(t)
	expect.Same(t, "exit code", 1, code)
	agent := found["DaemonSet team/agent"]
	var purposes []string
	for _, command := range agent.Commands {
		purposes = append(purposes, command.For)
	}
	expect.Same(t, "commands", []string{"this mends it", "or, if its pods run on both systems"}, purposes)
	var list report.FindingList
	expect.OK(t, yaml.Unmarshal([]byte(m.check(t, "-o", "yaml").out), &list))
	expect.Same(t, "findings in YAML", len(found), len(list.Items))
	names := strings.Fields(m.check(t, "-o", "name").out)
	expect.Same(t, "names", len(found), len(names))
	if !slices.Contains(names, "finding.windows.cluster.x-k8s.io/daemonset-team-agent") {
		t.Error(names)
	}
}

// mend runs what the program prints, as people do.
func (m *mixed) mend(t *testing.T) {
	found, _ := m.findings(t)
	ran := 0
	for check, one := range found {
		for _, command := range one.Commands {
			if command.For == "this mends it" {
				ran++
				m.kubectl(t, check, command.Run)
			}
		}
	}
	expect.Same(t, "commands", 4, ran)
	found, code := m.findings(t)
	expect.Same(t, "exit code", 0, code)
	checkResults(t, found, map[string]cloud.Result{
		"DaemonSet team/agent": cloud.CheckOK, "DaemonSet kube-system/node-local-dns": cloud.CheckOK,
		"StatefulSet team/iis": cloud.CheckOK, "kube-proxy": cloud.CheckOK,
	})
}

func (m *mixed) kubectl(t *testing.T, why, line string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line) //nolint:gosec // because it is the line that we tell people
	command.Env = append(os.Environ(), "PATH="+m.programs+":"+os.Getenv("PATH"), "KUBECONFIG="+m.file)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s: %v: %s", why, line, err, out)
	}
}

// withPolicies: what is from before the policy is rolled by the first write, unless its annotation postpones that; the program
// says so beforehand, and its command has the API server look again.
func (m *mixed) withPolicies(t *testing.T) {
	m.workload("DaemonSet", "team", "old", `tolerations: [{operator: Exists}]`, "")
	m.workload("DaemonSet", "team", "spared", `tolerations: [{operator: Exists}]`, "")
	spared := policies.Ref{Kind: "DaemonSet", Namespace: "team", Name: "spared"}
	m.make(policies.Param(policies.Params{Spared: []policies.Ref{spared}}))
	for _, object := range append(policies.Validating(), policies.Mutating()...) {
		m.make(object)
	}
	found, code := m.findings(t)
	expect.Same(t, "exit code", 1, code)
	checkResults(t, found, map[string]cloud.Result{
		"policies": cloud.CheckOK, "first writes": cloud.CheckWarning,
		"DaemonSet team/old": cloud.CheckFailed, "DaemonSet team/spared": cloud.CheckFailed,
		"Deployment kube-system/metrics": cloud.CheckOK,
	})
	const few = "2 name no system (DaemonSet team/old, Deployment kube-system/metrics): with the policy, the first write to such a "
	if !strings.HasPrefix(found["first writes"].Message, few) {
		t.Error(found["first writes"].Message)
	}
	if !strings.HasSuffix(found["Deployment kube-system/metrics"].Message, "; its first write rolls its pods once") ||
		!strings.Contains(found["DaemonSet team/spared"].Message, "; the policy leaves it alone") {
		t.Error(found["Deployment kube-system/metrics"].Message, found["DaemonSet team/spared"].Message)
	}
	m.kubectl(t, "metrics", commandFor(t, found["Deployment kube-system/metrics"], "this postpones that"))
	m.kubectl(t, "spared", commandFor(t, found["DaemonSet team/spared"], "or, if its pods run on both systems"))
	again := commandFor(t, found["DaemonSet team/old"], "or, after this, the API server's policy does")
	for range 30 { // an API server has seen a new policy after some time
		m.kubectl(t, "old", again)
		if found, code = m.findings(t); code == 0 {
			break
		}
		again = strings.Replace(again, "seen", "seenagain", 1)
	}
	expect.Same(t, "exit code after the commands", 0, code)
	checkResults(t, found, map[string]cloud.Result{
		"first writes": cloud.CheckOK, "DaemonSet team/old": cloud.CheckOK, "DaemonSet team/spared": cloud.CheckOK,
	})
}

func commandFor(t *testing.T, f report.Finding, purpose string) string {
	t.Helper()
	for _, command := range f.Commands {
		if command.For == purpose {
			return command.Run
		}
	}
	t.Fatalf("no command for %q: %+v", purpose, f)
	return ""
}

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
	for args, says := range map[string]string{
		"--cluster prod": "the Secret default/prod-kubeconfig with the kubeconfig of Cluster default/prod cannot be read from the ",
		"--cluster x":    "it is not there; name its namespace with -n",
	} {
		got := m.check(t, strings.Fields(args)...)
		if got.code != 1 || !strings.Contains(got.err, says) || strings.Count(got.err, "\n") != 1 {
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
	for line := range strings.Lines(run(t, "clusterctl-windows", "check", "linux", "--help").out) {
		arguments, isExample := strings.CutPrefix(strings.TrimSpace(line), "clusterctl windows ")
		if !isExample || strings.Contains(arguments, "FILE") {
			continue
		}
		ran++
		command := exec.CommandContext(t.Context(), program("clusterctl-windows"), strings.Fields(arguments)...)
		command.Dir, command.Env = folder, append(os.Environ(), "KUBECONFIG="+filepath.Join(folder, "prod.kubeconfig"))
		if out, err := command.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	expect.Same(t, "examples", 3, ran)
}

// noRights: a user who may nothing is told what is lacking, in one sentence.
func (m *mixed) noRights(t *testing.T) {
	got := run(t, "clusterctl-windows", "check", "linux", "--kubeconfig", m.as(t, "dev"))
	if got.code != 1 || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err,
		"so there are no verdicts: list nodes, list daemonsets, list deployments, list statefulsets; a ClusterRole must give them") {
		t.Errorf("got %+v", got)
	}
}

// someRights: who sees the workloads gets the verdicts, and is told what else they depend on.
func (m *mixed) someRights(t *testing.T) {
	m.kubectl(t, "rights", "kubectl create clusterrole looker --verb=list --resource=nodes,daemonsets.apps,deployments.apps,"+
		"statefulsets.apps && kubectl create clusterrolebinding looker --clusterrole=looker --user=looker")
	found := map[string]report.Finding{}
	got := run(t, "clusterctl-windows", "check", "linux", "--kubeconfig", m.as(t, "looker"), "-o", "json")
	var list report.FindingList
	expect.OK(t, json.Unmarshal([]byte(got.out), &list))
	for _, one := range list.Items {
		found[one.Check] = one
	}
	checkResults(t, found, map[string]cloud.Result{
		"Nodes": cloud.CheckWarning, "policies": cloud.CheckSkipped, "Deployment kube-system/coredns": cloud.CheckOK,
	})
	if !strings.Contains(found["Nodes"].Message, "it does not show you RuntimeClasses, Service kube-system/kube-dns, ") {
		t.Error(found["Nodes"].Message)
	}
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
		"": {2, "name the workload cluster: --kubeconfig FILE, as clusterctl get kubeconfig writes it, or --context NAME"},
		"--cluster prod": {
			2, "name the management cluster that has the Cluster prod: --kubeconfig FILE or --context NAME",
		},
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
		got := run(t, "clusterctl-windows", append([]string{"check", "linux"}, strings.Fields(line)...)...)
		if got.code != want.code || !strings.Contains(got.err, want.says) || got.out != "" || strings.Contains(got.err, "canary") {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
