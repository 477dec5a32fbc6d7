package smoke

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/remote"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var options = Options{Registry: DefaultRegistry, Tag: DefaultTag, Outwards: "example.com:443", Start: start}

// tryAll prepares and runs all of it, and returns what a person reads, how long it took, and what was said meanwhile.
func (c *cluster) tryAll(t *testing.T, with Options) (report, steps []string, took time.Duration, err error) {
	t.Helper()
	c.within(t, func(t *testing.T, server *remote.Server) {
		p := expect.Got(Prepare(t.Context(), server, with))(t)
		began := time.Now()
		var found []cloud.Finding
		found, err = p.Run(t.Context(), func(doing string) { steps = append(steps, doing) })
		took = time.Since(began)
		for _, f := range found {
			report = append(report, fmt.Sprintf("%s|%s|%s", f.Check, f.Result, f.Text))
		}
		if len(steps) > p.Steps() {
			t.Errorf("%d steps are said, of %d", len(steps), p.Steps())
		}
	})
	expect.Same(t, "namespaces that are left", 0, len(c.spaces))
	return report, steps, took, err
}

// wantReport wants these lines, which begin with a check, among a report.
func wantReport(t *testing.T, report []string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !slices.ContainsFunc(report, func(got string) bool { return strings.HasPrefix(got, line) }) {
			t.Errorf("no %q in\n%s", line, strings.Join(report, "\n"))
		}
	}
}

// TestRun: all is tried once, a person is told of each step, and what was made is gone.
func TestRun(t *testing.T) {
	c := newCluster()
	report, steps, took, err := c.tryAll(t, options)
	expect.OK(t, err)
	expect.Same(t, "report", []string{
		"Linux pod|ok|10.244.0.2, runs after 2s",
		"Windows Node|ok|win, Windows 10.0.20348",
		"Windows pod|ok|10.244.1.2, runs after 2s",
		"Linux pod to Windows pod|ok|10.244.1.2:8080, 3s",
		"Linux pod to Service of Windows pod|ok|10.96.0.2:80, 3s",
		"Linux pod to NodePort of Windows node|ok|192.0.2.7:30080, 3s",
		"Windows host to Windows pod|ok|10.244.1.2:8080, 3s",
		"Windows host to Service of Windows pod|ok|10.96.0.2:80, 3s",
		"Windows pod to Linux pod|ok|10.244.0.2:8080, 3s",
		"Windows pod to Service of Linux pod|ok|10.96.0.1:80, 3s",
		"Windows pod to name of a Service|ok|linux-server:80, 3s",
		"Windows pod outwards|ok|example.com:443, 3s",
		"exec in the Windows pod|ok|agnhost connect ran in it, 0s",
		"logs of the Windows pod|ok|2 lines, 0s",
		"metrics of the Windows node|ok|of the node and 2 pods, 0s",
		"ping out of the cluster|skipped|" + limits[0].Text,
		"NodePort on its own node|skipped|" + limits[1].Text,
		"volumes|skipped|" + limits[2].Text,
	}, report)
	expect.Same(t, "time", 5*time.Second, took)
	var asked []string
	for _, one := range c.reviewed {
		asked = append(asked, fmt.Sprint(one, map[bool]string{true: " in the namespace"}[one.namespaced]))
	}
	expect.Same(t, "rights that are asked for", []string{
		"list nodes", "get nodes/proxy", "list namespaces", "create namespaces", "delete namespaces",
		"create services in the namespace", "create pods in the namespace", "list pods in the namespace",
		"get pods/exec in the namespace", "create pods/exec in the namespace", "get pods/log in the namespace",
		"list events in the namespace",
	}, asked)
	expect.Same(t, "steps", 2+len(connections)+len(questions), len(steps))
	expect.Same(t, "what is done first", []string{"starting pods that answer", "starting pods that connect"}, steps[:2])
	expect.Same(t, "what is done last", []string{
		"exec in the Windows pod", "logs of the Windows pod", "metrics of the Windows node",
	}, steps[len(steps)-3:])
	var made []string
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		for _, one := range c.pods[name].Spec.Containers {
			program := strings.Join(slices.Concat(one.Command, one.Args), " ")
			made = append(made, fmt.Sprintf("%s: %s of %s: %s", name, one.Name, one.Image, program))
		}
	}
	const image = " of registry.k8s.io/e2e-test-images/agnhost:2.63.0: "
	const agnhost, ending = image + "connect ", " --timeout=10s --protocol=tcp"
	const curl = image + `C:\Windows\System32\curl.exe --silent --show-error --noproxy * --output NUL --connect-timeout 10 ` +
		"--max-time 20 http://"
	expect.Same(t, "containers", []string{
		"linux-client-0: linux-to-pod" + agnhost + "10.244.1.2:8080" + ending,
		"linux-client-0: linux-to-service" + agnhost + "10.96.0.2:80" + ending,
		"linux-client-0: linux-to-nodeport" + agnhost + "192.0.2.7:30080" + ending,
		"linux-server: server" + image + "netexec --http-port=8080",
		"windows-client-0: windows-to-pod" + agnhost + "10.244.0.2:8080" + ending,
		"windows-client-0: windows-to-service" + agnhost + "10.96.0.1:80" + ending,
		"windows-client-0: windows-to-name" + agnhost + "linux-server:80" + ending,
		"windows-client-0: windows-outwards" + agnhost + "example.com:443" + ending,
		"windows-host-0: host-to-pod" + curl + "10.244.1.2:8080/hostname",
		"windows-host-0: host-to-service" + curl + "10.96.0.2:80/hostname",
		"windows-server-0: server" + image + "netexec --http-port=8080",
	}, made)
}

