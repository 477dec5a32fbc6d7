// Package step is the ground floor below the parts of a node's plan: what a part brings (part.go), where things are on a node
// (places.go), what users refer to (contents.go, certificates.go), how a spec is refused (invalid.go), and the reasons by
// which a node says why it did not join (reasons.go).
package step

import (
	"bytes"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Part is what one room of the spec brings to a plan: steps by phase, steps for every boot, and what has to be hidden or
// erased because of them.
type Part struct {
	Steps     map[string][]plan.Step
	EveryBoot []plan.Step
	Redact    []string
	Erase     []plan.Value
}

// Add steps to a phase.
func (p *Part) Add(phase string, steps ...plan.Step) {
	if p.Steps == nil {
		p.Steps = map[string][]plan.Step{}
	}
	p.Steps[phase] = append(p.Steps[phase], steps...)
}

// The phases of a node's bootstrap, in their order. One that has no steps is left out.
const (
	PhasePrepare   = "prepare"
	PhaseWindows   = "windows"
	PhaseNetwork   = "network"
	PhasePreJoin   = "pre-join"
	PhaseContainer = "container-runtime"
	PhaseImages    = "images"
	PhaseKubelet   = "kubelet"
	PhaseAPIServer = "api-server"
	PhaseJoin      = "join"
	PhaseVerify    = "verify"
	PhasePostJoin  = "post-join"
)

// PhaseOrder is that of the phases in a plan.
var PhaseOrder = []string{
	PhasePrepare, PhaseWindows, PhaseNetwork, PhasePreJoin, PhaseContainer, PhaseImages, PhaseKubelet, PhaseAPIServer, PhaseJoin,
	PhaseVerify, PhasePostJoin,
}

// PhaseNames are the names that a phase of a bootstrap may have, in the order of the phases.
func PhaseNames() []string { return slices.Clone(PhaseOrder) }

// File keeps text readable in the plan; bytes that are none go as they are.
func File(name, reason, path string, data []byte) *plan.File {
	step := &plan.File{Common: plan.Common{Name: name, Reason: reason}, Path: plan.Text(path)}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		step.Text = plan.Text(string(data))
	} else {
		step.Content = data
	}
	return step
}

// PrivateFile is a file that only administrators read.
func PrivateFile(name, reason, path string, data []byte) *plan.File {
	step := File(name, reason, path, data)
	step.Access = plan.AccessAdmin
	return step
}

// Directory is a folder that is made, and closed or left as it is.
func Directory(name, path string, access plan.Access) plan.Step {
	return &plan.Directory{Common: plan.Common{Name: name, Reason: ReasonNodeFilesFailed}, Path: plan.Text(path), Access: access}
}

// AskForNode is kubectl with the kubelet's own credentials.
func AskForNode(nodeName, show string) []plan.Value {
	return plan.Texts(kubectlProgram, "--kubeconfig", Kubeconfig, "get", "node", nodeName, "--output", "jsonpath="+show)
}

// Name is a name of a step and a file.
var Name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// ExitReboot is Windows' own way to say: done, after a restart.
const ExitReboot = 3010

// Windows2022 is the build of Windows Server 2022.
const Windows2022 = "20348"
