package cloud

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestProves: marks alone prove nothing. The machine's own UID does, or the user data that moved along, or the operator's word;
// and for a VM without a digest the owning Machine, if no other management cluster made it.
func TestProves(t *testing.T) {
	const here, there = types.UID("here"), types.UID("there")
	for name, c := range map[string]struct {
		proof   Proof
		madeIn  types.UID
		manager types.UID // ours
		digest  string    // of the VM
		want    bool
	}{
		"nothing":                                {madeIn: here, manager: here, digest: "d"},
		"its own":                                {proof: Proof{Own: true}, madeIn: here, manager: here, digest: "d", want: true},
		"its own, and we do not know who we are": {proof: Proof{Own: true}, madeIn: there, digest: "d", want: true},
		"its data":                               {proof: Proof{Digest: "d"}, madeIn: there, manager: here, digest: "d", want: true},
		"other data":                             {proof: Proof{Digest: "e"}, madeIn: here, manager: here, digest: "d"},
		"other data, and vouched":                {proof: Proof{Digest: "e", Vouched: true}, madeIn: here, manager: here, digest: "d"},
		"no data on either side":                 {madeIn: there, manager: here},
		"vouched":                                {proof: Proof{Vouched: true}, madeIn: here, manager: here, digest: "d"},
		"vouched, without a digest":              {proof: Proof{Vouched: true}, madeIn: here, manager: here, want: true},
		"vouched, without a digest and a manager": {proof: Proof{Vouched: true}, manager: here, want: true},
		"vouched, without a digest, made there":   {proof: Proof{Vouched: true}, madeIn: there, manager: here},
		"vouched, made there, we do not know us":  {proof: Proof{Vouched: true}, madeIn: there},
		"not vouched, without a digest":           {madeIn: here, manager: here},
		"the operator's word": {
			proof: Proof{TookOver: []types.UID{"x", there}}, madeIn: there, manager: here, digest: "d", want: true,
		},
		"the operator's word of another": {
			proof: Proof{TookOver: []types.UID{"x"}}, madeIn: there, manager: here, digest: "d",
		},
		"the operator's word, and nobody is named": {proof: Proof{TookOver: []types.UID{"x"}}, manager: here, digest: "d"},
	} {
		m := Machine{Proof: c.proof, Cluster: ClusterMark{Name: "blue", UID: "u", Manager: c.manager}}
		expect.Same(t, name, c.want, m.Proves(ClusterMark{Name: "blue", UID: "u", Manager: c.madeIn}, c.digest))
	}
}

// TestDigestOf: the digest is of these data and this identity, and of none if there are no data. It is the same in every release,
// because VMs carry it.
func TestDigestOf(t *testing.T) {
	const want = "8d5920d9d35aa2dc107c75124ddb89f4"
	got := DigestOf("test://1", UserData("data"))
	expect.Same(t, "length", 64, len(got))
	expect.Same(t, "other data", false, got == DigestOf("test://1", UserData("datb")))
	expect.Same(t, "another identity", false, got == DigestOf("test://2", UserData("data")))
	expect.Same(t, "no data", "", DigestOf("test://1", nil))
	expect.Same(t, "in every release", want, got[:len(want)])
}

// TestRecordAt: what one server gave counts at no other one, also not at one without a name.
func TestRecordAt(t *testing.T) {
	record := Record{
		VSphere: infrav1.VSphereRecord{Server: "one", Reference: "vm-1", Deletion: infrav1.DeletionAccepted},
		Azure:   infrav1.AzureRecord{Server: "one", VMID: "id"},
	}
	expect.Same(t, "there", record, record.GivenBy("one"))
	expect.Same(t, "elsewhere", Record{}, record.GivenBy("two"))
	expect.Same(t, "nowhere", Record{}, record.GivenBy(""))
	expect.Same(t, "neither is known", Record{}, Record{Azure: infrav1.AzureRecord{VMID: "id"}}.GivenBy(""))
	expect.Same(t, "of a record without a server", Record{}, Record{Azure: infrav1.AzureRecord{VMID: "id"}}.GivenBy("one"))
}

// TestMachineID: a machine is told apart by each of its names, its UID and its identity.
func TestMachineID(t *testing.T) {
	m := Machine{Key: Key{Namespace: "a", Name: "m"}, UID: "1", Identity: Identity{ProviderID: "test://1"}}
	seen := map[MachineID]bool{m.ID(): true}
	for _, change := range []func(*Machine){
		func(m *Machine) { m.Key.Namespace = "b" }, func(m *Machine) { m.Key.Name = "n" },
		func(m *Machine) { m.UID = "2" }, func(m *Machine) { m.ProviderID = "test://2" },
	} {
		other := m
		change(&other)
		seen[other.ID()] = true
	}
	expect.Same(t, "machines", 5, len(seen))
}
