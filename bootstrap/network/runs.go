package network

import (
	"fmt"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// kubeProxyRuns say who runs kube-proxy where the spec does not. What is not here has none: Antrea does the work itself, and of
// other pod networks we do not know the HNS network.
var kubeProxyRuns = map[bootstrapv1.CNI]bootstrapv1.KubeProxyRun{
	bootstrapv1.CNIFlannel: bootstrapv1.KubeProxyService,
	bootstrapv1.CNIAzure:   bootstrapv1.KubeProxyService,
	bootstrapv1.CNICalico:  bootstrapv1.KubeProxyDaemonSet,
}

// KubeProxyRun returns what runs kube-proxy on the node, default included.
func KubeProxyRun(spec bootstrapv1.Network) bootstrapv1.KubeProxyRun {
	if spec.KubeProxy.Run != "" {
		return spec.KubeProxy.Run
	}
	if run, ok := kubeProxyRuns[spec.CNI]; ok {
		return run
	}
	return bootstrapv1.KubeProxyNone
}

// CheckPair returns why no node has this mode with this CNI, or runs kube-proxy in this way with them.
func CheckPair(spec bootstrapv1.Network) error {
	p, err := profileOf(spec)
	if err != nil {
		return err
	}
	return (&Network{Input: Input{Spec: spec}, profile: p, proxied: HasKubeProxyService(spec)}).checkKubeProxy()
}

// flannelRunOf returns what runs flanneld on the node, default included. It is empty with another CNI.
func flannelRunOf(spec bootstrapv1.Network) bootstrapv1.FlannelRun {
	switch {
	case spec.CNI != bootstrapv1.CNIFlannel:
		return ""
	case spec.Flannel.Run != "":
		return spec.Flannel.Run
	}
	return bootstrapv1.FlannelService
}

// The labels of a Node that say which programs are Windows services on it. A kubelet gives its own Node such a label at the join,
// which the admission plug-in NodeRestriction lets it: the name is none of Kubernetes' own.
const (
	LabelKubeProxy = "capwin.cluster.x-k8s.io/kube-proxy"
	LabelFlannel   = "capwin.cluster.x-k8s.io/flannel"
	LabelService   = "service"
)

// Labels are those that the Node gets at its join.
func Labels(spec bootstrapv1.Network) map[string]string {
	labels := map[string]string{}
	if KubeProxyRun(spec) == bootstrapv1.KubeProxyService {
		labels[LabelKubeProxy] = LabelService
	}
	if flannelRunOf(spec) == bootstrapv1.FlannelService {
		labels[LabelFlannel] = LabelService
	}
	return labels
}

// cniSources say what brings the CNI's configuration to the node, and which file that is.
var cniSources = map[bootstrapv1.CNI]string{
	bootstrapv1.CNICalico: `the DaemonSet calico-node-windows, whose pod on the Node writes C:\etc\cni\net.d\10-calico.conflist ` +
		`(kubectl get pods -A -o wide -l k8s-app=calico-node-windows)`,
	bootstrapv1.CNIAntrea: `the DaemonSet antrea-agent-windows, whose pod on the Node writes C:\etc\cni\net.d\10-antrea.conflist ` +
		`(kubectl get pods -n kube-system -o wide -l component=antrea-agent)`,
	bootstrapv1.CNIAzure: `the file C:\etc\cni\net.d\10-azure.conflist, which the bootstrap writes, and its programs ` +
		`azure-vnet.exe and azure-vnet-ipam.exe in C:\opt\cni\bin`,
}

// CNISource names what brings the CNI's configuration to a Node, for one that has none.
func CNISource(spec bootstrapv1.Network) string {
	const subnet = `C:\run\flannel\subnet.env, after which the node writes C:\etc\cni\net.d\10-flannel.conf`
	switch flannelRunOf(spec) {
	case bootstrapv1.FlannelService:
		return fmt.Sprintf(`the Windows service flanneld, which writes %s (on the node: Get-Service flanneld)`, subnet)
	case bootstrapv1.FlannelExternal:
		return fmt.Sprintf(`your own flanneld (flannel.run: External), which writes %s`, subnet)
	}
	if source, ok := cniSources[spec.CNI]; ok {
		return source
	}
	return `the DaemonSet for Windows of the cluster's CNI, which writes a file into C:\etc\cni\net.d; the config names no CNI`
}

// WantsDaemonSet reports whether nothing but a DaemonSet of the cluster brings the CNI's configuration to the node, as far as the
// spec knows: with Flannel flanneld does, and with AzureCNI the bootstrap.
func WantsDaemonSet(spec bootstrapv1.Network) bool {
	return spec.CNI != bootstrapv1.CNIFlannel && spec.CNI != bootstrapv1.CNIAzure
}
