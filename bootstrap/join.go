package bootstrap

import (
	"fmt"

	"sigs.k8s.io/cluster-api/util/version"

	kubeadmv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	kubeadm "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
)

// criSocket is where containerd listens on every image.
const criSocket = "npipe:////./pipe/containerd-containerd"

// joinConfiguration is kubeadm's, in the API version that the Machine's own kubeadm reads.
func joinConfiguration(n *node) (string, error) {
	parsed, err := version.ParseTolerantImageTag(n.version)
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", n.machine.Name, err)
	}
	text, err := kubeadm.MarshalJoinConfigurationForVersion(&kubeadmv1.JoinConfiguration{
		NodeRegistration: kubeadmv1.NodeRegistrationOptions{
			Name:             n.machine.Node,
			CRISocket:        criSocket,
			Taints:           &n.taints,
			KubeletExtraArgs: kubeletExtraArgs(n),
		},
		Discovery: joinDiscovery(n),
		Patches:   kubeadmv1.Patches{Directory: patchesDirectory},
	}, parsed)
	if err != nil {
		return "", fmt.Errorf("join configuration of %s: %w", n.machine.Name, err)
	}
	return text, nil
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
