package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/test/sim/agnhost"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
)

// Process is the program of a container, or one that exec starts there.
type Process struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	// Address is the pod's.
	Address string
	// Command is what exec starts; without one it is the container's own.
	Command        []string
	Stdout, Stderr io.Writer
	// Started is called when the program does its work.
	Started func()
}

// ExitError is the end of a program with another code than 0.
type ExitError int

func (e ExitError) Error() string {
	return fmt.Sprintf("the container ended with exit code %d", int(e))
}

// Agnhost is a container of the image agnhost in the network of a node, whose name server for pods is the kubelet's clusterDNS.
type Agnhost struct {
	Cluster     *traffic.Cluster
	Host        *traffic.Host
	Nameserver  string
	Clock       Clock
	HostProcess bool
}

// Run runs the process if its image is agnhost.
func (a Agnhost) Run(ctx context.Context, p *Process) (is bool, err error) {
	if a.Cluster == nil || !traffic.IsAgnhost(p.Container.Image) {
		return false, nil
	}
	place := traffic.PlaceOf(a.Host, p.Pod, p.Address, a.Nameserver)
	container := &agnhost.Container{
		Cluster: a.Cluster, Place: place, Clock: a.Clock, HostProcess: a.HostProcess, Hostname: hostname(p.Pod, a.Host),
		Stdout: p.Stdout, Stderr: p.Stderr, Started: p.Started,
	}
	argv := p.Command
	if len(argv) == 0 {
		argv = agnhost.Command(p.Container.Command, p.Container.Args)
	}
	code, err := container.Run(ctx, argv)
	if err == nil && code != 0 {
		err = ExitError(code)
	}
	return true, err
}

func hostname(pod *corev1.Pod, host *traffic.Host) string {
	if pod.Spec.HostNetwork {
		return host.Name
	}
	return pod.Name
}

// RunOther is any other image: it runs for ever, and its containers have no program that exec knows. An init container has done
// its work at once, or no other one would ever start.
func RunOther(ctx context.Context, p *Process) error {
	if len(p.Command) > 0 {
		return agnhost.StartError{Why: fmt.Sprintf("exec: %q: executable file not found in $PATH: unknown", p.Command[0])}
	}
	p.Started()
	if p.isInit() {
		return nil
	}
	<-ctx.Done()
	return nil
}

// isInit says whether others wait for the end of the container: one that restarts always runs beside them.
func (p *Process) isInit() bool {
	return slices.ContainsFunc(p.Pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == p.Container.Name && (c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways)
	})
}

// The lengths of a termination message that comes from logs (kubernetes v1.36.3, pkg/kubelet/container/runtime.go).
const (
	messageLines = 80
	messageBytes = 2048
)

// terminated is what the kubelet says of a program that has ended. A container that could not start has no logs to fall back to
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, convertToKubeContainerStatus).
func terminated(container *corev1.Container, err error, log *record, started, now metav1.Time) *corev1.ContainerStateTerminated {
	state := &corev1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: started, FinishedAt: now, ContainerID: "containerd://" + container.Name,
	}
	if err == nil {
		return state
	}
	if unstartable, is := errors.AsType[agnhost.StartError](err); is { // containerd v2.3.2, internal/cri/server/container_start.go
		state.Reason, state.ExitCode = "StartError", 128
		state.Message = fmt.Sprintf("failed to start containerd task %q: %s", container.Name, unstartable.Why)
		return state
	}
	state.Reason, state.ExitCode = "Error", 1
	if code, is := errors.AsType[ExitError](err); is {
		state.ExitCode = int32(code) //nolint:gosec // because exit codes are small
	}
	if container.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		state.Message = log.tail(messageLines, messageBytes)
	}
	return state
}
