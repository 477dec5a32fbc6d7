package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/traffic"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// ReachProbe is the command of a readiness probe by which a pod asks a Service: its address follows.
const ReachProbe = "lab-reach"

// containers are containerd with the node's CNI.
type containers struct {
	node   *node
	client kubernetes.Interface
	// host is the node in the cluster's network, if there is one.
	host *traffic.Host

	mu        sync.Mutex
	addresses map[types.UID]string
	// left take pods out of the network.
	left map[types.UID]func()
}

// runPods runs the pods of the node until ctx ends.
func (n *node) runPods(ctx context.Context) error {
	client, err := n.power.watcher(n.flags.kubeconfig, "kubelet.exe")
	if err != nil {
		return err
	}
	runtime := &containers{node: n, client: client, addresses: map[types.UID]string{}, left: map[types.UID]func(){}}
	k := &pods.Kubelet{
		Node: n.name, HostIP: n.power.guest.address(), Client: client, Runtime: runtime, Clock: n.call.Machine.Clock,
	}
	if n.power.guest.Network != nil {
		leave, err := runtime.join(ctx, k)
		if err != nil {
			return err
		}
		defer leave()
	}
	k.Run(ctx)
	return nil
}

// Connect is part of pods.Runtime.
func (c *containers) Connect(ctx context.Context, pod *corev1.Pod) (string, error) {
	if why := cni.NotReady(c.node.call.Machine); why != "" {
		return "", errors.New("network is not ready: " + why)
	}
	address, err := cni.Add(ctx, c.node.call.Machine, sandbox(pod))
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.addresses[pod.UID] = address
		err = c.enter(pod.UID, address)
	}
	return address, err
}

func sandbox(pod *corev1.Pod) string { return "pod-" + string(pod.UID) }

// Disconnect is part of pods.Runtime.
func (c *containers) Disconnect(pod *corev1.Pod) {
	if pod.Spec.HostNetwork {
		return
	}
	c.leave(pod.UID)
	if err := cni.Del(c.node.call.Machine, sandbox(pod)); err != nil {
		c.node.call.Fail("E0101 failed to destroy network for sandbox %s: %v", sandbox(pod), err)
	}
}

// Pull is part of pods.Runtime: images take their time.
func (c *containers) Pull(ctx context.Context, _ *corev1.Pod, container *corev1.Container) error {
	m, g := c.node.call.Machine, c.node.power.guest
	if err := g.pull(ctx, m.Clock, container.Image); err != nil || g.Network == nil {
		return err
	}
	return g.Network.Images.Pull(container.Image, "windows/10.0."+m.Hardware.OSBuild)
}

// Run is part of pods.Runtime: agnhost does what it is told, HostProcess containers do what their scripts do, and all others run.
func (c *containers) Run(ctx context.Context, p *pods.Process) error {
	m, pod, container := c.node.call.Machine, p.Pod, p.Container
	if is, err := c.agnhost(ctx, p); is {
		return err
	}
	if len(p.Command) > 0 || !isHostProcess(pod, container) {
		return pods.RunOther(ctx, p)
	}
	run := &cni.Container{
		Machine: m, Name: container.Name, Command: slices.Concat(container.Command, container.Args),
		Log: io.MultiWriter(c.node.call.Stderr, p.Stderr), HostIP: c.node.power.guest.address(),
	}
	var err error
	if run.Env, err = c.environment(ctx, pod, container); err == nil {
		run.Mounts, err = c.mounts(ctx, pod, container)
	}
	if err != nil {
		return fmt.Errorf("CreateContainerConfigError: %w", err)
	}
	run.Account = sync.OnceValues(func() (kubernetes.Interface, error) { return c.account(ctx, pod) })
	err = run.Run(ctx, p.Started)
	if err != nil && ctx.Err() == nil {
		c.node.call.Fail("E0101 container %s of pod %s: %v", container.Name, pod.Name, err)
	}
	return err
}

