// Package bootstrap decides what a Windows VM does to become a node, and writes it as user data. It is pure: no client, no clock,
// no context; the same input gives the same bytes.
//
// Render reads the input into a node (node.go), puts the steps of its parts together to the node's plan (nodeplan.go), and packs
// it beside the constant scripts. Each part of a spec has the same shape: Read refuses what does not work, Steps writes, Warnings
// lists what others must do. The large parts have rooms of their own: network, kubelet, windows and containerd; custom.go,
// image.go and join.go are here. What all of them share is in step. This package is the only door: names.go has what callers need
// of the rooms behind it.
package bootstrap

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// Input is all that user data is made of.
type Input struct {
	Cluster *clusterv1.Cluster
	Machine *clusterv1.Machine
	// WindowsMachine must have its spec.providerID and status.computerName.
	WindowsMachine *infrav1.WindowsMachine
	Config         *bootstrapv1.WindowsBootstrapConfig
	// ClusterCA is the PEM of all certificates that may have signed that of the API server.
	ClusterCA []byte
	// Token is the bootstrap token: id.secret.
	Token   string
	Reports bool // the guest has an object in the workload cluster to report to; see GuestReport
	// Sources are the contents that the config refers to, by "secret/NAME/KEY" and "configmap/NAME/KEY".
	Sources map[string][]byte
	// Block is what the cluster's Calico gives a Windows node.
	Block Block
	// Now is for warnings about what has expired.
	Now time.Time
}

// String hides the input: it has the token and the contents of Secrets.
func (Input) String() string { return "[hidden]" }

// GoString hides the input.
func (Input) GoString() string { return "[hidden]" }

// MarshalLog hides the input.
func (Input) MarshalLog() any { return "[hidden]" }

// Render makes the user data of one VM. An *InvalidError is for the user, who must change the spec. Any other error
// means that the caller was too early, or that we made a mistake.
func Render(in Input) (UserData, error) {
	n, err := readNode(in)
	if err != nil {
		return UserData{}, err
	}
	p := nodePlan(n)
	data, err := n.finish(p, in)
	if err != nil {
		return UserData{}, err
	}
	userData := UserData{bytes: scripts.UserData(data), plan: p, warnings: n.warnings()}
	if err := n.cloud.fits(userData.bytes); err != nil {
		return UserData{}, err
	}
	return userData, nil
}

// UserData is what the VM receives. It holds the join token and so hides itself from logs.
type UserData struct {
	bytes    []byte
	plan     *plan.Plan
	warnings []string
}

// Bytes is the cloud-config that cloudbase-init carries out.
func (u UserData) Bytes() []byte { return u.bytes }

// Plan is what the node carries out.
func (u UserData) Plan() *plan.Plan { return u.plan }

// Warnings are sentences about what was rendered but may not work.
func (u UserData) Warnings() []string { return u.warnings }

// String hides the user data.
func (UserData) String() string { return "[hidden]" }

// GoString hides the user data.
func (UserData) GoString() string { return "[hidden]" }

// MarshalLog hides the user data.
func (UserData) MarshalLog() any { return "[hidden]" }
