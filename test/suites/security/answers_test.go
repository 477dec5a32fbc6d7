package security

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestLeftOut: a vCenter leaves out what every other one sends.
func TestLeftOut(t *testing.T) {
	b := newBystander(t)
	var parts, results, contents, faults []attack
	for _, part := range []string{
		"propertyCollector", "sessionManager", "searchIndex", "viewManager", "taskManager", "eventManager", "rootFolder",
		"instanceUuid",
	} {
		parts = append(parts, b.spoils("has no "+part, "RetrieveServiceContent", func(answer string) string {
			return without(answer, part)
		}))
	}
	for _, method := range methods {
		results = append(results, b.spoils("answers "+method+" without a result", method, func(string) string {
			return envelope + envelopeEnd
		}))
		contents = append(contents, b.spoils("answers "+method+" with an empty result", method, func(string) string {
			return envelope + "<" + method + "Response/>" + envelopeEnd
		}))
		faults = append(faults, b.spoils("answers "+method+" with a fault of control characters", method, func(string) string {
			return fault
		}))
	}
	attemptKind(t, parts...)
	attemptKind(t, results...)
	attemptKind(t, contents...)
	attemptKind(t, faults...)
}

// methods are what we call until a machine runs, and to remove it. The first has most to be read.
var methods = []string{
	"RetrievePropertiesEx", "WaitForUpdatesEx", "Login", "CreatePropertyCollector", "CreateContainerView", "CreateListView",
	"CreateFilter", "FindByUuid", "FindByInventoryPath", "FindChild", "CloneVM_Task", "ModifyListView", "PowerOffVM_Task",
	"Destroy_Task",
}

// fault is one whose texts are to be taken for conditions and lines of a log.
var fault = envelope + `<e:Fault><faultcode>x</faultcode><faultstring>` + nasty + `</faultstring><detail><NoPermissionFault ` +
	`xmlns="urn:vim25" xsi:type="NoPermission"><privilegeId>` + nasty + `</privilegeId></NoPermissionFault></detail></e:Fault>` +
	envelopeEnd

var nasty = "&#10;Ready=True&#9;&#x202e;\u009b31m" + strings.Repeat("x", 100_000)

// TestWrongTypes: a property has a value of another type than it has in any vCenter.
func TestWrongTypes(t *testing.T) {
	b := newBystander(t)
	for _, method := range []string{"WaitForUpdatesEx", "RetrievePropertiesEx"} {
		var types []attack
		for _, value := range []struct{ is, to string }{
			{"a number", `xsi:type="xsd:int">7<`},
			{"a host", `xsi:type="HostConfigInfo"><`},
			{"a list of devices", `xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualDisk"/><`},
			{"an unknown type", `xsi:type="Nonsense">x<`},
			{"a fault", `xsi:type="NoPermission"><`},
			{"a reference", `xsi:type="ManagedObjectReference" type="x">x<`},
		} {
			types = append(types, b.spoils("answers "+method+" with "+value.is+" for each value", method, func(answer string) string {
				return retyped(answer, value.to)
			}))
		}
		attemptKind(t, types...)
	}
	attempt(t, b.spoils("answers each call with the object of another type", "", func(answer string) string {
		return strings.ReplaceAll(answer, `type="VirtualMachine"`, `type="Datastore"`)
	}))
}

// spoils is an attack by a tenant's vCenter, beside others of the same kind.
func (b *bystander) spoils(tries, method string, spoil func(answer string) string) attack {
	return attack{"vCenter", tries, func(t *testing.T) string {
		t.Parallel() // each waits while tasks are gathered
		return b.spoiled(t, method, spoil)
	}}
}

// spoiled lets a tenant's vCenter spoil its answers to a method, all of them for "", during the life of a machine. Neither the
// process nor the machines of others may suffer. The verdict is what became of the machine.
func (b *bystander) spoiled(t *testing.T, method string, spoil func(answer string) string) (verdict string) {
	t.Helper()
	v := vcenter.New(t)
	var spoilt atomic.Int32
	door := v.Open(func(called string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "" && called != method {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		_, _ = io.WriteString(w, spoil(answer.Body.String()))
		spoilt.Add(1)
	})
	t.Cleanup(door.Close)
	tenant := fmt.Sprint("tenant-", b.tenants.Add(1))
	c := b.account(t, cloud.Key{Namespace: tenant, Name: "vcenter"}, door.Credentials())
	m := machineIn(tenant, "m")
	verdict = "the machine waits"
	if strings.HasPrefix(method, "Create") || method == "WaitForUpdatesEx" {
		wait.Until(t, "the watch to hear it", func() (any, bool) { return method, spoilt.Load() > 0 })
	}
	for range 5 {
		if vm, err := c.Ensure(t.Context(), m); err != nil {
			verdict = shown(t, err)
		} else if vm.State == cloud.Running {
			verdict = "the machine runs"
		}
	}
	for range 3 {
		_, _ = c.Delete(t.Context(), m)
	}
	b.unharmed(t, "beside-"+tenant)
	return verdict
}
