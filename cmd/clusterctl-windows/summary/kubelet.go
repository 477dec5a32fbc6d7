package summary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// kubelet is what the plan writes of the kubelet's configuration and arguments.
type kubelet struct {
	MaxPods            *int              `json:"maxPods"`
	SystemReserved     map[string]string `json:"systemReserved"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	EvictionHard       map[string]string `json:"evictionHard"`
	RegisterWithTaints []struct {
		Key, Value, Effect string
	} `json:"registerWithTaints"`

	labels string
	// known is set if the plan has the steps.
	known bool
}

// The names of steps and of an argument that bootstrap/kubelet writes; a test renders them.
const (
	patchStep   = "kubelet-patch"
	serviceStep = "kubelet-service"
	labelsFlag  = "--node-labels="
)

// kubeletOf reads the steps of the plan. What cannot be read, such as in a plan of another release, is not known.
func kubeletOf(p *plan.Plan) (k kubelet) {
	for _, phase := range p.Phases {
		for _, one := range phase.Steps {
			switch one.Base().Name {
			case patchStep:
				_ = json.Unmarshal(patchOf(one), &k) // a field that cannot be read stays empty
			case serviceStep:
				k.labels, k.known = labelsOf(one), true
			}
		}
	}
	return k
}

// patchOf is the part of the kubelet's configuration in a step. A node of unknown size computes the rest of the reservations.
func patchOf(one plan.Step) []byte {
	switch one := one.(type) {
	case *plan.File:
		return []byte(one.Text.String())
	case *plan.Reservations:
		data, _ := json.Marshal(one.Patch) // a tree is made of what JSON has
		return data
	}
	return nil
}

func labelsOf(one plan.Step) string {
	service, ok := one.(*plan.Service)
	if !ok {
		return ""
	}
	for _, argument := range service.Command {
		if labels, ok := strings.CutPrefix(argument.String(), labelsFlag); ok {
			return strings.ReplaceAll(labels, ",", ", ")
		}
	}
	return ""
}

// notKnown is for a plan of another release.
const notKnown = "not known"

func (k kubelet) pods() string {
	if k.MaxPods == nil {
		return notKnown
	}
	return fmt.Sprintf("at most %d", *k.MaxPods)
}

func (k kubelet) reserved() string {
	if k.SystemReserved == nil {
		return notKnown
	}
	return fmt.Sprintf("for Windows %s; for Kubernetes %s; pods are evicted when less than %s memory is free",
		amounts(k.SystemReserved), amounts(k.KubeReserved), k.EvictionHard["memory.available"])
}

func (k kubelet) nodeLabels() string {
	if !k.known {
		return notKnown
	}
	return cmp.Or(k.labels, "none")
}

// amounts of CPU and memory. What is not in the plan is computed by the node from its size.
func amounts(reserved map[string]string) string {
	var parts []string
	for _, one := range []struct{ name, unit string }{{"cpu", "CPU"}, {"memory", "memory"}} {
		if amount, there := reserved[one.name]; there {
			parts = append(parts, amount+" "+one.unit)
		} else {
			parts = append(parts, one.unit+" by the VM's size")
		}
	}
	return strings.Join(parts, ", ")
}

func (k kubelet) taints() string {
	if !k.known {
		return notKnown
	}
	var all []string
	for _, taint := range k.RegisterWithTaints {
		name := taint.Key
		if taint.Value != "" {
			name += "=" + taint.Value
		}
		all = append(all, name+":"+taint.Effect)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
