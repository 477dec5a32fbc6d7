package fault

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// TestJudge has each error that Azure documents, with the beginning of its own text.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		answer Answer
		kind   cloud.Kind
		reason string
		effect Effect
		after  time.Duration
	}{
		{
			Answer{Status: 429, Code: "SubscriptionRequestsThrottled", RetryAfter: 6 * time.Second},
			cloud.Throttled,
			infrav1.CloudThrottledReason, Silences, 6 * time.Second,
		},
		{
			Answer{Status: 429, Code: "OperationNotAllowed", Details: []Answer{{Code: "TooManyRequests"}}},
			cloud.Throttled,
			infrav1.CloudThrottledReason, Silences, time.Second,
		},
		{
			Answer{Status: 409, Code: "OperationNotAllowed", Details: []Answer{{Code: "TooManyRequests"}}},
			cloud.Throttled,
			infrav1.CloudThrottledReason, Silences, time.Second,
		},
		{Answer{Status: 429}, cloud.Throttled, infrav1.CloudThrottledReason, Silences, time.Second},
		{
			Answer{Status: 429, Code: "RetryableErrorDueToAnotherOperation"},
			cloud.Transient,
			infrav1.CloudTaskFailedReason, Unready, brief,
		},
		{Answer{Status: 429, Code: "RetryableError"}, cloud.Transient, infrav1.CloudTaskFailedReason, Unready, shortly},
		{
			Answer{Status: 429, Code: "RetryableError", Details: []Answer{{
				Code: "ReferencedResourceNotProvisioned", Message: "... not in Succeeded state. Resource is in Updating state and ...",
			}}},
			cloud.Transient, infrav1.CloudTaskFailedReason, Unready, shortly,
		},
		{
			Answer{Status: 400, Code: "ReferencedResourceNotProvisioned", Message: "... Resource is in Failed state and ..."},
			cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, minute,
		},
		{Answer{Status: 404, Code: "ResourceNotFound"}, cloud.Transient, infrav1.CloudTaskFailedReason, Gone, brief},
		{Answer{Status: 404, Code: "ResourceGroupNotFound"}, cloud.Invalid, infrav1.PlacementNotFoundReason, GroupGone, slowly},
		{Answer{Status: 404, Code: "SubscriptionNotFound"}, cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect, slowly},
		{Answer{Status: 404}, cloud.Exhausted, infrav1.CloudTaskFailedReason, NoEffect, slowly},
		{Answer{Status: 401, Code: "InvalidAuthenticationToken"}, cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect, slowly},
		{
			Answer{Status: 401, Code: "InvalidAuthenticationTokenTenant"},
			cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect,
			slowly,
		},
		{Answer{Status: 403, Code: "AuthorizationFailed"}, cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect, slowly},
		{Answer{Status: 403, Code: "LinkedAuthorizationFailed"}, cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect, slowly},
		{Answer{Status: 403, Code: "RequestDisallowedByPolicy"}, cloud.Exhausted, infrav1.CloudTaskFailedReason, NoEffect, slowly},
		{Answer{Status: 403}, cloud.Denied, infrav1.CredentialsRejectedReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "PrivateIPAddressInUse"}, cloud.Exhausted, infrav1.SpecInvalidReason, NoEffect, minute},
		{Answer{Status: 400, Code: "PrivateIPAddressNotInSubnet"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "NicInUse"}, cloud.Exhausted, infrav1.CloudTaskFailedReason, NoEffect, slowly},
		{Answer{Status: 409, Code: "AnotherOperationInProgress"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, brief},
		{Answer{Status: 409, Code: "ScopeLocked"}, cloud.Exhausted, infrav1.CloudTaskFailedReason, NoEffect, slowly},
		{
			Answer{
				Status: 409, Code: "OperationNotAllowed",
				Message: "Operation could not be completed as it results in exceeding approved Total Regional Cores quota.",
			},
			cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesFamily, quotaWait,
		},
		{
			Answer{Status: 409, Code: "OperationNotAllowed", Message: "... exceeding approved LowPriorityCores quota"},
			cloud.Exhausted,
			infrav1.CapacityExhaustedReason, ClosesFamily, quotaWait,
		},
		{Answer{Status: 400, Code: "QuotaExceeded"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesFamily, quotaWait},
		{
			Answer{Status: 409, Code: "OperationNotAllowed", Message: "The specified disk size 30 GB is smaller than that of the image."},
			cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly,
		},
		{Answer{Status: 400, Code: "FailedIdentityOperation"}, cloud.Invalid, infrav1.PlacementNotFoundReason, NoEffect, slowly},
		{Answer{Status: 409, Code: "SkuNotAvailable"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesSize, scarce},
		{Answer{Code: "AllocationFailed"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesSize, scarce},
		{Answer{Code: "ZonalAllocationFailed"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesSize, scarce},
		{Answer{Code: "OverconstrainedAllocationRequest"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesSize, scarce},
		{Answer{Code: "OverconstrainedZonalAllocationRequest"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, ClosesSize, scarce},
		{Answer{Status: 404, Code: "ImageNotFound"}, cloud.Invalid, infrav1.TemplateNotFoundReason, NoEffect, slowly},
		{Answer{Status: 404, Code: "PlatformImageNotFound"}, cloud.Invalid, infrav1.TemplateNotFoundReason, NoEffect, slowly},
		{Answer{Status: 404, Code: "GalleryImageNotFound"}, cloud.Invalid, infrav1.TemplateNotFoundReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "VMMarketplaceInvalidInput"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "InvalidResourceReference"}, cloud.Invalid, infrav1.PlacementNotFoundReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "SubnetIsFull"}, cloud.Exhausted, infrav1.CapacityExhaustedReason, NoEffect, slowly},
		{Answer{Code: "OSProvisioningTimedOut"}, cloud.Transient, infrav1.CloudTaskFailedReason, Guest, slowly},
		{Answer{Code: "OSProvisioningClientError"}, cloud.Transient, infrav1.CloudTaskFailedReason, Guest, slowly},
		{Answer{Code: "OSProvisioningInternalError"}, cloud.Transient, infrav1.CloudTaskFailedReason, Guest, slowly},
		{Answer{Code: "VMStartTimedOut"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, time.Minute},
		{Answer{Code: "NetworkingInternalOperationError"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, time.Minute},
		{Answer{Status: 400, Code: "NicReservedForAnotherVm"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, reserved},
		{Answer{Status: 412}, cloud.Transient, infrav1.NameTakenReason, Taken, brief},
		{Answer{Status: 409, Code: "PreconditionFailed"}, cloud.Transient, infrav1.NameTakenReason, Taken, brief},
		{Answer{Code: "OperationPreempted"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, brief},
		{Answer{Status: 409, Code: "AnotherOperationInProgress"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, brief},
		{
			Answer{Status: 409, Code: "OperationNotAllowed", Message: "The request failed since the VM is marked for deletion"},
			cloud.Transient,
			infrav1.CloudTaskFailedReason, NoEffect, brief,
		},
		{Answer{Status: 409, Code: "Unheard"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, brief},
		{
			Answer{Status: 400, Code: "CouldNotFindMember", Message: "Could not find member 'networkApiVersion'"},
			cloud.Transient,
			infrav1.CloudTaskFailedReason, Inline, time.Second,
		},
		{
			Answer{Status: 400, Code: "InvalidRequestFormat", Message: "Cannot parse the request.", Details: []Answer{{
				Code:    "InvalidJson",
				Message: "Could not find member 'x' on object. Path 'Properties.NetworkProfile.networkInterfaceConfigurations[0].x'",
			}}}, cloud.Transient, infrav1.CloudTaskFailedReason, Inline, time.Second,
		},
		{
			Answer{Status: 400, Code: "InvalidParameter", Message: "networkProfile.networkInterfaceConfigurations is not valid"},
			cloud.Transient,
			infrav1.CloudTaskFailedReason, Inline, time.Second,
		},
		{Answer{Status: 400, Code: "InvalidParameter"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "BadRequest"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 400, Code: "NoRegisteredProviderFound"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 409, Code: "PropertyChangeNotAllowed"}, cloud.Invalid, infrav1.SpecInvalidReason, NoEffect, slowly},
		{Answer{Status: 418, Code: "Unheard"}, cloud.Exhausted, infrav1.CloudTaskFailedReason, NoEffect, slowly},
		{Answer{Status: 500, Code: "Unheard"}, cloud.Transient, infrav1.CloudUnreachableReason, NoEffect, 0},
		{
			Answer{Status: 503, RetryAfter: 30 * time.Second},
			cloud.Transient, infrav1.CloudUnreachableReason, NoEffect,
			30 * time.Second,
		},
		{Answer{Code: "Unheard"}, cloud.Transient, infrav1.CloudTaskFailedReason, NoEffect, slowly},
	} {
		got := Judge(test.answer)
		want := []any{test.kind, test.reason, test.effect, test.after}
		if diff := cmp.Diff(want, []any{got.Error.Kind, got.Error.Reason, got.Effect, got.Error.After}); diff != "" {
			t.Errorf("%d %s %s:\n%s", test.answer.Status, test.answer.Code, test.answer.Message, diff)
		}
		if shouted := test.answer; Judge(Answer{
			Status: shouted.Status, Code: strings.ToUpper(shouted.Code), Message: shouted.Message,
			Details: shouted.Details, RetryAfter: shouted.RetryAfter,
		}).Effect != got.Effect {
			t.Errorf("%s is judged by its case", test.answer.Code)
		}
		if !strings.Contains(got.Error.Message, ": ") || len(got.Error.Message) > 600 {
			t.Errorf("%s: sentence %q", test.answer.Code, got.Error.Message)
		}
		if another := slices.Contains([]Effect{ClosesFamily, ClosesSize}, test.effect); got.AllowsFallback() != another {
			t.Errorf("%s: another size %v", test.answer.Code, got.AllowsFallback())
		}
	}
}

func TestNothingIsRetriedFasterThanItsRow(t *testing.T) {
	for _, r := range rows {
		if r.pause < shortestWait {
			t.Errorf("incomplete: %+v", r)
		}
		for _, code := range r.codes {
			if code != strings.ToLower(code) {
				t.Errorf("%s never fits", code)
			}
			if got := Judge(Answer{Code: code, RetryAfter: time.Minute}); got.Error.After < time.Minute {
				t.Errorf("%s: %s, although Azure asked for a minute", code, got.Error.After)
			}
		}
	}
}

func TestSentencesNameTheMissingRight(t *testing.T) {
	for message, want := range map[string]string{
		"The client 'x' with object id 'y' does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write' " +
			"over scope '/s' or the scope is invalid.": "Microsoft.Compute/virtualMachines/write on /s",
		"The client has permission to perform action 'Microsoft.Compute/virtualMachines/write' on scope '/s'; however, it does " +
			"not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked " +
			"scope(s) '/t'": "Microsoft.Network/virtualNetworks/subnets/join/action on /t",
		"It may not perform action 'Microsoft.Compute/skus/read'.": "Microsoft.Compute/skus/read",
	} {
		got := Judge(Answer{Status: 403, Code: "AuthorizationFailed", Message: message}).Error.Message
		if !strings.Contains(got, "refuses the action "+want+":") {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestSentencesAreTheSameForEachTry(t *testing.T) {
	one := Answer{
		Status: 500, Code: "X",
		Message: "request 11111111-2222-3333-4444-555555555555 at 2026-01-01T00:00:00.1Z: try again after '6' seconds",
	}
	other := Answer{
		Status: 500, Code: "X",
		Message: "request 21111111-2222-3333-4444-555555555555 at 2026-01-02T00:00:00.2Z: try again after '17' seconds",
	}
	if a, b := Judge(one).Error.Message, Judge(other).Error.Message; a != b {
		t.Errorf("%q and %q", a, b)
	}
	wild := Judge(Answer{Status: 400, Code: "A\nB\x1b[31m" + strings.Repeat("c", 999), Message: strings.Repeat("\u202e\n",
		9999)}).Error.Message
	if len(wild) > 600 || strings.ContainsFunc(wild, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("%d bytes: %q", len(wild), wild)
	}
}

func TestRead(t *testing.T) {
	body := `{"error":{"code":"OperationNotAllowed","message":"m","target":"t",` +
		`"details":[{"code":"TooManyRequests","target":"PutVM3Min","message":"{x}"}]}}`
	want := Answer{
		Status: 429, Code: "OperationNotAllowed", Message: "m", RetryAfter: 7 * time.Second,
		Details: []Answer{{Code: "TooManyRequests", Message: "{x}"}},
	}
	if diff := cmp.Diff(want, Read(429, http.Header{"Retry-After": {"7"}}, []byte(body))); diff != "" {
		t.Error(diff)
	}
	for name, body := range map[string]string{
		"a page of a proxy": "<html>", "nothing": "", "a list": "[]", "too long": `{"error":{"code":"` + strings.Repeat("x", maxBody) +
			`"}}`,
	} {
		if got := Read(502, http.Header{}, []byte(body)); got.Code != "" || Judge(got).Error.Kind != cloud.Transient {
			t.Errorf("%s: %+v", name, got)
		}
	}
	signed := http.Header{"X-Ms-Error-Code": {"ResourceNotFound"}, "X-Ms-Request-Id": {"1"}}
	if got := Read(404, signed, nil); Judge(got).Effect != Gone {
		t.Errorf("the code of a header: %+v", got)
	}
	deep := Read(400, nil, []byte(`{"error":{"code":"a`+strings.Repeat(`","details":[{"code":"a`, 50)+`"`+strings.Repeat(`}]`,
		50)+`}}`))
	if codes := deep.codes(); len(codes) != 3 {
		t.Errorf("%d codes of a deep answer", len(codes))
	}
}

func TestRetryAfter(t *testing.T) {
	for _, test := range []struct {
		name, value, message string
		want                 time.Duration
	}{
		{"Retry-After", "10", "", 10 * time.Second},
		{"Retry-After", "0", "", time.Second},
		{"Retry-After", "999999999999", "", time.Hour},
		{"Retry-After", "-1", "", 0},
		{"Retry-After", "soon", "", 0},
		{"X-Ms-Retry-After-Ms", "2500", "", 2500 * time.Millisecond},
		{"Retry-After-Ms", "1", "", time.Second},
		{"Retry-After-Ms", "1500", "", 1500 * time.Millisecond},
		{"Retry-After", "3599", "", time.Hour - time.Second},
		{"X", "", "Number of requests exceeded. Please try again after '6' seconds.", 6 * time.Second},
		{"X", "", "try again after 99999 seconds", time.Hour},
		{"X", "", "try again", 0},
	} {
		header := http.Header{}
		header.Set(test.name, test.value)
		if got := retryAfter(header, test.message); got != test.want {
			t.Errorf("%s %q %q: got %s, want %s", test.name, test.value, test.message, got, test.want)
		}
	}
}

// Only our agent's mark makes Azure's words the guest's own.
func TestWord(t *testing.T) {
	const failed, timedOut = "OSProvisioningClientError", "OSProvisioningTimedOut"
	for _, test := range []struct{ code, message, want string }{
		{failed, "VM 'm' failed. Error details: capwin1|u|join|s|R|1|m Make sure the image has been\r\n", "capwin1|u|join|s|R|1|m"},
		{failed, "Error details: capwin1|u|join|s|R|1|cut", "capwin1|u|join|s|R|1|cut"},
		{failed, "Error details: capwin1|u|join|s|R|1|a\r\nb", "capwin1|u|join|s|R|1|a"},
		{failed, "Error details: the image is not generalized. Make sure the image", ""},
		{timedOut, "did not finish in the allotted time", ""},
		{"AllocationFailed", "capwin1|u|join|s|R|1|m", ""},
	} {
		got := Judge(Answer{Code: test.code, Message: test.message})
		if got.Word != test.want || strings.Contains(got.Error.Message, "BootstrapSucceeded") != (test.want != "") {
			t.Errorf("%s %q: the word is %q, %v", test.code, test.message, got.Word, got.Error)
		}
		if want := Judge(Answer{Code: test.code}).Error.After; got.Error.After != want {
			t.Errorf("%s %q: the next try is after %s, want %s", test.code, test.message, got.Error.After, want)
		}
	}
}

func TestOfView(t *testing.T) {
	got, ok := OfView("ProvisioningState/failed/OSProvisioningTimedOut", "m")
	if !ok || got.Code != "OSProvisioningTimedOut" || got.Message != "m" || Judge(got).Effect != Guest {
		t.Errorf("%v, %+v", ok, got)
	}
	for _, code := range []string{"", "ProvisioningState/succeeded", "ProvisioningState/failed/", "PowerState/running"} {
		if _, ok := OfView(code, "m"); ok {
			t.Errorf("%s is not a failure", code)
		}
	}
	if _, ok := errors.AsType[*cloud.Error](Judge(got).Error); !ok {
		t.Error("a verdict is an error of the seam")
	}
}

// TestSentencesWithoutAnAction: only an answer that refuses a right, and names it, is told as a right that is missing.
func TestSentencesWithoutAnAction(t *testing.T) {
	const action = "may not perform action 'Microsoft.Compute/skus/read'"
	for name, test := range map[string]struct {
		answer Answer
		want   string
	}{
		"a right without a name": {Answer{Status: 403, Code: "AuthorizationFailed"}, "Azure answers AuthorizationFailed: "},
		"a policy names an action": {Answer{Status: 403, Code: "RequestDisallowedByPolicy", Message: action}, "Azure answers " +
			"RequestDis"},
		"no code": {Answer{Status: 502}, "Azure answers in an unexpected way (Bad Gateway): "},
	} {
		got := Judge(test.answer)
		if !strings.HasPrefix(got.Error.Message, test.want) || got.Lacks != "" {
			t.Errorf("%s: %q lacks %q", name, got.Error.Message, got.Lacks)
		}
	}
}

// TestLongSentences: what Azure says is shown up to a length, to the letter.
func TestLongSentences(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	says := func(code, message string) string { return quote(Answer{Code: code, Message: message}) }
	for got, want := range map[string]string{
		says(x(64), ""): "Azure answers " + x(64), says(x(65), ""): "Azure answers " + x(61) + "...",
		says("C", x(256)): "Azure answers C (" + x(256) + ")", says("C", x(257)): "Azure answers C (" + x(253) + "...)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range [][4]int{{128, 512, 128, 512}, {129, 513, 125, 509}} {
		action, scope := missingAction(Answer{Message: "perform action '" + x(c[0]) + "' over scope '" + x(c[1]) + "'"})
		if len(strings.TrimSuffix(action, "...")) != c[2] || len(strings.TrimSuffix(scope, "...")) != c[3] {
			t.Errorf("an action of %d and a scope of %d letters have %d and %d", c[0], c[1], len(action), len(scope))
		}
	}
}
