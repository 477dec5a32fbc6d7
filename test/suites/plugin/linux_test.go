package plugin

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/report"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

var updateLinux = flag.Bool("linux.update", false, "write testdata/linux.txt")

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
		{"no right to try", m.mayNotTry},
		{"bad input", m.badInput},
		{"many workloads", m.many},
	} {
		t.Run(one.name, func(t *testing.T) {
			m.t = t
			one.try(t)
		})
	}
}

func (m *mixed) check(t *testing.T, args ...string) ended {
	t.Helper()
	return run(t, append([]string{"check", "linux", "--kubeconfig", m.file}, args...)...)
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
		"Nodes": cloud.CheckWarning, "policies": cloud.CheckWarning, "next changes": cloud.CheckOK,
		"Deployment kube-system/coredns": cloud.CheckOK, "DaemonSet kube-system/kube-proxy": cloud.CheckOK,
	})
	const sentence = "there is none on Windows, so the verdicts are for a first one with the taint os=windows:NoSchedule"
	if !strings.HasPrefix(found["Nodes"].Message, sentence) {
		t.Error(found["Nodes"].Message)
	}
	m.workload("DaemonSet", "kube-system", "node-local-dns", `tolerations: [{operator: Exists}]`, "")
	found, code = m.findings(t)
	expect.Same(t, "exit code with NodeLocal DNSCache", 1, code)
	checkResults(t, found, map[string]cloud.Result{
		"DaemonSet kube-system/node-local-dns": cloud.CheckFailed, "next changes": cloud.CheckWarning,
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
		purposes = append(purposes, command.Purpose)
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

// mend runs what the program prints, as people do, and does what it advises.
func (m *mixed) mend(t *testing.T) {
	found, _ := m.findings(t)
	ran := 0
	for check, one := range found {
		for _, command := range one.Commands {
			if command.Purpose == "this mends it" {
				ran++
				m.kubectl(t, check, command.Run)
			}
		}
	}
	expect.Same(t, "commands", 2, ran)
	_, toleration, _ := strings.Cut(found["StatefulSet team/iis"].Message, "add the toleration ")
	toleration, _, _ = strings.Cut(toleration, " to its pod template")
	m.kubectl(t, "iis", "kubectl patch statefulset iis -n team -p 'spec: {template: {spec: {tolerations: ["+toleration+"]}}}'")
	m.kubectl(t, "kube-proxy", "kubectl set image daemonset kube-proxy-windows -n kube-system kube-proxy="+
		strings.Replace(image, "v1.37.0", "v1.36.3", 1))
	found, code := m.findings(t)
	expect.Same(t, "exit code", 0, code)
	checkResults(t, found, map[string]cloud.Result{
		"DaemonSet team/agent": cloud.CheckOK, "DaemonSet kube-system/node-local-dns": cloud.CheckOK,
		"StatefulSet team/iis": cloud.CheckOK, "kube-proxy": cloud.CheckOK,
	})
}

func (m *mixed) kubectl(t *testing.T, why, line string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = append(os.Environ(), "PATH="+m.programs+":"+os.Getenv("PATH"), "KUBECONFIG="+m.file)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %s: %v: %s", why, line, err, out)
	}
}

// withPolicies: what is from before the policy stays as it is until somebody changes it; the program says so beforehand, and a
// rollout mends it.
func (m *mixed) withPolicies(t *testing.T) {
	m.workload("DaemonSet", "team", "old", `tolerations: [{operator: Exists}]`, "")
	m.workload("DaemonSet", "team", "both", `tolerations: [{operator: Exists}]`, "")
	for _, object := range append(policies.Validating(), policies.Mutating()...) {
		m.make(object)
	}
	var found map[string]report.Finding
	var code int
	wait.Until(t, "the policies to act", func() (any, bool) { // an API server has seen a new policy after some time
		found, code = m.findings(t)
		return found["policies"].Message, found["policies"].Result == cloud.CheckOK
	})
	expect.Same(t, "exit code", 1, code)
	checkResults(t, found, map[string]cloud.Result{
		"policies": cloud.CheckOK, "next changes": cloud.CheckOK,
		"DaemonSet team/old": cloud.CheckFailed, "DaemonSet team/both": cloud.CheckFailed,
		"Deployment kube-system/metrics": cloud.CheckOK,
	})
	const few = "workloads that select nothing: 3 (DaemonSet team/both, DaemonSet team/old, Deployment kube-system/metrics); the "
	if !strings.HasPrefix(found["next changes"].Message, few) {
		t.Error(found["next changes"].Message)
	}
	for name, end := range map[string]string{
		"Deployment kube-system/metrics": "; the policy selects Linux for it when its template changes next",
		"DaemonSet team/old":             "; the policy adds it when the template changes next",
	} {
		if !strings.HasSuffix(found[name].Message, end) {
			t.Error(found[name].Message)
		}
	}
	m.kubectl(t, "both", commandFor(t, found["DaemonSet team/both"], "or, if its pods run on both systems"))
	m.kubectl(t, "metrics", "kubectl annotate deployment metrics -n kube-system capwin.io/runs-on=both")
	wait.Until(t, "a rollout that mends", func() (any, bool) { // another API server of several may see a policy later
		m.kubectl(t, "old", "kubectl rollout restart daemonset old -n team")
		found, code = m.findings(t)
		return found["DaemonSet team/old"].Message, code == 0
	})
	checkResults(t, found, map[string]cloud.Result{
		"next changes": cloud.CheckOK, "DaemonSet team/old": cloud.CheckOK, "DaemonSet team/both": cloud.CheckOK,
	})
	expect.Same(t, "what is planned in the end", "the policy has nothing to change in the existing workloads",
		found["next changes"].Message)
}

func commandFor(t *testing.T, f report.Finding, purpose string) string {
	t.Helper()
	for _, command := range f.Commands {
		if command.Purpose == purpose {
			return command.Run
		}
	}
	t.Fatalf("no command for %q: %+v", purpose, f)
	return ""
}
