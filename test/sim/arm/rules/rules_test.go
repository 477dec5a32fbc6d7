package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/rules"
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
	goodPart = `{"location": "westeurope", "properties": {"source": {"script": "hostname"},
		"publisher": "Microsoft.Compute", "type": "CustomScriptExtension", "typeHandlerVersion": "1.10"}}`
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

// Every rule that is written by hand has a body that breaks it, and no other body is there. A rule that holds for VMs and for
// NICs alone counts once.
func TestRulesBroken(t *testing.T) {
	names := map[string]bool{}
	for of, good := range map[string]string{"vm": goodVM, "nic": goodNIC, "part": goodPart} {
		for _, rule := range rules.ByHand(of) {
			names[rule.Name] = true
			b, ok := brokenNIC[rule.Name]
			if of == "vm" || !ok {
				b, ok = broken[rule.Name]
			}
			if !ok {
				t.Errorf("no body breaks the rule %q of a %s", rule.Name, of)
				continue
			}
			r := request(t, good)
			if refused := rule.Check(r); refused != nil {
				t.Errorf("%s of a %s: a good body is refused: %v", rule.Name, of, refused)
			}
			for _, c := range b.changes {
				c.to(&r)
			}
			if says := said(rule.Check(r)); !strings.Contains(says, b.says) {
				t.Errorf("%s of a %s: got %q, want %q", rule.Name, of, says, b.says)
			}
		}
	}
	for name := range broken {
		if !names[name] {
			t.Errorf("there is no rule %q", name)
		}
	}
	for name := range brokenNIC {
		if !names[name] {
			t.Errorf("there is no rule %q of a NIC", name)
		}
	}
	t.Logf("%d rules are written by hand", len(names))
	if len(names) < 80 {
		t.Errorf("%d rules are written by hand, want at least 80", len(names))
	}
}

// said is the innermost sentence of a refusal, "" for none.
func said(refused *reply.Error) string {
	switch {
	case refused == nil:
		return ""
	case refused.Details != nil:
		return refused.Details[0].Message
	}
	return refused.Message
}

// What the reference does not have is found wherever it stands.
func TestUnknownMembers(t *testing.T) {
	for _, path := range []string{
		"propertiez", "properties.licenceType", nic + "[0].deleteOption",
		nic + "[0].properties.ipConfigurations[0].properties.privateIPAllocationMethod",
	} {
		r := request(t, goodVM)
		change{path, "Delete"}.apply(r.Body)
		refused := rules.CheckVM(r)
		if refused == nil || refused.Details == nil || !strings.Contains(refused.Details[0].Message, "Could not find member") {
			t.Errorf("%s: got %v", path, refused)
		}
	}
}
