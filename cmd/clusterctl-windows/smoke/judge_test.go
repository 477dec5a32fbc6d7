package smoke

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const start = 10 * time.Minute

// statusOf is a pod on a node with one container.
func statusOf(status corev1.ContainerStatus) *corev1.Pod {
	status.Name = labelServer
	return &corev1.Pod{
		Spec: corev1.PodSpec{NodeName: "win"},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, PodIP: "10.244.1.2", ContainerStatuses: []corev1.ContainerStatus{status},
		},
	}
}

func waits(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

var (
	running = corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	evicted = &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}
)

func unbound(message string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message},
	}}}
}

// waiting is a pod whose container waits.
func waiting(reason, message string) *corev1.Pod { return statusOf(waits(reason, message)) }

// sandbox is what the kubelet says of a pod without a network.
func sandbox(words string) []corev1.Event {
	return []corev1.Event{event("FailedCreatePodSandBox", words, 1)}
}

func event(reason, message string, at int64) corev1.Event {
	return corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.Unix(at, 0)}
}

// The words are those of containerd v2.3.2, kubernetes v1.36.3 and Windows, shortened where they have names and ids.
const (
	noBuild = `failed to pull and unpack image "r.example.com/agnhost:2": no match for platform in manifest: not found`
	absent  = `failed to pull and unpack image "r.example.com/agnhost:2": failed to resolve reference "r.example.com/agnhost:2": ` +
		`r.example.com/agnhost:2: not found`
	denied = `failed to resolve reference "r.example.com/agnhost:2": pull access denied, repository does not exist or may require ` +
		`authorization: server message: insufficient_scope: authorization failed`
	silent = `failed to resolve reference "r.example.com/agnhost:2": failed to do request: Head "https://r.example.com/v2/": dial ` +
		`tcp: lookup r.example.com: no such host`
	untrusted = `failed to do request: Head "https://r.example.com/v2/": tls: failed to verify certificate: x509: certificate ` +
		`signed by unknown authority`
	olderHost = `failed to create containerd task: hcs::CreateComputeSystem 1: The operating system of the container does not ` +
		`match the operating system of the host. (0xc0370101)`
	subnet    = `plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: not found`
	noPause   = `rpc error: failed to get sandbox image "registry.k8s.io/pause:3.10": failed to pull image "r"`
	noPluginX = `failed to setup network for sandbox: failed to find plugin "win-overlay" in path [C:\opt\cni\bin]`
)

