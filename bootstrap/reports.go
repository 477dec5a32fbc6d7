package bootstrap

import (
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Where the guests of a cloud without a channel of its own report: each replaces one ConfigMap in the workload cluster.
const (
	// GuestNamespace has these ConfigMaps.
	GuestNamespace = "capwin-guests"
	// GuestGroup is the group of the bootstrap token that lets a guest write.
	GuestGroup = "system:bootstrappers:capwin"
	// GuestReportKey is the only key of the ConfigMap.
	GuestReportKey = "report"
)

// GuestReport is the name of a guest's ConfigMap. It names both of its users: the token's before the join, the node's after it.
func GuestReport(node, tokenID string) string { return node + "." + tokenID }

// reportObject is the channel to the guest's ConfigMap. The node's own credentials come first: the token is gone soon after the
// join.
func (n *node) reportObject() []plan.Channel {
	if n.reportKubeconfig == "" {
		return nil
	}
	id, _, _ := strings.Cut(n.token, ".")
	name := GuestReport(n.machine.Node, id)
	return []plan.Channel{{
		Do:     plan.ChannelReplace,
		Argv:   step.ReplaceObject("/api/v1/namespaces/" + GuestNamespace + "/configmaps/" + name),
		Logins: plan.Texts(step.Kubeconfig, step.ReportFile),
		Erase:  plan.Texts(step.ReportFile),
		Body: plan.Tree{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": GuestNamespace, "name": name},
			"data": map[string]any{GuestReportKey: plan.FactLeaf(plan.FactReport)},
		},
	}}
}

// reportLogin writes what the guest logs in with, as soon as the folder for it is closed to users. The channel erases it.
func (n *node) reportLogin() step.Part {
	var p step.Part
	if n.reportKubeconfig != "" {
		p.Add(step.PhasePrepare,
			step.PrivateFile("report-login", step.ReasonNodeFilesFailed, step.ReportFile, []byte(n.reportKubeconfig)))
	}
	return p
}

// readReports makes the kubeconfig with the token, where there is an object to report to.
func (n *node) readReports(in Input) error {
	if !in.Reports {
		return nil
	}
	const name = "report"
	var err error
	n.reportKubeconfig, err = n.cluster.kubeconfig(name,
		[]map[string]any{{"name": name, "context": map[string]any{"cluster": name, "user": name}}},
		[]map[string]any{{"name": name, "user": map[string]any{"token": n.token}}})
	return err
}
