package controllers

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestWordsOfAVCenter: people read what a vCenter says of a failure, and which one it is, in the condition, in an event and, with
// the Secret, in the log; where credentials may be the cause, they read of the Secret everywhere.
func TestWordsOfAVCenter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail         func(*vcenter.VCenter)
		reason, says string
	}{
		"a locked file": {
			func(v *vcenter.VCenter) {
				v.FailClones(&types.GenericVmConfigFault{Reason: "Failed to lock the file: [ds1] x/x.vmdk"})
			},
			infrav1.CloudTaskFailedReason,
			`vSphere could not make or start the VM; the controller tries again; vCenter %[1]s answers: ` +
				`"Failed to lock the file: [ds1] x/x.vmdk"`,
		},
		"a privilege": {
			func(v *vcenter.VCenter) { v.Deny("CloneVM_Task", "VirtualMachine.Inventory.CreateFromExisting") },
			infrav1.CredentialsRejectedReason,
			"Secret cloud (%[1]s): the vCenter account lacks a privilege: give its role the privilege " +
				"VirtualMachine.Inventory.CreateFromExisting on VirtualMachine %[2]s; vCenter %[1]s answers: " +
				`"Permission to perform this operation was denied."`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vcenter.New(t)
			s := newStage(t, world.Start{Credentials: v.Credentials()})
			s.process = s.Run(t, world.Options{VSphere: vsphere.Provider{}})
			c.fail(v)
			m := s.NewMachine("m")
			m.Create(t)
			failed := m.Await(t, "failure", world.Windows("Ready False "+c.reason), world.Windows("Stalled False NotStalled"))
			want := fmt.Sprintf(c.says, v.Listener.Addr(), v.Owner(t).Template().Reference().Value)
			for _, condition := range []string{infrav1.ReadyCondition, infrav1.VMRunningCondition} {
				if got := conditions.GetMessage(failed.Windows, condition); got != want {
					t.Errorf("%s says\n%s, want\n%s", condition, got, want)
				}
			}
			wait.Eventually(t, "the event", s.event(c.reason, want))
			words := strings.TrimPrefix(want, fmt.Sprintf("Secret cloud (%s): ", v.Listener.Addr())) // the account is a key of the line
			line := fmt.Sprintf(`"msg"="The vCenter refused" .* "account"="Secret cloud \(%s\)" "providerID"=%q "reason"=%q "message"=`,
				v.Listener.Addr(), failed.Windows.Spec.ProviderID, c.reason)
			found := regexp.MustCompile(line+regexp.QuoteMeta(fmt.Sprintf("%q", words))).FindAllString(s.process.Log(), -1)
			if len(found) != 1 {
				t.Errorf("the log has it %d times:\n%s", len(found), s.process.Log())
			}
		})
	}
}