// TestStartFailure: what is over is told at once, what may pass is waited for.
func TestStartFailure(t *testing.T) {
	creating := waiting("ContainerCreating", "")
	for name, c := range map[string]struct {
		reason string
		pod    *corev1.Pod
		events []corev1.Event
		waited time.Duration
		want   cause
	}{
		"pulling":           {"an image of Windows takes minutes", creating, nil, start - 1, ""},
		"no build":          {"no waiting makes one", waiting("ErrImagePull", noBuild), nil, 1, pullPlatform},
		"no build, later":   {"the words stay", waiting("ImagePullBackOff", "Back-off: "+noBuild), nil, 1, pullPlatform},
		"absent":            {"no waiting makes one", waiting("ErrImagePull", absent), nil, 1, pullAbsent},
		"no name":           {"the name is wrong", waiting("InvalidImageName", "couldn't parse image name"), nil, 1, pullAbsent},
		"denied":            {"nobody logs in later", waiting("ErrImagePull", denied), nil, 1, pullDenied},
		"untrusted":         {"nobody trusts it later", waiting("ErrImagePull", untrusted), nil, 1, pullUntrusted},
		"registry is away":  {"it may come back", waiting("ErrImagePull", silent), nil, start - 1, ""},
		"registry is gone":  {"it had its time", waiting("ErrImagePull", silent), nil, start, pullUnreachable},
		"pull, other words": {"nobody knows all of them", waiting("ErrImagePull", "disk full"), nil, start, pullOther},
		"words in an event": {
			"kubelets before 1.31 have none in the back-off", waiting("ImagePullBackOff", `Back-off pulling image "x"`),
			[]corev1.Event{event("Failed", "Failed to pull image: "+noBuild, 1)},
			1, pullPlatform,
		},
		"wrong build":    {"no waiting updates a node", waiting("CreateContainerError", olderHost), nil, 1, wrongBuild},
		"not created":    {"containerd may be busy", waiting("CreateContainerError", "busy"), nil, start - 1, ""},
		"never created":  {"it had its time", waiting("CreateContainerError", "busy"), nil, start, notCreated},
		"not bound yet":  {"the scheduler may be slow", unbound("0/2 nodes are available"), nil, schedulePatience - 1, ""},
		"cordoned":       {"it was after the Nodes were read", unbound("1 were unschedulable"), nil, schedulePatience, cordoned},
		"tainted":        {"it is not ours", unbound("1 node(s) had untolerated taint {a: b}"), nil, schedulePatience, tainted},
		"full":           {"the node has no room", unbound("1 Too many pods"), nil, schedulePatience, full},
		"unscheduled":    {"a reason that is rare", unbound("didn't match"), nil, schedulePatience, unscheduled},
		"no scheduler":   {"nobody has said a word", &corev1.Pod{}, nil, schedulePatience, unscheduled},
		"evicted":        {"the node lacks memory", evicted, nil, 1, ended},
		"deleted":        {"somebody cleans namespaces up", nil, nil, 1, removed},
		"no network yet": {"a CNI may be starting", creating, sandbox("x"), start - 1, ""},
		"no network":     {"it had its time", creating, sandbox("x"), start, noSandbox},
		"no flanneld":    {"its file says so", creating, sandbox(subnet), start, noSubnet},
		"no plug-in":     {"the image lacks a program", creating, sandbox(noPluginX), start, noPlugin},
		"no pause image": {"containerd has none", creating, sandbox(noPause), start, noPauseImage},
		"the last counts": {
			"a CNI goes through several errors", creating,
			[]corev1.Event{event("FailedCreatePodSandBox", noPluginX, 1), event("FailedCreatePodSandBox", subnet, 2)},
			start, noSubnet,
		},
		"slow": {"it pulls for too long", creating, []corev1.Event{event("Pulling", "Pulling image", 1)}, start, slow},
		"runs": {"it has started", statusOf(running), nil, 2 * start, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := sight{pod: c.pod, events: c.events, waited: c.waited}.startFailure(start)
			if got == nil {
				got = &failure{}
			}
			expect.Same(t, c.reason, c.want, got.cause)
			if c.want != "" && got.words == "" {
				t.Error("it has no words")
			}
		})
	}
}

func exited(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
}

// TestOutcome: how often a container has tried, and how the last time ended.
func TestOutcome(t *testing.T) {
	timeout := exited(1, "Error", "TIMEOUT\n")
	for name, c := range map[string]struct {
		reason string
		status corev1.ContainerStatus
		held   bool
		tries  int
		why    cause
	}{
		"not yet": {"it has not run", waits("ContainerCreating", ""), false, 0, ""},
		"trying": {
			"it runs for the first time", running, false, 0, "",
		},
		"holds": {"exit code 0", corev1.ContainerStatus{State: exited(0, "Completed", "")}, true, 1, ""},
		"holds in the end": {
			"the second start", corev1.ContainerStatus{State: exited(0, "Completed", ""), RestartCount: 1}, true, 2, "",
		},
		"failed once": {"the kubelet has not started it again", corev1.ContainerStatus{State: timeout}, false, 1, timedOut},
		"waits to be started again": {
			"the last end is the one before",
			corev1.ContainerStatus{State: waits("CrashLoopBackOff", "").State, LastTerminationState: timeout},
			false, 1, timedOut,
		},
		"tries again": {
			"a second start that has not ended is no attempt yet",
			corev1.ContainerStatus{State: running.State, LastTerminationState: timeout, RestartCount: 1},
			false, 1, timedOut,
		},
		"failed three times": {"the third", corev1.ContainerStatus{State: timeout, RestartCount: 2}, false, 3, timedOut},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcomeOf(statusOf(c.status), labelServer)
			if got.failure == nil {
				got.failure = &failure{}
			}
			expect.Same(t, c.reason, []any{c.held, c.tries, c.why}, []any{got.held, got.tries, got.failure.cause})
		})
	}
	expect.Same(t, "of another container", 0, outcomeOf(statusOf(corev1.ContainerStatus{State: timeout}), "other").tries)
}

