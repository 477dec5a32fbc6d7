package controllers

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// ruleless is what the agent reports of a node whose kube-proxy has set no rules for five minutes, and ruled what it reports once
// kube-proxy has: as in the vectors 484 and 486, with the step of bootstrap/network.
const (
	ruleless = `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"},` +
		`"boot":{"state":"Failed","reason":"NodeServiceFailed","message":"kube-proxy-rules: kube-proxy has not set the rules of ` +
		`Services","at":"20261127T120000Z"}}`
	ruled = `{"version":1,"state":"Succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"},` +
		`"boot":{"state":"Succeeded","at":"20261127T120700Z"}}`
)

// TestGuestReports: what a guest writes into its object in the workload cluster is in the machine's status seconds later, after
// the join once somebody has looked at the machine, and the object goes with the machine. The log has the times.
func TestGuestReports(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	options := s.options()
	options.GuestReports = true
	s.process = s.Run(t, options)
	m, booting := s.booting(t)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: bootstrap.GuestNamespace, Name: booting.Config.Status.GuestReport,
	}}
	tell := func(report, what string, missing ...func(world.State) string) {
		t.Helper()
		world.Change(t, s.Client, object, func(o *corev1.ConfigMap) { o.Data = map[string]string{bootstrap.GuestReportKey: report} })
		begin := time.Now()
		m.Await(t, what, missing...)
		t.Logf("%4d ms from the guest's word to %s", time.Since(begin).Milliseconds(), what)
	}
	const running = `{"version":1,"state":"Running","phase":{"index":1,"of":5,"name":"prepare"}}`
	tell(running, "the first phase", func(s world.State) string {
		if told := s.Windows.Status.Bootstrap; told == nil || told.Phase != "1/5 prepare" {
			return "no phase is told"
		}
		return ""
	})
	tell(succeeded, "success", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	m.Join(t)
	state := m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), world.Tokens(0), func(s world.State) string {
		if f := s.Config.Finalizers; len(f) != 1 || f[0] != bootstrapv1.GuestReportFinalizer {
			return "the config is not held for the report alone"
		}
		return ""
	})
	expect.Same(t, "the object after the join", object.Name, state.Config.Status.GuestReport)
	last := func(report, want string) {
		t.Helper()
		s.clock.advance(time.Minute) // a guest is heard at a pace
		world.Change(t, s.Client, object, func(o *corev1.ConfigMap) { o.Data = map[string]string{bootstrap.GuestReportKey: report} })
		s.eventually(t, m, want, infrav1.LastBootSucceededCondition)
	}
	last(ruleless, "LastBootSucceeded False NodeServiceFailed")
	m.Await(t, "what fails in the background", world.Windows("Ready True Running"), world.Windows("BootstrapSucceeded True Joined"),
		func(s world.State) string {
			message := conditions.GetMessage(s.Windows, infrav1.LastBootSucceededCondition)
			if !strings.Contains(message, "kube-proxy-rules: ") {
				return "the step is not told: " + message
			}
			return ""
		})
	last(ruled, "LastBootSucceeded True LastBootSucceeded")
	m.Await(t, "its end", world.Windows("Ready True Running"))
	m.End(t)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}
