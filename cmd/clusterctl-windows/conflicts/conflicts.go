// Package conflicts finds contradictions between the objects of the files, and mistakes that the names of images and sizes show,
// before a VM is paid for. It refuses nothing: the API server and the controllers accept all of it, and the mistake would show
// later as a hold, an error of the cloud or one of the guest. Each conflict is a note that predicts what will happen and what to
// write instead.
package conflicts

import (
	"encoding/json"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// Subject is a machine and what the files say around it.
type Subject struct {
	Files   *objects.Set
	Cluster *clusterv1.Cluster
	Owner   *clusterv1.Machine
	Windows *infrav1.WindowsMachine
}

// rules are in the order of their notes: first what makes the whole pool useless. A rule that is marked as asked is left out if a
// command asks the cloud, because the cloud has a better answer.
var rules = []struct {
	notes func(Subject) []string
	asked bool
}{
	{Subject.controlPlane, false},
	{Subject.references, false},
	{Subject.otherCloud, false},
	{Subject.server, false},
	{Subject.secret, true},
	{Subject.location, false},
	{Subject.subnets, false},
	{Subject.system, true},
	{Subject.version, false},
	{Subject.release, false},
	{Subject.sizes, true},
	{Subject.disk, true},
	{Subject.place, true},
	{Subject.pools, false},
}

// Notes has a sentence for each conflict.
func (s Subject) Notes() []string { return s.notes(false) }

// Unasked has those that the cloud does not answer.
func (s Subject) Unasked() []string { return s.notes(true) }

func (s Subject) notes(cloudIsAsked bool) (notes []string) {
	for _, rule := range rules {
		if !cloudIsAsked || !rule.asked {
			notes = append(notes, rule.notes(s)...)
		}
	}
	return notes
}

// infrastructure is the Cluster's infrastructure object; false if the files do not have it.
func (s Subject) infrastructure() (objects.Object, bool) {
	return s.Files.Referred(s.Cluster.Spec.InfrastructureRef, s.Cluster.Namespace)
}

// read reads another provider's object as far as it has the fields of T. What is of another type is refused elsewhere.
func read[T any](object objects.Object) (value T) {
	_ = json.Unmarshal(object.Data, &value) // what could be read of it is there
	return value
}

// note is a list of one sentence.
func note(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

// refText names an object that a Cluster refers to.
func refText(ref clusterv1.ContractVersionedObjectReference) string { return ref.Kind + " " + ref.Name }

// name names the Cluster.
func (s Subject) name() string { return "Cluster " + s.Cluster.Namespace + "/" + s.Cluster.Name }
