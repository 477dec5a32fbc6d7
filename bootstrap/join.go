package bootstrap

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeadmv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamhub"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta3"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"
)

// criSocket is where containerd listens on every image.
const criSocket = "npipe:////./pipe/containerd-containerd"

// firstV1Beta4 is the first 1.x whose kubeadm reads v1beta4, and warns of v1beta3.
const firstV1Beta4 = 31

// joinConfiguration is kubeadm's, in the API version that the Machine's own kubeadm reads. It is written as JSON, which
// is YAML too: by way of Cluster API's YAML a rendering would take half as long again.
func joinConfiguration(n *node) (string, error) {
	hub := &upstreamhub.JoinConfiguration{JoinConfiguration: kubeadmv1.JoinConfiguration{
		NodeRegistration: kubeadmv1.NodeRegistrationOptions{
			Name:             n.machine.Node,
			CRISocket:        criSocket,
			Taints:           &n.taints,
			KubeletExtraArgs: kubeletExtraArgs(n),
		},
		Discovery: joinDiscovery(n),
		Patches:   kubeadmv1.Patches{Directory: patchesDirectory},
	}}
	configuration, err := ofKubeadm(n.minor, hub)
	if err != nil {
		return "", fmt.Errorf("join configuration of %s: %w", n.machine.Name, err)
	}
	text, err := json.Marshal(configuration)
	if err != nil {
		return "", fmt.Errorf("join configuration of %s: %w", n.machine.Name, err)
	}
	return string(text), nil
}

// ofKubeadm is the configuration in the API version of a kubeadm of this minor.
func ofKubeadm(minor uint64, hub *upstreamhub.JoinConfiguration) (any, error) {
	const kind = "JoinConfiguration"
	if minor < firstV1Beta4 {
		old := &upstreamv1beta3.JoinConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: upstreamv1beta3.GroupVersion.String(), Kind: kind}}
		return old, old.ConvertFrom(hub)
	}
	current := &upstreamv1beta4.JoinConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: upstreamv1beta4.GroupVersion.String(), Kind: kind}}
	return current, current.ConvertFrom(hub)
}

// joinDiscovery: the node trusts the API server by the hashes of the cluster's CA or by the CA of the user's file, never
// blindly. Either way it is the token that lets it in.
func joinDiscovery(n *node) kubeadmv1.Discovery {
	if n.discovery != "" {
		return kubeadmv1.Discovery{File: kubeadmv1.FileDiscovery{KubeConfigPath: discoveryPath}, TLSBootstrapToken: n.token}
	}
	return kubeadmv1.Discovery{BootstrapToken: kubeadmv1.BootstrapTokenDiscovery{
		Token:             n.token,
		APIServerEndpoint: n.endpoint.String(),
		CACertHashes:      n.authority.pins,
	}}
}

// kubeletExtraArgs: kubeadm writes them where our service does not look, but tools that make the kubelet's service anew
// (image-builder's RestartKubelet.ps1) do.
func kubeletExtraArgs(n *node) []kubeadmv1.Arg {
	var args []kubeadmv1.Arg
	for _, flag := range registrationFlags(n) {
		args = append(args, kubeadmv1.Arg{Name: flag.name, Value: &flag.value})
	}
	return args
}
