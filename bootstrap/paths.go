package bootstrap

import (
	"regexp"
	"strings"
)

// Where things are on a node. kubeadm and image-builder have decided most of it.
const (
	kubernetesDirectory = `C:\etc\kubernetes`
	bootstrapKubeconfig = kubernetesDirectory + `\bootstrap-kubelet.conf`
	kubeconfig          = kubernetesDirectory + `\kubelet.conf`
	kubeletDirectory    = `C:\var\lib\kubelet`
	kubeletKeys         = kubeletDirectory + `\pki`
	// kubeletCertificate is a link to the newest one; it is made when the cluster has signed the first.
	kubeletCertificate = kubeletKeys + `\kubelet-client-current.pem`
	kubeletLogs        = `C:\var\log\kubelet`

	joinDirectory    = `C:\run\kubeadm`
	joinFile         = joinDirectory + `\join-config.yaml`
	patchesDirectory = joinDirectory + `\patches`
	kubeletPatchFile = patchesDirectory + `\kubeletconfiguration0+merge.yaml`

	programsDirectory = `C:\k`
	kubeadmProgram    = programsDirectory + `\kubeadm.exe`
	kubectlProgram    = programsDirectory + `\kubectl.exe`
	kubeletProgram    = programsDirectory + `\kubelet.exe`

	// cniPrograms and cniFolder are where containerd looks for plug-ins and their configuration.
	cniPrograms = `C:\opt\cni\bin`
	cniFolder   = `C:\etc\cni\net.d`

	containerdFolder = `C:\Program Files\containerd`
	// dropInsDirectory is what containerd's configuration imports; containerd 2 merges it key by key.
	dropInsDirectory = containerdFolder + `\conf.d`
	certsDirectory   = `C:\ProgramData\containerd\certs.d`

	// toolsConfFile is the configuration of VMware Tools.
	toolsConfFile = `C:\ProgramData\VMware\VMware Tools\tools.conf`
	// azureConfigFile is where CSI drivers of Azure look on Windows.
	azureConfigFile = `C:\k\azure.json`
	csiProxyLogs    = `C:\var\log\csi-proxy`
)

// criSocket is where containerd listens on every image.
const criSocket = "npipe:////./pipe/containerd-containerd"

// What only the bootstrap needs is in a folder of its own.
const ownDirectory = `C:\run\capwin`

// plainPath is a path on drive C: that Windows takes as it stands: no stream, no device, no part that ends in a dot or
// blank.
var plainPath = regexp.MustCompile(`^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\]*[^\x00-\x1f<>:"|?*/\\. ])+$`)

// ownPlaces are written by us, kubeadm or the agent, and by nobody else.
var ownPlaces = []string{
	joinDirectory, ownDirectory, kubernetesDirectory, kubeletKeys, kubeletDirectory + `\config.yaml`,
	`C:\ProgramData\capwin`, `C:\run\cluster-api`, certsDirectory, dropInsDirectory, azureConfigFile, toolsConfFile,
}

// checkPath refuses what Windows would not take, or what is ours.
func checkPath(field, path string) error {
	if !plainPath.MatchString(path) || len(path) > 240 {
		return invalid(field, `%q is no plain path on drive C:; write one such as C:\etc\app.conf, without wildcards and ".."`, path)
	}
	for _, own := range ownPlaces {
		if below(path, own) {
			return invalid(field, "%q is below %s, which is not for users; write another folder", path, own)
		}
	}
	return nil
}

// below says whether a path is a place or in it. Windows does not tell small from capital letters.
func below(path, place string) bool {
	path, place = strings.ToLower(path), strings.ToLower(place)
	return path == place || strings.HasPrefix(path, place+`\`)
}
