package azure

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/inspect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// roleOf reads the custom role from docs/azure.md: the actions that are always needed.
func roleOf(t *testing.T) (always []string) {
	t.Helper()
	always = actionsFor(t, "always")
	if len(always) < 10 {
		t.Fatalf("docs/azure.md has the actions %q", always)
	}
	return always
}

// actionsFor reads the actions from the table of docs/azure.md that are needed for any of these.
func actionsFor(t *testing.T, reasons ...string) (actions []string) {
	t.Helper()
	page := string(expect.Got(os.ReadFile("../../../docs/azure.md"))(t))
	_, section, _ := strings.Cut(page, "\n## The custom role\n")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !slices.Contains(reasons, strings.TrimSpace(cells[2])) {
			continue
		}
		first := ""
		for i, text := range strings.Split(cells[1], "`") {
			switch {
			case i%2 == 0:
				continue
			case strings.HasPrefix(text, "/"): // another action on the same thing
				text = first[:strings.LastIndex(first, "/")] + text
			default:
				first = text
			}
			actions = append(actions, text)
		}
	}
	return actions
}

// grant gives the identity these actions and nothing else.
func (s *stage) grant(actions []string) {
	group := homeOf(s.machine("any")).Parent().String()
	s.Change(func(in *armsim.Inside) {
		in.Rights.Revoke(armsim.ObjectID)
		for _, action := range actions {
			scope := group
			if slices.Contains(inspect.InSubscription, action) {
				scope = "/subscriptions/" + armsim.Subscription
			}
			in.Rights.Grant(armsim.ObjectID, scope, action)
			if action == "Microsoft.Network/virtualNetworks/subnets/join/action" { // the network is in another group
				in.Rights.Grant(armsim.ObjectID, armsim.SubnetID, action)
			}
		}
	})
}

// life is all that machines go through: one runs, one fails, one is deleted and leaves disks and an adapter. It returns what was
// told meanwhile, and what did not come about.
func (s *stage) life(a *account) (told map[string]bool, missing []string) {
	told = map[string]bool{}
	note := func(vm cloud.VM, err error) {
		if err != nil {
			told[err.Error()] = true
		}
		told[vm.Detail] = true
	}
	until := func(what string, most time.Duration, done func() bool) {
		for range most / (5 * time.Second) {
			if done() {
				return
			}
			s.live(a, 5*time.Second)
		}
		missing = append(missing, what)
	}
	machine := func(name string) cloud.Machine {
		m := s.machine(name)
		m.Spec.Azure.Image = infrav1.AzureImage{Marketplace: marketplace}
		return m
	}
	runs, goes, fails := machine("runs"), machine("goes"), machine("fails")
	for _, m := range []cloud.Machine{runs, goes} {
		until("a VM with addresses and a size", 10*time.Minute, func() bool {
			vm, err := a.Ensure(s.t.Context(), m)
			note(vm, err)
			return err == nil && vm.State == cloud.Running && len(vm.Addresses) == 3 && vm.Size.CPUs > 0
		})
	}
	until("Azure's own ID of a disk", 20*time.Minute, func() bool {
		vm, err := a.Ensure(s.t.Context(), goes)
		note(vm, err)
		return err == nil && len(vm.Record.Azure.Disks) > 0
	})
	s.Change(func(in *armsim.Inside) { in.Compute.Faults.Failing = "kubeadm join failed" })
	until("the cause of a failure", 20*time.Minute, func() bool {
		vm, err := a.Ensure(s.t.Context(), fails)
		note(vm, err)
		return err == nil && vm.State == cloud.Running && strings.Contains(vm.Detail, "OSProvisioning")
	})
	s.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Failing, in.Network.Leave, in.Compute.Faults.LeaveDisks = "", true, true
	})
	until("the end of a VM", 20*time.Minute, func() bool {
		_, err := a.Delete(s.t.Context(), goes)
		note(cloud.VM{}, err)
		return errors.Is(err, cloud.ErrNotFound)
	})
	s.Change(func(in *armsim.Inside) { in.Network.Leave, in.Compute.Faults.LeaveDisks = false, false })
	until("the end of what a deletion left", 50*time.Minute, func() bool {
		note(a.Ensure(s.t.Context(), runs))
		left := append(s.Names(armsim.Group, compute.Disk), s.Names(armsim.Group, network.NIC)...)
		return !slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, goes.Name) })
	})
	return told, missing
}

var marketplace = infrav1.AzureMarketplaceImage{
	Publisher: "MicrosoftWindowsServer", Offer: "WindowsServer", SKU: "2022-datacenter-azure-edition",
}

// TestCustomRole runs the life with the role of the docs: no action is missing, and none is too many.
func TestCustomRole(t *testing.T) {
	s := newStage(t)
	always := roleOf(t)
	s.grant(always)
	told, missing := s.life(s.watched())
	if len(missing) > 0 {
		t.Errorf("with all of the role, this does not come about: %q; it was told %v", missing, told)
	}
	var used []string
	s.Change(func(in *armsim.Inside) { used = in.Rights.Used(armsim.ObjectID) })
	for i, action := range used { // Azure ignores the case
		used[i] = strings.ToLower(action)
	}
	for i, action := range always {
		always[i] = strings.ToLower(action)
	}
	slices.Sort(always)
	slices.Sort(used)
	if diff := cmp.Diff(always, used); diff != "" {
		t.Errorf("the role (-granted +used):\n%s", diff)
	}
}

// TestCustomRoleWithoutOneAction takes away one action after the other: something does not come about, and the sentence names the
// action and where it is missing.
func TestCustomRoleWithoutOneAction(t *testing.T) {
	t.Parallel()
	always := roleOf(t)
	for i, action := range always {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.grant(slices.Delete(slices.Clone(always), i, i+1))
			told, missing := s.life(s.watched())
			if len(missing) == 0 {
				t.Error("nothing is missing without it")
			}
			for text := range told {
				if strings.Contains(strings.ToLower(text), "azure refuses the action "+strings.ToLower(action)+" on /subscriptions/") {
					return
				}
			}
			t.Errorf("no sentence names it: %v", told)
		})
	}
}
