package security

import (
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
	for _, part := range []string{
		"sessionManager", "searchIndex", "viewManager", "taskManager", "eventManager", "propertyCollector", "rootFolder",
		"instanceUuid",
	} {
		attempt(t, attack{"vCenter", "has no " + part, func(t *testing.T) string {
			return b.spoiled(t, "RetrieveServiceContent", func(answer string) string { return without(answer, part) })
		}})
	}
	for _, method := range methods {
		attempt(t, attack{"vCenter", "answers " + method + " without a result", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return envelope + envelopeEnd })
		}})
		attempt(t, attack{"vCenter", "answers " + method + " with an empty result", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return envelope + "<" + method + "Response/>" + envelopeEnd })
		}})
		attempt(t, attack{"vCenter", "answers " + method + " with a fault of control characters", func(t *testing.T) string {
			return b.spoiled(t, method, func(string) string { return fault })
		}})
	}
}

// methods are what we call until a machine runs, and to remove it.
var methods = []string{
	"Login", "CreatePropertyCollector", "CreateContainerView", "CreateListView", "CreateFilter", "WaitForUpdatesEx", "FindByUuid",
	"FindByInventoryPath", "FindChild", "RetrievePropertiesEx", "CloneVM_Task", "ModifyListView",
	"PowerOffVM_Task", "Destroy_Task",
}

// fault is one whose texts are to be taken for conditions and lines of a log.
var fault = envelope + `<e:Fault><faultcode>x</faultcode><faultstring>` + nasty + `</faultstring><detail><NoPermissionFault ` +
	`xmlns="urn:vim25" xsi:type="NoPermission"><privilegeId>` + nasty + `</privilegeId></NoPermissionFault></detail></e:Fault>` +
	envelopeEnd

var nasty = "&#10;Ready=True&#9;&#x202e;\u009b31m" + strings.Repeat("x", 100_000)

// TestWrongTypes: a property has a value of another type than it has in any vCenter.
func TestWrongTypes(t *testing.T) {
	b := newBystander(t)
	for tries, to := range map[string]string{
		"a number":          `xsi:type="xsd:int">7<`,
		"a host":            `xsi:type="HostConfigInfo"><`,
		"a list of devices": `xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualDisk"/><`,
		"an unknown type":   `xsi:type="Nonsense">x<`,
		"a fault":           `xsi:type="NoPermission"><`,
		"a reference":       `xsi:type="ManagedObjectReference" type="x">x<`,
	} {
		for _, method := range []string{"WaitForUpdatesEx", "RetrievePropertiesEx"} {
			attempt(t, attack{"vCenter", "answers " + method + " with " + tries + " for each value", func(t *testing.T) string {
				return b.spoiled(t, method, func(answer string) string { return retyped(answer, to) })
			}})
		}
	}
	attempt(t, attack{"vCenter", "answers each call with the object of another type", func(t *testing.T) string {
		return b.spoiled(t, "", func(answer string) string {
			return strings.ReplaceAll(answer, `type="VirtualMachine"`, `type="Datastore"`)
		})
	}})
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
	c := b.account(t, door.Credentials())
	m := machineIn("tenant", "m")
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
	b.unharmed(t)
	return verdict
}
