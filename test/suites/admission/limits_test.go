package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// limit is a marker of the API, with a value on either side of the limit and the API server's message for the wrong one.
type limit struct {
	field   string
	marker  string
	right   any
	wrong   any
	refusal string
}

// limits of each kind. A template has the limits of the objects that are made from it.
var limits = map[string][]limit{
	"WindowsMachine": slices.Concat([]limit{
		required("spec"),
		// A rule fixes the format, so that a value of the maximum length cannot be tried.
		longest("spec.providerID", right, long(513), 512),
	}, machineLimits, machineStatusLimits),
	"WindowsMachineTemplate": slices.Concat(machineLimits, templateStatusLimits, templateLimits, []limit{
		// A rule does not allow it in templates.
		longest("spec.providerID", absent, long(513), 512),
	}),
	"WindowsBootstrapConfig": slices.Concat(
		configLimits, text("status.dataSecretName", 253), text("status.guestReport", 253)),
	"WindowsBootstrapConfigTemplate": slices.Concat(configLimits, templateLimits),
}

var machineLimits = slices.Concat(
	[]limit{
		oneOf("spec.identityRef.kind", "Secret", "ConfigMap"), atMost("spec.identityRef.name", 253),
		required("spec.vsphere.datacenter"),
		atMost("spec.vsphere.datacenter", 1024),
		atMost("spec.vsphere.image.template", 1024), oneOf("spec.vsphere.image.setup", "CloudbaseInit", "cloudbase-init"),
		atMost("spec.vsphere.folder", 1024),
		atMost("spec.vsphere.resourcePool", 1024),
		atMost("spec.vsphere.datastore", 1024),
	},
	adapterLimits,
	between("spec.vsphere.cpus", 2, 768),
	between("spec.vsphere.memoryMiB", 4096, 25165824),
	[]limit{oneOf("spec.vsphere.nestedVirtualization", "Disabled", "On")},
	[]limit{ // no more than the object's cpus
		{"spec.vsphere.coresPerSocket", "minimum", int64(1), int64(0), "should be greater than or equal to 1"},
		{"spec.vsphere.coresPerSocket", "maximum", int64(4), int64(772), "should be less than or equal to 768"},
	},
	azureLimits,
)

const guid = "11111111-2222-3333-4444-555555555555"

var machineStatusLimits = slices.Concat(
	adapterStatusLimits,
	[]limit{
		empty("status.initialization", map[string]any{"provisioned": true}),
		oneOf("status.bootstrap.state", "Failed", "Lost"),
		{"status.bootstrap.elapsedSeconds", "minimum", int64(0), int64(-1), "should be greater than or equal to 0"},
		longest("status.bootstrap.lastLines[]", long(256), long(257), 256),
		longest("status.bootstrap.warnings[]", long(512), long(513), 512),
		atMost("status.bootstrap.phase", 128), atMost("status.bootstrap.step", 128), atMost("status.bootstrap.reason", 128),
		atMost("status.bootstrap.message", 1024),
		required("status.bootstrap.durations[].phase"),
		required("status.bootstrap.durations[].seconds"),
		{"status.bootstrap.durations[].seconds", "minimum", int64(0), int64(-1), "should be greater than or equal to 0"},
		oneOf("status.lastBoot.state", "Failed", "Rebooting"),
		atMost("status.lastBoot.reason", 128), atMost("status.lastBoot.message", 1024),
	},
	upTo("status.bootstrap.lastLines", 20, func(int) any { return "a" }),
	upTo("status.bootstrap.warnings", 20, func(int) any { return "a" }),
	upTo("status.bootstrap.durations", 16, func(i int) any {
		return map[string]any{"phase": fmt.Sprint("phase-", i), "seconds": int64(i)}
	}),
	text("status.bootstrap.durations[].phase", 128),
	text("status.phase", 64),
	text("status.computerName", 15),
	text("status.nodeName", 253),
	text("status.windowsBuild", 64),
	text("status.windowsUpdated", 10),
	text("status.failureDomain", 256),
	placementLimits, recordLimits("status.azure.disks", 72), recordLimits("status.azure.networkInterfaces", 16),
	recordLimits("status.azure.publicIPAddresses", 16), text("status.vsphere.reference", 128), text("status.vsphere.folder", 128),
	text("status.vsphere.server", 512), text("status.azure.server", 512),
	[]limit{
		empty("status.vsphere", map[string]any{"reference": "vm-1"}),
		oneOf("status.vsphere.deletion", "Accepted", "accepted"), oneOf("status.azure.deletion", "Accepted", "Refused"),
	},
)

