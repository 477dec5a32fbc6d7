package bootstrap

import (
	"slices"
	"strconv"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
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
)

// oldestWindows is the build of Windows Server 2019.
const oldestWindows = "17763"

// waitSeconds keeps cloudbase-init waiting: short, for Azure gives a machine little time to say that it is there.
const waitSeconds = 60

// The phases of a node's bootstrap, in their order. One that has no steps is left out.
const (
	phasePrepare   = "prepare"
	phaseWindows   = "windows"
	phaseNetwork   = "network"
	phasePreJoin   = "pre-join"
	phaseContainer = "container-runtime"
	phaseImages    = "images"
	phaseKubelet   = "kubelet"
	phaseAPIServer = "api-server"
	phaseJoin      = "join"
	phaseVerify    = "verify"
	phasePostJoin  = "post-join"
)

var phaseOrder = []string{
	phasePrepare, phaseWindows, phaseNetwork, phasePreJoin, phaseContainer, phaseImages, phaseKubelet, phaseAPIServer, phaseJoin,
	phaseVerify, phasePostJoin,
}

// PhaseNames are the names that a phase of a bootstrap may have, in the order of the phases.
func PhaseNames() []string { return slices.Clone(phaseOrder) }

// part is what one room of the spec brings to a plan: steps by phase, steps for every boot, and what has to be hidden or
// erased because of them.
type part struct {
	steps     map[string][]plan.Step
	everyBoot []plan.Step
	redact    []string
	erase     []plan.Value
}

// add steps to a phase.
func (p *part) add(phase string, steps ...plan.Step) {
	if p.steps == nil {
		p.steps = map[string][]plan.Step{}
	}
	p.steps[phase] = append(p.steps[phase], steps...)
}

// parts in the order in which their steps stand in a phase.
var parts = []func(*node) (part, error){
	imagePart, addressPart, customPart, windowsPart, verifyPart, kubeletPart, nodePart, networkPart, containerdPart, joinPart, pageFilePart,
}

// nodePlan is the whole story of a node.
func nodePlan(n *node) (*plan.Plan, error) {
	p := &plan.Plan{
		Version:         plan.Version,
		Machine:         n.machine,
		DeadlineSeconds: n.deadlineSeconds,
		WaitSeconds:     waitSeconds,
		Report:          n.cloud.channels,
		Redact:          []string{n.token, n.token[len("abcdef."):]},
		Logs:            logs(n.kubelet.logDirectory),
		Erase:           append(plan.Texts(joinFile, bootstrapKubeconfig), n.cloud.erase...),
	}
	steps := map[string][]plan.Step{}
	var everyBoot []plan.Step
	for _, partOf := range parts {
		own, err := partOf(n)
		if err != nil {
			return nil, err
		}
		for phase, more := range own.steps {
			steps[phase] = append(steps[phase], more...)
		}
		everyBoot = append(everyBoot, own.everyBoot...)
		p.Redact, p.Erase = append(p.Redact, own.redact...), append(p.Erase, own.erase...)
	}
	for _, name := range phaseOrder {
		if len(steps[name]) > 0 {
			p.Phases = append(p.Phases, plan.Phase{Name: name, Steps: steps[name]})
		}
	}
	if len(everyBoot) > 0 {
		p.EveryBoot = []plan.Phase{{Name: "every-boot", Steps: everyBoot}}
	}
	return p, nil
}

// joinPart is what every node does: files, runtime, kubelet, join.
func joinPart(n *node) (part, error) {
	prepare, err := prepareFiles(n)
	if err != nil {
		return part{}, err
	}
	p := part{steps: map[string][]plan.Step{
		phasePrepare:   prepare,
		phaseContainer: containerRuntime(),
		phaseKubelet:   kubeletService(n),
		phaseAPIServer: apiServer(n),
		phaseJoin:      join(n),
	}}
	if n.discovery != "" {
		p.erase = plan.Texts(discoveryFile)
	}
	return p, nil
}

