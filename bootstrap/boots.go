package bootstrap

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// everyBoot is what each later start of Windows runs. If anything must be done before the kubelet starts, our task starts it:
// it would create pods in networks that are about to be removed. handOver turns its automatic start off. Otherwise Windows starts
// it, and our task starts it again if DHCP has given the node another address.
func (n *node) everyBoot(parts []step.Part) []plan.Step {
	var early, late []plan.Step
	for _, part := range parts {
		early, late = append(early, part.EveryBoot...), append(late, part.AfterBoot...)
	}
	measured := n.network.AddressAgain()
	if len(early) == 0 {
		return slices.Concat(measured, n.kubelet.Restarted(), late)
	}
	waits := kubeletState("kubelet-waits", plan.ServiceStopped)
	waits.Optional = true
	goesOn := kubeletState("kubelet-goes-on", plan.ServiceRunning)
	goesOn.Always = true
	return slices.Concat([]plan.Step{waits}, early, measured, n.kubelet.Readdressed(), []plan.Step{goesOn}, late)
}

// handOver is the last part of a bootstrap: from the next boot on, everyBoot starts the kubelet instead of Windows,
// which would start it before our task is done. Until here its start is automatic, because a restart in the middle of a
// bootstrap does not run everyBoot.
func handOver(parts []step.Part) step.Part {
	var p step.Part
	if !slices.ContainsFunc(parts, func(part step.Part) bool { return len(part.EveryBoot) > 0 }) {
		return p
	}
	p.Add(step.PhasePostJoin,
		step.Tool("kubelet-starts-last", step.ReasonKubeletServiceFailed, "sc.exe", "config", "kubelet", "start=",
			string(plan.StartDemand)),
		// If the machine restarts between these two steps, nothing else starts the kubelet.
		kubeletState("kubelet-goes-on", plan.ServiceRunning),
	)
	return p
}

func kubeletState(name, state string) *plan.ServiceState {
	return step.ServiceState(name, step.ReasonKubeletServiceFailed, "kubelet", state)
}
