package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/rules"
)

const (
	subscription = "/subscriptions/s/resourceGroups/g/providers/"
	goodVM       = `{"location": "westeurope", "zones": ["1"], "tags": {"a": "b"}, "properties": {
		"hardwareProfile": {"vmSize": "Standard_D4s_v5"},
		"storageProfile": {"imageReference": {"id": "` + subscription + `Microsoft.Compute/images/i"},
			"osDisk": {"name": "os", "createOption": "FromImage", "deleteOption": "Delete", "caching": "ReadWrite"}},
		"osProfile": {"computerName": "win-1", "adminUsername": "capwin", "adminPassword": "Passw0rd long", "customData": "YQ==",
			"windowsConfiguration": {"enableAutomaticUpdates": false, "patchSettings": {"patchMode": "Manual"}}},
		"networkProfile": {"networkApiVersion": "2020-11-01", "networkInterfaceConfigurations": [{"name": "nic", "properties": {
			"primary": true, "ipConfigurations": [{"name": "ip", "properties": {"subnet": {
				"id": "` + subscription + `Microsoft.Network/virtualNetworks/v/subnets/s"}}}]}}]}}}`
	goodNIC = `{"location": "westeurope", "properties": {"ipConfigurations": [{"name": "ip", "properties": {
		"subnet": {"id": "` + subscription + `Microsoft.Network/virtualNetworks/v/subnets/s"}}}]}}`
)

func request(t *testing.T, body string) rules.Request {
	t.Helper()
	id, _ := doc.ParseID(subscription + "Microsoft.Compute/virtualMachines/win-1")
	return rules.Request{ID: id, Body: expect.Got(doc.Read([]byte(body)))(t), Version: "2026-04-01", Create: true}
}

func TestGoodBodies(t *testing.T) {
	if refused := rules.CheckVM(request(t, goodVM)); refused != nil {
		t.Error(refused)
	}
	if refused := rules.CheckNIC(request(t, goodNIC)); refused != nil {
		t.Error(refused)
	}
	t.Logf("%d rules of a VM, %d of a NIC", len(rules.VM()), len(rules.NIC()))
}

// Each mark of a member is a rule, and a body that breaks it is refused by this rule.
func TestMembers(t *testing.T) {
	for of, all := range map[string][]rules.Rule{"vm": rules.VM(), "nic": rules.NIC()} {
		good := map[string]string{"vm": goodVM, "nic": goodNIC}[of]
		for _, m := range rules.Members(of) {
			name := strings.TrimPrefix(strings.Join(m.Path, "."), "properties.")
			breakIt := func(what string, change func(*rules.Request, doc.Object)) {
				r := request(t, good)
				holder := reach(of, r.Body, m.Path)
				change(&r, holder)
				at := slices.IndexFunc(all, func(rule rules.Rule) bool { return rule.Name == what })
				if refused := all[at].Check(r); refused == nil {
					t.Errorf("%s: %s %s is let through", of, what, name)
				}
			}
			last := m.Path[len(m.Path)-1]
			if m.Required {
				breakIt("required "+name, func(_ *rules.Request, o doc.Object) { delete(o, last) })
			}
			if m.ReadOnly {
				breakIt("read-only "+name, func(_ *rules.Request, o doc.Object) { o[last] = example(m) })
			}
			if m.ID != "" {
				breakIt("id form of "+name, func(_ *rules.Request, o doc.Object) { o[last] = "nodes" })
			}
			if m.Since > "2021-03-01" {
				breakIt("known members", func(r *rules.Request, o doc.Object) {
					o[last] = example(m)
					r.Version = "2021-03-01"
				})
			}
			for _, v := range m.Values {
				breakIt("value of "+name, func(_ *rules.Request, o doc.Object) { o[last] = otherCase(v) })
			}
		}
	}
}

// otherCase writes a value in another case; dates and numbers have none and get a letter.
func otherCase(v string) string {
	if lower := strings.ToLower(v); lower != v {
		return lower
	}
	return v + "x"
}

func example(m rules.Member) any {
	switch m.Kind {
	case "bool":
		return true
	case "int", "number":
		return 1.0
	case "list", "texts":
		return []any{}
	case "object", "map":
		return doc.Object{}
	}
	return "x"
}

// reach returns the object that holds the member at a path, and makes what is missing on the way.
func reach(of string, o doc.Object, path []string) doc.Object {
	for i, step := range path[:len(path)-1] {
		if rules.IsList(of, path[:i+1]) {
			all := doc.List(o, step)
			if len(all) == 0 {
				all = []doc.Object{{}}
				o[step] = doc.Objects(all...)
			}
			o = all[0]
			continue
		}
		if doc.Of(o, step) == nil {
			o[step] = doc.Object{}
		}
		o = doc.Of(o, step)
	}
	return o
}