// prepareFiles writes what kubeadm will read. Folders that hold keys or the token are closed before anything is in them.
func prepareFiles(n *node) ([]plan.Step, error) {
	configuration, err := joinConfiguration(n)
	if err != nil {
		return nil, err
	}
	patch, err := kubeletPatchStep(n)
	if err != nil {
		return nil, err
	}
	steps := []plan.Step{
		&plan.Check{
			Common: plan.Common{Name: "windows-build", Reason: ReasonWindowsNotSupported},
			Test:   plan.Test{Fact: "osBuild", AtLeast: plan.Text(oldestWindows)},
		},
		directory("kubeadm-folder", joinDirectory, plan.AccessAdmin),
		directory("kubernetes-folder", kubernetesDirectory, plan.AccessAdmin),
		// Below C: Windows lets users make files in folders, and what lies in these SYSTEM runs or obeys.
		directory("programs-folder", programsDirectory, plan.AccessAdmin),
		directory("cni-programs-folder", cniPrograms, plan.AccessAdmin),
		directory("cni-folder", cniFolder, plan.AccessAdmin),
		directory("kubelet-logs", n.kubelet.logDirectory, plan.AccessInherit),
	}
	steps = append(steps, discoverySteps(n)...)
	return append(steps, &plan.File{
		Common: plan.Common{Name: "join-configuration", Reason: ReasonNodeFilesFailed},
		Path:   plan.Text(joinFile), Text: plan.Text(configuration), Access: plan.AccessAdmin,
	}, patch), nil
}

func directory(name, path string, access plan.Access) plan.Step {
	return &plan.Directory{Common: plan.Common{Name: name, Reason: ReasonNodeFilesFailed}, Path: plan.Text(path), Access: access}
}

func containerRuntime() []plan.Step {
	return []plan.Step{
		&plan.ServiceState{
			Common:  plan.Common{Name: "containerd-running", Reason: ReasonContainerRuntimeNotReady, TimeoutSeconds: 120, Attempts: 3},
			Service: "containerd", State: plan.ServiceRunning,
		},
		&plan.WaitFor{
			Common: plan.Common{Name: "containerd-answers", Reason: ReasonContainerRuntimeNotReady, TimeoutSeconds: 120},
			For:    plan.ForPipe, Target: plan.Text("containerd-containerd"),
		},
		// The image says with which arguments containerd runs: only what it does after a failure is ours.
		serviceTool("containerd-restarts", "failure", "containerd", "reset=", "900", "actions=", "restart/10000/restart/30000/restart/60000"),
		serviceTool("containerd-restarts-always", "failureflag", "containerd", "1"),
	}
}

func serviceTool(name string, args ...string) plan.Step {
	return &plan.Run{
		Common: plan.Common{Name: name, Reason: ReasonContainerdConfigFailed, TimeoutSeconds: 60, Attempts: 3},
		Argv:   plan.Texts(append([]string{"sc.exe"}, args...)...),
	}
}

