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
	// ok is set if the plan has the steps.
	ok bool
}

// The names of steps and of an argument that bootstrap/kubelet writes; a test renders them.
const (
	patchStep   = "kubelet-patch"
	serviceStep = "kubelet-service"
	labelsFlag  = "--node-labels="
)

// kubeletOf reads the steps of the plan. Fields that cannot be read, such as in a plan of another release, are not shown.
func kubeletOf(p *plan.Plan) (k kubelet) {
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			switch step.Base().Name {
			case patchStep:
				_ = json.Unmarshal(patchOf(step), &k) // a field that cannot be read stays empty
			case serviceStep:
				k.labels, k.ok = labelsOf(step), true
			}
		}
	}
	return k
}

// patchOf is the part of the kubelet's configuration in a step. A node of unknown size computes the rest of the reservations.
func patchOf(step plan.Step) []byte {
	switch step := step.(type) {
	case *plan.File:
		return []byte(step.Text.String())
	case *plan.Reservations:
		data, _ := json.Marshal(step.Patch) // a tree is made of what JSON has
		return data
	}
	return nil
}

func labelsOf(step plan.Step) string {
	service, ok := step.(*plan.Service)
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
	if !k.ok {
		return notKnown
	}
	return cmp.Or(k.labels, "none")
}

// amounts of CPU and memory. What is not in the plan is computed by the node from its size.
func amounts(reserved map[string]string) string {
	var parts []string
	for _, resource := range []struct{ name, unit string }{{"cpu", "CPU"}, {"memory", "memory"}} {
		if amount, found := reserved[resource.name]; found {
			parts = append(parts, amount+" "+resource.unit)
		} else {
			parts = append(parts, resource.unit+" by the VM's size")
		}
	}
	return strings.Join(parts, ", ")
}

func (k kubelet) taints() string {
	if !k.ok {
		return notKnown
	}
	var taints []string
	for _, taint := range k.RegisterWithTaints {
		name := taint.Key
		if taint.Value != "" {
			name += "=" + taint.Value
		}
		taints = append(taints, name+":"+taint.Effect)
	}
	return cmp.Or(strings.Join(taints, ", "), "none")
}
