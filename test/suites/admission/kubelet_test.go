package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

var kubeletLimits = slices.Concat(
	[]limit{
		oneOf("spec.kubelet.cloudProvider", "None", "vsphere"),
		oneOf("spec.kubelet.priorityClass", "High", "Realtime"),
		oneOf("spec.kubelet.start", "Automatic", "Manual"),
		oneOf("spec.kubelet.serverCertificates", "ClusterSigned", "Unsigned"),
		oneOf("spec.kubelet.systemLogQuery", "Disabled", "true"),
		{"spec.kubelet.extraArgs", "maxItems", kubeletArgs(32), kubeletArgs(33), "must have at most 32 items"},
		required("spec.kubelet.extraArgs[].name"),
		required("spec.kubelet.extraArgs[].value"),
		longest("spec.kubelet.extraArgs[].value", long(1024), long(1025), 1024),
		{"spec.kubelet.featureGates", "maxItems", gates(64), gates(65), "must have at most 64 items"},
		required("spec.kubelet.featureGates[].name"),
		{"spec.kubelet.featureGates[].name", "minLength", "A", "", "should be at least 1 chars long"},
		longest("spec.kubelet.featureGates[].name", "A"+long(63), "A"+long(64), 64),
		required("spec.kubelet.featureGates[].state"),
		oneOf("spec.kubelet.featureGates[].state", "Disabled", "true"),
		{"spec.kubelet.configuration", "maxProperties", fields(64), fields(65), "must have at most 64 items"},
	},
	text("spec.kubelet.extraArgs[].name", 64),
	between("spec.kubelet.log.verbosity", 0, 10),
	between("spec.kubelet.log.maxSizeMiB", 1, 1024),
	[]limit{
		{"spec.kubelet.log.directory", "minLength", `C:\a`, "", "should be at least 1 chars long"},
		longest("spec.kubelet.log.directory", `C:\`+long(197), `C:\`+long(198), 200),
	},
	between("spec.kubelet.log.maxAgeHours", 1, 8760),
)

var reservationLimits = slices.Concat(
	[]limit{
		oneOf("spec.reservations.lowMemoryPolicy", "Allow", "Yes"),
		oneOf("spec.windows.pageFile.policy", "Fixed", "None"),
		oneOf("spec.windows.dataDrive.letter", "Z", "C"),
		oneOf("spec.windows.dataDrive.format", "Never", "Always"),
	},
	padded("2", "spec.reservations.system.cpu", "spec.reservations.kube.cpu"),
	padded("2Gi", "spec.reservations.system.memory", "spec.reservations.kube.memory",
		"spec.reservations.system.ephemeralStorage", "spec.reservations.kube.ephemeralStorage",
		"spec.reservations.eviction.memoryAvailable", "spec.reservations.eviction.nodefsAvailable",
		"spec.reservations.eviction.imagefsAvailable"),
	between("spec.windows.pageFile.sizeMiB", 1024, 1048576),
)

// padded are the limits of amounts, which zeros make as long as possible.
func padded(amount string, fields ...string) []limit {
	var all []limit
	zeros := strings.Repeat("0", 32-len(amount))
	for _, field := range fields {
		all = append(all, longest(field, zeros+amount, "0"+zeros+amount, 32))
	}
	return all
}

// amount is the rule of fields that count cores or bytes. Each wrong value is refused by one sentence.
func amount(message string, right, wrong []any, fields ...string) []rule {
	var all []rule
	for _, field := range fields {
		field = "spec.reservations." + field
		all = append(all, rule{
			at: field, field: field, message: message, accepted: edits(field, right...), refused: edits(field, wrong...),
		})
	}
	return all
}

var (
	wrongBytes  = []any{"2GB", "two", "2 Gi", "", "1023Ki", "1", int64(2), "-1Gi", "65Ti", "1e30"}
	amountRules = slices.Concat(amount("must be a number of cores from 0 to 768, such as 2, \"1.5\" or 500m",
		[]any{int64(2), "1.5", "500m", int64(0), "0.25", int64(768)},
		[]any{"two", "", "-1", int64(769), "500 m", "2 cores"}, "system.cpu", "kube.cpu"),
		amount("must be an amount of memory from 1Mi to 24Ti, such as 3Gi or 1536Mi",
			[]any{"3Gi", "1536Mi", "3221225472", int64(3221225472), "2G", "2.5Gi", "24Ti"}, append([]any{"25Ti"}, wrongBytes...),
			"system.memory", "kube.memory"),
		amount("must be an amount of disk space from 1Mi to 64Ti, such as 10Gi",
			[]any{"10Gi", int64(10737418240), "64Ti"}, wrongBytes, "system.ephemeralStorage", "kube.ephemeralStorage"),
		amount("must be an amount from 1Mi to 24Ti or a percentage from 1% to 99%, such as 500Mi or 5%",
			[]any{"500Mi", "5%", int64(524288000)}, append([]any{"0%", "100%", "5.5%", "%", "25Ti"}, wrongBytes...),
			"eviction.memoryAvailable"),
		amount("must be an amount from 1Mi to 64Ti or a percentage from 1% to 99%, such as 10Gi or 10%",
			[]any{"10Gi", "10%", "1.5Ti"}, append([]any{"0%", "100%", "10 %"}, wrongBytes...), "eviction.nodefsAvailable"),
		amount("must be an amount from 1Mi to 64Ti or a percentage from 1% to 99%, such as 20Gi or 15%",
			[]any{"20Gi", "15%"}, append([]any{"0%", "100%", "-5%"}, wrongBytes...), "eviction.imagefsAvailable"),
	)
)

var kubeletRules = append(amountRules, []rule{
	{
		at: "spec.reservations", field: "spec.reservations.system",
		message: "system.memory and kube.memory together must reserve at least 2Gi for Windows and Kubernetes; raise them, " +
			"remove system.memory, or set lowMemoryPolicy: Allow",
		accepted: []map[string]any{
			{"spec.reservations.system.memory": "1Gi"}, // lowMemoryPolicy accepts it
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system.memory": "1Gi"},
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system.memory": "2Gi", "spec.reservations.kube": absent},
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system.memory": absent},
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system": absent},
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system": map[string]any{}},
			{
				"spec.reservations.lowMemoryPolicy": absent,
				"spec.reservations.system.memory":   int64(1<<30 + 1<<20), "spec.reservations.kube.memory": "1.0Gi",
			},
		},
		refused: []map[string]any{
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system.memory": "1023Mi"},
			{"spec.reservations.lowMemoryPolicy": absent, "spec.reservations.system.memory": "2047Mi", "spec.reservations.kube": absent},
		},
	},
	{
		at: "spec.windows.pageFile", field: "spec.windows.pageFile.sizeMiB",
		message: "sizeMiB is required with policy Fixed and not allowed with any other; set both, or remove sizeMiB",
		accepted: []map[string]any{
			{"spec.windows.pageFile.policy": "Managed", "spec.windows.pageFile.sizeMiB": absent},
			{"spec.windows.pageFile.policy": "Image", "spec.windows.pageFile.sizeMiB": absent},
			{"spec.windows.pageFile": map[string]any{}},
		},
		refused: []map[string]any{
			{"spec.windows.pageFile.policy": "Managed"},
			{"spec.windows.pageFile.sizeMiB": absent},
			{"spec.windows.pageFile.policy": absent},
		},
	},
	{
		at: "spec.windows.dataDrive", field: "spec.windows.dataDrive.letter",
		message: "format needs the letter of the drive; set letter, or remove format",
		accepted: []map[string]any{
			{"spec.windows.dataDrive.format": absent}, {"spec.windows.dataDrive": absent}, {"spec.windows.dataDrive": map[string]any{}},
		},
		refused: []map[string]any{{"spec.windows.dataDrive.letter": absent}},
	},
	{
		at: "spec.kubelet", field: "spec.kubelet.featureGates",
		message: "systemLogQuery: Enabled needs the feature gate NodeLogQuery, which is Disabled; remove one of the two",
		accepted: []map[string]any{
			{"spec.kubelet.featureGates[]": logQuery("Enabled")},
			{"spec.kubelet.featureGates[]": logQuery("Disabled"), "spec.kubelet.systemLogQuery": "Disabled"},
			{"spec.kubelet.featureGates[]": logQuery("Disabled"), "spec.kubelet.systemLogQuery": absent},
			{"spec.kubelet.featureGates": absent},
		},
		refused: edits("spec.kubelet.featureGates[]", logQuery("Disabled")),
	},
	{
		at: "spec.kubelet.extraArgs", field: "spec.kubelet.extraArgs",
		message: "the kubelet needs image-credential-provider-bin-dir and image-credential-provider-config together; set both " +
			"or neither",
		accepted: edits("spec.kubelet.extraArgs",
			[]any{arg("image-credential-provider-bin-dir"), arg("image-credential-provider-config")}),
		refused: edits("spec.kubelet.extraArgs[]", arg("image-credential-provider-bin-dir"), arg("image-credential-provider-config")),
	},
}...)

// A wrong amount is one mistake, so it gets one sentence, which says what to write.
func TestWrongAmountsGetOneSentence(t *testing.T) {
	for _, r := range amountRules {
		for _, edits := range r.refused {
			made := setAll(newObject("WindowsBootstrapConfig"), edits)
			set(made.Object, "spec.reservations.lowMemoryPolicy", absent)
			err := create(t, made)
			if err == nil || strings.Count(err.Error(), "spec.reservations") != 1 || !strings.Contains(err.Error(), r.message) {
				t.Errorf("%v: want one sentence, %q, got: %v", edits, r.message, err)
			}
		}
	}
}

func logQuery(state string) map[string]any {
	return map[string]any{"name": "NodeLogQuery", "state": state}
}

func arg(name string) map[string]any { return map[string]any{"name": name, "value": `C:\a`} }

func kubeletArgs(times int) []any {
	return numbered(times, map[string]any{"value": ""}, "a")
}

func gates(times int) []any {
	return numbered(times, map[string]any{"state": "Enabled"}, "A")
}

// numbered returns items that differ in their names only.
func numbered(times int, alike map[string]any, name string) []any {
	return list(times, func(i int) any {
		item := map[string]any{"name": fmt.Sprint(name, i)}
		maps.Copy(item, alike)
		return item
	})
}

func fields(times int) map[string]any {
	all := map[string]any{}
	for i := range times {
		all[fmt.Sprint("field", i)] = int64(i)
	}
	return all
}