// recordLimits are those of a list of resources that the controller keeps with Azure's own IDs.
func recordLimits(of string, most int) []limit {
	return slices.Concat(
		upTo(of, most, func(i int) any { return map[string]any{"name": fmt.Sprint("r", i), "uniqueID": "u"} }),
		[]limit{required(of + "[].name"), required(of + "[].uniqueID")}, text(of+"[].name", 80), text(of+"[].uniqueID", 64),
	)
}

// A rule fixes the form of most, so that a value of the maximum length cannot be tried.
var placementLimits = slices.Concat(
	[]limit{
		required("status.azure.cloud"), oneOf("status.azure.cloud", "AzureChinaCloud", "AzureGermanCloud"),
		longest("status.azure.tenantID", guid, guid+"1", 36), longest("status.azure.vmID", guid, guid+"1", 36),
		required("status.azure.subscriptionID"), longest("status.azure.subscriptionID", guid, guid+"1", 36),
		required("status.azure.resourceGroup"), atMost("status.azure.resourceGroup", 90),
		required("status.azure.location"), atMost("status.azure.location", 64),
		required("status.azure.subnetIDs"), longest("status.azure.subnetIDs[]", subnet, subnet+long(512), 512),
		longest("status.azure.securityGroupID", securityGroup, securityGroup+long(512), 512),
		longest("status.azure.routeTableID", routeTable, routeTable+long(512), 512),
		longest("status.azure.outboundPoolID", outboundPool, outboundPool+long(512), 512),
		atMost("status.azure.loadBalancerName", 80),
		{"status.azure.tags", "maxProperties", labels(50), labels(51), "must have at most 50 items"},
		longest("status.azure.tags.pool", long(256), long(257), 256),
		required("status.azure.identity.namespace"), required("status.azure.identity.name"),
	},
	text("status.azure.failureDomains[]", 64), text("status.azure.imageVersion", 64),
	text("status.azure.identity.namespace", 63), text("status.azure.identity.name", 253),
	from("status.azure.subnetIDs", 8, func(int) any { return subnet }),
	upTo("status.azure.failureDomains", 16, func(i int) any { return fmt.Sprint(i) }),
)

var templateLimits = []limit{required("spec"), required("spec.template"), required("spec.template.spec")}

var templateStatusLimits = []limit{
	empty("status.nodeInfo", map[string]any{"architecture": "amd64"}),
	oneOf("status.nodeInfo.architecture", "arm64", "s390x"),
	oneOf("status.nodeInfo.operatingSystem", "windows", "linux"),
}

var configLimits = slices.Concat(
	settingsLimits,
	kubeletLimits, reservationLimits,
	between("spec.bootstrapDeadlineSeconds", 300, 7200),
	keyReference("spec.discovery.kubeconfigFrom.secret"),
	between("spec.kubelet.maxPods", 1, 500),
	[]limit{
		atMost("spec.node.labels.pool", 63),
		{"spec.node.labels", "maxProperties", labels(64), labels(65), "must have at most 64 items"},
		oneOf("spec.node.cloudConfigFile", "Managed", "Mine"),
		required("spec.node.taints[].key"),
		longest("spec.node.taints[].key", long(253)+"/"+long(63), long(254)+"/"+long(63), 317),
		required("spec.node.taints[].effect"),
		oneOf("spec.node.taints[].effect", "PreferNoSchedule", "Never"),
		atMost("spec.node.taints[].value", 63),
	},
	upTo("spec.node.taints", 32, func(i int) any { return taint(fmt.Sprint("taint-", i), "NoSchedule") }),
	networkLimits,
)

