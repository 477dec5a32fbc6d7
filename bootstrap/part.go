package bootstrap

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

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

// fileStep keeps text readable in the plan; bytes that are none go as they are.
func fileStep(name, reason, path string, data []byte) *plan.File {
	step := &plan.File{Common: plan.Common{Name: name, Reason: reason}, Path: plan.Text(path)}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		step.Text = plan.Text(string(data))
	} else {
		step.Content = data
	}
	return step
}

// privateFile is a file that only administrators read.
func privateFile(name, reason, path string, data []byte) *plan.File {
	step := fileStep(name, reason, path, data)
	step.Access = plan.AccessAdmin
	return step
}

func directory(name, path string, access plan.Access) plan.Step {
	return &plan.Directory{Common: plan.Common{Name: name, Reason: ReasonNodeFilesFailed}, Path: plan.Text(path), Access: access}
}

// askForNode is kubectl with the kubelet's own credentials.
func askForNode(nodeName, show string) []plan.Value {
	return plan.Texts(kubectlProgram, "--kubeconfig", kubeconfig, "get", "node", nodeName, "--output", "jsonpath="+show)
}

// choose is what a value of the API means; a field that is left out means the fallback.
func choose[K ~string, V any](field string, value K, fallback V, meanings map[K]V) (V, error) {
	if value == "" {
		return fallback, nil
	}
	meaning, ok := meanings[value]
	if !ok {
		return meaning, invalid(field, "%q is none; write %s", value, strings.Join(sortedKeys(meanings), " or "))
	}
	return meaning, nil
}

func sortedKeys[K ~string, V any](meanings map[K]V) []string {
	keys := make([]string, 0, len(meanings))
	for _, key := range slices.Sorted(maps.Keys(meanings)) {
		keys = append(keys, string(key))
	}
	return keys
}
