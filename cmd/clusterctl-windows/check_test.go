package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// checkedPool is a pool as docs/install.md has it, in the vCenter of the tests.
func checkedPool(t *testing.T) string {
	t.Helper()
	return changed(t, gitFile, "datacenter: dc\n", "datacenter: "+vcenter.Datacenter+"\n        folder: "+vcenter.Folder+
		"\n        resourcePool: "+vcenter.ResourcePool+"\n", "template: windows-2022", "template: "+vcenter.Template)
}

// checkedLogin is the Secret of a vCenter.
func checkedLogin(v *vcenter.VCenter) string {
	text := "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: vcenter\nstringData:\n"
	for key, value := range v.Credentials() {
		text += fmt.Sprintf("  %s: %q\n", key, value)
	}
	return text
}

func TestCheckVSphere(t *testing.T) {
	v := vcenter.New(t)
	pool := checkedPool(t)
	for name, c := range map[string]struct {
		input  string
		args   []string
		change func()
		code   int
		says   []string
	}{
		"well": {pool + checkedLogin(v), nil, nil, exitDone, []string{
			"CHECK RESULT WHAT WAS FOUND, AND WHAT TO DO connection ok 127.0.0.1:",
			"version ok vCenter 8.0.3 clock ok ",
		}},
		"well, with a name": {pool + checkedLogin(v), []string{"--machine", "blue-windows-x"}, nil, exitDone, []string{"connection "}},
		"no such template": {
			strings.Replace(pool, vcenter.Template, "elsewhere", 1) + checkedLogin(v), nil, nil, exitRefused,
			[]string{"image.template failed spec.vsphere.image.template \"elsewhere\" is not in datacenter /DC0"},
		},
		"a privilege less": {
			pool + checkedLogin(v), nil, func() { v.Deny("PowerOnVM_Task", "VirtualMachine.Interact.PowerOn") }, exitRefused,
			[]string{"privileges on folder failed the account lacks VirtualMachine.Interact.PowerOn on \"windows\""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change != nil {
				c.change()
			}
			got := call(t, c.input, append([]string{"check", "vsphere", "-f", "-"}, c.args...)...)
			assertTable(t, got, c.code, c.says, vcenter.Password)
			v.Deny("PowerOnVM_Task", "")
		})
	}
}

// assertTable checks how a check ended, what its table says, and that it shows no secret.
func assertTable(t *testing.T, got ended, code int, says []string, secrets ...string) {
	t.Helper()
	t.Logf("\n%s%s", got.Out, got.Err)
	if got.Code != code || (got.Code != exitDone) != strings.Contains(got.Err, "cannot be made") {
		t.Errorf("exit code %d, want %d; %s", got.Code, code, got.Err)
	}
	for _, want := range says {
		if !strings.Contains(strings.Join(strings.Fields(got.Out), " "), want) {
			t.Errorf("the table has no %q", want)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(got.Out+got.Err, secret) {
			t.Error("the output has a secret")
		}
	}
}

// TestCheckVSphereVariables: without the Secret, the login is that of the variables, and each that is missing is named.
func TestCheckVSphereVariables(t *testing.T) {
	v := vcenter.New(t)
	login := v.Credentials()
	for name, key := range map[string]string{
		"VSPHERE_SERVER": "server", "VSPHERE_USERNAME": "username", "VSPHERE_PASSWORD": "password",
		"VSPHERE_TLS_THUMBPRINT_SHA256": "thumbprint",
	} {
		t.Setenv(name, string(login[key]))
	}
	if got := call(t, checkedPool(t), "check", "vsphere", "-f", "-"); got.Code != exitDone {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
	}
	t.Setenv("VSPHERE_PASSWORD", "")
	t.Setenv("VSPHERE_TLS_THUMBPRINT_SHA256", "")
	got := call(t, checkedPool(t), "check", "vsphere", "-f", "-")
	const says = "kubectl get secret vcenter -n default -o yaml with another -f, or set VSPHERE_PASSWORD, " +
		"VSPHERE_TLS_THUMBPRINT_SHA256\n"
	if got.Code != exitRefused || !strings.Contains(got.Err, says) || got.Out != "" {
		t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
	}
}

// TestCheckVSphereRefusals: what cannot be checked is said before a vCenter is asked.
func TestCheckVSphereRefusals(t *testing.T) {
	pool := checkedPool(t)
	secret := "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: vcenter\nstringData:\n  password: canary-1234\n"
	const only = "name what to check: azure, linux, vsphere"
	for name, c := range map[string]struct {
		input string
		args  []string
		code  int
		says  string
	}{
		"what":          {pool, []string{"check", "-f", "-"}, exitUsage, only},
		"no such cloud": {pool, []string{"check", "google", "-f", "-"}, exitUsage, only},
		"another cloud": {pool, []string{"check", "azure", "-f", "-"}, exitRefused, "has no spec.azure, so there is no Azure to check"},
		"too much":      {pool, []string{"check", "vsphere", "x", "-f", "-"}, exitUsage, `unexpected argument "x"`},
		"no template":   {strings.Replace(pool, "template: "+vcenter.Template, "{}", 1), nil, exitRefused, "spec.vsphere.image"},
		"half a Secret": {pool + secret, nil, exitRefused, "cannot be made"},
		"no machine":    {secret, nil, exitRefused, "has neither a Machine nor a MachineDeployment of Windows machines"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if args == nil {
				args = []string{"check", "vsphere", "-f", "-"}
			}
			got := call(t, c.input, args...)
			t.Logf("\n%s%s", got.Out, got.Err)
			if got.Code != c.code || !strings.Contains(got.Err, c.says) || strings.Contains(got.Out+got.Err, "canary-1234") {
				t.Errorf("exit code %d, want %d and %q", got.Code, c.code, c.says)
			}
		})
	}
}
