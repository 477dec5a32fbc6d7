package bootstrap

import (
	"bytes"
	"regexp"
	"slices"
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

// scriptName is a name of a step and a file.
var scriptName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// exitReboot is Windows' own way to say: done, after a restart.
const exitReboot = 3010

// windows2022 is the build of Windows Server 2022.
const windows2022 = "20348"