func labels(times int) map[string]any {
	all := map[string]any{}
	for i := range times {
		all[fmt.Sprint("label-", i)] = "a"
	}
	return all
}

func TestLimits(t *testing.T) {
	for kind, limits := range limits {
		for _, l := range limits {
			t.Run(strings.Join([]string{kind, l.field, l.marker}, " "), func(t *testing.T) { l.try(t, kind) })
		}
	}
}

func (l limit) try(t *testing.T, kind string) {
	t.Helper()
	send := create
	if strings.HasPrefix(l.field, "status") {
		send = updateStatus
	}
	if err := send(t, l.object(kind, l.right)); err != nil {
		t.Errorf("want %v accepted, got: %v", l.right, err)
	}
	mustRefuse(t, send(t, l.object(kind, l.wrong)), strings.ReplaceAll(l.in(kind), "[]", "[0]"), l.refusal)
}

func (l limit) object(kind string, value any) *unstructured.Unstructured {
	made := newObjectFor(kind, l.field)
	if value != right {
		set(made.Object, l.in(kind), value)
	}
	return made
}

func (l limit) in(kind string) string {
	if l.field == "spec" {
		return l.field
	}
	return in(kind, l.field)
}

// right stands for the value in a valid object.
const right = "the value in a valid object"

func create(t *testing.T, made *unstructured.Unstructured) error {
	t.Helper()
	return api.Create(t.Context(), made.DeepCopy(), client.DryRunAll)
}

func updateStatus(t *testing.T, made *unstructured.Unstructured) error {
	t.Helper()
	status := made.Object["status"]
	stored := made.DeepCopy()
	expect.OK(t, api.Create(t.Context(), stored))
	stored.Object["status"] = status
	return api.Status().Update(t.Context(), stored, client.DryRunAll)
}

// mustRefuse checks that the error names the field and has the message.
func mustRefuse(t *testing.T, err error, field, refusal string) {
	t.Helper()
	if err == nil {
		t.Errorf("want it refused with %q, got accepted", refusal)
		return
	}
	if strings.Contains(err.Error(), "evaluating rule") {
		t.Errorf("want %q alone, but another rule cannot be evaluated: %v", refusal, err)
	}
	if !strings.Contains(err.Error(), field+":") || !strings.Contains(err.Error(), refusal) {
		t.Errorf("want %q of %q, got: %v", refusal, field, err)
	}
}

func required(field string) limit {
	return limit{field, "required", right, absent, "Required value"}
}

// text has between one character and a maximum.
func text(field string, most int) []limit {
	return []limit{{field, "minLength", "a", "", "should be at least 1 chars long"}, atMost(field, most)}
}

// longest has a text of the length most, and a longer one.
func longest(field string, right, wrong any, most int) limit {
	return limit{field, "maxLength", right, wrong, fmt.Sprintf("may not be more than %d", most)}
}

func atMost(field string, most int) limit { return longest(field, long(most), long(most+1), most) }

func between(field string, least, most int64) []limit {
	return []limit{
		{field, "minimum", least, least - 1, fmt.Sprintf("should be greater than or equal to %d", least)},
		{field, "maximum", most, most + 4, fmt.Sprintf("should be less than or equal to %d", most)},
	}
}

func oneOf(field, right, wrong string) limit {
	return limit{field, "enum", right, wrong, "supported values: "}
}

// empty is an optional struct that must not be empty.
func empty(field string, right map[string]any) limit {
	return limit{field, "minProperties", right, map[string]any{}, "should have at least 1 properties"}
}

// keyReference and secretReference may be empty, which is as if they were left out.
func keyReference(field string) []limit {
	return []limit{atMost(field+".name", 253), atMost(field+".key", 253)}
}

func secretReference(field string) []limit { return []limit{atMost(field+".name", 253)} }

func long(length int) string { return strings.Repeat("a", length) }
