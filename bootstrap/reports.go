package bootstrap

import (
	"encoding/base64"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
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

// Speechless says that the cloud of a machine carries no reports of guests.
func Speechless(spec infrav1.WindowsMachineSpec) bool { return spec.Azure != nil }

// guestLogin is with what the guest writes before its node has a login of its own.
const guestLogin = step.JoinDirectory + `\report.yaml`

// reports writes the login for the reports, readable by administrators only. The token in it is the node's, and ends with it.
func (n *node) reports() step.Part {
	var p step.Part
	if n.login != "" {
		p.Add(step.PhasePrepare, &plan.File{
			Common: plan.Common{Name: "report-login", Reason: step.ReasonNodeFilesFailed},
			Path:   plan.Text(guestLogin), Text: plan.Text(n.login), Access: plan.AccessAdmin,
		})
	}
	return p
}

// channels of the cloud, and the guest's own object where it may write one.
func (n *node) channels() []plan.Channel {
	if n.login == "" {
		return n.cloud.channels
	}
	id, _, _ := strings.Cut(n.token, ".")
	name := GuestReport(n.machine.Node, id)
	own := plan.Channel{
		Do:     plan.ChannelReplace,
		Argv:   step.ReplaceObject("/api/v1/namespaces/" + GuestNamespace + "/configmaps/" + name),
		Logins: plan.Texts(step.Kubeconfig, guestLogin),
		Erase:  plan.Texts(guestLogin),
		Body: plan.Tree{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": GuestNamespace},
			"data": map[string]any{GuestReportKey: plan.FactLeaf("report")},
		},
	}
	return append([]plan.Channel{own}, n.cloud.channels...)
}

// loginFor is a kubeconfig for the bootstrap token.
func (c cluster) loginFor(token string) (string, error) {
	const name = "report"
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []any{map[string]any{"name": name, "cluster": map[string]any{
			serverKey: "https://" + c.endpoint.String(), authorityKey: base64.StdEncoding.EncodeToString(step.OnlyCertificates(c.ca)),
		}}},
		"contexts": []any{map[string]any{"name": name, "context": map[string]any{"cluster": name, "user": name}}},
		"users":    []any{map[string]any{"name": name, "user": map[string]any{"token": token}}},
	})
	if err != nil {
		return "", fmt.Errorf("login for reports: %w", err)
	}
	return string(text), nil
}