// TestPodsThatAreMade: each pod is for its system and its node, and has what its place takes and no more.
func TestPodsThatAreMade(t *testing.T) {
	c := newCluster()
	_, _, _, err := c.tryAll(t, options)
	expect.OK(t, err)
	for name, pod := range c.pods {
		spec := pod.Spec
		system := map[bool]string{true: "windows", false: "linux"}[strings.HasPrefix(name, "windows-")]
		expect.Same(t, name+": system", []string{system, system}, []string{string(spec.OS.Name), spec.NodeSelector[labelOS]})
		expect.Same(t, name+": has a token, and links to Services", []bool{false, false},
			[]bool{*spec.AutomountServiceAccountToken, *spec.EnableServiceLinks})
		expect.Same(t, name+": label", name, pod.Labels[labelServer])
		expect.Same(t, name+": is started again when it failed", strings.Contains(name, "-0") && !strings.Contains(name, "server"),
			spec.RestartPolicy == corev1.RestartPolicyOnFailure)
		if system == "linux" {
			expect.Same(t, name+": tolerates", 0, len(spec.Tolerations))
			continue
		}
		expect.Same(t, name+": tolerates", []corev1.Toleration{windowsTaint}, spec.Tolerations)
		terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		expect.Same(t, name+": node", []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"win"}},
		}, terms[0].MatchFields)
		onHost := name == "windows-host-0"
		expect.Same(t, name+": is in the host's network", onHost, spec.HostNetwork)
		if expect.Same(t, name+": has a security context", onHost, spec.SecurityContext != nil); onHost {
			expect.Same(t, name+": is a process of the host", true, *spec.SecurityContext.WindowsOptions.HostProcess)
			expect.Same(t, name+": runs as", `NT AUTHORITY\Local Service`, *spec.SecurityContext.WindowsOptions.RunAsUserName)
		}
	}
}

// TestPrepare: what is refused before anything is made, and what is known before it.
func TestPrepare(t *testing.T) {
	failing := func(path string) func(c *cluster) {
		return func(c *cluster) {
			c.refuse = func(call string) *metav1.Status {
				if call != path {
					return nil
				}
				return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "no leader"}
			}
		}
	}
	for want, change := range map[string]func(c *cluster){
		"the cluster http://127.0.0.1:6443 cannot be read: no leader": failing(
			"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
		"list Nodes: no leader":      failing("GET /api/v1/nodes"),
		"list namespaces: no leader": failing("GET /api/v1/namespaces"),
		"so nothing was made: create pods, get pods/exec; a ClusterRole must": func(c *cluster) {
			c.lacks = []string{"create pods", "get pods/exec"}
		},
		"the cluster has no Windows Node": func(c *cluster) { c.nodes = c.nodes[:1] },
		"the cluster has no Linux Node":   func(c *cluster) { c.nodes = c.nodes[1:] },
	} {
		c := newCluster()
		change(c)
		c.within(t, func(t *testing.T, server *remote.Server) {
			_, err := Prepare(t.Context(), server, options)
			expect.Says(t, want, err, want)
		})
		expect.Same(t, "namespaces", 0, len(c.spaces))
	}
}

// TestKnownBefore: what is known of the cluster stands first in the report.
func TestKnownBefore(t *testing.T) {
	c := newCluster()
	c.nodes[0].Spec.Taints = []corev1.Taint{{Key: labelControlPlane, Effect: corev1.TaintEffectNoSchedule}}
	c.nodes = append(c.nodes, node("win-2019", "windows", build(build2019), isCordoned))
	c.earlier = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "capwin-smoke-a"}}}
	report, _, _, err := c.tryAll(t, Options{Registry: DefaultRegistry, Tag: DefaultTag, Start: start})
	expect.OK(t, err)
	for i, want := range []string{
		"Windows 10.0.17763|failed|all 1 are cordoned: kubectl uncordon win-2019",
		"Linux Nodes|warning|the Linux pods run on the control plane, and tolerate its taint",
		"earlier runs|warning|capwin-smoke-a is ", "Linux pod|ok|",
	} {
		if !strings.HasPrefix(report[i], want) {
			t.Errorf("line %d is %q, want %q", i, report[i], want)
		}
	}
	wantReport(t, report, "Windows pod outwards|skipped|not tried: --outwards none",
		"connections outwards|skipped|not tried: --outwards none")
	expect.Same(t, "what the Linux pods tolerate", labelControlPlane, c.pods[linuxServer].Spec.Tolerations[0].Key)
}
