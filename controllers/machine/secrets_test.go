package machine

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
)

func wantStop(t *testing.T, err error, reason, message string) {
	t.Helper()
	stop := phase.Of(err)
	if stop.Reason != reason || !strings.Contains(stop.Message, message) || reason != "" && !stop.Stalled {
		t.Errorf("stop is %+v, want it stalled with %q: %s", stop, reason, message)
	}
}

// A machine of a cloud that came to the API after this release decodes to one without a cloud. It is no other cloud's.
func TestCloudOfANewerAPI(t *testing.T) {
	newer := &infrav1.WindowsMachine{}
	newer.Name, newer.UID = "m", "1"
	r := &Reconciler{VSphere: fake.Provider{}, Azure: fake.Provider{}}
	wantStop(t, r.identify(t.Context(), &facts{windows: newer}), infrav1.CloudNotSupportedReason,
		"this release of the manager does not support the cloud in the spec")
}

// Values that came to the API after this release are not taken for one that it knows.
func TestIdentityOfANewerAPI(t *testing.T) {
	newer := &infrav1.WindowsMachine{}
	newer.Spec.Azure = &infrav1.AzureVM{IdentityRef: infrav1.IdentityReference{Kind: "AzureClusterIdentity", Name: "team"}}
	r := &Reconciler{Azure: fake.Provider{}}
	wantStop(t, r.connect(t.Context(), &facts{windows: newer}), infrav1.SpecInvalidReason,
		`identityRef has the kind "AzureClusterIdentity", which this release of the manager does not know`)
}

func TestUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		format, reason, message string
		setup                   infrav1.ImageSetup
	}{
		"our own":             {format: "cloudbase-init"},
		"a user's own":        {},
		"of a KubeadmConfig":  {"cloud-config", infrav1.BootstrapFormatMismatchReason, `format "cloud-config", but the image runs`, ""},
		"Ignition":            {"ignition", infrav1.BootstrapFormatMismatchReason, `image.setup is CloudbaseInit`, ""},
		"other letters":       {"CloudbaseInit", infrav1.BootstrapFormatMismatchReason, "use a WindowsBootstrapConfig", ""},
		"setup of a new API":  {"sysprep", infrav1.SpecInvalidReason, `image.setup "Sysprep" is not known`, "Sysprep"},
		"setup, without data": {"", infrav1.SpecInvalidReason, `upgrade the manager`, "Sysprep"},
	} {
		t.Run(name, func(t *testing.T) {
			data := &corev1.Secret{Data: map[string][]byte{"value": []byte("x")}}
			if c.format != "" {
				data.Data["format"] = []byte(c.format)
			}
			for _, spec := range []infrav1.WindowsMachineSpec{
				{VSphere: &infrav1.VSphereVM{Image: infrav1.VSphereImage{Setup: c.setup}}},
				{Azure: &infrav1.AzureVM{Image: infrav1.AzureImage{Setup: c.setup}}},
			} {
				wantStop(t, understood(data, setupOf(spec)), c.reason, c.message)
			}
		})
	}
}
