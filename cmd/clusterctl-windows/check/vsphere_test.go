package check

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// inVSphere is a pool in the vCenter of the tests.
func inVSphere(replicas int) string {
	return pool(replicas, `      identityRef: {kind: Secret, name: vcenter}
      vsphere:
        datacenter: `+vcenter.Datacenter+`
        folder: `+vcenter.Folder+`
        resourcePool: `+vcenter.ResourcePool+`
        image: {template: `+vcenter.Template+`}
`)
}

// setLogin has the environment let into a vCenter.
func setLogin(t *testing.T, v *vcenter.VCenter) {
	t.Helper()
	login := v.Credentials()
	for _, variable := range vSphereVariables {
		t.Setenv(variable.name, string(login[variable.key]))
	}
}

func checkedInVSphere(t *testing.T, text string) []cloud.Finding {
	t.Helper()
	return checkedIn(t, "vsphere", text, Options{})
}

// TestVSphereAsTheEnvironment: whose account was asked is said if it is not that of the files, and the pool's count is asked for.
func TestVSphereAsTheEnvironment(t *testing.T) {
	v := vcenter.New(t)
	setLogin(t, v)
	got := finding(checkedInVSphere(t, inVSphere(1)), "identity")
	const sentence = "checked as " + vcenter.Username + ", not as the machine's identity: that is the Secret default/vcenter"
	if !strings.HasPrefix(got.Text, sentence) {
		t.Errorf("found %+v", got)
	}
	login := map[string]string{}
	for key, value := range v.Credentials() {
		login[key] = string(value)
	}
	found := checkedInVSphere(t, inVSphere(1)+secret("vcenter", login))
	expect.Same(t, "with the Secret", cloud.Finding{}, finding(found, "identity"))
	expect.Same(t, "room for one", cloud.CheckOK, finding(found, "free space").Result)
	owner := v.Owner(t)
	store := owner.Read(vcenter.Template, "datastore").Datastore[0]
	owner.Update(store, types.PropertyChange{Name: "summary.freeSpace", Val: int64(1000)}) // the template takes 234
	got = finding(checkedInVSphere(t, inVSphere(4)+secret("vcenter", login)), "free space")
	expect.Same(t, "room for four: "+got.Text, cloud.CheckOK, got.Result)
	got = finding(checkedInVSphere(t, inVSphere(5)+secret("vcenter", login)), "free space")
	if got.Result != cloud.CheckFailed || !strings.Contains(got.Text, "5 VMs take 1.1KB: free space, or choose") {
		t.Errorf("found %+v", got)
	}
}

// TestVSphereVariables: without the Secret, the check needs all variables of the login, and names those that are missing.
func TestVSphereVariables(t *testing.T) {
	const lacks = "the files do not have the Secret default/vcenter with the login for vCenter"
	const add = ": name the management cluster that has it with --context NAME or --kubeconfig FILE, or add the output of kubectl " +
		"get secret vcenter -n default -o yaml with another -f, or set "
	for name, c := range map[string]struct{ files, unset, want string }{
		"all set":     {inVSphere(1), "", "<nil>"},
		"no password": {inVSphere(1), "VSPHERE_PASSWORD", lacks + add + "VSPHERE_PASSWORD"},
		"another name": {
			inVSphere(1) + secret("vcentre", nil), "VSPHERE_SERVER",
			lacks + "; did you mean vcentre, which is there?" + add + "VSPHERE_SERVER",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range vSphereVariables {
				t.Setenv(variable.name, "of "+variable.key)
			}
			if c.unset != "" {
				t.Setenv(c.unset, "")
			}
			target, err := Gather(filesOf(t, c.files), vSphere, "", Options{})
			expect.Same(t, "refusal", c.want, fmt.Sprint(err))
			if err == nil {
				expect.Same(t, "login", map[string][]byte{
					"server": []byte("of server"), "username": []byte("of username"), "password": []byte("of password"),
					"thumbprint": []byte("of thumbprint"),
				}, target.login)
			}
		})
	}
}

// TestVSphereLendsNothing: a server of the files gets no password of the environment.
func TestVSphereLendsNothing(t *testing.T) {
	setLogin(t, vcenter.New(t))
	listener := expect.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	called := make(chan string, 8)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				close(called)
				return
			}
			called <- c.RemoteAddr().String()
			_ = c.Close()
		}
	}()
	at, anyone := listener.Addr().String(), strings.Repeat("ab", 32)
	for name, data := range map[string]map[string]string{
		"a server alone":      {"server": at},
		"a server and a user": {"server": at, "username": vcenter.Username, "thumbprint": anyone},
		"an empty password":   {"server": at, "username": vcenter.Username, "thumbprint": anyone, "password": ""},
	} {
		found := checkedInVSphere(t, inVSphere(1)+secret("vcenter", data))
		got := finding(found, "credentials")
		if got.Result != cloud.CheckFailed || strings.Contains(fmt.Sprint(found), vcenter.Password) {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	expect.OK(t, listener.Close())
	for address := range called {
		t.Errorf("the server of the files was called from %s", address)
	}
}
