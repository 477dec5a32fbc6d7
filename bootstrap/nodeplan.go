package bootstrap

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// oldestWindows is the build of Windows Server 2019.
const oldestWindows = "17763"

// parts of the plan, in the order in which their steps stand within a phase.
func (n *node) parts() []step.Part {
	return []step.Part{
		n.folders(), n.reportLogin(), n.image(), n.adapters.Steps(), n.custom.steps(), n.windows.Steps(), joined(), n.kubelet.Steps(),
		n.registered(), n.network.Steps(), n.containerd.Steps(), n.join(),
	}
}

// nodePlan puts the steps of all parts together, phase by phase.
func nodePlan(n *node) *plan.Plan {
	p := &plan.Plan{
		Version:         plan.Version,
		Machine:         n.machine,
		DeadlineSeconds: n.deadlineSeconds,
		WaitSeconds:     n.cloud.waitSeconds, Hold: n.cloud.isAzure, // Azure acts on a failure only until cloudbase-init is done
		Report: append(n.reportObject(), n.cloud.channels...),
		Redact: []string{n.token, n.token[len("abcdef."):]},
		Logs:   logs(n.kubelet.LogDirectory),
		Erase:  append(plan.Texts(step.JoinFile, step.BootstrapKubeconfig), n.cloud.erase...),
	}
	steps := map[string][]plan.Step{}
	parts := n.parts()
	for _, part := range append(parts, handOver(parts)) {
		for phase, added := range part.Steps {
			steps[phase] = append(steps[phase], added...)
		}
		p.Redact, p.Erase = append(p.Redact, part.Redact...), append(p.Erase, part.Erase...)
	}
	for _, name := range step.PhaseOrder {
		if len(steps[name]) > 0 {
			p.Phases = append(p.Phases, plan.Phase{Name: name, Steps: steps[name]})
		}
	}
	if boot := n.everyBoot(parts); len(boot) > 0 {
		p.EveryBoot = []plan.Phase{{Name: "every-boot", Steps: boot}}
	}
	var background []plan.Step
	for _, part := range parts {
		background = append(background, part.Background...)
	}
	if len(background) > 0 {
		p.Background = []plan.Phase{{Name: "in-background", Steps: background}}
	}
	retrySettings(p.Phases)
	retrySettings(p.EveryBoot)
	return p
}

// joined checks what kubeadm left. It comes before the network's part, which asks for the Node's pod CIDR.
func joined() step.Part {
	var p step.Part
	p.Add(step.PhaseVerify,
		&plan.WaitFor{
			Common: plan.Common{Name: "kubelet-registered", Reason: step.ReasonJoinFailed, TimeoutSeconds: 60},
			For:    plan.ForFile, Target: plan.Text(step.KubeletCertificate),
			Say: plan.Text("the kubelet has not received its certificate from the cluster"),
		},
		&plan.ServiceState{
			Common:  plan.Common{Name: "kubelet-running", Reason: step.ReasonKubeletNotHealthy, TimeoutSeconds: 120, Attempts: 2},
			Service: "kubelet", State: plan.ServiceRunning,
		},
		step.Directory("kubelet-keys", step.KubeletKeys, plan.AccessAdmin),
	)
	return p
}

// registered asks the API server for the Node, with the node's own credentials: a kubelet can run, have its
// certificate, and still be refused. It looks for more than the name, which kubectl's error has as well.
func (n *node) registered() step.Part {
	const registered = "registered="
	var p step.Part
	p.Add(step.PhaseVerify, &plan.Fact{
		Common: plan.Common{Name: "node-registered", Reason: step.ReasonNodeNotRegistered, TimeoutSeconds: 30, Attempts: 24},
		Argv:   step.AskForNode(n.machine.Node, registered+"{.metadata.name}"),
		Match:  registered + n.machine.Node, Set: "nodeRegistered",
		Say: plan.Text("the API server does not show the Node " + n.machine.Node),
	})
	return p
}

// warnings are about what works only if others do their part. What only the node can find out about itself is checked there:
// see image.
func (n *node) warnings() []string {
	return slices.Concat(
		n.cluster.authority.warnings(n.now), n.kubelet.Warnings(), n.containerd.Warnings(), n.windows.Warnings(), n.network.Warnings(),
	)
}