// TestEnds: the words of agnhost on both systems, of curl, cmd and containerd.
func TestEnds(t *testing.T) {
	const tcp = "OTHER: dial tcp 10.0.0.1:80: "
	for name, c := range map[string]struct {
		state corev1.ContainerState
		want  cause
	}{
		"agnhost's time": {exited(1, "Error", "TIMEOUT\n"), timedOut},
		"refused, Linux": {exited(1, "Error", "REFUSED\n"), refused},
		"name, Linux":    {exited(1, "Error", "DNS: lookup a on 10.96.0.10:53: no such host\n"), noName},
		"name, Windows":  {exited(1, "Error", "DNS: lookup a: no such host\r\n"), noName},
		"route, Linux":   {exited(1, "Error", tcp+"connect: no route to host"), noRoute},
		"route, Windows": {
			exited(1, "Error", tcp+"connectex: A socket operation was attempted to an unreachable network."), noRoute,
		},
		"refused, Windows": {
			exited(1, "Error", tcp+"connectex: No connection could be made because the target machine actively refused it."), refused,
		},
		"time, Windows": {
			exited(1, "Error", tcp+"connectex: A connection attempt failed because the connected party did not properly respond"),
			timedOut,
		},
		"curl's time":        {exited(28, "Error", "curl: (28) Connection timed out after 10001 milliseconds"), timedOut},
		"curl's refusal":     {exited(7, "Error", "curl: (7) Failed to connect to 10.0.0.1 port 80"), refused},
		"curl, no words":     {exited(28, "Error", ""), timedOut},
		"no curl":            {exited(1, "Error", "'curl' is not recognized as an internal or external command,\r\n"), noProgram},
		"crash":              {exited(2, "Error", "panic: x"), crashed},
		"no words":           {exited(137, "OOMKilled", ""), crashed},
		"wrong build":        {exited(128, "StartError", olderHost), wrongBuild},
		"wrong build, older": {exited(128, "ContainerCannotRun", olderHost), wrongBuild},
		"nothing to run": {
			exited(128, "StartError", `failed to start containerd task "x": failed to find executable "agnhost"`), noProgram,
		},
	} {
		if got := endFailure(c.state.Terminated); got.cause != c.want || got.words == "" {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
	}
}

// TestServes: a server counts when a client can reach it.
func TestServes(t *testing.T) {
	serving := statusOf(running)
	noAddress, going := serving.DeepCopy(), serving.DeepCopy()
	noAddress.Status.PodIP = ""
	now := metav1.Now()
	going.DeletionTimestamp = &now
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"runs": {serving, true}, "no address": {noAddress, false}, "being deleted": {going, false}, "gone": {nil, false},
		"no status": {&corev1.Pod{}, false}, "waits": {waiting("ContainerCreating", ""), false},
	} {
		if got := (sight{pod: c.pod}).serves(); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	crashing := statusOf(corev1.ContainerStatus{
		State: waits("CrashLoopBackOff", "").State, LastTerminationState: exited(1, "Error", "bind: in use"), RestartCount: 2,
	})
	server := &served{}
	if server.look(sight{pod: crashing}, start); server.failure == nil || server.failure.cause != crashed {
		t.Errorf("a server that ends three times is %+v", server.failure)
	}
}

// TestWordsThatCount: of a pod without a node the scheduler's condition counts, and of a pull whose cause is known no event does.
func TestWordsThatCount(t *testing.T) {
	pod := unbound("1 Too many pods")
	pod.Status.Conditions = append([]corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "not ready"},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "it has a place"},
	}, pod.Status.Conditions...)
	expect.Same(t, "of the scheduler", "1 Too many pods", sight{pod: pod, waited: start}.startFailure(start).words)
	pulls := sight{pod: waiting("ErrImagePull", denied), events: []corev1.Event{event("Failed", "other words", 1)}, waited: 1}
	expect.Same(t, "of the pull", denied, pulls.startFailure(start).words)
}
