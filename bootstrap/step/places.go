package step

import (
	"regexp"
	"strings"
)

// Where things are on a node. kubeadm and image-builder have decided most of it.
const (
	KubernetesDirectory = `C:\etc\kubernetes`
	BootstrapKubeconfig = KubernetesDirectory + `\bootstrap-kubelet.conf`
	Kubeconfig          = KubernetesDirectory + `\kubelet.conf`
	KubeletDirectory    = `C:\var\lib\kubelet`
	KubeletKeys         = KubeletDirectory + `\pki`
	// KubeletCertificate is a link to the newest one; it is made when the cluster has signed the first.
	KubeletCertificate = KubeletKeys + `\kubelet-client-current.pem`
	KubeletLogs        = `C:\var\log\kubelet`

	JoinDirectory    = `C:\run\kubeadm`
	JoinFile         = JoinDirectory + `\join-config.yaml`
	PatchesDirectory = JoinDirectory + `\patches`
	KubeletPatchFile = PatchesDirectory + `\kubeletconfiguration0+merge.yaml`

	ProgramsDirectory = `C:\k`
	KubeadmProgram    = ProgramsDirectory + `\kubeadm.exe`
	kubectlProgram    = ProgramsDirectory + `\kubectl.exe`
	KubeletProgram    = ProgramsDirectory + `\kubelet.exe`

	// CNIPrograms and CNIFolder are where containerd looks for plug-ins and their configuration.
	CNIPrograms = `C:\opt\cni\bin`
	CNIFolder   = `C:\etc\cni\net.d`

	ContainerdFolder = `C:\Program Files\containerd`
	// DropInsDirectory is what containerd's configuration imports; containerd 2 merges it key by key.
	DropInsDirectory = ContainerdFolder + `\conf.d`
	CertsDirectory   = `C:\ProgramData\containerd\certs.d`

	// ToolsConfFile is the configuration of VMware Tools.
	ToolsConfFile = `C:\ProgramData\VMware\VMware Tools\tools.conf`
	// AzureConfigFile is where CSI drivers of Azure look on Windows.
	AzureConfigFile = `C:\k\azure.json`
	CSIProxyLogs    = `C:\var\log\csi-proxy`
)

// CRISocket is where containerd listens on every image.
const CRISocket = "npipe:////./pipe/containerd-containerd"

// OwnDirectory has what only the bootstrap needs.
const OwnDirectory = `C:\run\capwin`

// PlainPath is a path on drive C: that Windows takes as it stands: no stream, no device, no part that ends in a dot or
// blank.
var PlainPath = regexp.MustCompile(`^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\]*[^\x00-\x1f<>:"|?*/\\. ])+$`)

// ownPlaces are written by us, kubeadm or the agent, and by nobody else.
var ownPlaces = []string{
	JoinDirectory, OwnDirectory, KubernetesDirectory, KubeletKeys, KubeletDirectory + `\config.yaml`,
	`C:\ProgramData\capwin`, `C:\run\cluster-api`, CertsDirectory, DropInsDirectory, AzureConfigFile, ToolsConfFile,
}

// CheckPath refuses what Windows would not take, or what is ours.
func CheckPath(field, path string) error {
	if !PlainPath.MatchString(path) || len(path) > 240 {
		return Invalid(field, `%q is no plain path on drive C:; write one such as C:\etc\app.conf, without wildcards and ".."`, path)
	}
	for _, own := range ownPlaces {
		if below(path, own) {
			return Invalid(field, "%q is below %s, which is not for users; write another folder", path, own)
		}
	}
	return nil
}

// below says whether a path is a place or in it. Windows does not tell small from capital letters.
func below(path, place string) bool {
	path, place = strings.ToLower(path), strings.ToLower(place)
	return path == place || strings.HasPrefix(path, place+`\`)
}
