package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	space        = "default"
	agnhostImage = "registry.example.com/e2e/agnhost:2.63.0"
)

// answers is a world whose kubelets and pods answer: one Windows node with Calico's VXLAN, and the Linux nodes.
type answers struct {
	*podWorld
	cell *cell
	node string
	// to are the addresses of what was made, by a word for it.
	to map[string]string
}

// TestAnswers asks a real API server for what stand-in kubelets say, and looks how connections of agnhost end.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	network := expect.Got(traffic.Start())(t)
	t.Cleanup(func() { expect.OK(t, network.Close()) })
	a := &answers{podWorld: podCluster(t, network), to: map[string]string{}}
	a.joinNode(t)
	a.serveBoth(t)
	a.connections(t)
	a.approve(t)
	a.images(t)
	a.kubelet(t)
}

// joinNode boots a guest until a pod of its node reaches a Service.
func (a *answers) joinNode(t *testing.T) {
	t.Helper()
	c := &cell{pair: pairs[0], year: "2022", condition: allThere, signed: true, clock: windows.NewFastClock(10)}
	a.cell, a.node = c, c.computer()
	c.image(t.TempDir(), a.Version)
	c.guest.Network = a.network
	userData := expect.Got(a.userData(c))(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- c.guest.Boot(ctx, guest.NewMemoryVM("uid-"+c.computer(), c.computer(), userData)) }()
	t.Cleanup(func() { cancel(); expect.OK(t, <-over) })
	limited, end := wait.Within(t.Context(), wait.Patience)
	defer end()
	if why := a.join(limited, c); why != "" {
		t.Fatal(why)
	}
	a.waitFor(t, a.node, func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(is corev1.PodCondition) bool {
			return is.Type == corev1.PodReady && is.Status == corev1.ConditionTrue
		})
	})
}

func (a *answers) waitFor(t *testing.T, name string, good func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	wait.Until(t, "the pod "+name, func() (any, bool) {
		pod = expect.Got(a.client.CoreV1().Pods(space).Get(t.Context(), name, metav1.GetOptions{}))(t)
		return pod.Status, good(pod)
	})
	return pod
}

// pod of a system: "linux", "windows", or "host" for a HostProcess pod. Its name may say more.
func (a *answers) pod(name string, containers ...corev1.Container) *corev1.Pod {
	system, _, _ := strings.Cut(name, "-")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeSelector:  map[string]string{corev1.LabelOSStable: "windows"},
			Tolerations:   []corev1.Toleration{{Key: "os", Operator: corev1.TolerationOpExists}},
			RestartPolicy: corev1.RestartPolicyNever, Containers: containers,
		},
	}
	switch system {
	case "linux":
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: pods.LinuxNodes[0]}
	case "host":
		pod.Spec.HostNetwork = true
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{
			HostProcess: new(true), RunAsUserName: new(`NT AUTHORITY\Local Service`),
		}}
	}
	return pod
}

func container(name string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: agnhostImage, Args: args, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func (a *answers) make(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	expect.Got(a.client.CoreV1().Pods(space).Create(t.Context(), pod, metav1.CreateOptions{}))(t)
}

// serveBoth has a pod of each system listen behind a Service.
func (a *answers) serveBoth(t *testing.T) {
	t.Helper()
	for _, name := range []string{"linux-server", "windows-server"} {
		server := a.pod(name, container("server", "netexec", "--http-port=8080"))
		server.Spec.RestartPolicy = corev1.RestartPolicyAlways
		a.make(t, server)
		service := expect.Got(a.client.CoreV1().Services(space).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": name},
				Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		}, metav1.CreateOptions{}))(t)
		a.to[name+" service"] = net.JoinHostPort(service.Spec.ClusterIP, "80")
		a.to[name+" nodePort"] = strconv.Itoa(int(service.Spec.Ports[0].NodePort))
	}
	for _, name := range []string{"linux-server", "windows-server"} {
		pod := a.waitFor(t, name, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })
		a.to[name+" pod"] = net.JoinHostPort(pod.Status.PodIP, "8080")
		a.to[name+" closed"] = net.JoinHostPort(pod.Status.PodIP, "8081")
		a.to[name+" nodePort"] = net.JoinHostPort(pod.Status.HostIP, a.to[name+" nodePort"])
	}
}

// try is a connection from a pod: its first word is the system, and faults of the pod are by its whole name.
type try struct {
	from, to string
	// want is part of the words; none is a connection that holds.
	want string
	code int32
}

var broken = map[string]traffic.Faults{
	"linux-without-proxy": {NoKubeProxy: true}, "windows-without-proxy": {NoKubeProxy: true},
	"windows-without-dns": {NoDNS: true}, "linux-without-dns": {NoDNS: true},
	"windows-without-peers": {NoPeers: true}, "windows-without-outside": {NoOutside: true},
}

