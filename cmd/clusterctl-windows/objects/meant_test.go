package objects

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestNearest: a name is meant if few letters of it differ, of a long name more than of a short one.
func TestNearest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcde", 8) // as long as a name may be that is compared
	for _, c := range []struct {
		why, name string
		names     []string
		want      string
	}{
		{"one letter is another", "abxd", []string{"abcd"}, "abcd"},
		{"one is too much", "abcde", []string{"abcd"}, "abcd"},
		{"one is missing", "abc", []string{"abcd"}, "abcd"},
		{"two neighbours are swapped", "abdce", []string{"abcde"}, "abcde"},
		{"the first two are", "bacde", []string{"abcde"}, "abcde"},
		{"two of five letters", "abxxe", []string{"abcde"}, ""},
		{"a letter moved by two", "axbde", []string{"abcde"}, ""},
		{"and in the other direction", "abcde", []string{"axbde"}, ""},
		{"two of six letters", "abxxef", []string{"abcdef"}, "abcdef"},
		{"three of eleven letters", "abcdefghxxx", []string{"abcdefghijk"}, ""},
		{"three of twelve letters", "abcdefghixxx", []string{"abcdefghijkl"}, "abcdefghijkl"},
		{"half of the letters", "ax", []string{"ab"}, ""},
		{"one of three letters", "abx", []string{"abc"}, ""},
		{"the nearer one, first", "abcdefgx", []string{"abcdefgh", "abcdefxx"}, "abcdefgh"},
		{"the nearer one, last", "abcdefgx", []string{"abcdexxx", "abcdefgh"}, "abcdefgh"},
		{"the first of two as near", "abcx", []string{"abcd", "abce"}, "abcd"},
		{"other capitals and dashes", "Time_Zone", []string{"timeZones", "timeZone"}, "timeZone"},
		{"of only a few letters, with dashes", "x-y", []string{"xY"}, "xY"},
		{"one letter, as a capital", "X", []string{"x"}, "x"},
		{"a longer one in capitals", strings.ToUpper(long + "x"), []string{long + "x"}, long + "x"},
		{"a long name", long[:39] + "x", []string{long}, long},
		{"one that is longer", long + "x", []string{long}, ""},
		{"one of a longer one", long, []string{long + "x"}, ""},
		{"nothing", "abc", nil, ""},
	} {
		expect.Same(t, c.why, c.want, Nearest(c.name, c.names))
	}
}

// TestUnknownFields: the sentence about an unknown field names the one that was meant, if that is known.
func TestUnknownFields(t *testing.T) {
	const unknown, indentation = `unknown field "spec.vsphere.`, "; look at the indentation"
	const hidden = "unknown field in spec.vsphere; its name is not shown, because it has more than letters and may be a secret"
	const ofAzure = `"; it is a field of spec.azure: remove it, or write the spec for that cloud`
	const capvs = `it is the name in Cluster API Provider vSphere for `
	areSaid(t, inVSphere, "WindowsMachine default/a: ", map[string]string{
		"datacenter: a, datastor: b":    unknown + `datastor"; did you mean "spec.vsphere.datastore"?`,
		"DATA-CENTER: b":                unknown + `DATA-CENTER"; did you mean "spec.vsphere.datacenter"?`,
		"datacenter: a, datacenter1: b": hidden + `; did you mean "spec.vsphere.datacenter"?`,
		"datacenter: a, x1: b":          hidden,
		"datacenter: a, vmSize: b":      unknown + "vmSize" + ofAzure,
		"datacenter: a, id: b":          unknown + "id" + ofAzure,
		"datacenter: a, mtu: 9000": unknown + `mtu"; the field of this name is spec.vsphere.networkInterfaces[].mtu` +
			indentation,
		"datacenter: a, kind: b": unknown + `kind"; the field of this name is spec.identityRef.kind or ` +
			"spec.vsphere.networkInterfaces[].addressesFromPools[].kind" + indentation,
		"datacenter: a, version: b": unknown + "version" + ofAzure, // in three places
		"datacenter: a, type: b":    unknown + `type"`,             // in four
		"datacenter: a, numCPUs: 4": unknown + `numCPUs"; ` + capvs + "spec.vsphere.cpus; write cpus: 4",
		"datacenter: a, template: b": unknown + `template"; ` + capvs + "spec.vsphere.image.template; write it there: image: " +
			"{template: NAME}",
		"datacenter: a, gateway4: b": unknown + `gateway4"; it is a field of Cluster API Provider vSphere that is not needed here: ` +
			"the gateway comes with the address from its pool",
		"datacenter: a, memoryGiB: 16": unknown + `memoryGiB"; it is the name in the clouds' own tools for spec.vsphere.memoryMiB; ` +
			"write it there: a GiB is 1024 MiB, so 16 GiB are 16384",
		"datacenter: a, devices: [{mtu: '9000'}]": unknown + `devices"; ` + capvs + "spec.vsphere.networkInterfaces; write it there: " +
			"- {name: node, network: NAME} for each adapter",
		"networkInterfaces: [{name: a, subnetMask: b}]": unknown + `networkInterfaces[0].subnetMask"; it is a field of the clouds' ` +
			"own tools that is not needed here: the prefix comes with the address from its pool",
	})
	areSaid(t, inAzure, "WindowsMachine default/a: ", map[string]string{
		"folder: a": `unknown field "spec.azure.folder"; it is a field of spec.vsphere: remove it, or write the spec for that cloud`,
	})
	beside := strings.Replace(inVSphere, "spec:\n", "HERE\nspec:\n", 1)
	areSaid(t, strings.Replace(beside, ", HERE}", ", datacenter: a}", 1), "WindowsMachine default/a: ", map[string]string{
		"vmSize: a": `unknown field "vmSize"; the field of this name is spec.azure.vmSize` + indentation,
		"publisher: a": `unknown field "publisher"; the field of this name is ` +
			`spec.azure.image.marketplace.publisher` + indentation,
		"conditions: a": `unknown field "conditions"`, // that of the status is not for users
		"'hunter 2': a": strings.Replace(hidden, "spec.vsphere", "the object", 1),
	})
	template := strings.NewReplacer("WindowsMachine", "WindowsMachineTemplate", "spec:\n", "spec:\n  template:\n    spec:\n",
		"  identity", "      identity", "  vsphere", "      vsphere").Replace(inVSphere)
	areSaid(t, template, "WindowsMachineTemplate default/a: ", map[string]string{
		"datacenter: a, numCPUs: 4": `unknown field "spec.template.spec.vsphere.numCPUs"; ` + capvs +
			"spec.template.spec.vsphere.cpus; write cpus: 4",
	})
	areSaid(t, inPool, "MachineDeployment default/a: ", map[string]string{
		"replica: 1": `unknown field "spec.replica"; did you mean "spec.replicas"?`,
		"minReadySeconds: 5": `unknown field "spec.minReadySeconds"; it is the name in v1beta1 for ` +
			"spec.template.spec.minReadySeconds; write it there",
	})
}
