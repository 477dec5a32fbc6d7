package smoke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/remote"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
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

// TestKubeletsAnswers: each answer of a kubelet alone, and the sentence that helps.
func TestKubeletsAnswers(t *testing.T) {
	unavailable := func(message string) *metav1.Status {
		return &metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: message}
	}
	refusing := func(call, message string) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(got string) *metav1.Status {
				if strings.HasSuffix(got, call) {
					return unavailable(message)
				}
				return nil
			}
		}
	}
	const log, exec, stats = "logs of the Windows pod", "exec in the Windows pod", "metrics of the Windows node"
	for name, c := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"no certificate": {
			refusing("/log", "Get log: remote error: tls: internal error"),
			log + "|failed|Get log: remote error: tls: internal error. The kubelet has no certificate for its port",
		},
		"a silent kubelet": {
			func(c *cluster) { c.hangs = "/log" }, log + "|failed|no answer within 15s. The API server must reach TCP 10250 of the node",
		},
		"a silent program":   {func(c *cluster) { c.hangs = "/exec" }, exec + "|failed|no answer within 15s. The API server must"},
		"silent statistics":  {func(c *cluster) { c.hangs = "/summary" }, stats + "|failed|no answer within 15s. The API server must"},
		"an empty log":       {func(c *cluster) { c.log = "" }, log + "|failed|the log is empty, but the server writes a line"},
		"statistics refused": {refusing("/summary", "dial tcp: refused"), stats + "|failed|dial tcp: refused. The API server must"},
		"statistics of none": {func(c *cluster) { c.summary = "" }, stats + "|failed|stats/summary: unexpected end of JSON input"},
		"statistics of another node": {
			func(c *cluster) { c.summary = `{"node":{"nodeName":"other","memory":{}}}` },
			stats + `|failed|stats/summary has no memory of the node win, but speaks of "other"`,
		},
		"statistics without memory": {
			func(c *cluster) { c.summary = `{"node":{"nodeName":"win"}}` },
			stats + `|failed|stats/summary has no memory of the node win, but speaks of "win"`,
		},
		"exec refused": {refusing("/exec", "no such container"), exec + "|failed|no such container. The kubelet answers, but does not"},
		"a program that fails": {
			func(c *cluster) {
				c.status = `{"kind":"Status","status":"Failure","message":"command terminated with exit code 1"}`
			},
			exec + "|failed|command terminated with exit code 1: /agnhost connect 127.0.0.1:8080 --timeout=5s --protocol=tcp. The kubelet",
		},
		"words of the kubelet itself": {
			func(c *cluster) {
				c.refuse = func(call string) *metav1.Status {
					if !strings.HasSuffix(call, "/log") {
						return nil
					}
					status := unavailable("the server is currently unable to handle the request")
					status.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{
						{Type: metav1.CauseTypeFieldValueInvalid, Message: "a field"},
						{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "connection refused"},
					}}
					return status
				}
			},
			log + "|failed|the server is currently unable to handle the request: connection refused. The API server must reach TCP 10250",
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := newCluster()
			c.change(world)
			report, _, _, err := world.tryAll(t, options)
			expect.OK(t, err)
			wantReport(t, report, c.want, "Windows pod outwards|ok|")
			failed := slices.DeleteFunc(slices.Clone(report), func(line string) bool { return !strings.Contains(line, "|failed|") })
			expect.Same(t, "failures", 1, len(failed))
		})
	}
}

