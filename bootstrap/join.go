package bootstrap

import (
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeadmv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamhub"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta3"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstreamv1beta4"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/kubelet"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// firstV1Beta4 is the first 1.x whose kubeadm reads v1beta4; it warns of v1beta3.
const firstV1Beta4 = 31

// join is what every node does: write files, look for the API server, run kubeadm.
func (n *node) join() step.Part {
	var p step.Part
	p.Add(step.PhasePrepare, n.prepareFiles()...)
	p.Add(step.PhaseAPIServer, n.cluster.answers()...)
	p.Add(step.PhaseJoin, n.cluster.runKubeadm())
	if n.cluster.discovery != "" {
		p.Erase = plan.Texts(discoveryFile)
	}
	return p
}

// prepareFiles writes what kubeadm reads.
func (n *node) prepareFiles() []plan.Step {
	steps := []plan.Step{
		&plan.Check{
			Common: plan.Common{Name: "windows-build", Reason: step.ReasonWindowsNotSupported},
			Test:   plan.Test{Fact: plan.FactOSBuild, AtLeast: plan.Text(oldestWindows)},
			Say:    plan.Say("Windows has build ", plan.FactOSBuild, ", "+oldestWindows+" (Windows Server 2019) or later is needed"),
		},
	}
	steps = append(steps, n.cluster.discoveryFile()...)
	return append(steps, &plan.File{
		Common: plan.Common{Name: "join-configuration", Reason: step.ReasonNodeFilesFailed},
		Path:   plan.Text(step.JoinFile), Text: plan.Text(n.joinConfiguration), Access: plan.FileAdmin,
	}, n.kubelet.Patch)
}

// answers waits until the API server answers, and checks its certificate only then: so a cluster with another CA can be
// distinguished from one that is down.
func (c cluster) answers() []plan.Step {
	host, port := plan.Text(c.endpoint.Host), plan.Text(strconv.Itoa(int(c.endpoint.Port)))
	steps := []plan.Step{&plan.WaitFor{
		Common: plan.Common{Name: "api-server-answers", Reason: step.ReasonAPIServerUnreachable, TimeoutSeconds: 600},
		For:    plan.ForHTTPS, Host: host, Port: port, Insecure: true,
		Say: plan.Text("the API server " + c.endpoint.String() + " does not answer"),
	}}
	steps = append(steps, c.clock(host, port))
	if c.authority.root != nil {
		steps = append(steps, &plan.WaitFor{
			Common: plan.Common{Name: "api-server-identity", Reason: step.ReasonAPIServerCAMismatch, TimeoutSeconds: 180},
			For:    plan.ForHTTPS, Host: host, Port: port, CA: c.authority.root,
			Say: plan.Text("the API server " + c.endpoint.String() + " does not present a certificate from this cluster's CA"),
		})
	}
	return steps
}

// clockTolerance is how far Kubernetes dates certificates back (backdate in pkg/controller/certificates/signer of 1.36), and what
// Kerberos allows.
const clockTolerance = 300

// clock asks before the certificates are looked at: where the clock is wrong, they are not valid. A time service that has just
// begun gets a minute.
func (c cluster) clock(host, port plan.Value) plan.Step {
	return &plan.WaitFor{
		Common: plan.Common{Name: "clock", Reason: step.ReasonClockWrong, TimeoutSeconds: 60},
		For:    plan.ForClock, Host: host, Port: port, WithinSeconds: clockTolerance,
		Say: plan.Say("the node's clock is still ", plan.FactClockOffset, " the API server's"),
	}
}

// clearJoin makes room for another attempt: kubeadm join does not start beside a running kubelet or the files of an
// earlier attempt. kubeadm reset would empty the kubelet's whole folder, which also has the image's credential
// provider and files of the user. The two programs are joined by cmd.exe's own operator; nothing in the line comes
// from a spec.
var clearJoin = plan.Texts("cmd.exe", "/d", "/c", step.System32+`\net.exe`, "stop", "kubelet", "&",
	"del", "/f", "/q", step.Kubeconfig, step.BootstrapKubeconfig, step.KubernetesDirectory+`\pki\ca.crt`)

// runKubeadm joins the cluster. The step is done when the kubelet has a certificate: kubelet.conf exists as soon as
// the kubelet has started, and stays even if no certificate is ever signed.
func (c cluster) runKubeadm() plan.Step {
	pause := 15
	run := &plan.Run{
		Common: plan.Common{
			Name: "kubeadm-join", Reason: step.ReasonJoinFailed,
			TimeoutSeconds: 900, Attempts: 3, DelaySeconds: &pause,
		},
		Argv: plan.Texts(step.KubeadmProgram, "join", "--config", step.JoinFile, "--v=5"),
		Program: plan.Program{
			Creates:  plan.Text(step.KubeletCertificate),
			Undo:     clearJoin,
			Diagnose: joinDiagnoses,
		},
	}
	if c.discovery != "" {
		run.Directory = step.JoinDirectory // discoveryPath has no drive: it is that of the folder in which kubeadm runs
	}
	return run
}

// joinConfiguration is written in the API version that the Machine's own kubeadm reads, as JSON, which is YAML too.
func joinConfiguration(n *node) (string, error) {
	hub := &upstreamhub.JoinConfiguration{JoinConfiguration: kubeadmv1.JoinConfiguration{
		NodeRegistration: kubeadmv1.NodeRegistrationOptions{
			Name:             n.machine.Node,
			CRISocket:        step.CRISocket,
			Taints:           &n.kubelet.Taints,
			KubeletExtraArgs: kubeletExtraArgs(n.kubelet.Flags),
		},
		Discovery: n.cluster.joinDiscovery(n.token),
		Patches:   kubeadmv1.Patches{Directory: step.PatchesDirectory},
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
		meta := metav1.TypeMeta{APIVersion: upstreamv1beta3.GroupVersion.String(), Kind: kind}
		old := &upstreamv1beta3.JoinConfiguration{TypeMeta: meta}
		return old, old.ConvertFrom(hub)
	}
	meta := metav1.TypeMeta{APIVersion: upstreamv1beta4.GroupVersion.String(), Kind: kind}
	current := &upstreamv1beta4.JoinConfiguration{TypeMeta: meta}
	return current, current.ConvertFrom(hub)
}

// joinDiscovery: the node trusts the API server by the hashes of the cluster's CA or by the CA in the user's file,
// never blindly. The token lets it in either way.
func (c cluster) joinDiscovery(token string) kubeadmv1.Discovery {
	if c.discovery != "" {
		return kubeadmv1.Discovery{File: kubeadmv1.FileDiscovery{KubeConfigPath: discoveryPath}, TLSBootstrapToken: token}
	}
	return kubeadmv1.Discovery{BootstrapToken: kubeadmv1.BootstrapTokenDiscovery{
		Token:             token,
		APIServerEndpoint: c.endpoint.String(),
		CACertHashes:      c.authority.pins,
	}}
}

// kubeletExtraArgs repeat the flags of our service. The service does not read them, but tools that recreate it do
// (image-builder's RestartKubelet.ps1).
func kubeletExtraArgs(flags []kubelet.Flag) []kubeadmv1.Arg {
	var args []kubeadmv1.Arg
	for _, flag := range flags {
		args = append(args, kubeadmv1.Arg{Name: flag.Name, Value: &flag.Value})
	}
	return args
}
