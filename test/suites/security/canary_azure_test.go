package security

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

// azureSpeed shortens what proves that a VM is gone: two looks, half a minute of Azure's time apart. The demo has the same, so
// that there is one program for both.
const azureSpeed = 10

// startAzure starts an Azure whose clock is as fast as that of the managers, and says what they must know of it.
func startAzure(t *testing.T) (azure *armsim.Cloud, flags []string) {
	t.Helper()
	azure = armsim.Hurry(t, azureSpeed)
	azure.Change(func(in *armsim.Inside) {
		in.Compute.Times.Network, in.Compute.Times.Allocate = 100*time.Millisecond, 100*time.Millisecond
		in.Compute.Times.Boot, in.Compute.Times.Delete = 100*time.Millisecond, 100*time.Millisecond
	})
	file := filepath.Join(t.TempDir(), "clouds.json")
	expect.OK(t, azure.WriteFile(file, "TestCloud"))
	return azure, []string{"--azure-clouds=" + file, "--azure-cloud=TestCloud"}
}

// startInAzure makes a machine in Azure, and another one that Azure refuses because its client secret is another one.
func (a *aviary) startInAzure(t *testing.T) (lives, refused *world.Machine) {
	t.Helper()
	a.canaries["client secret"] = canary(armsim.Secret)
	wrong := a.hatch("wrong client secret")
	for name, secret := range map[string][]byte{"client": []byte(armsim.Secret), "wrong-client": wrong} {
		a.createSecret(t, name, map[string][]byte{
			"tenantID": []byte(armsim.Tenant), "clientID": []byte(armsim.ClientID), "clientSecret": secret,
		})
	}
	add := func(name, identity string) *world.Machine {
		m := a.NewMachine(name)
		m.Windows.Spec = world.InAzure(identity)
		m.Create(t)
		return m
	}
	return add("in-azure", "client"), add("refused-in-azure", "wrong-client")
}

// liveInAzure has the guest in Azure report and join, and makes canaries of what its VM was given.
func (a *aviary) liveInAzure(t *testing.T, azure *armsim.Cloud, lives, refused *world.Machine) {
	t.Helper()
	s := lives.Await(t, "VM in Azure", world.Windows("Ready True "+infrav1.RunningReason), world.Tokens(1))
	var host compute.Host
	azure.Change(func(in *armsim.Inside) { host = in.Compute.Drive(armsim.VMID(s.Windows.Status.ComputerName)) })
	if len(host.CustomData) < 1000 || len(host.AdminPassword) < 12 {
		t.Fatalf("the VM has %d bytes of custom data and a password of %d", len(host.CustomData), len(host.AdminPassword))
	}
	a.canaries["password of the VM's administrator"] = canary(host.AdminPassword)
	a.canaries["custom data"] = inTheMiddle(host.CustomData)
	a.canaries["bootstrap token of a guest in Azure"] = canary(s.Tokens[0].Data[bootstrapapi.BootstrapTokenSecretKey])
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: bootstrap.GuestNamespace, Name: s.Config.Status.GuestReport,
	}}
	world.Change(t, a.Client, object, func(o *corev1.ConfigMap) {
		const report = `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"}}`
		o.Data = map[string]string{bootstrap.GuestReportKey: report}
	})
	lives.Join(t)
	lives.Await(t, "joined in Azure", world.Windows("BootstrapSucceeded True "+infrav1.JoinedReason))
	refused.Await(t, "refusal by Azure", world.Windows("Ready False "+infrav1.CredentialsRejectedReason))
}