// change is one edit of the good VM: a path, with [0] for the first item of a list, and its new value; nil removes it.
type change struct {
	path  string
	value any
}

func (c change) apply(o doc.Object) {
	steps := strings.Split(c.path, ".")
	for i, step := range steps {
		name, item := strings.CutSuffix(step, "[0]")
		if i == len(steps)-1 {
			if c.value == nil {
				delete(o, name)
				return
			}
			o[name] = c.value
			return
		}
		if item {
			o = doc.List(o, name)[0]
			continue
		}
		if doc.Of(o, name) == nil {
			o[name] = doc.Object{}
		}
		o = doc.Of(o, name)
	}
}

const (
	profile = "properties.networkProfile."
	storage = "properties.storageProfile."
	system  = "properties.osProfile."
	nic     = profile + "networkInterfaceConfigurations"
)

func disks(all ...doc.Object) []any { return doc.Objects(all...) }

var confidential = []change{
	{"properties.securityProfile", doc.Object{"securityType": "ConfidentialVM", "uefiSettings": doc.Object{
		"vTpmEnabled": true, "secureBootEnabled": true}}},
	{storage + "osDisk.managedDisk", doc.Object{"securityProfile": doc.Object{"securityEncryptionType": "DiskWithVMGuestState"}}},
}

func with(changes []change, more ...change) []change { return append(slices.Clone(changes), more...) }