var tries = []try{
	{from: "linux-good", to: "windows-server pod"},
	{from: "linux-good", to: "windows-server service"},
	{from: "linux-good", to: "windows-server nodePort"},
	{from: "linux-good", to: "windows-server:80"},
	{from: "linux-good", to: "linux-server nodePort"},
	{from: "windows-good", to: "linux-server pod"},
	{from: "windows-good", to: "linux-server service"},
	{from: "windows-good", to: "linux-server nodePort"},
	{from: "windows-good", to: "linux-server:80"},
	{from: "windows-good", to: "linux-server.default.svc.cluster.local:80"},
	{from: "windows-good", to: "registry.k8s.io:443"},
	{from: "windows-good", to: "1.1.1.1:443"},
	{from: "windows-good", to: "windows-server pod"},
	{from: "host-good", to: "windows-server pod"},
	{from: "host-good", to: "windows-server service"},
	{from: "host-good", to: "linux-server service"},
	{from: "host-good", to: "registry.k8s.io:443"},

	{from: "linux-bad", to: "windows-server closed", want: "REFUSED", code: 1},
	{from: "linux-bad", to: "nobody:80", want: "DNS: lookup nobody on 10.96.0.10:53: no such host", code: 1},
	{from: "linux-bad", to: "203.0.113.7:80", want: "TIMEOUT", code: 1},
	{from: "linux-bad", to: "no port", want: "UNKNOWN: address no port: missing port in address", code: 1},
	{from: "windows-bad", to: "linux-server closed", want: "connectex: No connection could be made because", code: 1},
	{from: "windows-bad", to: "linux-server.default:80", want: "DNS: lookup linux-server.default: no such host", code: 1},
	{from: "windows-bad", to: "windows-server nodePort", want: "TIMEOUT", code: 1}, // of its own node
	{from: "host-bad", to: "windows-server nodePort", want: "curl: (28)", code: 28},
	{from: "host-bad", to: "windows-server closed", want: "curl: (7)", code: 7},
	{from: "host-bad", to: "linux-server:80", want: "curl: (6)", code: 6},
	{from: "host-bad", to: "linux-server pod", want: "curl: (28)", code: 28}, // a VXLAN takes no packets of the host
	{from: "linux-without-proxy", to: "windows-server service", want: "TIMEOUT", code: 1},
	{from: "windows-without-proxy", to: "linux-server service", want: "TIMEOUT", code: 1},
	{from: "linux-without-dns", to: "windows-server:80", want: "read udp: i/o timeout", code: 1},
	{from: "windows-without-dns", to: "linux-server:80", want: "getaddrinfow", code: 1},
	{from: "windows-without-peers", to: "linux-server pod", want: "TIMEOUT", code: 1},
	{from: "windows-without-outside", to: "1.1.1.1:443", want: "TIMEOUT", code: 1},
}

// connections run in a pod for each place, with a container for each.
func (a *answers) connections(t *testing.T) {
	t.Helper()
	all := map[string]*corev1.Pod{}
	for i, one := range tries {
		pod := all[one.from]
		if pod == nil {
			pod = a.pod(one.from)
			all[one.from] = pod
		}
		if one.want == "" {
			pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure // kube-proxy may come later
		}
		to := one.to
		if address, made := a.to[to]; made {
			to = address
		}
		c := container(fmt.Sprintf("try-%d", i), "connect", to, "--timeout=5s", "--protocol=tcp")
		if strings.HasPrefix(one.from, "host") {
			c.Args, c.Command = nil, []string{
				`C:\Windows\System32\curl.exe`, "--silent", "--show-error", "--noproxy", "*", "--output", "NUL",
				"--connect-timeout", "5", "http://" + to + "/hostname",
			}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a.network.Break(name, broken[name])
		a.make(t, all[name])
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pod := a.waitFor(t, name, func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		})
		for _, status := range pod.Status.ContainerStatuses {
			i := expect.Got(strconv.Atoi(strings.TrimPrefix(status.Name, "try-")))(t)
			end := status.State.Terminated
			if one := tries[i]; end == nil || end.ExitCode != one.code || !strings.Contains(end.Message, one.want) {
				t.Errorf("from %s to %s: %+v, want code %d and %q", one.from, one.to, end, one.code, one.want)
			}
		}
	}
}

// images that are not there, or not for this Windows.
func (a *answers) images(t *testing.T) {
	t.Helper()
	a.network.Images.Remove("agnhost:2.99")
	a.network.Images.Limit("agnhost:1.0", "linux/amd64", "linux/arm64", "windows/10.0.17763")
	for tag, want := range map[string]string{
		"2.99": ":2.99: not found", "1.0": ":1.0\": no match for platform in manifest: not found",
	} {
		name := "windows-" + strings.ReplaceAll(tag, ".", "-")
		pod := a.pod(name, container("try", "pause"))
		pod.Spec.Containers[0].Image = "registry.example.com/agnhost:" + tag
		a.make(t, pod)
		seen := a.waitFor(t, name, func(pod *corev1.Pod) bool {
			all := pod.Status.ContainerStatuses
			return len(all) == 1 && all[0].State.Waiting != nil && all[0].State.Waiting.Reason == "ImagePullBackOff"
		})
		said := seen.Status.ContainerStatuses[0].State.Waiting.Message
		if !strings.HasPrefix(said, "Back-off pulling image") || !strings.Contains(said, want) {
			t.Errorf("the kubelet says of %s: %s, want %q", tag, said, want)
		}
		_, err := a.logs(t, name, "try")
		expect.Says(t, "the log of "+name, err, "is waiting to start: trying and failing to pull image")
	}
}

func (a *answers) logs(t *testing.T, pod, container string) (string, error) {
	t.Helper()
	options := &corev1.PodLogOptions{Container: container, TailLines: new(int64(10))}
	stream, err := a.client.CoreV1().Pods(space).GetLogs(pod, options).Stream(t.Context())
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(stream)
	return string(text), errors.Join(err, stream.Close())
}
