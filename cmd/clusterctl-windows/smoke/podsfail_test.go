package smoke

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

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
				"Windows pod|failed|the pod windows-server-0 does not run: the pod was deleted, but not by this command",
				"Windows pod to Linux pod|skipped|not tried: no Windows pod runs on this node",
				"exec in the Windows pod|skipped|not tried: no Windows pod runs on this node",
				"logs of the Windows pod|skipped|not tried: no Windows pod runs on this node", "metrics of the Windows node|ok|",
			},
		},
		"the Linux server is gone": {
			about(linuxServer), nil, 5 * time.Second,
			[]string{
				"Linux pod|failed|the pod linux-server does not run: the pod was deleted", "Linux pod to Windows pod|ok|",
				"Windows pod to Linux pod|skipped|not tried: the Linux pod does not run", "exec in the Windows pod|ok|",
			},
		},
		"a client is gone": {
			about("windows-client-0"), nil, 5 * time.Second,
			[]string{
				"Windows pod outwards|failed|the pod windows-client-0 does not try it: the pod was deleted, but not by this command",
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
		"slow, with a word": {
			stuck(server),
			[]corev1.Event{
				eventOf("Pod", server, "Pulling", "Pulling image", 2), eventOf("Pod", server, "Scheduled", "assigned", 1),
			},
			start,
			[]string{"Windows pod|failed|the pod windows-server-0 does not run: it does not run after 10m0s; last event: Pulling image. "},
		},
		"a server whose ends nobody knows": {
			func(pod *corev1.Pod, age time.Duration) bool {
				if pod.Name == server && age < 10*time.Second {
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 5, State: waits("ContainerCreating", "").State}}
				}
				return false
			}, nil, 13 * time.Second, []string{"Windows pod|ok|10.244.1.2, runs after 10s"},
		},
		"a server that ends once": {
			func(pod *corev1.Pod, age time.Duration) bool {
				return age < 10*time.Second && ends(server, 1, "no port", 1)(pod, age)
			},
			nil, 13 * time.Second,
			[]string{"Windows pod|ok|10.244.1.2, runs after 10s"},
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