// broken has for each rule what breaks it, and a part of the sentence.
var broken = map[string]struct {
	changes []change
	says    string
}{
	"customData": {[]change{{system + "customData", strings.Repeat("YWFh", 87380/4+1)}}, "maximum length of " +
		"87380"},
	"userData":      {[]change{{"properties.userData", "no base64!"}}, "must be in Base64"},
	"computerName":  {[]change{{system + "computerName", "sixteen-letters-"}}, "more than 15 characters"},
	"adminUsername": {[]change{{system + "adminUsername", "ends.with.period."}}, "end with a period"},
	"adminUsername that is kept": {[]change{{system + "adminUsername", "Administrator"}}, "Admin Username specified is not " +
		"allowed"},
	"adminPassword": {[]change{{system + "adminPassword", "alllowercase"}}, "at least 3 of password complexity"},
	"adminPassword that is known": {[]change{{system + "adminPassword", "Password22"}}, "Admin password specified is not " +
		"allowed"},
	"licenseType": {[]change{{"properties.licenseType", "windows_server"}}, "case sensitive"},
	"timeZone":    {[]change{{system + "windowsConfiguration.timeZone", "Europe/Berlin"}}, "timeZone is invalid"},
	"notBeforeTimeout": {
		[]change{{"properties.scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout", "PT1M"}},
		"PT5M",
	},
	"storageUri": {
		[]change{{"properties.diagnosticsProfile.bootDiagnostics.storageUri", "http://a"}},
		"correct blob URI",
	},
	"osDisk.diskSizeGB":       {[]change{{storage + "osDisk.diskSizeGB", 5000.0}}, "out of range"},
	"dataDisks.diskSizeGB":    {[]change{{storage + "dataDisks", disks(doc.Object{"diskSizeGB": 0.0})}}, "out of range"},
	"dataDisks.lun":           {[]change{{storage + "dataDisks", disks(doc.Object{"lun": 64.0})}}, "between 0 and 63"},
	"maxPrice":                {[]change{{"properties.billingProfile.maxPrice", -2.0}}, "either -1 or greater"},
	"zones":                   {[]change{{"zones", []any{"1", "2"}}}, "can be in one zone"},
	"number of tags":          {[]change{{"tags", many(51)}}, "The limit is '50'"},
	"characters of tag names": {[]change{{"tags", doc.Object{"a/b": "c"}}}, "reserved characters"},
	"length of tag names":     {[]change{{"tags", doc.Object{strings.Repeat("a", 513): "c"}}}, "Tag name too large"},
	"length of tag values":    {[]change{{"tags", doc.Object{"a": strings.Repeat("a", 257)}}}, "Tag value too large"},
	"user assigned identities' ids": {
		[]change{{"identity.userAssignedIdentities", doc.Object{"nodes": doc.Object{}}}},
		"is invalid",
	},
	"NICs twice": {[]change{{profile + "networkInterfaces", disks(doc.Object{"id": "x"})}}, "cannot both be " +
		"specified"},
	"no NIC":            {[]change{{nic, nil}}, "at least one network interface"},
	"networkApiVersion": {[]change{{profile + "networkApiVersion", nil}}, "networkApiVersion' is missing"},
	"one primary NIC": {[]change{{nic, disks(doc.Object{"name": "a"}, doc.Object{"name": "b"})}}, "set as the " +
		"primary"},
	"NIC names": {[]change{{nic, disks(doc.Object{"name": "a"}, doc.Object{"name": "a"})}}, "unique names"},
	"one primary IP configuration": {
		[]change{{nic + "[0].properties.ipConfigurations", disks(doc.Object{}, doc.Object{})}},
		"set as primary",
	},
	"image twice":               {[]change{{storage + "imageReference.communityGalleryImageId", "x"}}, "only one of"},
	"image incomplete":          {[]change{{storage + "imageReference", doc.Object{"publisher": "x"}}}, "is incomplete"},
	"image missing":             {[]change{{storage + "imageReference", nil}}, "imageReference' is missing"},
	"image and attached disk":   {[]change{{storage + "osDisk.createOption", "Attach"}}, "Cannot attach an existing OS disk"},
	"zone and availability set": {[]change{{"properties.availabilitySet", doc.Object{"id": "x"}}}, "both Availability Zone"},
	"two sets": {
		[]change{{"properties.availabilitySet", doc.Object{}}, {"properties.virtualMachineScaleSet", doc.Object{}}},
		"cannot be in",
	},
	"host and its group": {[]change{{"properties.host", doc.Object{}}, {"properties.hostGroup", doc.Object{}}}, "both host and " +
		"hostGroup"},
	"fault domain alone": {[]change{{"properties.platformFaultDomain", 1.0}}, "only with a virtual machine scale set"},
	"reservation of spot": {[]change{{"properties.capacityReservation", doc.Object{}}, {"properties.priority", "Spot"}}, "cannot be " +
		"used with Spot"},
	"eviction of regular": {[]change{{"properties.evictionPolicy", "Delete"}}, "only on Azure Spot"},
	"price of regular":    {[]change{{"properties.billingProfile.maxPrice", -1.0}}, "only on Azure Spot"},
	"ephemeral caching":   {[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}}, "ReadOnly caching"},
	"ephemeral spot": {
		[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}, {"properties.priority", "Spot"}},
		"'Deallocate' is not supported",
	},
	"ephemeral attached": {
		[]change{{storage + "osDisk.diffDiskSettings.option", "Local"}, {storage + "osDisk.createOption", "Attach"}},
		"from an image only",
	},
	"ultra OS disk": {[]change{{storage + "osDisk.managedDisk.storageAccountType", "UltraSSD_LRS"}}, "cannot be " +
		"used with an OS disk"},
	"ultra not enabled": {[]change{{storage + "dataDisks", disks(ultra(""))}}, "ultraSSDEnabled is set"},
	"caching of ultra":  {[]change{{storage + "dataDisks", disks(ultra("ReadOnly"))}}, "caching must be None"},
	"size of an empty disk": {
		[]change{{storage + "dataDisks", disks(doc.Object{"createOption": "Empty"})}},
		"diskSizeGB' is missing",
	},
	"attached disk without id": {
		[]change{{storage + "dataDisks", disks(doc.Object{"createOption": "Attach"})}},
		"managedDisk.id' is missing",
	},
	"LUN twice": {
		[]change{{storage + "dataDisks", disks(doc.Object{"lun": 1.0}, doc.Object{"lun": 1.0})}},
		"LUN already exists",
	},
	"disk name twice": {[]change{{storage + "dataDisks", disks(doc.Object{"name": "os"})}}, "already exists"},
	"no password":     {[]change{{system + "adminPassword", nil}}, "adminPassword' is missing"},
	"no user":         {[]change{{system + "adminUsername", nil}}, "adminUsername' is missing"},
	"no OS profile":   {[]change{{"properties.osProfile", nil}}, "osProfile' is missing"},
	"two systems":     {[]change{{system + "linuxConfiguration", doc.Object{}}}, "only one of windowsConfiguration"},
	"platform patches without agent": {
		[]change{{system + "windowsConfiguration.provisionVMAgent", false}, mode("AutomaticByPlatform")},
		"provisionVMAgent is true",
	},
	"platform patches without updates": {[]change{mode("AutomaticByPlatform")},
		"requires that enableAutomaticUpdates is true"},
	"manual patches with updates":       {[]change{{system + "windowsConfiguration.enableAutomaticUpdates", true}}, "is false"},
	"patches of the OS without updates": {[]change{mode("AutomaticByOS")}, "AutomaticByOS requires"},
	"hotpatching": {
		[]change{{system + "windowsConfiguration.patchSettings.enableHotpatching", true}},
		"requires patchMode",
	},
	"UEFI without security type": {[]change{{"properties.securityProfile.uefiSettings", doc.Object{}}}, "not supported without a " +
		"security type"},
	"confidential without disk encryption type": {
		with(confidential, change{storage + "osDisk.managedDisk", nil}),
		"ConfidentialVM requires",
	},
	"disk encryption type of others": {with(confidential, change{"properties.securityProfile", nil}), "only with " +
		"securityType ConfidentialVM"},
	"confidential without TPM": {
		with(confidential, change{"properties.securityProfile.uefiSettings.vTpmEnabled", false}),
		"vTpmEnabled must be true",
	},
	"encrypted disk without secure boot": {
		with(confidential, change{"properties.securityProfile.uefiSettings.secureBootEnabled", false}),
		"secureBootEnabled must",
	},
	"encrypted twice": {
		with(confidential, change{"properties.securityProfile.encryptionAtHost", true}),
		"encryptionAtHost is not supported",
	},
	"identities without their type": {[]change{{"identity.type", "UserAssigned"}}, "UserAssignedIdentities"},
	"WinRM certificate": {
		[]change{{system + "windowsConfiguration.winRM.listeners", disks(doc.Object{"protocol": "Https"})}},
		"needs a certificateUrl",
	},
}