// TestPodsThatFail: each pod's failure alone, what is tried without it, and how long is waited.
func TestPodsThatFail(t *testing.T) {
	about := func(name string) func(pod *corev1.Pod, age time.Duration) bool {
		return func(pod *corev1.Pod, _ time.Duration) bool { return pod.Name == name }
	}
	stuck := func(name string) func(pod *corev1.Pod, age time.Duration) bool {
		return func(pod *corev1.Pod, _ time.Duration) bool {
			if pod.Name == name {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{waits("ContainerCreating", "")}
			}
			return false
		}
	}
	eventOf := func(kind, name, reason, message string, at int64) corev1.Event {
		e := event(reason, message, at)
		e.Name, e.InvolvedObject = strings.ToLower(fmt.Sprint(kind, name, at)), corev1.ObjectReference{Kind: kind, Name: name}
		return e
	}
	const server = "windows-server-0"
	ends := func(name string, code int32, words string, restarts int32) func(pod *corev1.Pod, age time.Duration) bool {
		return func(pod *corev1.Pod, _ time.Duration) bool {
			for i := range pod.Status.ContainerStatuses {
				if one := &pod.Status.ContainerStatuses[i]; one.Name == name || pod.Name == name {
					one.RestartCount = restarts
					one.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: words}}
				}
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		live   func(pod *corev1.Pod, age time.Duration) bool
		events []corev1.Event
		took   time.Duration
		want   []string
	}{
		"the Windows server is gone": {
			about(server), nil, 2 * time.Second,
			[]string{
				"Windows pod|failed|the pod windows-server-0 does not run: somebody or something has deleted the pod",
				"Windows pod to Linux pod|skipped|not tried: no Windows pod runs on this node",
				"exec in the Windows pod|skipped|not tried: no Windows pod runs on this node",
				"logs of the Windows pod|skipped|not tried: no Windows pod runs on this node", "metrics of the Windows node|ok|",
			},
		},
		"the Linux server is gone": {
			about(linuxServer), nil, 5 * time.Second,
			[]string{
				"Linux pod|failed|the pod linux-server does not run: somebody or something", "Linux pod to Windows pod|ok|",
				"Windows pod to Linux pod|skipped|not tried: the Linux pod does not run", "exec in the Windows pod|ok|",
			},
		},
		"a client is gone": {
			about("windows-client-0"), nil, 5 * time.Second,
			[]string{
				"Windows pod outwards|failed|the pod windows-client-0 does not try it: somebody or something has deleted the pod",
				"Windows pod to Linux pod|failed|the pod windows-client-0 does not try it", "Windows host to Windows pod|ok|",
			},
		},
		"no network, as events have it": {
			stuck(server),
			[]corev1.Event{
				eventOf("Pod", server, "FailedCreatePodSandBox", noPluginX, 1),
				eventOf("Pod", "other", "FailedCreatePodSandBox", subnet, 2),
				eventOf("Node", server, "FailedCreatePodSandBox", subnet, 3),
			},
			start,
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: failed to setup network for sandbox: failed to find"},
		},
		"slow, without a word": {
			stuck(server), nil, start,
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: it does not run after 10m0s. "},
		},
		"a server that ends": {
			ends(server, 1, "no port", 2), nil, 2 * time.Second,
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: no port. The program of the image ends by itself"},
		},
		"a connection that fails": {
			ends(string(windowsOutwards), 1, "TIMEOUT", 2), nil, 5 * time.Second,
			[]string{"Windows pod outwards|failed|example.com:443: TIMEOUT, 3 attempts, 2s. Pods get no answer from outside"},
		},
		"a connection that fails once": {
			func(pod *corev1.Pod, age time.Duration) bool {
				if age < 10*time.Second {
					return ends(string(windowsOutwards), 1, "TIMEOUT", 0)(pod, age)
				}
				return ends(string(windowsOutwards), 0, "", 1)(pod, age)
			},
			nil, 12 * time.Second,
			[]string{"Windows pod outwards|ok|example.com:443, 10s, 2 attempts"},
		},
		"a connection without end": {
			func(pod *corev1.Pod, _ time.Duration) bool {
				for i, one := range pod.Status.ContainerStatuses {
					if one.Name == string(windowsToName) {
						pod.Status.ContainerStatuses[i].State = running.State
					}
				}
				return false
			},
			nil, 4*time.Second + connectBound,
			[]string{"Windows pod to name of a Service|failed|linux-server:80: no answer within 2m0s, 2m2s. The name is found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := newCluster()
			world.live, world.events = c.live, c.events
			report, _, took, err := world.tryAll(t, options)
			expect.OK(t, err)
			wantReport(t, report, c.want...)
			expect.Same(t, "time", c.took, took)
		})
	}
}