// isHostProcess by the container's options, or those of its pod.
func isHostProcess(pod *corev1.Pod, container *corev1.Container) bool {
	var options *corev1.WindowsSecurityContextOptions
	if pod.Spec.SecurityContext != nil {
		options = pod.Spec.SecurityContext.WindowsOptions
	}
	if container.SecurityContext != nil && container.SecurityContext.WindowsOptions != nil {
		options = container.SecurityContext.WindowsOptions
	}
	return options != nil && options.HostProcess != nil && *options.HostProcess
}

// mounts are folders of the host, ConfigMaps and Secrets; a token of the pod's account is played by account.
func (c *containers) mounts(ctx context.Context, pod *corev1.Pod, container *corev1.Container) (map[string]cni.Mount, error) {
	volumes := map[string]cni.Mount{}
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.HostPath != nil:
			volumes[volume.Name] = cni.Mount{Host: "C:" + strings.ReplaceAll(volume.HostPath.Path, "/", `\`)}
		case volume.ConfigMap != nil:
			found, err := c.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, volume.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			volumes[volume.Name] = cni.Mount{Files: found.Data}
		case volume.Secret != nil:
			found, err := c.client.CoreV1().Secrets(pod.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			files := map[string]string{}
			for name, content := range found.Data {
				files[name] = string(content)
			}
			volumes[volume.Name] = cni.Mount{Files: files}
		}
	}
	mounts := map[string]cni.Mount{}
	for _, mount := range container.VolumeMounts {
		mounts[mount.MountPath] = volumes[mount.Name]
	}
	return mounts, nil
}

// pull gets an image, unless it is there: that of another container, or of an earlier start of Windows.
func (g *Simulated) pull(ctx context.Context, clock windows.Clock, image string) error {
	for part, takes := range g.Pulls {
		if _, has := g.images.Load(image); has || !strings.Contains(image, part) {
			continue
		}
		if err := clock.Sleep(ctx, takes); err != nil {
			return err
		}
		g.images.Store(image, true)
	}
	return nil
}

// environment is what a container's spec gives to it. A node may read the ConfigMaps of its pods.
func (c *containers) environment(ctx context.Context, pod *corev1.Pod, container *corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	fields := map[string]string{
		"spec.nodeName": pod.Spec.NodeName, "metadata.name": pod.Name, "metadata.namespace": pod.Namespace,
		"status.podIP": c.node.power.guest.address(),
	}
	for _, one := range container.Env {
		from := one.ValueFrom
		switch {
		case from == nil:
			env[one.Name] = one.Value
		case from.FieldRef != nil:
			env[one.Name] = fields[from.FieldRef.FieldPath]
		case from.ConfigMapKeyRef != nil:
			found, err := c.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, from.ConfigMapKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			env[one.Name] = found.Data[from.ConfigMapKeyRef.Key]
		}
	}
	return env, nil
}

// account speaks to the cluster with a token of the pod's account, which a node may ask for on behalf of its pods.
func (c *containers) account(ctx context.Context, pod *corev1.Pod) (kubernetes.Interface, error) {
	answer, err := c.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: new(int64(3600)),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
		}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	found, err := embedCertificate(c.node.call.Machine, c.node.flags.kubeconfig)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*found, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = answer.Status.Token
	return connectFor(c.node.call.Machine, config, c.node.power.guest.Faults.dialer("pod"), 0)
}

// Probe is part of pods.Runtime; played are the question to a Service, and the programs of DaemonSets.
func (c *containers) Probe(_ context.Context, pod *corev1.Pod, container *corev1.Container) error {
	probe := container.ReadinessProbe.Exec
	if probe == nil {
		return nil
	}
	if len(probe.Command) != 2 || probe.Command[0] != ReachProbe {
		return cni.Probe(probe.Command)
	}
	c.mu.Lock()
	address := c.addresses[pod.UID]
	c.mu.Unlock()
	return cni.Reach(c.node.call.Machine, address, probe.Command[1])
}
