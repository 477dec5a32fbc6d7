package linuxvm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

// Spec is what a cloud knows of a VM.
type Spec struct {
	Name    string
	Cluster client.ObjectKey
	// UserData are those of the bootstrap provider.
	UserData []byte
	// Address of the VM.
	Address string
	// SystemUUID is what its firmware says to Linux.
	SystemUUID string
	// Identities are the managed ones of Azure that programs of the VM may log in with.
	Identities []string
}

// VM is a Linux VM that is on.
type VM struct {
	Spec

	cluster *Cluster
	disk    disk
	stop    func()
	over    chan struct{}

	mu      sync.Mutex
	failure error
	node    string
	// etcd is the member that runs here; leave ends what listens here.
	etcd  *servers.Etcd
	leave []func()
}

// Failure is why the VM became no node: what its console would show.
func (vm *VM) Failure() error {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.failure
}

func (vm *VM) fail(err error) {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.failure = err
}

const (
	initFile = "/run/kubeadm/kubeadm.yaml"
	joinFile = "/run/kubeadm/kubeadm-join-config.yaml"
	pki      = "/etc/kubernetes/pki/"

	kubeVIPFile = "/etc/kubernetes/manifests/kube-vip.yaml"
)

// live carries out the user data, and then is a node until ctx ends.
func (vm *VM) live(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, vm.switchedOff()) }()
	data, err := read(vm.UserData, vm.Name)
	if err == nil {
		err = vm.disk.lay(data.files)
	}
	if err != nil {
		return err
	}
	var n *node
	for _, command := range data.commands {
		switch {
		case strings.HasPrefix(command, "kubeadm init "):
			n, err = vm.init(ctx, data)
		case strings.HasPrefix(command, "kubeadm join "):
			n, err = vm.join(ctx)
		default:
			err = vm.disk.run(ctx, command)
		}
		if err != nil {
			return err
		}
	}
	if n == nil {
		return errors.New("the user data run neither kubeadm init nor kubeadm join")
	}
	return n.live(ctx)
}

// File of the VM's disk.
func (vm *VM) File(path string) ([]byte, error) { return vm.disk.read(path) }

// init is kubeadm init.
func (vm *VM) init(ctx context.Context, data *userData) (*node, error) {
	config, err := vm.disk.read(initFile)
	if err != nil {
		return nil, err
	}
	registration, _, err := registrationOf(config, "InitConfiguration")
	if err != nil {
		return nil, err
	}
	name := registration.name(vm.Name)
	init := &servers.Init{
		PKI: map[string][]byte{}, Config: config, Serves: func(port int) error { return vm.serve(ctx, port) },
		Etcd: func(starting context.Context, pki string) (string, error) { return vm.firstEtcd(starting, name, pki) },
	}
	for _, one := range data.files {
		if name, found := strings.CutPrefix(one.Path, pki); found {
			init.PKI[name] = []byte(one.Content)
		}
	}
	w, err := vm.cluster.start(ctx, init)
	if err != nil {
		return nil, err
	}
	n := &node{vm: vm, name: name, registration: registration, controlPlane: true, kubeconfig: w.KubeletKubeconfig()}
	return n, n.register(ctx)
}

// serve leads the address in front of the control plane to its API server: that of the cloud, or the one that kube-vip takes.
func (vm *VM) serve(ctx context.Context, port int) error {
	behind := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	vm.cluster.mu.Lock()
	given := vm.cluster.front
	vm.cluster.mu.Unlock()
	if given != nil {
		given.leadTo(behind)
		return nil
	}
	address, err := vm.kubeVIP()
	if err != nil || address == "" {
		return err
	}
	taken, err := newFront(context.WithoutCancel(ctx), address)
	if err != nil {
		return err
	}
	taken.leadTo(behind)
	context.AfterFunc(ctx, taken.close)
	return nil
}

// kubeVIP is the address that kube-vip takes, if its static pod is there. Before kubeadm init has ended only super-admin.conf has
// rights (kube-vip issue 684), so that with another file nobody takes the address.
func (vm *VM) kubeVIP() (string, error) {
	text, err := vm.disk.read(kubeVIPFile)
	if err != nil {
		return "", nil //nolint:nilerr // because no file is no kube-vip
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(text, &pod); err != nil || len(pod.Spec.Containers) != 1 {
		return "", fmt.Errorf("read the static pod of kube-vip: %w", err)
	}
	for _, volume := range pod.Spec.Volumes {
		if host := volume.HostPath; host != nil && strings.HasSuffix(host.Path, ".conf") && path.Base(host.Path) != "super-admin.conf" {
			return "", fmt.Errorf("kube-vip logs in with %s, which has no rights yet", host.Path)
		}
	}
	env := map[string]string{}
	for _, one := range pod.Spec.Containers[0].Env {
		env[one.Name] = one.Value
	}
	return net.JoinHostPort(env["address"], env["port"]), nil
}

// registration is the part of kubeadm's configurations that says how a kubelet registers its node.
type registration struct {
	Name      string         `json:"name"`
	Taints    []corev1.Taint `json:"taints"`
	Arguments []struct {
		Name, Value string
	} `json:"kubeletExtraArgs"`
}

func (r registration) name(hostname string) string {
	if r.Name != "" {
		return r.Name
	}
	return hostname
}

func (r registration) argument(name string) string {
	for _, one := range r.Arguments {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

// registrationOf also says whether the machine joins a control plane.
func registrationOf(config []byte, kind string) (found registration, controlPlane bool, err error) {
	err = fmt.Errorf("the configuration of kubeadm has no %s", kind)
	for part := range strings.SplitSeq(string(config), "\n---\n") {
		var object struct {
			metav1.TypeMeta  `json:",inline"`
			NodeRegistration registration `json:"nodeRegistration"`
			ControlPlane     *struct{}    `json:"controlPlane"`
		}
		if failed := yaml.Unmarshal([]byte(part), &object); failed != nil {
			return found, false, fmt.Errorf("read the configuration of kubeadm: %w", failed)
		}
		if object.Kind == kind {
			found, controlPlane, err = object.NodeRegistration, object.ControlPlane != nil, nil
		}
	}
	return found, controlPlane, err
}

// staticPods are those of kubeadm and of the manifests that the user data brought.
func (vm *VM) staticPods(ctx context.Context, api kubernetes.Interface, node string) error {
	pods := []corev1.Pod{}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"component": name, "tier": "control-plane"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "registry.k8s.io/" + name}}},
		})
	}
	if text, err := vm.disk.read(kubeVIPFile); err == nil {
		var pod corev1.Pod
		if err := yaml.Unmarshal(text, &pod); err != nil {
			return fmt.Errorf("read the static pod of kube-vip: %w", err)
		}
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		pod.Name, pod.Namespace = pod.Name+"-"+node, metav1.NamespaceSystem
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: pod.Name}
		pod.Spec.NodeName, pod.Spec.HostNetwork = node, true
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		_, err := api.CoreV1().Pods(pod.Namespace).Create(ctx, &pod, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make static pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// markControlPlane is the phase mark-control-plane of kubeadm init, which a node may not do itself.
func markControlPlane(ctx context.Context, api kubernetes.Interface, name string) error {
	const patch = `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":"",` +
		`"node.kubernetes.io/exclude-from-external-load-balancers":""}}}`
	_, err := api.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
