// Package step is the ground floor below the parts of a node's plan: what a part brings (part.go), where things are on a node
// (places.go), what users refer to (contents.go, certificates.go), how a spec is refused (invalid.go), and the reasons for which
// a node did not join (reasons.go).
package step

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Part is what one part of a spec adds to a plan: steps for each phase, steps for every later boot before the kubelet starts and
// behind it, and what must be hidden from reports or erased at the end.
type Part struct {
	Steps     map[string][]plan.Step
	EveryBoot []plan.Step
	AfterBoot []plan.Step
	// Background waits behind all of them for what others bring.
	Background []plan.Step
	Redact     []string
	Erase      []plan.Value
}

// Add steps to a phase.
func (p *Part) Add(phase string, steps ...plan.Step) {
	if p.Steps == nil {
		p.Steps = map[string][]plan.Step{}
	}
	p.Steps[phase] = append(p.Steps[phase], steps...)
}

// The phases of a node's bootstrap, in their order. A phase without steps is left out.
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

// PhaseOrder is the order of phases in a plan.
var PhaseOrder = []string{
	PhasePrepare, PhaseWindows, PhaseNetwork, PhasePreJoin, PhaseContainer, PhaseImages, PhaseKubelet, PhaseAPIServer, PhaseJoin,
	PhaseVerify, PhasePostJoin,
}

// PhaseNames are the names that a phase of a bootstrap may have, in the order of the phases.
func PhaseNames() []string { return slices.Clone(PhaseOrder) }

// File writes text as text, so that a plan can be read, and anything else as bytes.
func File(name, reason, path string, data []byte) *plan.File {
	step := &plan.File{Common: plan.Common{Name: name, Reason: reason}, Path: plan.Text(path)}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		step.Text = plan.Text(string(data))
	} else {
		step.Content = data
	}
	return step
}

// PrivateFile writes a file that only administrators can read.
func PrivateFile(name, reason, path string, data []byte) *plan.File {
	step := File(name, reason, path, data)
	step.Access = plan.FileAdmin
	return step
}

// Directory makes a folder, closed to users or with the access that it inherits.
func Directory(name, path string, access plan.Access) plan.Step {
	return &plan.Directory{Common: plan.Common{Name: name, Reason: ReasonNodeFilesFailed}, Path: plan.Text(path), Access: access}
}

// AskForNode is the kubectl command that reads the Node with the kubelet's own credentials.
func AskForNode(nodeName, show string) []plan.Value {
	return plan.Texts(kubectlProgram, "--kubeconfig", Kubeconfig, "get", "node", nodeName, "--output", "jsonpath="+show)
}

// ReplaceObject is the kubectl command by which a channel of reports replaces an object; it reads nothing from the API server.
func ReplaceObject(path string) []plan.Value {
	argv := plan.Texts(kubectlProgram, "--request-timeout", "10s", "replace", "--raw", path, "-f")
	return append(argv, plan.FromFact(plan.FactObject), plan.Text("--kubeconfig"), plan.FromFact(plan.FactLogin))
}

// ExitReboot is Windows' exit code for: done, but a restart is needed.
const ExitReboot = 3010

// Windows2019, Windows2022 and Windows2025 are the builds of Windows Server.
const (
	Windows2019 = "17763"
	Windows2022 = "20348"
	Windows2025 = "26100"
)
