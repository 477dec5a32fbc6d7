package security

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

// TestManyWords: a vCenter says more in one fault than anyone can read. People are shown its first words.
func TestManyWords(t *testing.T) {
	b := newBystander(t)
	attempt(t, attack{"vCenter", "gives 5,000 reasons in one fault", func(t *testing.T) (verdict string) {
		fault := &strings.Builder{}
		fault.WriteString(envelope + `<e:Fault><faultcode>x</faultcode><faultstring>No.</faultstring><detail>` +
			`<GenericVmConfigFaultFault xmlns="urn:vim25" xsi:type="GenericVmConfigFault">`)
		for n := range 5000 {
			_, _ = fmt.Fprintf(fault, "<faultMessage><key>k</key><message>%05d %s</message></faultMessage>", n, strings.Repeat("x", 200))
		}
		fault.WriteString(`<reason>Never.</reason></GenericVmConfigFaultFault></detail></e:Fault>` + envelopeEnd)
		v := vcenter.New(t)
		door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			if method != "FindByInventoryPath" {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, fault.String())
		})
		t.Cleanup(door.Close)
		c := b.account(t, door.Credentials())
		bytes := allocated(func() {
			_, err := c.Ensure(t.Context(), machineIn("tenant", "m"))
			for err != nil && strings.Contains(err.Error(), "waiting for") { // until the VMs are listed
				_, err = c.Ensure(t.Context(), machineIn("tenant", "m"))
			}
			verdict = shown(t, err)
		})
		if bytes > maxAllocated {
			t.Errorf("%d bytes were allocated", bytes)
		}
		b.unharmed(t)
		return verdict
	}})
}
