package security

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestKeptReports: a guest, or the API server that shows its report, wants the manager to keep more of it than 2 KiB.
func TestKeptReports(t *testing.T) {
	t.Parallel()
	keeps := func(what, text string) attack {
		return attack{by: "guest", tries: "has the manager keep " + what + " of a report", try: func(t *testing.T) string {
			kept := keptOf(t, text)
			if kept > 2<<10 {
				t.Errorf("%d bytes of %d are kept", kept, len(text))
			}
			return fmt.Sprintf("%d bytes of %d are kept", kept, len(text))
		}}
	}
	attempt(t,
		keeps("a long message", guestReport(`"message":"`+xs(15<<10)+`"`)),
		keeps("a long state", guestReport(`"state":"`+xs(15<<10)+`"`)),
		keeps("its state twice", guestReport(`"message":"`+xs(15<<10)+`","state":"Failed"`)),
		keeps("long lines", guestReport(`"lastLines":["`+strings.Repeat(xs(1000)+`","`, 15)+`"]`)),
		keeps("many phases", guestReport(`"durations":{`+strings.TrimSuffix(strings.Repeat(`"a":1,`, 2500), ",")+`}`)),
		keeps("fields that nobody knows", guestReport(`"`+xs(15<<10)+`":1`)),
		keeps("lists in lists", strings.Repeat("[", 8<<10)+strings.Repeat("]", 8<<10)),
		keeps("escapes", guestReport(`"message":"`+strings.Repeat(`\u001b`, 2500)+`"`)),
		keeps("halves of characters", guestReport(`"message":"`+strings.Repeat(`\ud800`, 2500)+`"`)))
	attemptKind(t,
		keeps("a mebibyte", guestReport(`"message":"`+xs(mebibyte)+`"`)),
		keeps("a mebibyte that is no JSON", strings.Repeat("\x00", mebibyte)),
		keeps("a mebibyte of many languages", strings.Repeat("\U0001f4a9", mebibyte/4)))
}

// keptOf returns how much the manager keeps of a report.
func keptOf(t *testing.T, text string) (kept int) {
	t.Helper()
	object := &corev1.ConfigMap{Data: map[string]string{bootstrap.GuestReportKey: text}}
	object.Namespace, object.Name = bootstrap.GuestNamespace, "guest"
	api := clientfake.NewClientBuilder().WithObjects(object).Build()
	ears := &guests.Ears{
		GetClient: func(context.Context, client.ObjectKey) (client.Client, error) { return api, nil }, Heard: func(...cloud.Key) {},
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ears.Start(ctx) }()
		for range 3 {
			synctest.Wait()
			report := ears.Report(client.ObjectKey{Namespace: "a", Name: "c"}, "guest", cloud.Key{Namespace: "a", Name: "m"},
				func(string) bool { return true })
			kept = max(kept, len(report))
			<-time.After(time.Minute)
		}
		end()
		expect.OK(t, <-ended)
	})
	if kept == 0 && strings.HasPrefix(text, "{") {
		t.Error("nothing was read")
	}
	return kept
}
