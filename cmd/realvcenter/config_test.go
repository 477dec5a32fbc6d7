package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const goodConfig = `
server: vcenter.example.com
thumbprint: 00
username: capwin@vsphere.local
vsphere:
  datacenter: dc1
  folder: capwin-tests
  image:
    template: windows-2022
`

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct{ text, password, says string }{
		"good":           {goodConfig, "secret", ""},
		"no password":    {goodConfig, "", "CAPWIN_PASSWORD"},
		"a password":     {goodConfig + "password: secret\n", "secret", `unknown field "password"`},
		"a limited user": {goodConfig + "limited:\n  username: x\n", "secret", "limited: "},
		"pools": {
			goodConfig + "  networkInterfaces:\n  - name: a\n    network: b\n    addressesFromPools: [{name: p}]\n", "secret",
			"addressesFromPools",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.yaml")
			expect.OK(t, os.WriteFile(file, []byte(c.text), 0o600))
			_, err := readConfig(file, func(variable string) string {
				if variable == passwordVariable {
					return c.password
				}
				return ""
			})
			if c.says == "" {
				expect.Fine(t, err)
				return
			}
			expect.Says(t, "config", err, c.says)
		})
	}
}

// What is private goes, a longer text before a part of it, and short names only where they are passwords.
func TestCleaner(t *testing.T) {
	c := config{Server: "vc.example.com:443", user: user{Username: "admin@vsphere.local", password: func() string { return "pw" }}}
	c.VSphere.Folder, c.VSphere.Datacenter = "vm", "dc-berlin"
	text := "admin@vsphere.local at vc.example.com:443 (vc.example.com) in dc-berlin/vm with pw on 10.1.2.3 or fd00:1:2:3::4, 8.0.3"
	got := cleaner(c.private())(text)
	expect.Same(t, "text", "(USER) at (SERVER) ((SERVER)) in (DATACENTER)/vm with (PASSWORD) on (ADDRESS) or (ADDRESS), 8.0.3", got)
}