// kubeletService makes the service ours, whatever the image brought, and stops what may run by the old definition:
// kubeadm starts it when its configuration is there. An image made of a machine that had joined must not pass for a
// node that has: its identity goes.
func kubeletService(n *node) []plan.Step {
	return []plan.Step{
		&plan.Service{
			Common:  plan.Common{Name: "kubelet-service", Reason: ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", Command: plan.Texts(kubeletCommand(n)...), Start: n.kubelet.start,
			DependsOn: plan.Texts("containerd"), RestartSeconds: []int{10, 30, 60},
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-stopped", Reason: ReasonKubeletServiceFailed, Attempts: 3},
			Service: "kubelet", State: plan.ServiceStopped,
		},
		&plan.Remove{
			Common: plan.Common{Name: "leftovers", Reason: ReasonNodeFilesFailed, Attempts: 3},
			Paths:  plan.Texts(kubeconfig, bootstrapKubeconfig, kubernetesDirectory+`\pki\ca.crt`, kubeletKeys),
		},
		directory("kubelet-keys", kubeletKeys, plan.AccessAdmin),
	}
}

// apiServer waits for an answer first and looks at the certificate then, so that a cluster with another CA is told from
// one that is not there.
func apiServer(n *node) []plan.Step {
	host, port := plan.Text(n.endpoint.Host), plan.Text(strconv.Itoa(int(n.endpoint.Port)))
	steps := []plan.Step{&plan.WaitFor{
		Common: plan.Common{Name: "api-server-answers", Reason: ReasonAPIServerUnreachable, TimeoutSeconds: 600},
		For:    plan.ForHTTPS, Host: host, Port: port, Insecure: true,
	}}
	if n.authority.root != nil {
		steps = append(steps, &plan.WaitFor{
			Common: plan.Common{Name: "api-server-identity", Reason: ReasonAPIServerCAMismatch, TimeoutSeconds: 60},
			For:    plan.ForHTTPS, Host: host, Port: port, CA: n.authority.root,
		})
	}
	return steps
}

// clearJoin makes room for another kubeadm join, which refuses to start beside a kubelet that runs or files of another try.
// kubeadm reset would empty the kubelet's whole folder: the image's credential provider is in it, and files of the user.
// A word of cmd.exe stands between the two programs; nothing here comes from a spec.
var clearJoin = plan.Texts("cmd.exe", "/d", "/c", "net.exe", "stop", "kubelet", "&",
	"del", "/f", "/q", kubeconfig, bootstrapKubeconfig, kubernetesDirectory+`\pki\ca.crt`)

// join runs kubeadm. It is done once the kubelet has a certificate: kubelet.conf is there as soon as the kubelet has started,
// and stays when nobody signs.
func join(n *node) []plan.Step {
	pause := 15
	run := &plan.Run{
		Common: plan.Common{
			Name: "kubeadm-join", Reason: ReasonJoinFailed,
			TimeoutSeconds: 900, Attempts: 3, DelaySeconds: &pause,
		},
		Argv: plan.Texts(kubeadmProgram, "join", "--config", joinFile, "--v=5"),
		Program: plan.Program{
			Creates:  plan.Text(kubeletCertificate),
			Undo:     clearJoin,
			Diagnose: joinDiagnoses,
		},
	}
	if n.discovery != "" {
		run.Directory = joinDirectory // discoveryPath has no drive: it is that of the folder in which kubeadm runs
	}
	return []plan.Step{run}
}

// verifyPart looks at what kubeadm left. It comes before the network's part, which asks for the pod CIDR of a Node.
func verifyPart(*node) (part, error) {
	return part{steps: map[string][]plan.Step{phaseVerify: {
		&plan.WaitFor{
			Common: plan.Common{Name: "kubelet-registered", Reason: ReasonJoinFailed, TimeoutSeconds: 60},
			For:    plan.ForFile, Target: plan.Text(kubeletCertificate),
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-running", Reason: ReasonKubeletNotHealthy, TimeoutSeconds: 120, Attempts: 2},
			Service: "kubelet", State: plan.ServiceRunning,
		},
		directory("kubelet-keys", kubeletKeys, plan.AccessAdmin),
	}}}, nil
}

// nodePart asks the API server for the Node, as the node itself: a kubelet may run, have its certificate, and be refused
// all the same. The name alone stands in what kubectl says of a Node that is not there, too.
func nodePart(n *node) (part, error) {
	const registered = "registered="
	return part{steps: map[string][]plan.Step{phaseVerify: {&plan.Fact{
		Common: plan.Common{Name: "node-registered", Reason: ReasonNodeNotRegistered, TimeoutSeconds: 30, Attempts: 24},
		Argv:   askForNode(n, registered+"{.metadata.name}"),
		Match:  registered + n.machine.Node, Set: "nodeRegistered",
	}}}}, nil
}

// askForNode is kubectl with the kubelet's own credentials.
func askForNode(n *node, show string) []plan.Value {
	return plan.Texts(kubectlProgram, "--kubeconfig", kubeconfig, "get", "node", n.machine.Node, "--output", "jsonpath="+show)
}
