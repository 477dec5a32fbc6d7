package placement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestClusterDNS: DNS that our policies do not look at is told.
func TestClusterDNS(t *testing.T) {
	dns := func(kind, name, label string) placement.Workload {
		w := workload(t, kind, `nodeSelector: {kubernetes.io/os: linux}`)
		w.Namespace, w.Name, w.Template.Labels = "kube-system", name, map[string]string{"dns": "yes"}
		if label != "" {
			w.Template.Labels["k8s-app"] = label
		}
		return w
	}
	elsewhere := dns("Deployment", "coredns", "kube-dns")
	elsewhere.Namespace = "dns"
	for _, c := range []struct {
		name      string
		selector  map[string]string
		workloads []placement.Workload
		want      []string
		mend      string
	}{
		{"none", nil, []placement.Workload{dns("Deployment", "coredns", "")}, nil, ""},
		{
			"kubeadm's",
			map[string]string{"k8s-app": "kube-dns"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns")},
			nil, "",
		},
		{"a DaemonSet", map[string]string{"dns": "yes"}, []placement.Workload{dns("DaemonSet", "coredns", "kube-dns")}, nil, ""},
		{
			"two Deployments",
			map[string]string{"dns": "yes"},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns"), dns("Deployment", "other", "")},
			[]string{"Deployment kube-system/other is cluster DNS, and no policy refuses an update that removes its Linux selection: " +
				"the policies look for Deployments and DaemonSets whose pods have the label k8s-app: kube-dns; keep kubernetes.io/os=linux " +
				"in its pod template"},
			`kubectl patch deployment other -n kube-system --type merge ` +
				`-p '{"spec":{"template":{"metadata":{"labels":{"k8s-app":"kube-dns"}}}}}'`,
		},
		{
			"another label",
			map[string]string{"k8s-app": "coredns"},
			[]placement.Workload{dns("Deployment", "coredns", "coredns")},
			[]string{"no policy refuses an update"},
			"",
		},
		{
			"a StatefulSet",
			map[string]string{"dns": "yes"},
			[]placement.Workload{dns("StatefulSet", "coredns", "kube-dns")},
			[]string{"StatefulSet kube-system/coredns is cluster DNS"},
			"",
		},
		{
			"no selector",
			map[string]string{},
			[]placement.Workload{dns("Deployment", "coredns", "kube-dns")},
			[]string{"Service kube-system/kube-dns has no selector"},
			"",
		},
		{
			"elsewhere",
			map[string]string{"dns": "yes"},
			[]placement.Workload{elsewhere},
			[]string{"Service kube-system/kube-dns selects no Deployment, DaemonSet or StatefulSet of kube-system, so nothing"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := world{placement.Seen{Cluster: tainted, DNS: c.selector}, c.workloads}
			var wrong []placement.Finding
			for _, one := range s.findings() {
				if one.Problem == placement.DNSNotKept {
					wrong = append(wrong, one)
				}
			}
			expect.Same(t, "findings", len(c.want), len(wrong))
			for i := range min(len(wrong), len(c.want)) {
				if !strings.Contains(wrong[i].Why, c.want[i]) || wrong[i].Mend != c.mend {
					t.Errorf("%+v", wrong[i])
				}
			}
		})
	}
}

// TestMuchClusterDNS: of however many workloads of cluster DNS, 200 findings are kept.
func TestMuchClusterDNS(t *testing.T) {
	s := world{placement.Seen{Cluster: tainted, DNS: map[string]string{"dns": "yes"}}, nil}
	w := workload(t, "Deployment", `nodeSelector: {kubernetes.io/os: linux}`)
	w.Namespace, w.Template.Labels = "kube-system", map[string]string{"dns": "yes"}
	s.workloads = slices.Repeat([]placement.Workload{w}, 300)
	expect.Same(t, "verdicts and findings", 300+200, len(s.findings()))
}

// TestGetsLinux: what the mutating policy changes selects nothing, and is in kube-system or tolerates every taint.
func TestGetsLinux(t *testing.T) {
	for _, c := range []struct {
		name, namespace, spec string
		want                  bool
	}{
		{"careless, in kube-system", "kube-system", ``, true},
		{"careless, elsewhere", "team", ``, false},
		{"tolerates everything", "team", `tolerations: [{operator: Exists}]`, true},
		{"tolerates every NoSchedule", "team", `tolerations: [{operator: Exists, effect: NoSchedule}]`, true},
		{"tolerates every NoExecute", "team", `tolerations: [{operator: Exists, effect: NoExecute}]`, true},
		{"tolerates every preference", "team", `tolerations: [{operator: Exists, effect: PreferNoSchedule}]`, false},
		{"tolerates the taint of Windows by name", "team", `tolerations: [{key: os, value: windows}]`, false},
		{"says Linux where nobody looks", "kube-system", `os: {name: linux}`, true},
		{"says Windows", "kube-system", `os: {name: windows}`, false},
		{"has windowsOptions", "kube-system", `securityContext: {windowsOptions: {}}`, false},
		{"selects Linux", "kube-system", `nodeSelector: {kubernetes.io/os: linux}`, false},
		{"selects a pool of both", "kube-system", `nodeSelector: {pool: a}`, false},
		{"has an affinity", "kube-system", affinity(`{key: pool, operator: NotIn, values: [win]}`), false},
		{"has a preference", "kube-system", `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}`, true},
		{"names a Node", "kube-system", `nodeName: linux-0`, false},
		{"has a RuntimeClass", "kube-system", `runtimeClassName: linux`, false},
	} {
		w := workload(t, "DaemonSet", c.spec)
		w.Namespace = c.namespace
		expect.Same(t, c.name, c.want, tainted.GetsLinux(w))
		if c.want && tainted.Judge(w).Verdict == placement.ForWindows {
			t.Errorf("%s: the policy would change what is for Windows", c.name)
		}
		w.Annotations = map[string]string{placement.RunsOnAnnotation: placement.RunsOnBoth}
		expect.Same(t, c.name+", on both", false, tainted.GetsLinux(w))
	}
}

// TestNamespaces: what a namespace selects for its pods keeps them off or contradicts them, and the policy leaves them alone.
func TestNamespaces(t *testing.T) {
	const all = `tolerations: [{operator: Exists}]`
	for _, c := range []struct {
		key, value, spec string
		verdict          placement.Verdict
		changes          bool
		says             string
	}{
		{"openshift.io/node-selector", "kubernetes.io/os=linux", all, placement.StaysAway, false, "it selects kubernetes.io/os=linux"},
		{"openshift.io/node-selector", "", all, placement.Lands, true, "every taint"},
		{"scheduler.alpha.kubernetes.io/node-selector", "kubernetes.io/os=windows", all, placement.ForWindows, false, "os=windows"},
		{"scheduler.alpha.kubernetes.io/node-selector", "pool=a,kubernetes.io/os=linux", all, placement.StaysAway, false, "os=linux"},
		{"scheduler.alpha.kubernetes.io/node-selector", "no in (selector)", all, placement.Lands, false, "every taint"},
		{"other", "kubernetes.io/os=linux", all, placement.Lands, true, "every taint"},
		{
			"openshift.io/node-selector", "pool=b", `nodeSelector: {pool: a}`, placement.StaysAway, false,
			"the API server refuses its pods, as the nodeSelector has pool=a and its namespace has pool=b",
		},
	} {
		cluster := tainted
		if selector := placement.SelectorOf(map[string]string{c.key: c.value}); selector != nil {
			cluster.Selectors = map[string]map[string]string{"team": selector}
		}
		w := workload(t, "DaemonSet", c.spec)
		w.Namespace = "team"
		finding := cluster.Judge(w)
		expect.Same(t, c.value, []any{c.verdict, c.changes}, []any{finding.Verdict, cluster.GetsLinux(w)})
		expect.Says(t, c.value, errors.New(finding.Why), c.says)
		w.Namespace = "other"
		other := tainted.Judge(w)
		expect.Same(t, c.value+" of another namespace", other, cluster.Judge(w))
	}
}

// TestMutates: of what lands, people read whether the API server will mend it.
func TestMutates(t *testing.T) {
	const mends = "; the policy adds it when the template changes next"
	careless, selecting := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`),
		workload(t, "DaemonSet", `{tolerations: [{operator: Exists}], nodeSelector: {pool: a}}`)
	for _, mutates := range []bool{false, true} {
		s := world{placement.Seen{Cluster: open, Mutates: mutates}, []placement.Workload{careless, selecting}}
		for i, mended := range []bool{mutates, false} {
			finding := s.findings()[i]
			expect.Same(t, "problem", placement.PodsLand, finding.Problem)
			expect.Same(t, finding.Why, mended, strings.HasSuffix(finding.Why, mends))
		}
	}
}

// TestPlanned: before the policy is there, people read what it will change.
func TestPlanned(t *testing.T) {
	expect.Same(t, "of none", "", placement.Planned(nil))
	expect.Same(t, "of some", "workloads that select nothing: 4 (a, b, c and 1 more); the policy adds the nodeSelector "+
		"kubernetes.io/os: linux to each when its pod template changes next, and restarts no pod before that; to leave a workload as "+
		"it is, set its annotation capwin.io/runs-on: both", placement.Planned([]string{"a", "b", "c", "d"}))
}

// Commands are run in a shell, and a workload cluster's API server may say anything.
func TestHostileNames(t *testing.T) {
	const evil = "x; rm -rf ~"
	w := workload(t, "DaemonSet", `tolerations: [{operator: Exists}]`)
	for _, names := range [][2]string{{evil, "app"}, {"team", evil}, {"team", "$(x)"}} {
		w.Namespace, w.Name = names[0], names[1]
		got := tainted.Judge(w)
		expect.Same(t, "commands of "+w.String(), "", got.Mend+got.Allow)
	}
}

// TestToleration: the sentence about a pod that stays Pending has the toleration that it lacks, as YAML.
func TestToleration(t *testing.T) {
	for taint, want := range map[string]string{
		"os=windows:NoSchedule":          `add the toleration {key: "os", value: "windows", effect: NoSchedule} to its pod template`,
		"example.com/gpu=:NoExecute":     `{key: "example.com/gpu", value: "", effect: NoExecute}`,
		"true=5:NoSchedule":              `{key: "true", value: "5", effect: NoSchedule}`,
		"a'b=c:NoSchedule":               "add a toleration of it to its pod template",
		"node.kubernetes.io/x=:Whatever": `effect: Whatever}`,
	} {
		c := tainted
		c.Windows = []placement.Node{node("win-0", taint, nil)}
		w := workload(t, "Deployment", `nodeSelector: {kubernetes.io/os: windows}`)
		finding := c.Judge(w)
		expect.Same(t, taint, []any{placement.StaysAway, true, ""}, []any{finding.Verdict, finding.Pending, finding.Mend})
		expect.Says(t, taint, errors.New(finding.Why), want)
		if _, after, found := strings.Cut(finding.Why, "the toleration "); found {
			text, _, _ := strings.Cut(after, " to its pod template")
			w.Template.Spec = workload(t, "", "{nodeSelector: {kubernetes.io/os: windows}, tolerations: ["+text+"]}").Template.Spec
			expect.Same(t, taint+" with the toleration", placement.ForWindows, c.Judge(w).Verdict)
		}
	}
}
