package admission

import (
	"fmt"
	"maps"
	"slices"
)

var kubeletLimits = slices.Concat(
	[]limit{
		oneOf("spec.kubelet.cloudProvider", "None", "vsphere"),
		oneOf("spec.kubelet.priorityClass", "High", "Realtime"),
		oneOf("spec.kubelet.start", "AutomaticDelayed", "Manual"),
		oneOf("spec.kubelet.serverCertificates", "ClusterSigned", "Unsigned"),
		oneOf("spec.kubelet.systemLogQuery", "Disabled", "true"),
		{"spec.kubelet.extraArgs", "minItems", kubeletArgs(1), kubeletArgs(0), "should have at least 1 items"},
		{"spec.kubelet.extraArgs", "maxItems", kubeletArgs(32), kubeletArgs(33), "must have at most 32 items"},
		required("spec.kubelet.extraArgs[].name"),
		required("spec.kubelet.extraArgs[].value"),
		longest("spec.kubelet.extraArgs[].value", long(1024), long(1025), 1024),
		{"spec.kubelet.featureGates", "minItems", gates(1), gates(0), "should have at least 1 items"},
		{"spec.kubelet.featureGates", "maxItems", gates(64), gates(65), "must have at most 64 items"},
		required("spec.kubelet.featureGates[].name"),
		{"spec.kubelet.featureGates[].name", "minLength", "A", "", "should be at least 1 chars long"},
		longest("spec.kubelet.featureGates[].name", "A"+long(63), "A"+long(64), 64),
		required("spec.kubelet.featureGates[].state"),
		oneOf("spec.kubelet.featureGates[].state", "Disabled", "true"),
		empty("spec.kubelet.log", map[string]any{"verbosity": int64(0)}),
		empty("spec.kubelet.configuration", map[string]any{"containerLogMaxSize": "20Mi"}),
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
		empty("spec.reservations", map[string]any{"lowMemory": "IAcceptThatWindowsMayStall"}),
		empty("spec.reservations.system", map[string]any{"cpu": "1"}),
		empty("spec.reservations.kube", map[string]any{"cpu": "1"}),
		empty("spec.reservations.eviction", map[string]any{"memoryAvailable": "5%"}),
		oneOf("spec.reservations.lowMemory", "IAcceptThatWindowsMayStall", "Yes"),
		required("spec.windows.pageFile.policy"),
		oneOf("spec.windows.pageFile.policy", "Fixed", "None"),
	},
	reserved("spec.reservations.system"), reserved("spec.reservations.kube"),
	threshold("spec.reservations.eviction.memoryAvailable"), threshold("spec.reservations.eviction.nodefsAvailable"),
	threshold("spec.reservations.eviction.imagefsAvailable"),
	between("spec.windows.pageFile.sizeMiB", 1024, 1048576),
)

func reserved(field string) []limit {
	return []limit{
		{field + ".cpu", "minLength", "1", "", "should be at least 1 chars long"},
		longest(field+".cpu", "1234567m", "12345678m", 8),
		pattern(field+".cpu", "500m", "0.5"),
		{field + ".memory", "minLength", "4Gi", "", "should be at least 1 chars long"},
		longest(field+".memory", "1234567890Mi", "12345678901Mi", 12),
		pattern(field+".memory", "2048Mi", "2G"),
		{field + ".ephemeralStorage", "minLength", "1Gi", "", "should be at least 1 chars long"},
		longest(field+".ephemeralStorage", "1234567890Mi", "12345678901Mi", 12),
		pattern(field+".ephemeralStorage", "2048Mi", "0Gi"),
	}
}

func threshold(field string) []limit {
	return []limit{
		{field, "minLength", "5%", "5", "should be at least 2 chars long"},
		longest(field, "1234567890Mi", "12345678901Mi", 12),
		pattern(field, "99%", "100%"),
	}
}

var kubeletRules = []rule{
	{
		at: "spec.reservations", field: "spec.reservations.system",
		message: "system.memory and kube.memory together must reserve at least 2Gi for Windows and Kubernetes; raise them, " +
			"remove system.memory, or set lowMemory: IAcceptThatWindowsMayStall",
		accepted: []map[string]any{
			{"spec.reservations.system.memory": "1Gi"}, // lowMemory accepts it
			{"spec.reservations.lowMemory": absent, "spec.reservations.system.memory": "1Gi"},
			{"spec.reservations.lowMemory": absent, "spec.reservations.system.memory": "2Gi", "spec.reservations.kube": absent},
			{"spec.reservations.lowMemory": absent, "spec.reservations.system.memory": absent},
			{"spec.reservations.lowMemory": absent, "spec.reservations.system": absent},
		},
		refused: []map[string]any{
			{"spec.reservations.lowMemory": absent, "spec.reservations.system.memory": "1023Mi"},
			{"spec.reservations.lowMemory": absent, "spec.reservations.system.memory": "2047Mi", "spec.reservations.kube": absent},
		},
	},
	{
		at: "spec.windows.pageFile", field: "spec.windows.pageFile.sizeMiB",
		message: "sizeMiB is required with policy Fixed and not allowed with any other; set both, or remove sizeMiB",
		accepted: []map[string]any{
			{"spec.windows.pageFile.policy": "Managed", "spec.windows.pageFile.sizeMiB": absent},
			{"spec.windows.pageFile.policy": "Image", "spec.windows.pageFile.sizeMiB": absent},
		},
		refused: []map[string]any{{"spec.windows.pageFile.policy": "Managed"}, {"spec.windows.pageFile.sizeMiB": absent}},
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