func mode(m string) change { return change{system + "windowsConfiguration.patchSettings.patchMode", m} }

func ultra(caching string) doc.Object {
	return doc.Object{"caching": caching, "managedDisk": doc.Object{"storageAccountType": "UltraSSD_LRS"}}
}

func many(n int) doc.Object {
	all := doc.Object{}
	for i := range n {
		all["tag-"+strings.Repeat("a", i)] = ""
	}
	return all
}

// Every rule that is written by hand has a body that breaks it, and no other body is there.
func TestRulesBroken(t *testing.T) {
	names := map[string]bool{}
	for _, rule := range rules.VM() {
		first, _, _ := strings.Cut(rule.Name, " ")
		if rule.Name == "known members" || slices.Contains([]string{"required", "read-only", "value", "id"}, first) {
			continue
		}
		names[rule.Name] = true
		b, ok := broken[rule.Name]
		if !ok {
			t.Errorf("no body breaks the rule %q", rule.Name)
			continue
		}
		r := request(t, goodVM)
		for _, c := range b.changes {
			c.apply(r.Body)
		}
		if refused := rule.Check(r); refused == nil || !strings.Contains(refused.Message, b.says) {
			t.Errorf("%s: got %v, want %q", rule.Name, refused, b.says)
		}
	}
	for name := range broken {
		if !names[name] {
			t.Errorf("there is no rule %q", name)
		}
	}
}

// What the reference does not have is found wherever it stands.
func TestUnknownMembers(t *testing.T) {
	for _, path := range []string{
		"propertiez", "properties.licenceType", nic + "[0].deleteOption",
		nic + "[0].properties.ipConfigurations[0].properties.privateIPAllocationMethod",
	} {
		r := request(t, goodVM)
		change{path, "Delete"}.apply(r.Body)
		if refused := rules.CheckVM(r); refused == nil || !strings.Contains(refused.Message, "Could not find member") {
			t.Errorf("%s: got %v", path, refused)
		}
	}
}

func TestNICRules(t *testing.T) {
	r := request(t, goodNIC)
	change{"properties.ipConfigurations[0].properties.privateIPAllocationMethod", "Static"}.apply(r.Body)
	if refused := rules.CheckNIC(r); refused == nil || refused.Code != "PrivateIPAddressNotProvidedForStaticAllocation" {
		t.Errorf("a static address that is missing: %v", refused)
	}
	r = request(t, goodNIC)
	change{"properties.ipConfigurations", disks(doc.Object{"name": "a", "properties": doc.Object{"subnet": doc.Object{}}},
		doc.Object{"name": "b", "properties": doc.Object{"subnet": doc.Object{}}})}.apply(r.Body)
	if refused := rules.CheckNIC(r); refused == nil || refused.Code != "NetworkInterfaceMustHaveOnePrimaryIpConfig" {
		t.Errorf("two configurations without a primary: %v", refused)
	}
}
