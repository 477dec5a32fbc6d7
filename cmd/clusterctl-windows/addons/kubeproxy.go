package addons

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// The DaemonSet of kube-proxy on nodes with Calico. Names, labels, mount, working folder and arguments are those that the image
// expects (kubernetes-sigs/sig-windows-tools 401ee6f, hostprocess/calico/kube-proxy), so that it replaces the DaemonSet of
// upstream's kube-proxy.yml if that was applied before. Its start.ps1 reads NODENAME; without that variable kube-proxy gets an
// empty name of its Node. It is Calico's: it waits for an HNS network of that name.
const (
	proxyName    = "kube-proxy-windows"
	proxyImage   = "sigwindowstools/kube-proxy" // at Docker Hub; the mirror at ghcr.io is filled by hand (sync-registries.yml)
	proxyNetwork = "Calico"
	// proxyMount is where start.ps1 looks for kubeadm's kubeconfig.conf, below the mount point of its container.
	proxyMount = "/var/lib/kube-proxy"
	// lastProxyMinor is of the last Kubernetes whose kube-proxy knows the gates that start.ps1 names.
	lastProxyMinor = 37
)

const aboutGates = "its start.ps1 names the gates WinDSR and WinOverlay, which Kubernetes 1.38 no longer has " +
	"(https://github.com/kubernetes/kubernetes/pull/142125)"

// runner is what runs kube-proxy on nodes.
type runner struct {
	// daemonSet: our DaemonSet does.
	daemonSet bool
	says      string
}

// proxy returns what runs kube-proxy on the pool's nodes.
func (p Pool) proxy() (runner, error) {
	if p.Network.Mode == "" {
		return runner{says: "spec.network is not set, so no kube-proxy is printed. For Calico add --mode Overlay --cni Calico; for " +
			"another CNI see its documentation"}, nil
	}
	if err := p.checkPair(); err != nil {
		return runner{}, err
	}
	switch run := bootstrap.KubeProxyRun(p.Network); {
	case run == bootstrapv1.KubeProxyService:
		return runner{says: "nothing to apply for kube-proxy, which is a service of the nodes themselves"}, nil
	case run == bootstrapv1.KubeProxyDaemonSet && p.Network.CNI == bootstrapv1.CNICalico:
		return runner{true, "kube-proxy is the DaemonSet " + proxyName + ", of " + p.Version}, p.checkImage()
	case run == bootstrapv1.KubeProxyDaemonSet:
		return runner{says: "kubeProxy.run is DaemonSet, so you must bring one: an image of kube-proxy for Windows is published for " +
			"Calico only"}, nil
	case p.Network.CNI == bootstrapv1.CNIAntrea:
		return runner{says: "nothing to apply for kube-proxy, whose work Antrea does itself"}, nil
	}
	return runner{says: "nothing to apply for kube-proxy: kubeProxy.run is None, so your CNI must do its work, or pods reach no " +
		"Service"}, nil
}

// checkPair refuses what no node can have. The bootstrap's sentence names a field, which a command with flags does not have.
func (p Pool) checkPair() error {
	err := bootstrap.CheckPair(p.Network)
	if invalid, ok := errors.AsType[*bootstrap.InvalidError](err); ok && p.Name == "" {
		return fmt.Errorf("--mode %s: %s", p.Network.Mode, invalid.Message)
	}
	return err
}

// checkImage explains why the image would not start.
func (p Pool) checkImage() error {
	v, err := fullVersion(p.Version)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name(), err)
	}
	hint := "set spec.network.kubeProxy.run: Service"
	if p.Name == "" {
		hint = "use --kube-proxy Service, and write it into the pool"
	}
	if build := v.BuildMetadata(); build != "" {
		plain := strings.TrimSuffix(p.Version, "+"+build)
		return fmt.Errorf("%s: the version of Kubernetes is %q, and kube-proxy's image is built of upstream's releases alone; "+
			"without -f, --kubernetes-version %s --mode %s --cni %s names it, or %s", p.name(), p.Version, plain, p.Network.Mode,
			p.Network.CNI, hint)
	}
	if v.Major() != 1 || v.Minor() > lastProxyMinor {
		return fmt.Errorf("%s: the image of kube-proxy %s with Calico does not start: %s; %s", p.name(), p.Version, aboutGates, hint)
	}
	if name := p.Network.HNSNetworkName; name != "" && name != proxyNetwork {
		return fmt.Errorf("%s: spec.network.hnsNetworkName is %q, but the image of kube-proxy waits for the network %s; remove it, "+
			"or %s", p.name(), name, proxyNetwork, hint)
	}
	return nil
}

// fullVersion refuses a version that is no tag of an image.
func fullVersion(text string) (*version.Version, error) {
	if text == "" {
		return nil, errors.New("the version of Kubernetes is not set, which is the tag of kube-proxy's image; add " +
			"--kubernetes-version, such as v1.36.3")
	}
	v, err := version.ParseSemantic(text)
	if err != nil || !strings.HasPrefix(text, "v") {
		return nil, fmt.Errorf("the version of Kubernetes is %q, by which no image is found; write a full one, such as v1.36.3", text)
	}
	return v, nil
}

func kubeProxy(pools []Pool, options Options) ([]runtime.Object, error) {
	var served []Pool
	for _, p := range pools {
		if runner, err := p.proxy(); err == nil && runner.daemonSet {
			served = append(served, p)
		}
	}
	if len(served) == 0 {
		return nil, nil
	}
	if err := disagree("the version of kube-proxy's DaemonSet", served, func(p Pool) string { return p.Version }); err != nil {
		return nil, err
	}
	return []runtime.Object{proxyDaemonSet(options.image(proxyImage + ":" + served[0].Version + "-calico-hostprocess"))}, nil
}

func proxyDaemonSet(image string) *appsv1.DaemonSet {
	const account = "kube-proxy" // also the ConfigMap; both are kubeadm's
	pod := onWindows(corev1.Container{
		Name: "kube-proxy", Image: image,
		Args:       []string{"$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/start.ps1"},
		WorkingDir: "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/",
		Env: []corev1.EnvVar{{
			Name: "NODENAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}},
		}},
		VolumeMounts: []corev1.VolumeMount{{Name: "kube-proxy", MountPath: proxyMount}},
	})
	pod.ServiceAccountName = account
	pod.Volumes = []corev1.Volume{{
		Name: "kube-proxy",
		VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: account}},
		},
	}}
	pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: bootstrap.LabelKubeProxy, Operator: corev1.NodeSelectorOpNotIn, Values: []string{bootstrap.LabelService},
			}},
		}}},
	}}
	set := daemonSet(proxyName, map[string]string{"k8s-app": proxyName}, pod)
	set.Labels = map[string]string{"k8s-app": "kube-proxy"}
	return set
}

// onWindows is a pod with one container that runs on the host of each Windows node, whatever its taints are.
func onWindows(container corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{
		OS: &corev1.PodOS{Name: corev1.Windows}, Containers: []corev1.Container{container},
		HostNetwork: true, PriorityClassName: "system-node-critical",
		SecurityContext: &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{
			HostProcess: new(true), RunAsUserName: new(`NT AUTHORITY\SYSTEM`),
		}},
		NodeSelector: map[string]string{corev1.LabelOSStable: "windows"},
		Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
}

func daemonSet(name string, labels map[string]string, pod corev1.PodSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.KubeProxyNamespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}
