package smoke

import (
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	namePrefix = "capwin-smoke-"
	// labelSmoke marks namespaces of this command, annotationRun the run that made one.
	labelSmoke    = "capwin.cluster.x-k8s.io/smoke"
	annotationRun = "capwin.cluster.x-k8s.io/smoke-run"
	labelServer   = "server"
	linuxServer   = "linux-server"

	serverPort  = 8080
	servicePort = 80
	// connectTimeout ends before Windows itself gives up, so that agnhost prints TIMEOUT and not the message of Windows.
	connectTimeout = 10 * time.Second
)

// windowsTaint is what decision 005 puts on our nodes.
var windowsTaint = corev1.Toleration{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}

// namespaceObject lets HostProcess pods in, which the levels baseline and restricted refuse.
func (p *Plan) namespaceObject() *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{
		Name:        p.namespace,
		Labels:      map[string]string{labelSmoke: "", "pod-security.kubernetes.io/enforce": "privileged"},
		Annotations: map[string]string{annotationRun: p.id},
	}}
}

// server is the name of a target's server pod, and of its Service.
func (p *Plan) server(i int) string { return fmt.Sprintf("windows-server-%d", i) }

func (p *Plan) client(source place, i int) string { return fmt.Sprintf("%s-%d", source, i) }

func (p *Plan) linuxServerPod() *corev1.Pod {
	pod := p.linuxPod(linuxServer)
	pod.Spec.Containers = []corev1.Container{p.serverContainer()}
	return pod
}

func (p *Plan) windowsServerPod(i int) *corev1.Pod {
	pod := windowsPod(p.server(i), p.targets[i].node)
	pod.Spec.Containers = []corev1.Container{p.serverContainer()}
	return pod
}

// serverContainer answers on a port. It has no probe, so that a Service leads to it however late it listens.
func (p *Plan) serverContainer() corev1.Container {
	return corev1.Container{
		Name: labelServer, Image: p.options.image(), Args: []string{"netexec", "--http-port=" + strconv.Itoa(serverPort)},
		Ports: []corev1.ContainerPort{{ContainerPort: serverPort}},
	}
}

// clientPod has a container for each connection. The kubelet starts a container that failed again, after 10 s, then 20 s: a CNI
// or kube-proxy may need some seconds until a new pod or Service is known on all nodes.
func (p *Plan) clientPod(source place, i int, tries []*trial) *corev1.Pod {
	name := p.client(source, i)
	var pod *corev1.Pod
	switch source {
	case linuxClient:
		pod = p.linuxPod(name)
	case windowsClient:
		pod = windowsPod(name, p.targets[i].node)
	case windowsHost:
		pod = windowsPod(name, p.targets[i].node)
		pod.Spec.HostNetwork = true
		// A user with few rights on the node is enough to connect.
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{
			HostProcess: new(true), RunAsUserName: new(`NT AUTHORITY\Local Service`),
		}}
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	for _, trial := range tries {
		container := corev1.Container{
			Name: string(trial.kind), Image: p.options.image(),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}
		if source == windowsHost {
			container.Command = curl(trial.address)
		} else {
			container.Args = []string{"connect", trial.address, "--timeout=" + connectTimeout.String(), "--protocol=tcp"}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// curl connects by Windows' own curl.exe, which Windows Server has since 2019. A HostProcess container cannot run agnhost itself:
// its file has no extension, containerd's shim starts each program of such a container by "cmd /c" (hcsshim 7c9ff7f4,
// internal/jobcontainers/jobcontainer.go), and cmd runs no file without one (kubernetes v1.36.3,
// test/e2e/windows/host_process.go, copies it first). The node's proxy is for what is outside.
func curl(address string) []string {
	return []string{
		`C:\Windows\System32\curl.exe`, "--silent", "--show-error", "--noproxy", "*", "--output", "NUL",
		"--connect-timeout", strconv.Itoa(int(connectTimeout.Seconds())),
		"--max-time", strconv.Itoa(2 * int(connectTimeout.Seconds())), "http://" + address + "/hostname",
	}
}

func (p *Plan) linuxPod(name string) *corev1.Pod {
	pod := basePod(name, "linux")
	pod.Spec.Tolerations = p.linux
	return pod
}

// windowsPod runs on one node. The scheduler binds it, as it does users' pods.
func windowsPod(name, node string) *corev1.Pod {
	pod := basePod(name, "windows")
	pod.Spec.Tolerations = []corev1.Toleration{windowsTaint}
	nameOnly := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{nameOnly}}},
		},
	}}
	return pod
}

func basePod(name, system string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelServer: name}},
		Spec: corev1.PodSpec{
			OS: &corev1.PodOS{Name: corev1.OSName(system)}, NodeSelector: map[string]string{labelOS: system},
			AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
}

// service leads to the server pod of the same name.
func service(name string, kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: kind, Selector: map[string]string{labelServer: name},
			Ports: []corev1.ServicePort{{Port: servicePort, TargetPort: intstr.FromInt32(serverPort)}},
		},
	}
}

// addressesOf are what a target's connections lead to; empty where a pod or Service is not there.
func (p *Plan) addressesOf(i int, windows, linux *served) addresses {
	a := addresses{outwards: p.options.Outwards}
	if windows.address != "" {
		a.windowsPod = hostPort(windows.address, serverPort)
		a.windowsService = hostPort(windows.service.Spec.ClusterIP, servicePort)
		if node := p.targets[i].address; node != "" {
			a.nodePort = hostPort(node, windows.service.Spec.Ports[0].NodePort)
		}
	}
	if linux.address != "" {
		a.linuxPod = hostPort(linux.address, serverPort)
		a.linuxService = hostPort(linux.service.Spec.ClusterIP, servicePort)
		// A name of one word: a Windows pod appends its own namespace to it, whatever the cluster's domain is.
		a.linuxName = hostPort(linuxServer, servicePort)
	}
	return a
}

func hostPort(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
