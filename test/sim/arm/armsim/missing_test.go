package armsim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

const requestID, correlationID = "X-Ms-Request-Id", "X-Ms-Correlation-Request-Id"

// Every answer of ARM has the two headers, refusals as well.
func TestHeadersOfARM(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	answers := map[string]answer{
		"created": h.put(t, "vm"), "found": h.get(t, armsim.VMID("vm").String()), "missing": h.get(t, armsim.VMID("other").String()),
		"list": h.get(t, vmsOfGroup), "bad": h.get(t, "/nothing"), "no group": h.get(t, strings.Replace(vmsOfGroup, "nodes", "x", 1)),
		"deleted": h.do(t, http.MethodDelete, armsim.VMID("vm").String(), nil),
	}
	h.token = "wrong"
	answers["who"] = h.get(t, vmsOfGroup)
	for name, a := range answers {
		if a.header.Get(requestID) == "" || a.header.Get(correlationID) == "" {
			t.Errorf("%s (%d): %v", name, a.status, a.header)
		}
	}
}

// Chosen calls get a 404 of each form, with ARM's headers or as a proxy sends it; other calls are served.
func TestNotFoundForms(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	h.put(t, "vm")
	vm := armsim.VMID("vm").String()
	codes := map[armsim.NotFoundForm]string{armsim.EmptyNotFound: "", armsim.HTMLNotFound: ""}
	for _, form := range armsim.NotFoundForms {
		want, ok := codes[form]
		if !ok {
			want = string(form)
		}
		for _, proxy := range []bool{false, true} {
			c.AnswerNotFound(armsim.NotFound{Method: http.MethodGet, Type: compute.VM, Name: "VM", Form: form, Proxy: proxy})
			a := h.get(t, vm)
			equal(t, a.status, http.StatusNotFound)
			equal(t, a.code(), want)
			equal(t, a.header.Get(requestID) == "" && a.header.Get(correlationID) == "", proxy)
			equal(t, strings.HasPrefix(a.header.Get("Content-Type"), "text/html"), form == armsim.HTMLNotFound)
			equal(t, h.get(t, vmsOfGroup).status, http.StatusOK)
			equal(t, h.get(t, armsim.NSGID).status, http.StatusOK)
		}
	}
	c.AnswerNotFound()
	equal(t, h.get(t, vm).status, http.StatusOK)
}

// A proxy asks for no right, ARM does before it looks for a resource.
func TestNotFoundAndRights(t *testing.T) {
	c := armsim.New(t)
	h := newByHand(t, c)
	vm := armsim.VMID("vm").String()
	giveBack := c.TakeRights(armsim.ObjectID)
	c.AnswerNotFound(armsim.NotFound{Form: armsim.EntityNotFound})
	equal(t, h.get(t, vm).status, http.StatusForbidden)
	c.AnswerNotFound(armsim.NotFound{Form: armsim.HTMLNotFound, Proxy: true})
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, c.Endpoint()+vm+"?api-version=2025-04-01",
		http.NoBody))(t)
	response, err := c.Client().Do(request)
	expect.OK(t, err)
	content := expect.Got(io.ReadAll(response.Body))(t)
	expect.OK(t, response.Body.Close())
	equal(t, strings.Contains(string(content), "<h1>Not Found</h1>"), true)
	c.AnswerNotFound()
	equal(t, h.get(t, vm).status, http.StatusForbidden)
	giveBack()
	equal(t, h.get(t, vm).code(), "ResourceNotFound")
	equal(t, doc.Text(h.get(t, vm).body, "error", "code"), string(armsim.ResourceNotFound))
}
