package programs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// Table is what one version of a program made of the forms and of broken ones. check.sh writes it.
type Table struct {
	Program string `json:"program"`
	Version string `json:"version"`
	// Takes has the digests of the forms that it takes, each with a golden plan that has the form.
	Takes map[string]string `json:"takes"`
	// Refuses has what it says to each broken form; see Broken.
	Refuses map[string]string `json:"refuses"`
}

// Tables reads those of a folder, by the names of their files.
func Tables(folder string) (map[string]Table, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	tables := map[string]Table{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var table Table
		if err := json.Unmarshal(content, &table); err != nil {
			return nil, err
		}
		tables[strings.TrimSuffix(filepath.Base(path), ".json")] = table
	}
	return tables, nil
}

// Change breaks a form: one text is put in another's place, in its arguments and in its file.
type Change struct{ Name, From, To string }

// Apply says whether the form has what is changed.
func (c Change) Apply(form Form) (Form, bool) {
	args := make([]string, len(form.Args))
	for i, arg := range form.Args {
		args[i] = strings.Replace(arg, c.From, c.To, 1)
	}
	broken := Form{Program: form.Program, Golden: form.Golden, Args: args, Text: strings.Replace(form.Text, c.From, c.To, 1)}
	return broken, broken.Digest() != form.Digest()
}

// Broken are the forms that a program must refuse. What it takes although it looks broken is not here: kube-proxy 1.36 takes an
// address without a port, and drops a field that it does not know with a line in its log (which no form of ours may cause).
var Broken = map[string][]Change{
	"kube-proxy": {
		{"mode", `"kernelspace"`, `"iptables"`},
		{"version", "v1alpha1", "v1beta1"},
		{"type", `"enableDSR":`, `"enableDSR":"yes","x":`},
		{"gate", `"mode"`, `"featureGates":{"WinDRS":true},"mode"`},
		{"healthz", "0.0.0.0:10256", "0.0.0.0:102560"},
		{"flag", "--windows-service", "--windows-servise"},
	},
	"flanneld": {
		{"vni", `"VNI":4096`, `"VNI":1`},
		{"port", `"Port":4789`, `"Port":8472`},
		{"backend", `"Type":"vxlan"`, `"Type":"vxlam"`},
		{"network", "10.244.0.0/16", "10.96.0.0/16"},
		{"cidr", "10.244.0.0/16", "10.244.0.0"},
		{"direct", `"VNI"`, `"DirectRouting":true,"VNI"`},
		{"flag", "--kube-subnet-mgr", "--kube-subnet-manager"},
	},
	"win-bridge":  plugin("cbr0"),
	"win-overlay": append(plugin("vxlan0"), Change{"mac", `"apiVersion"`, `"endpointMacPrefix":"0E","apiVersion"`}),
	"host-local": {
		{"subnet", `.0/24"`, `.0"`},
		{"end", `.253"`, `.253.1"`},
		{"outside", `.3.253"`, `.4.253"`},
		{"order", `.3.3"`, `.3.254"`},
		{"ranges", `"ranges"`, `"range"`},
	},
	// By the code of FlannelCommit: see Delegate.
	"flannel": {
		{"type", `"type":"win-`, `"type":1,"x":"win-`},
		{"name", `"delegate":{`, `"delegate":{"name":"pods",`},
		{"ipam", `"delegate":{`, `"delegate":{"ipam":{"type":"host-local"},`},
		{"file", `"delegate":{`, `"subnetFile":["subnet.env"],"delegate":{`},
		{"folder", `"delegate":{`, `"dataDir":1,"delegate":{`},
	},
}

// plugin are those of a program that is given the configuration of the network that HNS calls so.
func plugin(network string) []Change {
	return []Change{
		{"network", `"name":"` + network, `"name":"pods`},
		{"policies", `"policies":[`, `"policies":{},"x":[`},
		{"version", `"cniVersion":"0.3.0"`, `"cniVersion":"9.9.9"`},
		{"ipam", `"type":"host-local"`, `"type":"host-locall"`},
		{"dns", `"nameservers":[`, `"nameservers":"10.96.0.10","x":[`},
	}
}
