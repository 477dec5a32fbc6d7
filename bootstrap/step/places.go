package step

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Places on a node. kubeadm and image-builder chose most of them.
const (
	KubernetesDirectory = `C:\etc\kubernetes`
	BootstrapKubeconfig = KubernetesDirectory + `\bootstrap-kubelet.conf`
	Kubeconfig          = KubernetesDirectory + `\kubelet.conf`
	KubeletDirectory    = `C:\var\lib\kubelet`
	KubeletKeys         = KubeletDirectory + `\pki`
	// KubeletCertificate is a link to the newest certificate; it exists once the cluster has signed the first.
	KubeletCertificate = KubeletKeys + `\kubelet-client-current.pem`
	KubeletLogs        = `C:\var\log\kubelet`
	PodLogs            = `C:\var\log\pods`
	// ContainerLogs has links to the logs of pods, which log collectors follow.
	ContainerLogs = `C:\var\log\containers`
	// Sockets of drivers lie in these; whoever makes one there is a driver.
	KubeletPlugins  = KubeletDirectory + `\plugins`
	KubeletRegistry = KubeletDirectory + `\plugins_registry`
	KubeletDevices  = KubeletDirectory + `\device-plugins`
	// KubeletImages has the kubelet's records of who may use an image (pkg/kubelet/images/pullmanager/fs_pullrecords.go of
	// Kubernetes 1.36.3); it makes their folders as Windows lets it, so that users could add a record.
	KubeletImages = KubeletDirectory + `\image_manager`

	JoinDirectory = `C:\run\kubeadm`
	JoinFile      = JoinDirectory + `\join-config.yaml`
	// ReportFile is what a guest logs in with to report, until it has credentials of its own.
	ReportFile       = JoinDirectory + `\report.yaml`
	PatchesDirectory = JoinDirectory + `\patches`
	KubeletPatchFile = PatchesDirectory + `\kubeletconfiguration0+merge.yaml`

	ProgramsDirectory = `C:\k`
	KubeadmProgram    = ProgramsDirectory + `\kubeadm.exe`
	kubectlProgram    = ProgramsDirectory + `\kubectl.exe`
	KubeletProgram    = ProgramsDirectory + `\kubelet.exe`
	// LogProgram runs the kubelet and kube-proxy, and writes their logs.
	LogProgram       = ProgramsDirectory + `\kube-log-runner.exe`
	KubeProxyProgram = ProgramsDirectory + `\kube-proxy.exe`
	FlanneldProgram  = ProgramsDirectory + `\flanneld.exe`
	// NSSMProgram makes a service of a program that knows none; image-builder's windows_service_manager nssm puts it there.
	NSSMProgram = ProgramsDirectory + `\nssm.exe`

	// CNIPrograms and CNIFolder are where containerd looks for plug-ins and their configuration.
	CNIPrograms = `C:\opt\cni\bin`
	CNIFolder   = `C:\etc\cni\net.d`
	// CNIState is where plug-ins record which pod has which address.
	CNIState = `C:\var\lib\cni`

	// FlannelFolder is where flannel writes the node's addresses for its plug-in.
	FlannelFolder = `C:\run\flannel`

	// KubeProxyFolder has what the service kube-proxy reads. No DaemonSet that is published mounts it.
	KubeProxyFolder = `C:\etc\kube-proxy`
	KubeProxyFile   = KubeProxyFolder + `\config.conf`
	KubeProxyLogs   = `C:\var\log\kube-proxy`
	// FlanneldFolder has what the service flanneld reads.
	FlanneldFolder = `C:\etc\kube-flannel`
	FlanneldLogs   = `C:\var\log\flanneld`

	ContainerdFolder = `C:\Program Files\containerd`
	// DropInsDirectory is what containerd's configuration imports; containerd 2 merges its files key by key.
	DropInsDirectory = ContainerdFolder + `\conf.d`
	CertsDirectory   = `C:\ProgramData\containerd\certs.d`

	// ToolsConfFile is the configuration of VMware Tools, which ToolboxProgram changes.
	ToolsFolder    = `C:\ProgramData\VMware\VMware Tools`
	ToolsConfFile  = ToolsFolder + `\tools.conf`
	ToolboxProgram = `C:\Program Files\VMware\VMware Tools\VMwareToolboxCmd.exe`
	// AzureConfigFile is where Azure's CSI drivers look on Windows.
	AzureConfigFile = `C:\k\azure.json`
	CSIProxyLogs    = `C:\var\log\csi-proxy`
	// ServicesFolder is where Windows starts services, and so what programs write without a folder.
	ServicesFolder = `C:\Windows\System32`
	PowerShell     = ServicesFolder + `\WindowsPowerShell\v1.0\powershell.exe`
)

