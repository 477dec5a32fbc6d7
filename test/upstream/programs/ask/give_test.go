package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/upstream/programs"
)

// A program of CNI drops a policy that it can not decode, and adds the pod all the same.
func TestPoliciesKept(t *testing.T) {
	log := filepath.Join(t.TempDir(), "hns")
	const made = `{"create endpoint":{"Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.244.0.0/16"]}}]}}`
	expect.OK(t, os.WriteFile(log, []byte(made), 0o600))
	const nat = `{"name":"EndpointPolicy","value":{"Type":"OutBoundNAT","Settings":{}}}`
	expect.OK(t, policiesKept(`{"policies":[`+nat+`]}`, log))
	const route = `{"name":"EndpointPolicy","value":{"Type":"SDNRoute","Settings":{}}}`
	if policiesKept(`{"policies":[`+nat+`,`+route+`]}`, log) == nil {
		t.Error("a policy that the endpoint has not is not missed")
	}
}

// What stands in a table is the same in each run.
func TestSaid(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a log":         {"I1127 11:51:32.39 27 options.go:1] \"x\"\nE1127 11:51:32.54 27189 run.go:72] \"failed\"\n", `"failed"`},
		"usage":         {"      --flag string\n\nError: unknown flag: --x\n", "Error: unknown flag: --x"},
		"a CNI program": {"{\n \"msg\": \"network pods\",\n \"details\": \"not found\"\n}\n", "network pods not found"},
	} {
		expect.Same(t, name, test.want, said(test.text))
	}
}

func TestWithFile(t *testing.T) {
	expect.Same(t, "arguments", []string{"--windows-service", "--config=/given"},
		withFile([]string{"--windows-service", `--config=C:\etc\config.conf`}, "--config=", "/given"))
}

// HNS has the network that the configuration wants, of the type that its program wants.
func TestNetworkOf(t *testing.T) {
	expect.Same(t, "network", `{"Id":"1","Name":"vxlan0","Type":"Overlay","Ipams":[{"Type":"Static","Subnets":[{`+
		`"IpAddressPrefix":"10.244.3.0/24","Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`,
		networkOf(programs.Form{Program: "win-overlay", Text: `{"name":"vxlan0"}`}))
}
