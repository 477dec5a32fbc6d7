package vsphere

import (
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRegistration: the spec has the size and the setup of the image.
func TestRegistration(t *testing.T) {
	spec := infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{
		CPUs: 4, MemoryMiB: 16384, Image: infrav1.VSphereImage{Setup: "Sysprep"},
	}}
	cloudtest.Registered(t, Registration(Provider{}), spec)
	expect.Same(t, "part", cloud.Part{Setup: "Sysprep", Size: cloud.Size{CPUs: 4, MemoryMiB: 16384}},
		Registration(Provider{}).Part(&infrav1.WindowsMachine{Spec: spec}))
}

func TestIdentify(t *testing.T) {
	const id = "0f3b3c52-0a5f-4c0e-9d55-2f8a7b1e64c3"
	machine := func(uid, providerID string) *infrav1.WindowsMachine {
		m := &infrav1.WindowsMachine{}
		m.Name, m.UID, m.Spec.ProviderID = "pool-1", "", providerID
		if uid != "" {
			m.UID = "7d3f6a0e-7a53-4b0c-8a55-4f2f4a2f3d11"
		}
		return m
	}
	t.Run("pinned: it must be the same in every release", func(t *testing.T) {
		got, err := Provider{}.Identify(machine("uid", ""))
		want := cloud.Identity{Name: "pool-44m4r396wy", ProviderID: "vsphere://668097fb-144e-5ab4-9148-2985f503a65c"}
		if err != nil || got != want {
			t.Errorf("Identify = %+v, %v, want %+v", got, err, want)
		}
	})
	t.Run("spec.providerID wins", func(t *testing.T) {
		got, err := Provider{}.Identify(machine("uid", "vsphere://"+id))
		if err != nil || got.ProviderID != "vsphere://"+id || got.Name != cloud.ComputerName("pool-1", id) {
			t.Errorf("Identify = %+v, %v", got, err)
		}
	})
	for name, providerID := range map[string]string{
		"another cloud's": "azure:///subscriptions/1",
		"no UUID":         "vsphere://vm-1",
		"capitals":        "vsphere://" + strings.ToUpper(id),
		"braces":          "vsphere://{" + id + "}",
		"no scheme":       id,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Provider{}.Identify(machine("uid", providerID))
			cloudtest.WantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
			if err == nil || !strings.Contains(err.Error(), "delete the Machine, no VM was made for it") {
				t.Errorf("error = %v, want what can be done: it can not be changed", err)
			}
		})
	}
	t.Run("no UID yet", func(t *testing.T) {
		_, err := Provider{}.Identify(machine("", ""))
		cloudtest.WantError(t, err, cloud.Transient, "")
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}}}
	err := Provider{}.Check(m)
	cloudtest.WantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	if err == nil || !strings.HasPrefix(err.Error(), "spec.vsphere.image.template is not set, but a VM needs it; ") {
		t.Errorf("error = %v, want the name of the field", err)
	}
	m.Spec.VSphere.Image.Template = "windows-2022"
	if err := (Provider{}).Check(m); err != nil {
		t.Errorf("error = %v, want none", err)
	}
}

// A machine of another cloud lacks nothing of ours.
func TestOtherCloud(t *testing.T) {
	t.Parallel()
	expect.OK(t, Provider{}.Check(&infrav1.WindowsMachine{}))
}

// Credentials that have not their form are no account.
func TestCredentials(t *testing.T) {
	t.Parallel()
	_, err := Provider{}.Principal(map[string][]byte{})
	cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsMissingReason)
	c, err := Provider{}.Connect("", map[string][]byte{})
	cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsMissingReason)
	expect.Same(t, "an account", true, c == nil)
}
