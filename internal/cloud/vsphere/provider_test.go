package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func wantError(t *testing.T, err error, kind cloud.Kind, reason string) {
	t.Helper()
	e := (*cloud.Error)(nil)
	if !errors.As(err, &e) || e.Kind != kind || e.Reason != reason || e.Message == "" {
		t.Errorf("error = %#v, want %s/%s", err, kind, reason)
	}
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
			wantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
			if err == nil || !strings.Contains(err.Error(), "delete the Machine, no VM was made for it") {
				t.Errorf("error = %v, want what can be done: it can not be changed", err)
			}
		})
	}
	t.Run("no UID yet", func(t *testing.T) {
		_, err := Provider{}.Identify(machine("", ""))
		wantError(t, err, cloud.Transient, "")
	})
}

// otherCA is a certificate that no test server has.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBQTCB6aADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMTBW90aGVyMCAX
DTcwMDEwMTAwMDAwMFoYDzIwOTYxMDAyMDcwNjQwWjAQMQ4wDAYDVQQDEwVvdGhl
cjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIuvpveNUxukjyUufqzymFYVSLCH
PtbDNN6Y/YmKsRbsuLNRk73x8gfMzUGtcjdiYiYmfQO1RrPEyMmvUSktG5WjMjAw
MA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFHMEq2fUxLuwIFvVKs7iB0KlRuYs
MAoGCCqGSM49BAMCA0cAMEQCIHjRVwyhkfxX6dU4Dody8meJih2C/MV7m7JrmRWn
3t4KAiAdl7GSmLvazK2haejvr6tvHWE8rDhzZi470soK6mmJqg==
-----END CERTIFICATE-----
`

func TestConnect(t *testing.T) {
	good := func() map[string][]byte {
		return map[string][]byte{
			"server": []byte("vcenter.example.com:8443\n"), "username": []byte("u"), "password": []byte("topsecret\n"),
			"ca.crt": []byte(otherCA),
		}
	}
	for name, change := range map[string]func(map[string][]byte){
		"no server":            func(c map[string][]byte) { delete(c, "server") },
		"no username":          func(c map[string][]byte) { delete(c, "username") },
		"empty password":       func(c map[string][]byte) { c["password"] = []byte("\n") },
		"neither":              func(c map[string][]byte) { delete(c, "ca.crt") },
		"both":                 func(c map[string][]byte) { c["thumbprint"] = []byte(strings.Repeat("00", 32)) },
		"http":                 func(c map[string][]byte) { c["server"] = []byte("http://vcenter.example.com") },
		"a URL":                func(c map[string][]byte) { c["server"] = []byte("https://vcenter.example.com/sdk") },
		"a user in the server": func(c map[string][]byte) { c["server"] = []byte("u:p@vcenter.example.com") },
		"a path":               func(c map[string][]byte) { c["server"] = []byte("vcenter.example.com/sdk") },
		"a port alone":         func(c map[string][]byte) { c["server"] = []byte(":443") },
		"no PEM":               func(c map[string][]byte) { c["ca.crt"] = []byte("MIIB") },
		"SHA-1": func(c map[string][]byte) {
			delete(c, "ca.crt")
			c["thumbprint"] = []byte(strings.Repeat("00", 20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			credentials := good()
			change(credentials)
			_, err := Provider{}.Connect(credentials)
			wantError(t, err, cloud.Denied, infrav1.CredentialsMissingReason)
			if err != nil && strings.Contains(err.Error(), "topsecret") {
				t.Errorf("the message tells the password: %s", err)
			}
		})
	}
	c, err := Provider{}.Connect(good())
	if err != nil {
		t.Fatal(err)
	}
	a, _ := c.(*account)
	if text := fmt.Sprintf("%v %+v %#v", a.connection.to, a.connection.to, a.connection.to); strings.Contains(text, "topsecret") {
		t.Errorf("the endpoint prints the password: %s", text)
	}
	if a.connection.to.server != "vcenter.example.com:8443" {
		t.Errorf("server = %q", a.connection.to.server)
	}
}
