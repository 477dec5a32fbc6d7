package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The spec of a machine on vSphere, of one in Azure, of a config, and of a pool; HERE stands for what a case writes.
const (
	inVSphere = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: a}
spec:
  identityRef: {kind: Secret, name: a}
  vsphere: {folder: b, resourcePool: c, HERE}
`
	inAzure = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: a}
spec:
  azure: {HERE}
`
	inConfig = `apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: WindowsBootstrapConfig
metadata: {name: a}
spec: {HERE}
`
	inPool = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: a}
spec:
  clusterName: a
  template:
    spec:
      clusterName: a
      bootstrap: {dataSecretName: a}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: a}
  HERE
`
)

// areSaid wants the sentence about each text that is written into a file, after the kind and name.
func areSaid(t *testing.T, file, of string, sentences map[string]string) {
	t.Helper()
	for _, text := range slices.Sorted(maps.Keys(sentences)) {
		found := expect.Got(readText(t, "x.yaml", strings.Replace(file, "HERE", text, 1)))(t)
		got := "well"
		if err := found.Admit(); err != nil {
			got = strings.ReplaceAll(err.Error(), of, "")
		}
		expect.Same(t, text, sentences[text], got)
	}
}

// TestValuesOfAnotherType: a sentence says what must be there, what is there, and what to write for it.
func TestValuesOfAnotherType(t *testing.T) {
	const memory, number = "memoryMiB: must be a whole number, not ", "; write a number; this field counts MiB"
	const adapters, list = "networkInterfaces: must be a list, not ", "; write a list of objects, each with the fields "
	const ofAdapters = "addressesFromPools, mtu, name, nameservers, network and routes"
	const brackets = "; write it in brackets, as in [a, b]"
	const nested = "nestedVirtualization: must be a text, not "
	const lacks = "datacenter: is missing; set it" // of what is no mismatch
	const small = "but should be greater than or equal to 4096"
	areSaid(t, inVSphere, "WindowsMachine default/a: spec.vsphere.", map[string]string{
		"memoryMiB: 16Gi":       memory + `the text "16Gi"; write 16384; this field counts MiB`,
		"memoryMiB: 16 GB":      memory + `the text "16 GB"; write 16384; this field counts MiB`,
		"memoryMiB: '1,5G'":     memory + `the text "1,5G"; write 1536; this field counts MiB`,
		"memoryMiB: 1M":         memory + `the text "1M"; write 1; this field counts MiB`,
		"memoryMiB: '8192'":     memory + `the text "8192"; write 8192; this field counts MiB`,
		"memoryMiB: 1K":         memory + `the text "1K"` + number,
		"memoryMiB: 1.3Gi":      memory + `the text "1.3Gi"` + number,
		"memoryMiB: lots":       memory + `the text "lots"` + number,
		"memoryMiB: true":       memory + "true" + number,
		"memoryMiB: 1.5":        memory + "the number 1.5; write a number without a fraction",
		"memoryMiB: [1]":        memory + "a list",
		"memoryMiB: {a: 1}":     memory + "an object with fields",
		"memoryMiB: 8192.0":     lacks,
		"memoryMiB: null":       lacks,
		"memoryMiB: 3":          lacks + "\nmemoryMiB: is 3, " + small,
		"memoryMiB: 4":          lacks + "\nmemoryMiB: is 4, " + small + "; 4 GiB are 4096",
		"memoryMiB: 1023":       lacks + "\nmemoryMiB: is 1023, " + small + "; 1023 GiB are 1047552",
		"memoryMiB: 1024":       lacks + "\nmemoryMiB: is 1024, " + small,
		"memoryMiB: 1073741823": lacks + "\nmemoryMiB: is 1073741823, but should be less than or equal to 25165824",
		"memoryMiB: 1073741824": lacks + "\nmemoryMiB: is 1073741824, but should be less than or equal to 25165824; 1073741824 " +
			"bytes are 1024",
		"datacenter: 5":      "datacenter: must be a text, not the number 5; write it in quotes",
		"datacenter: true":   "datacenter: must be a text, not true; write it in quotes",
		"datacenter: [a]":    "datacenter: must be a text, not a list",
		"datacenter: {a: 5}": "datacenter: must be a text, not an object with fields",

		"image: d":   `image: must be an object with fields, not the text "d"; write {template: d}`,
		"image: 5":   "image: must be an object with fields, not the number 5; its fields are setup and template",
		"image: [d]": "image: must be an object with fields, not a list; its fields are setup and template",

		"networkInterfaces: node":     adapters + `the text "node"; write [{name: node}]`,
		"networkInterfaces: 'node=a'": adapters + `the text "node=a"` + list + ofAdapters,
		"networkInterfaces: 2":        adapters + "the number 2" + list + ofAdapters,
		"networkInterfaces: {name: node, network: a}": adapters + "an object with fields; put a dash and a blank before its first " +
			"field, and two blanks before the others",
		"networkInterfaces: {node: a}": adapters + "an object with fields" + list + ofAdapters,
		"networkInterfaces: [node]": `networkInterfaces[0]: must be an object with fields, not the text "node"; its fields are ` +
			ofAdapters,
		"networkInterfaces: [{name: node, nameservers: 10.0.0.1}]": "networkInterfaces[0].nameservers: must be a list, not the text " +
			`"10.0.0.1"` + brackets,
		"networkInterfaces: [{name: node, nameservers: {a: b}}]": "networkInterfaces[0].nameservers: must be a list, not an object " +
			"with fields" + brackets,
		"nestedVirtualization: true": nested + "true; write Enabled",
		"nestedVirtualization: 5":    nested + "the number 5; write it in quotes as one of Enabled, Disabled",
	})
	const size = "osDisk.sizeGiB: must be a whole number, not "
	areSaid(t, inAzure, "WindowsMachine default/a: spec.azure.", map[string]string{
		"zones: 1":                     "zones: must be a list, not the number 1" + brackets,
		"osDisk: {sizeGiB: 128Gi}":     size + `the text "128Gi"; write 128; this field counts GiB`,
		"osDisk: {sizeGiB: 1Ti}":       size + `the text "1Ti"; write 1024; this field counts GiB`,
		"osDisk: {sizeGiB: 1500M}":     size + `the text "1500M"; write a number; this field counts GiB`,
		"additionalTags: [a]":          "additionalTags: must be an object with fields, not a list",
		"additionalTags: {a: [b]}":     "additionalTags.a: must be a text, not a list",
		"additionalTags: {'my pw': 1}": "additionalTags: must be a text, not the number 1; write it in quotes", // it may be a secret
	})
}

// TestValuesOfAnotherTypeInConfigs has what people bring from the kubelet's files, and what a secret may be.
func TestValuesOfAnotherTypeInConfigs(t *testing.T) {
	const gates, long = "kubelet.featureGates: must be a list, not ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	const list, object = "; write a list of objects, each with the fields ", "an object with fields"
	const user, item = ": must be an object with fields, not ", "; its fields are name, role and sshAuthorizedKeys"
	const brackets = "; write it in brackets, as in [a, b]"
	areSaid(t, inConfig, "WindowsBootstrapConfig default/a: spec.", map[string]string{
		"kubelet: {extraArgs: {v: 4, vmodule: x=4}}": "kubelet.extraArgs: must be a list, not an object with fields; write a list: " +
			`- {name: v, value: "4"} - {name: vmodule, value: "x=4"}`,
		"kubelet: {extraArgs: --v=4}": `kubelet.extraArgs: must be a list, not the text "--v=4"` + list + "name and value",
		"kubelet: {featureGates: {A: true, B: 'false', C: x, D: t}}": gates + object + "; write a list: - {name: A, state: Enabled} " +
			`- {name: B, state: Disabled} - {name: C, state: "x"} - {name: D, state: "t"}`,
		"kubelet: {featureGates: {A: 1, B: 1, C: 1, D: 1, E: 1, F: 1}}": gates + object + `; write a list: - {name: A, state: "1"} ` +
			`- {name: B, state: "1"} - {name: C, state: "1"} - {name: D, state: "1"} - {name: E, state: "1"}`,
		"kubelet: {featureGates: {" + long + long + ": true}}": gates + object + "; write a list: - {name: " + long + long +
			", state: Enabled}",
		"kubelet: {featureGates: {" + long + long + "a: true}}": gates + object + "; write a list: - {name: ..., state: Enabled}",
		"kubelet: {featureGates: {A: [1]}}":                     gates + object + list + "name and state",
		"kubelet: {featureGates: {A: {b: c}}}":                  gates + object + list + "name and state",
		"kubelet: {featureGates: A=true}":                       gates + `the text "A=true"` + list + "name and state",
		"windows: {features: Hyper-V}":                          `windows.features: must be a list, not the text "Hyper-V"` + brackets,
		"windows: {ntpServers: {a: b}}":                         "windows.ntpServers: must be a list, not " + object + brackets,
		"windows: {users: hunter2}": "windows.users: must be a list, not a text" + list +
			"name, role and sshAuthorizedKeys",
		"custom: {files: {'C:\\a': hunter2}}": "custom.files: must be a list, not an object with fields" + list +
			"access, content, contentFrom and path",
		"node: {labels: {a: true}}": "node.labels.a: must be a text, not true; write it in quotes",
		"node: {taints: {a: b}}":    "node.taints: must be a list, not an object with fields" + list + "effect, key and value",
		"windows: {users: [{name: a, sshAuthorizedKeys: hunter2}, 5, hunter2, {name: 5}]}": "windows.users[0].sshAuthorizedKeys: " +
			"must be a list, not a text" + brackets + "\nwindows.users[1]" + user + "the number 5" + item + "\nwindows.users[2]" + user +
			"a text" + item + "\nwindows.users[3].name: must be a text, not the number 5; write it in quotes",
	})
	const share = "rollout.strategy.rollingUpdate.maxSurge: must be a whole number or a text, not "
	areSaid(t, inPool, "MachineDeployment default/a: spec.", map[string]string{
		"replicas: 3.0":          "well",
		"replicas: 3.5":          "replicas: must be a whole number, not the number 3.5; write a number without a fraction",
		"replicas: 99999999999":  "replicas: is 99999999999, but must be from -2147483648 to 2147483647",
		"replicas: -99999999999": "replicas: is -99999999999, but should be a non-negative integer",
		"replicas: 5m":           "replicas: must be a whole number, not the text \"5m\"; write a number",
		"paused: hunter2":        "paused: must be true or false, not a text; write true or false, without quotes",
		"paused: 1":              "paused: must be true or false, not the number 1; write true or false",
		"selector: [a]": "selector: must be an object with fields, not a list; its fields are matchExpressions and " +
			"matchLabels",
		"rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: true}}}": share + "true; write it in quotes",
		"rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1.5}}}":  share + "the number 1.5; write it in quotes",
		"rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: [1]}}}":  share + "a list",
		"rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 20%}}}":  "well",
		"rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}}":    "well",
	})
}

// TestManyMismatches: an object has as many sentences as a person reads.
func TestManyMismatches(t *testing.T) {
	wrong := func(n int) string { return strings.TrimSuffix(strings.Repeat("5, ", n), ", ") }
	for _, c := range []struct {
		file, text  string
		lines, more int
	}{
		{inConfig, "windows: {users: [" + wrong(20) + "]}", 20, 0},
		{inConfig, "windows: {users: [" + wrong(21) + "]}", 20, 1},
		{inConfig, "windows: {users: [" + wrong(30) + "]}", 20, 1},
		{inConfig, "windows: {users: [" + wrong(19) + "], features: 5, timeZone: 5, ntpServers: 5}", 20, 2},
	} {
		err := expect.Got(readText(t, "x.yaml", strings.Replace(c.file, "HERE", c.text, 1)))(t).Admit()
		lines := strings.Split(fmt.Sprint(err), "\n")
		more := 0
		if last := len(lines) - 1; strings.Contains(lines[last], ": and ") {
			_, err := fmt.Sscanf(lines[last], "WindowsBootstrapConfig default/a: and %d more", &more)
			expect.OK(t, err)
			lines = lines[:last]
		}
		expect.Same(t, c.text, []int{c.lines, c.more}, []int{len(lines), more})
	}
}