// CRISocket is where containerd listens on every image.
const CRISocket = "npipe:////./pipe/containerd-containerd"

// OwnDirectory holds files that only the bootstrap needs, SentinelDirectory what it leaves when all is done.
const (
	OwnDirectory      = `C:\run\capwin`
	SentinelDirectory = `C:\run\cluster-api`
)

// PlainPath is a path on drive C: that Windows uses unchanged: no stream, no device, no part that ends in a dot or a
// blank, and no short name, by which every place has a second path.
var PlainPath = regexp.MustCompile(`^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])+$`)

// ownPlaces belong to us, to kubeadm, to the agent, or to programs of the node; users must not write there.
var ownPlaces = slices.Concat(joinPlaces, programPlaces)

// joinPlaces are of the bootstrap, kubeadm and containerd. The API has a rule for them, and one for the others.
var joinPlaces = []string{
	JoinDirectory, OwnDirectory, KubernetesDirectory, KubeletKeys, KubeletDirectory + `\config.yaml`,
	KubeletDirectory + `\instance-config.yaml`, KubeletDirectory + `\kubeadm-flags.env`,
	`C:\ProgramData\capwin`, SentinelDirectory, CertsDirectory, ContainerdFolder,
}

// programPlaces are of the node's programs, network and clouds.
var programPlaces = []string{
	KubeadmProgram, kubectlProgram, KubeletProgram, LogProgram, CNIFolder, CNIPrograms, KubeProxyFolder, FlanneldFolder,
	AzureConfigFile, ToolsConfFile,
}

// otherNames are links that Windows itself makes, by which its folders have a second path.
var otherNames = []string{
	`C:\Documents and Settings`, `C:\Users\All Users`, `C:\Users\Default User`, `C:\ProgramData\Application Data`,
}

// IsPlain reports whether Windows uses a path unchanged, and takes no part of it for a device.
func IsPlain(path string) bool {
	return PlainPath.MatchString(path) && !plan.DeviceName.MatchString(path)
}

// longestPath leaves room for the names of temporary files beside a file: Windows takes 259 characters in all.
const longestPath = 240

// CheckPath refuses a path that Windows would not accept, or that is ours.
func CheckPath(field, path string) error {
	if !IsPlain(path) {
		return Invalid(field,
			`%q is not a plain path on drive C:; use one such as C:\etc\app.conf, without wildcards, "..", "~", and devices such as NUL`,
			path)
	}
	if length := len(utf16.Encode([]rune(path))); length > longestPath {
		return Invalid(field, "%q has %d characters, as Windows counts them; use %d at most", path, length, longestPath)
	}
	for _, place := range slices.Concat(ownPlaces, otherNames) {
		if Below(path, place) {
			return Invalid(field,
				"%q is in %s, which is reserved for the bootstrap and the programs of the node; use another one", path, place)
		}
	}
	return nil
}

// CheckFile also refuses a file where one of our folders must be.
func CheckFile(field, path string) error {
	if err := CheckPath(field, path); err != nil {
		return err
	}
	for _, place := range ownPlaces {
		if Below(place, path) {
			return Invalid(field, "%q must be a folder, because %s is in it; use another path for the file", path, place)
		}
	}
	return nil
}

// Below reports whether a path is a place or in it. Windows ignores the case of letters. Each plan asks some hundred times, so no
// copies are made.
func Below(path, place string) bool {
	return len(path) >= len(place) && strings.EqualFold(path[:len(place)], place) &&
		(len(path) == len(place) || path[len(place)] == '\\')
}
