package session

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// refuses is a way to a server that has no answer.
type refuses struct{ err error }

// RoundTrip is part of http.RoundTripper.
func (r refuses) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// TestNoAnswer: what is no answer is one of the vCenter's all the same, if it came from there; three others break the account.
func TestNoAnswer(t *testing.T) {
	request := expect.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://vcenter", http.NoBody))(t)
	for err, broken := range map[error]bool{io.ErrUnexpectedEOF: true, ErrTooLarge: false, ErrForeign: false} {
		b := circuit{state: newBreaker()}
		way := bounded{RoundTripper: observed{refuses{err}, &b, time.Now}}
		for range silentRequests {
			expect.Same(t, err.Error()+": broken too soon", false, b.refusal() != nil)
			answer, got := way.RoundTrip(request)
			if answer != nil {
				expect.OK(t, answer.Body.Close())
			}
			expect.Same(t, err.Error()+": it is told", true, errors.Is(got, err))
			for request := range b.requests.Range {
				t.Errorf("%v: request %v is still in flight", err, request)
			}
		}
		expect.Same(t, err.Error()+": broken", broken, b.refusal() != nil)
	}
}

// noResult is an answer that has no place for a result.
type noResult struct{}

// Fault is part of soap.HasFault.
func (noResult) Fault() *soap.Fault { return nil }

// TestWithoutResult: an answer without its result is not that of a vCenter.
func TestWithoutResult(t *testing.T) {
	good := careful{unheard{}}
	ask := func(answer soap.HasFault) error { return good.RoundTrip(t.Context(), nil, answer) }
	expect.OK(t, ask(&methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{}}))
	expect.OK(t, ask(&noResult{}))
	expect.Same(t, "without its result", true, errors.Is(ask(&methods.CurrentTimeBody{}), ErrForeign))
	err := careful{unheard{io.ErrUnexpectedEOF}}.RoundTrip(t.Context(), nil, &methods.CurrentTimeBody{})
	expect.Same(t, "no answer", true, errors.Is(err, io.ErrUnexpectedEOF))
}

// unheard is a vCenter that answers nothing, or with an error.
type unheard struct{ err error }

// RoundTrip is part of soap.RoundTripper.
func (u unheard) RoundTrip(context.Context, soap.HasFault, soap.HasFault) error { return u.err }

// TestTrust: a TLS of today, for one CA or for one certificate, and for nothing else.
func TestTrust(t *testing.T) {
	digits := strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		ca, thumbprint string
		good           bool
	}{
		"a CA": {otherCA, "", true}, "a thumbprint": {"", digits, true}, "with colons": {"", "0A:" + digits[2:] + "\n", true},
		"letters after it": {"", digits + "zz", false}, "one digit too few": {"", digits[1:], false}, "no PEM": {"x", "", false},
		"both": {otherCA, digits, false}, "neither": {"", "", false},
	} {
		got, err := trust(c.ca, c.thumbprint)
		expect.Same(t, name, c.good, err == nil)
		if c.good {
			expect.Same(t, name+": oldest TLS", uint16(tls.VersionTLS12), got.MinVersion)
			expect.Same(t, name+": it compares the certificate", c.thumbprint != "", got.VerifyConnection != nil)
		}
	}
	_, err := parseEndpoint(map[string][]byte{
		"server": []byte("v center"), "username": []byte("u"), "password": []byte("p"), "ca.crt": []byte(otherCA),
	})
	expect.Says(t, "a server with a space", err, "must be a host, or host:port")
}

// TestSource: the way from one object to others, and from there.
func TestSource(t *testing.T) {
	from := types.ManagedObjectReference{Type: "Folder", Value: "group-v1"}
	path := &types.TraversalSpec{Type: "Folder", Path: "childEntity"}
	expect.Same(t, "itself", types.ObjectSpec{Obj: from}, Source{Object: from}.spec())
	expect.Same(t, "what is in it", types.ObjectSpec{Obj: from, Skip: new(true), SelectSet: []types.BaseSelectionSpec{path}},
		Source{Object: from, Via: "childEntity"}.spec())
	further := &types.TraversalSpec{Type: "Folder", Path: "childEntity"}
	further.Skip = new(true)
	further.SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: "Datacenter", Path: "datastore"}}
	expect.Same(t, "what is in that", types.ObjectSpec{Obj: from, Skip: new(true), SelectSet: []types.BaseSelectionSpec{further}},
		Source{Object: from, Via: "childEntity", Next: &types.TraversalSpec{Type: "Datacenter", Path: "datastore"}}.spec())
}

// TestPage: what a page tells of its objects; one that may not be read is an error, or left out, and one that is empty is none.
func TestPage(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	lacks := func(fault types.BaseMethodFault) []types.MissingProperty {
		return []types.MissingProperty{{Path: "name", Fault: types.LocalizedMethodFault{Fault: fault}}}
	}
	named := Objects{ref: {"name": "a"}}
	for name, c := range map[string]struct {
		missing       []types.MissingProperty
		token         string
		empty         bool
		visible, good bool
		want          Objects
	}{
		"all":                         {nil, "", false, false, true, named},
		"a page of several":           {nil, "more", false, false, true, named},
		"a property without a value":  {lacks(nil), "", false, false, true, named},
		"a property that is no more":  {lacks(&types.ManagedObjectNotFound{}), "", false, false, true, named},
		"not readable":                {lacks(&types.NoPermission{}), "", false, false, false, named},
		"not readable, left out":      {lacks(&types.NoPermission{}), "", false, true, true, Objects{}},
		"no session, nothing to hide": {lacks(&types.NotAuthenticated{}), "", false, true, false, named},
		"empty":                       {nil, "", true, false, true, Objects{}},
		"empty, and more to come":     {nil, "more", true, false, false, Objects{}},
	} {
		page := &types.RetrieveResult{Token: c.token, Objects: []types.ObjectContent{
			{Obj: ref, PropSet: []types.DynamicProperty{{Name: "name", Val: "a"}}, MissingSet: c.missing},
		}}
		if c.empty {
			page.Objects = nil
		}
		found := Objects{}
		expect.Same(t, name, c.good, found.add(page, 1, Source{Visible: c.visible}, nil) == nil)
		expect.Same(t, name+": found", c.want, found)
	}
}

// TestToldAsItIs: a fault that nobody has classified is passed on.
func TestToldAsItIs(t *testing.T) {
	fault := &soap.Fault{String: "no"}
	fault.Detail.Fault = types.NoPermission{}
	raw := soap.WrapSoapFault(fault)
	expect.Same(t, "the vCenter answered", true, Answered(raw))
	expect.Same(t, "it is told as it is", true, errors.Is(at("vc").Explain(t.Context(), "m", false, raw), raw))
}