// TestServerFails: each call of the API server's that fails alone, what a person reads, and that nothing is left.
func TestServerFails(t *testing.T) {
	const quota = "exceeded quota"
	refusing := func(call string, times int) func(*cluster) {
		return func(c *cluster) {
			c.refuse = func(got string) *metav1.Status {
				if got != call || times == 0 {
					return nil
				}
				times--
				return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: quota}
			}
		}
	}
	const space = "/api/v1/namespaces/NS/"
	for name, c := range map[string]struct {
		change func(*cluster)
		took   time.Duration
		err    string
		want   []string
	}{
		"the first Service": {
			refusing("POST "+space+"services", 1), 5 * time.Second, "",
			[]string{
				"Linux pod|failed|the pod linux-server does not run: exceeded quota", "Windows pod|ok|",
				"Windows pod to Linux pod|skipped|not tried: the Linux pod does not run",
			},
		},
		"the first pod": {
			refusing("POST "+space+"pods", 1), 5 * time.Second, "",
			[]string{"Linux pod|failed|the pod linux-server does not run: exceeded quota", "Windows pod|ok|"},
		},
		"no pod": {
			refusing("POST "+space+"pods", -1), 0, "",
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: exceeded quota", "metrics of the Windows node|ok|"},
		},
		"lists for a moment": {refusing("GET "+space+"pods", 10), 13 * time.Second, "", []string{"Windows pod outwards|ok|"}},
		"lists at the limit": {
			refusing("GET "+space+"pods", 31), 34 * time.Second, "", []string{"Windows pod outwards|ok|"},
		},
		"lists for good": {
			refusing("GET "+space+"pods", -1), silence + time.Second, "list the pods of namespace capwin-smoke-", nil,
		},
		"lists of events": {refusing("GET "+space+"events", -1), silence + time.Second, quota, nil},
		"the namespace":   {refusing("POST /api/v1/namespaces", -1), 0, "make namespace capwin-smoke-", nil},
	} {
		t.Run(name, func(t *testing.T) {
			world := newCluster()
			c.change(world)
			report, _, took, err := world.tryAll(t, options)
			if c.err == "" {
				expect.OK(t, err)
			} else {
				expect.Says(t, "the error", err, c.err)
				expect.Says(t, "the error", err, quota)
				expect.Same(t, "findings", 0, len(report))
			}
			wantReport(t, report, c.want...)
			expect.Same(t, "time", c.took, took)
		})
	}
}

// TestClientRefused: a pod that the API server does not take tries nothing, and the others do.
func TestClientRefused(t *testing.T) {
	world, pods := newCluster(), 0
	world.refuse = func(call string) *metav1.Status {
		if call != "POST /api/v1/namespaces/NS/pods" {
			return nil
		}
		if pods++; pods != 5 { // after two servers and two clients
			return nil
		}
		return &metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "a policy"}
	}
	report, _, _, err := world.tryAll(t, options)
	expect.OK(t, err)
	wantReport(t, report, "Windows pod outwards|failed|the pod windows-client-0 does not try it: a policy. ",
		"Windows pod to Linux pod|failed|the pod windows-client-0 does not try it: a policy. ",
		"Windows host to Windows pod|ok|", "Linux pod to Windows pod|ok|")
}

// TestNewNamespace: the API server forbids pods until the namespace has its service account, for so long and no longer.
func TestNewNamespace(t *testing.T) {
	for after, takes := range map[time.Duration]time.Duration{5 * time.Second: 10 * time.Second, time.Hour: 2 * settling} {
		world := newCluster()
		world.refuse = func(call string) *metav1.Status {
			if call != "POST /api/v1/namespaces/NS/pods" || time.Since(world.began) >= after {
				return nil
			}
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no service account"}
		}
		report, _, took, err := world.tryAll(t, options)
		expect.OK(t, err)
		expect.Same(t, "time", takes, took)
		if after < settling {
			wantReport(t, report, "Windows pod outwards|ok|")
		} else {
			wantReport(t, report, "Windows pod|failed|the pod windows-server-0 does not run: no service account")
		}
	}
}

// TestEnded: who ends the program is not told of findings, wherever it is, and nothing is left.
func TestEnded(t *testing.T) {
	for _, at := range []string{"starting pods that answer", "starting pods that connect", "metrics of the Windows node"} {
		c := newCluster()
		c.within(t, func(t *testing.T, server *remote.Server) {
			p := expect.Got(Prepare(t.Context(), server, options))(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			found, err := p.Run(ctx, func(doing string) {
				if doing == at {
					end()
				}
			})
			if found != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("at %q: %v, %v", at, found, err)
			}
		})
		expect.Same(t, "namespaces that are left", 0, len(c.spaces))
	}
}

// TestNamespaceStays: what was found is told although the namespace cannot be removed, with the command that does.
func TestNamespaceStays(t *testing.T) {
	c := newCluster()
	c.refuse = func(call string) *metav1.Status {
		if !strings.HasPrefix(call, http.MethodDelete) {
			return nil
		}
		return &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "no leader"}
	}
	c.within(t, func(t *testing.T, server *remote.Server) {
		p := expect.Got(Prepare(t.Context(), server, options))(t)
		began := time.Now()
		found, err := p.Run(t.Context(), func(string) {})
		expect.Same(t, "findings", true, len(found) > 0)
		says := "the namespace " + p.namespace + " is left: no leader; kubectl delete namespace " + p.namespace
		expect.Says(t, "the error", Left(err), says)
		expect.Same(t, "time", 5*time.Second+30*time.Second, time.Since(began))
	})
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
		"the cluster http://127.0.0.1:6443 cannot be asked: no leader": failing(
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
