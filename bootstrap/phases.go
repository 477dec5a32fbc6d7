package bootstrap

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// oldestWindows is the build of Windows Server 2019.
const oldestWindows = "17763"

// waitSeconds keeps cloudbase-init waiting: short, for Azure gives a machine little time to say that it is there.
const waitSeconds = 60

// parts of a plan, in the order in which their steps stand in a phase.
func (n *node) parts() []part {
	return []part{
		n.image(), n.adapters.steps(), n.custom.steps(), n.windows.steps(), joined(), n.kubelet.steps(), n.registered(),
		n.network.steps(), n.containerd.steps(), n.join(),
	}
}

// nodePlan is the whole story of a node.
func nodePlan(n *node) *plan.Plan {
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
	for _, own := range n.parts() {
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
	return p
}

// joined looks at what kubeadm left. It comes before the network's part, which asks for the pod CIDR of a Node.
func joined() part {
	var p part
	p.add(phaseVerify,
		&plan.WaitFor{
			Common: plan.Common{Name: "kubelet-registered", Reason: ReasonJoinFailed, TimeoutSeconds: 60},
			For:    plan.ForFile, Target: plan.Text(kubeletCertificate),
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-running", Reason: ReasonKubeletNotHealthy, TimeoutSeconds: 120, Attempts: 2},
			Service: "kubelet", State: plan.ServiceRunning,
		},
		directory("kubelet-keys", kubeletKeys, plan.AccessAdmin),
	)
	return p
}

// registered asks the API server for the Node, as the node itself: a kubelet may run, have its certificate, and be refused
// all the same. The name alone stands in what kubectl says of a Node that is not there, too.
func (n *node) registered() part {
	const registered = "registered="
	var p part
	p.add(phaseVerify, &plan.Fact{
		Common: plan.Common{Name: "node-registered", Reason: ReasonNodeNotRegistered, TimeoutSeconds: 30, Attempts: 24},
		Argv:   askForNode(n.machine.Node, registered+"{.metadata.name}"),
		Match:  registered + n.machine.Node, Set: "nodeRegistered",
	})
	return p
}
