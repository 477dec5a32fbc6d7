package machine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// holding is a VM with the user data that it was given.
func holding(state cloud.State, report string) func(*facts) {
	return func(f *facts) {
		vm(state, report)(f)
		f.vm.UserData = true
	}
}

func refusing(kind cloud.Kind, reason, message string) func(*facts) {
	return func(f *facts) { f.kept = phase.Cloud(cloud.Errorf(kind, reason, "%s", message)) }
}

func TestUserDataCondition(t *testing.T) {
	const inUse, removing, removed = "False UserDataInUse", "False RemovingUserData", "True UserDataRemoved"
	silent, denied := holding(cloud.Running, ""), refusing(cloud.Denied, infrav1.CredentialsRejectedReason, "lacks X")
	for _, c := range []struct {
		name    string
		settled bool
		want    string
		changes []func(*facts)
	}{
		{"there is no VM", false, "", nil},
		{"the VM is being made", false, "", []func(*facts){vm(cloud.Creating, "")}},
		{"the guest is silent", false, inUse, []func(*facts){silent}},
		{"the guest is at work", false, inUse, []func(*facts){holding(cloud.Running, running)}},
		{"the guest says that it is done, its Node is missing", false, inUse, []func(*facts){holding(cloud.Running, succeeded)}},
		{"the guest failed", true, removing, []func(*facts){holding(cloud.Running, failed)}},
		{"the Node has joined", true, removing, []func(*facts){silent, withNode}},
		{"the Node has joined, the VM was stopped", true, removing, []func(*facts){holding(cloud.Stopped, ""), withNode}},
		{"it is gone", true, removed, []func(*facts){vm(cloud.Running, succeeded), withNode}},
		{"the cloud holds none", false, removed, []func(*facts){vm(cloud.Running, "")}},
		{"a privilege is missing", true, "False CredentialsRejected", []func(*facts){silent, withNode, denied}},
		{
			"the cloud is away", true, "False CloudUnreachable",
			[]func(*facts){silent, withNode, refusing(cloud.Transient, infrav1.CloudUnreachableReason, "away")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(c.changes...)
			seen(f)
			expect.Same(t, "condition", c.want, short(f.windows, infrav1.UserDataRemovedCondition))
			said := conditions.GetMessage(f.windows, infrav1.UserDataRemovedCondition)
			if c.want == inUse && !strings.Contains(said, "every program in the VM can read its user data") {
				t.Errorf("it says %q", said)
			}
			if isSettled(f) != c.settled {
				t.Errorf("settled is %v, want %v", isSettled(f), c.settled)
			}
		})
	}
}

// TestRefusalHurtsNobody: a node whose user data the cloud does not take away is as good as any other; it is tried again.
func TestRefusalHurtsNobody(t *testing.T) {
	good := world(vm(cloud.Running, succeeded), withNode)
	bad := world(holding(cloud.Running, succeeded), withNode, refusing(cloud.Denied, infrav1.CredentialsRejectedReason, "lacks X"))
	seen(good)
	seen(bad)
	expect.Same(t, "status", rowOf(good.windows), rowOf(bad.windows))
	if message := conditions.GetMessage(bad.windows, infrav1.UserDataRemovedCondition); message != "lacks X" {
		t.Errorf("the condition says %q", message)
	}
	if nextLook(good) != 0 || nextLook(bad) != reread {
		t.Errorf("the next look is after %s, and after a refusal after %s", nextLook(good), nextLook(bad))
	}
}

// TestUserDataConditionStands: when the cloud does not answer, what was said last stands.
func TestUserDataConditionStands(t *testing.T) {
	f := world(vm(cloud.Running, ""), withNode)
	seen(f)
	f.vm = nil
	seen(f)
	expect.Same(t, "condition", "True UserDataRemoved", short(f.windows, infrav1.UserDataRemovedCondition))
}

// erasing is a cloud that sees a VM, and answers in its own way when it is to take the user data away.
type erasing struct {
	cloud.Cloud
	seen, left cloud.VM
	unseen     error
	unleft     error
	asked      *[]bool // whether each machine was settled
}

func (e erasing) Observe(context.Context, cloud.Machine) (cloud.VM, error) { return e.seen, e.unseen }

func (e erasing) Ensure(_ context.Context, m cloud.Machine) (cloud.VM, error) {
	*e.asked = append(*e.asked, m.Settled)
	return e.left, e.unleft
}

// TestAfterwards: user data are taken away once, from a VM that has them and whose guest is done. What comes of that is no news
// of the VM, unless it is gone.
func TestAfterwards(t *testing.T) {
	has, hasNot := cloud.VM{State: cloud.Running, UserData: true}, cloud.VM{State: cloud.Running}
	away := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away")
	later := cloud.Errorf(cloud.Later, "", "")
	conflict := phase.Cloud(cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "no"))
	for name, c := range map[string]struct {
		cloud  erasing
		joined bool
		vm     cloud.VM
		err    error
		asked  int
		kept   bool
	}{
		"not seen":                   {erasing{seen: has, unseen: away}, true, has, away, 0, false},
		"it has none":                {erasing{seen: hasNot}, true, hasNot, nil, 0, false},
		"its guest needs them":       {erasing{seen: has}, false, has, nil, 0, false},
		"taken away":                 {erasing{seen: has, left: hasNot}, true, hasNot, nil, 1, false},
		"being taken away":           {erasing{seen: has, left: has}, true, has, nil, 1, false},
		"not known yet":              {erasing{seen: has, left: cloud.VM{State: cloud.Creating}}, true, has, nil, 1, false},
		"refused":                    {erasing{seen: has, left: hasNot, unleft: conflict}, true, has, nil, 1, true},
		"gone meanwhile":             {erasing{seen: has, unleft: cloud.ErrNotFound}, true, cloud.VM{}, cloud.ErrNotFound, 1, true},
		"not asked, nothing is told": {erasing{seen: has, unleft: later}, true, cloud.VM{}, later, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []bool
			c.cloud.asked = &asked
			f := world(func(f *facts) { f.cloud = c.cloud })
			if c.joined {
				withNode(f)
			}
			vm, err := (&Reconciler{}).afterwards(t.Context(), f, cloud.Machine{})
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			expect.Same(t, "VM", c.vm, vm)
			expect.Same(t, "asked", slices.Repeat([]bool{true}, c.asked), append([]bool{}, asked...))
			expect.Same(t, "is kept for a reason", c.kept, f.kept != nil)
		})
	}
}
