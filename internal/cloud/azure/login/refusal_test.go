package login

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// toldOf is the error of the seam behind an error of the SDK.
func toldOf(t *testing.T, what string, err error) *cloud.Error {
	t.Helper()
	told, _ := errors.AsType[*cloud.Error](err)
	if told == nil {
		t.Fatalf("%s: %v", what, err)
	}
	if all := fmt.Sprintf("%v %+v %#v %v %+v", err, err, told, told.Err, told); strings.Contains(all, "canary") ||
		strings.ContainsAny(told.Message, "\r\n\x1b") || len(told.Message) > 600 {
		t.Errorf("%s: %s", what, all)
	}
	return told
}

// TestRefusals: what Entra ID refuses has its reason, its number, and a sentence that says what to do.
func TestRefusals(t *testing.T) {
	withoutEnvironment(t)
	l := newLab(t)
	l.node(t)
	own := placement.OwnSecret(byTeam, "azure")
	for _, test := range []struct {
		name      string
		grant     placement.Grant
		secret    map[string][]byte
		tokenFile string
		change    func(*armsim.Inside)
		kind      cloud.Kind
		reason    string
		says      []string
	}{
		{
			name: "a wrong secret", grant: own, secret: l.chosen(armsim.ClientID, map[string]string{keySecret: "canary"}),
			kind: cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS7000215", armsim.ClientID, "not its id"},
		},
		{
			name: "an expired secret", grant: own, secret: l.chosen(app, map[string]string{keySecret: "an old secret"}),
			kind: cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS7000222", "expired"},
		},
		{
			name: "an unknown app", grant: own,
			secret: l.chosen("eeeeeeee-0000-4000-8000-000000000001", map[string]string{keySecret: "canary"}),
			kind:   cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS700016", "does not exist in tenant"},
		},
		{
			name: "an unknown tenant", grant: own,
			secret: l.chosen(app, map[string]string{keySecret: "canary", keyTenant: "nowhere.example.com"}),
			kind:   cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS90002", "nowhere.example.com"},
		},
		{
			name: "a certificate of another", grant: own,
			secret: l.chosen(app, map[string]string{keyCertificate: string(newCertificate(t))}),
			kind:   cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS700027", "upload"},
		},
		{
			name: "another audience", grant: own,
			secret: l.chosen(armsim.ClientID, map[string]string{keySecret: armsim.Secret, keyAudience: "https://other.test"}),
			kind:   cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS500011", "audience"},
		},
		{
			name: "a federated credential for another service account", grant: use(t, "WorkloadIdentity", app),
			tokenFile: l.tokenFile(t, "system:serviceaccount:default:default", l.key),
			kind:      cloud.Denied, reason: infrav1.CredentialsRejectedReason,
			says: []string{"AADSTS700213", l.issuer.URL, "system:serviceaccount:default:default", exchange},
		},
		{
			name: "a token that another key signed", grant: use(t, "WorkloadIdentity", app),
			tokenFile: l.tokenFile(t, subject, newKey(t)),
			kind:      cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{"AADSTS7000272", l.issuer.URL},
		},
		{
			name: "no token file", grant: use(t, "WorkloadIdentity", app), tokenFile: "/missing",
			kind: cloud.Transient, reason: infrav1.CloudUnreachableReason, says: []string{envTokenFile, "mounted"},
		},
		{
			name: "an identity that the node does not have", grant: use(t, "UserAssignedMSI", app),
			kind: cloud.Denied, reason: infrav1.CredentialsRejectedReason, says: []string{app, "assign"},
		},
		{
			name: "Entra ID is down", grant: own, secret: l.chosen(armsim.ClientID, map[string]string{keySecret: armsim.Secret}),
			change: func(w *armsim.Inside) { w.Tokens.Down = http.StatusServiceUnavailable },
			kind:   cloud.Transient, reason: infrav1.CloudUnreachableReason, says: []string{"AADSTS90033", "tries again"},
		},
		{
			name: "Entra ID has had enough", grant: own,
			secret: l.chosen(armsim.ClientID, map[string]string{keySecret: armsim.Secret}),
			change: func(w *armsim.Inside) { w.Tokens.Down = http.StatusTooManyRequests },
			kind:   cloud.Throttled, reason: infrav1.CloudThrottledReason, says: []string{"limits"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(envTokenFile, test.tokenFile)
			if test.change != nil {
				l.cloud.Change(test.change)
			}
			p := expect.Got(Open(Request{Grant: test.grant, Secret: test.secret, Cloud: "Lab", Book: l.book}))(t)
			l.cloud.Forget()
			told := toldOf(t, test.name, list(t, p))
			if told.Kind != test.kind || told.Reason != test.reason || told.After <= 0 {
				t.Errorf("%s, %s, %s", told.Kind, told.Reason, told.After)
			}
			for _, text := range test.says {
				if !strings.Contains(told.Message, text) {
					t.Errorf("%q is not in: %s", text, told.Message)
				}
			}
			asked := slices.DeleteFunc(l.cloud.Calls(), func(c armsim.Call) bool { return c.Method != http.MethodPost })
			if len(asked) > 1 {
				t.Errorf("asked for a token %d times", len(asked))
			}
		})
	}
}

// TestSayings: each sentence is filled, and names something to do.
func TestSayings(t *testing.T) {
	for number := range advice {
		told := refusals{client: "c", tenant: "t", cloud: "x", source: "s"}.error(&outcome{
			status: http.StatusBadRequest, content: fmt.Appendf(nil, `{"error_codes":[%d]}`, number),
		})
		if strings.ContainsAny(told.Message, "{}") || !strings.Contains(told.Message, ": ") ||
			!strings.Contains(told.Message, fmt.Sprintf("AADSTS%d", number)) {
			t.Errorf("%d: %s", number, told.Message)
		}
	}
	unknown := []byte(`{"error_description":"AADSTS50999: x"}`)
	told := refusals{client: "c"}.error(&outcome{status: http.StatusBadRequest, content: unknown})
	if told.Kind != cloud.Denied || !strings.Contains(told.Message, "AADSTS50999") {
		t.Errorf("an unknown number: %v", told)
	}
	for header, want := range map[string]time.Duration{
		"": briefly, "x": briefly, "-1": briefly, "0": time.Second, "7": 7 * time.Second, "999999999": late,
	} {
		if got := retryAfter(http.Header{"Retry-After": {header}}); got != want {
			t.Errorf("Retry-After %q: %s", header, got)
		}
	}
}
