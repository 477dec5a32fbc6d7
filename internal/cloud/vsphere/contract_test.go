package vsphere

import (
	"encoding/json"
	"net"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/cloudtest"
)

func TestContract(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Harness {
		v := newVCenter(t)
		return cloudtest.Harness{
			Provider:         Provider{},
			Credentials:      v.credentials(),
			WrongCredentials: with(v.credentials(), "password", "wrong"),
			DeadCredentials:  with(v.credentials(), "server", deadAddress(t)),
			Spec:             v.spec(),
			Misspell:         func(s *infrav1.WindowsMachineSpec) { s.VSphere.Template = "windows-2220" },
			Hold:             v.template.hold,
			LoseAnswer:       v.loseAnswer,
			Cut:              v.server.CloseClientConnections,
			Sessions:         v.sessions,
			VMs:              v.vms,
			Inspect:          v.inspect,
			Occupy:           v.occupy,
			PowerOff:         v.powerOff,
			Remove:           v.remove,
			Address:          func(name, value string) { v.setExtra(name, "SET.guest.ipAddress", value) },
			Report:           func(name, value string) { v.setExtra(name, reportKey, value) },
			UserData:         func(name string) []byte { return v.guestinfo(name, "userdata") },
			ComputerName: func(name string) string {
				var metadata map[string]string
				v.must(json.Unmarshal(v.guestinfo(name, "metadata"), &metadata))
				return metadata["local-hostname"]
			},
		}
	})
}

// deadAddress is one that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func machineOf(t *testing.T, name string, spec infrav1.WindowsMachineSpec) cloud.Machine {
	t.Helper()
	o := &infrav1.WindowsMachine{Spec: spec}
	o.Namespace, o.Name, o.UID = "default", name, types.UID("uid of "+name)
	identity, err := Provider{}.Identify(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Spec.ProviderID = identity.ProviderID
	return cloud.Machine{
		Identity: identity, Key: cloud.Key{Namespace: o.Namespace, Name: name}, Spec: o.Spec, UserData: cloud.UserData("#ps1\nhello"),
	}
}
