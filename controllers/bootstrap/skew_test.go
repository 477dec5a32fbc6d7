package bootstrap

import (
	"strings"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

func TestSkew(t *testing.T) {
	const waits, invalid = bootstrapv1.WaitingForControlPlaneVersionReason, bootstrapv1.ConfigInvalidReason
	for _, test := range []struct {
		name, machine, controlPlane string
		reason, say                 string
	}{
		{"the same", "v1.36.3", "v1.36.3", "", ""},
		{"a newer patch", "v1.36.9", "v1.36.3", "", ""},
		{"three minors older", "v1.33.1", "v1.36.3", "", ""},
		{"without the v", "1.36.3", "v1.36.3", "", ""},
		{"a vendor's", "v1.36.3+vmware.1", "v1.36.3", "", ""},
		{"a vendor's image tag, too new", "v1.37.0_vmware.1", "v1.36.3", waits, "needs v1.37.0_vmware.1"},
		{
			"a vendor's image tag, too old", "v1.32.9_vmware.1", "v1.36.3", invalid,
			"v1.32.9_vmware.1 is more than 3 minor versions older",
		},
		{"two numbers", "v1.37", "v1.36.3", waits, "needs v1.37, but"},
		{"nothing that Render would take", "latest", "v1.36.3", "", ""},
		{"a newer minor", "v1.37.0", "v1.36.3", waits, "needs v1.37.0, but a Node of its control plane has v1.36.3"},
		{"a newer minor before its release", "v1.37.0-rc.1", "v1.36.3", waits, "needs v1.37.0-rc.1"},
		{"four minors older", "v1.32.9", "v1.36.3", invalid, "use a version from v1.33 to v1.36"},
		{"kubeadm's old form", "v1.30.14", "v1.30.2", "", ""},
		{
			"kubeadm's new form", "v1.30.14", "v1.31.0", invalid,
			"cannot read the configuration of a control plane of v1.31 or later; use a version from v1.31 to v1.31",
		},
		{"the first of the new form", "v1.31.0", "v1.32.0", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := phase.Of(skew(&clusterv1.Machine{Spec: clusterv1.MachineSpec{Version: test.machine}}, test.controlPlane))
			if got.Reason != test.reason || !strings.Contains(got.Message, test.say) {
				t.Errorf("%q %q, want %q %q", got.Reason, got.Message, test.reason, test.say)
			}
			if want := map[string]time.Duration{waits: 5 * time.Second, invalid: 2 * time.Minute}[test.reason]; got.After != want {
				t.Errorf("the next look is after %s, want %s", got.After, want)
			}
			if got.Stalled != (test.reason == invalid) {
				t.Errorf("stalled is %v: a control plane will be upgraded, but waiting does not correct a version", got.Stalled)
			}
		})
	}
}
