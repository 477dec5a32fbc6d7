package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const settle = 10 * time.Second

var asker = client.ObjectKey{Namespace: prod.Namespace, Name: "m"}

// guestStage is a stage that was looked at, whose policy refuses the probe.
func guestStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.fail = refusesProbe
	s.after(t, 0)
	return s
}

func refusesProbe(call string) error {
	if call == "create ConfigMap" {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "probe", nil)
	}
	return nil
}

// asks asks, and wants no answer yet.
func (s *stage) asks(t *testing.T) {
	t.Helper()
	known, _ := s.Ask(prod, asker, guests.Name)
	expect.Same(t, "the answer is known", false, known)
}

// answered is the answer.
func (s *stage) answered(t *testing.T) error {
	t.Helper()
	known, answer := s.Ask(prod, asker, guests.Name)
	expect.Same(t, "the answer is known", true, known)
	return answer
}

// ofGuests are the calls about guests.
func ofGuests(calls []string) []string {
	return slices.DeleteFunc(calls, func(call string) bool { return strings.Contains(call, "Cluster") })
}

// opens brings the rights of guests about.
func (s *stage) opens(t *testing.T) {
	t.Helper()
	s.asks(t)
	s.look(t)
	expect.Same(t, "they settle", true, errors.Is(s.answered(t), keep.ErrSettling))
	s.clock = s.clock.Add(settle)
	s.look(t)
	expect.OK(t, s.answered(t))
}

// TestGuestRights: nothing is done until a config asks. Then the policy comes first, and the right to write once the policy is
// seen to work. While a config has a report, all is read every ten minutes, and nothing in between.
func TestGuestRights(t *testing.T) {
	s := guestStage(t)
	expect.Same(t, "calls before a question", nothing, ofGuests(s.after(t, time.Hour)))
	s.asks(t)
	expect.Same(t, "the next look", settle, s.look(t))
	expect.Same(t, "calls of the first look", []string{
		"get Namespace", "create Namespace", "get Role", "create Role", "get ValidatingAdmissionPolicy",
		"create ValidatingAdmissionPolicy", "get ValidatingAdmissionPolicyBinding", "create ValidatingAdmissionPolicyBinding",
	}, ofGuests(s.calls))
	expect.Same(t, "the answer", true, errors.Is(s.answered(t), keep.ErrSettling))
	expect.Same(t, "calls a moment later", nothing, s.after(t, settle-1))
	s.clock = s.clock.Add(1)
	expect.Same(t, "the look after that", recheck, s.look(t))
	expect.Same(t, "the last calls", []string{"create ConfigMap", "get RoleBinding", "create RoleBinding"}, s.calls[len(s.calls)-3:])
	expect.OK(t, s.answered(t))
	const noMore = "calls once nobody asks and no config has a report"
	expect.Same(t, noMore, nothing, s.after(t, recheck))
	reports := config("c", bootstrapv1.Network{})
	expect.OK(t, s.management.Create(t.Context(), reports))
	reports.Status.GuestReport = "m.abc"
	expect.OK(t, s.management.Status().Update(t.Context(), reports))
	read := []string{
		"create ConfigMap", "get Namespace", "get Role", "get RoleBinding", "get ValidatingAdmissionPolicy",
		"get ValidatingAdmissionPolicyBinding",
	}
	expect.Same(t, "calls once one has", read, s.after(t, 0))
	expect.Same(t, "calls a moment before ten minutes", nothing, s.after(t, recheck-1))
	expect.OK(t, s.workload.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: guestMeta(guests.Binding().GetName())}))
	again := append([]string{"create ConfigMap", "create RoleBinding"}, read[1:]...)
	expect.Same(t, "calls once the RoleBinding is gone", again, s.after(t, 1))
	s.restart()
	expect.Same(t, "the first look of another process", settle, s.look(t))
}

func guestMeta(name string) (m metav1.ObjectMeta) {
	m.Namespace, m.Name = bootstrap.GuestNamespace, name
	return m
}

// TestGuestsOfOthers: a Role of our name that somebody else made is neither changed nor taken over, and our RoleBinding goes.
// Ours is made once theirs is gone.
func TestGuestsOfOthers(t *testing.T) {
	s := guestStage(t)
	s.opens(t)
	theirs := &rbacv1.Role{}
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(guests.Limits()[1]), theirs))
	theirs.Labels[keep.Label], theirs.Rules = "platform-team", nil
	expect.OK(t, s.workload.Update(t.Context(), theirs))
	s.clock = s.clock.Add(recheck)
	s.asks(t)
	expect.Same(t, "the next look", recheck, s.look(t))
	mute, _ := errors.AsType[*guests.MuteError](s.answered(t))
	const foreign = "Role capwin-guests/capwin-guest in the workload cluster of Cluster team-a/prod is not capwin's"
	expect.Says(t, "the answer", mute, foreign)
	expect.Same(t, "the last call", "delete RoleBinding", s.calls[len(s.calls)-1])
	expect.Same(t, "the name is taken", true, mute.NameTaken)
	after := &rbacv1.Role{}
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(theirs), after))
	expect.Same(t, "their Role", theirs, after)
	expect.OK(t, s.workload.Delete(t.Context(), after))
	s.clock = s.clock.Add(recheck)
	s.opens(t)
}

// TestGuestCallsFail: guests are not let write by what has failed, and keep what could not be taken.
func TestGuestCallsFail(t *testing.T) {
	s := guestStage(t)
	expect.OK(t, s.management.Create(t.Context(), config("without-report", bootstrapv1.Network{})))
	fails := func(call string) func(string) error {
		return func(now string) error {
			if now == call {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "rolebindings"}, "x", errors.New("no right"))
			}
			return refusesProbe(now)
		}
	}
	s.fail = fails("create RoleBinding")
	s.asks(t)
	s.look(t)
	expect.Same(t, "at first", true, errors.Is(s.answered(t), keep.ErrSettling))
	s.clock = s.clock.Add(settle)
	s.look(t)
	expect.Says(t, "no right to bind", s.answered(t), "the Cluster's kubeconfig may not read and write Namespace, Role, RoleBinding")
	s = guestStage(t)
	s.opens(t)
	theirs := &rbacv1.Role{}
	expect.OK(t, s.workload.Get(t.Context(), client.ObjectKeyFromObject(guests.Limits()[1]), theirs))
	theirs.Labels[keep.Label], theirs.Rules = "platform-team", nil
	expect.OK(t, s.workload.Update(t.Context(), theirs))
	s.fail = fails("delete RoleBinding")
	s.clock = s.clock.Add(recheck)
	s.asks(t)
	s.look(t)
	expect.Says(t, "no right to withdraw", s.answered(t), "guests keep their RoleBinding: ")
}

// TestAnswersWake: who asks is woken when there is an answer, and a Cluster is looked at for its own questions alone.
func TestAnswersWake(t *testing.T) {
	s := guestStage(t)
	woken := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer woken.ShutDown()
	expect.OK(t, s.Answers().Start(t.Context(), woken))
	other := client.ObjectKey{Namespace: prod.Namespace, Name: "other"}
	known, _ := s.Ask(other, asker, guests.Name)
	expect.Same(t, "the answer about another one is known", false, known)
	expect.Same(t, "calls for that", nothing, s.after(t, 0))
	s.opens(t)
	who, _ := woken.Get()
	expect.Same(t, "who is woken", asker, who.NamespacedName)
	s.forget(other)
	expect.OK(t, s.answered(t))
	s = guestStage(t)
	expect.OK(t, s.Answers().Start(t.Context(), woken))
	woken.Done(who)
	s.unreachable = &workload.UnreachableError{Why: "is away"}
	s.asks(t)
	s.look(t)
	expect.Same(t, "who is woken by the first answer", 1, woken.Len())
}

// TestGuestsOutOfReach: a cluster that is not reached says nothing of the rights. Whoever asked gets the error, and the next
// question asks the cluster again.
func TestGuestsOutOfReach(t *testing.T) {
	away := &workload.UnreachableError{Why: "is away"}
	for name, fail := range map[string]func(*stage){
		"it has no client":  func(s *stage) { s.unreachable = away },
		"it ends on a call": func(s *stage) { s.fail = func(string) error { return away } },
	} {
		s := guestStage(t)
		fail(s)
		s.asks(t)
		expect.Same(t, name+": the next look", retryDelay, s.look(t))
		expect.Same(t, name, error(away), s.answered(t), cmpopts.EquateErrors())
		s.asks(t)
		s.unreachable, s.fail = nil, refusesProbe
		s.look(t)
		expect.Same(t, name+" no more", true, errors.Is(s.answered(t), keep.ErrSettling))
	}
}

// TestLookTakesTooLong: whoever asked learns that the cluster cannot be reached, and other Clusters are not held up.
func TestLookTakesTooLong(t *testing.T) {
	s := guestStage(t)
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	s.fail = func(string) error { return late.Err() }
	known, _ := s.Ask(prod, asker, kubeProxy)
	expect.Same(t, "the answer is known", false, known)
	s.asks(t)
	_, err := s.Reconcile(late, ctrl.Request{NamespacedName: prod})
	expect.OK(t, err)
	_, roles := s.Ask(prod, asker, kubeProxy)
	for _, err := range []error{s.answered(t), roles} {
		expect.Same(t, "it is out of reach", true, workload.OutOfReach(err))
		expect.Says(t, "the answer", err, "takes too long to answer")
	}
}

// TestLookEndsBehindACall: a look whose time is over is no answer, also where each of its calls was good.
func TestLookEndsBehindACall(t *testing.T) {
	s := guestStage(t)
	ctx, end := context.WithCancel(t.Context())
	s.fail = func(call string) error {
		if call == "create ValidatingAdmissionPolicyBinding" {
			end()
		}
		return refusesProbe(call)
	}
	s.asks(t)
	result, err := s.Reconcile(ctx, ctrl.Request{NamespacedName: prod})
	expect.OK(t, err)
	expect.Same(t, "the next look", retryDelay, result.RequeueAfter)
	expect.Same(t, "the answer", context.Canceled, s.answered(t), cmpopts.EquateErrors())
}

// TestPanic: a mistake in this program, which an answer of a cluster has brought out, is an error for those who have asked.
func TestPanic(t *testing.T) {
	s := guestStage(t)
	s.fail = func(string) error { panic("a mistake") }
	s.asks(t)
	expect.Same(t, "the next look", retryDelay, s.look(t))
	expect.Says(t, "the answer", s.answered(t), "panic: a mistake")
}

// TestContestedIsTold: an event about the Cluster names who undoes our writes.
func TestContestedIsTold(t *testing.T) {
	s := newStage(t, config("c", azureCNI))
	for range 3 {
		s.after(t, recheck)
		role := &rbacv1.ClusterRole{}
		expect.OK(t, s.workload.Get(t.Context(), client.ObjectKey{Name: kubeProxy}, role))
		role.Rules = nil
		expect.OK(t, s.workload.Update(t.Context(), role))
	}
	expect.Same(t, "told too soon", nothing, s.tells())
	s.after(t, recheck)
	s.tellsOnce(t, "told", "Warning ObjectContested ClusterRole capwin-kube-proxy in the workload cluster has been written")
	s.after(t, recheck)
	expect.Same(t, "told again", nothing, s.tells())
}

// TestForgotten: of a Cluster that is gone or paused nothing is remembered, and no question is left without an answer when it
// comes back.
func TestForgotten(t *testing.T) {
	s := guestStage(t)
	s.opens(t)
	found := &clusterv1.Cluster{}
	pause := func(paused bool) {
		expect.OK(t, s.management.Get(t.Context(), prod, found))
		found.Spec.Paused = &paused
		expect.OK(t, s.management.Update(t.Context(), found))
	}
	pause(true)
	expect.Same(t, "the next look", time.Duration(0), s.look(t))
	pause(false)
	s.opens(t)
	expect.OK(t, s.management.Delete(t.Context(), found))
	s.look(t)
	expect.Same(t, "what is known", 0, len(s.memories))
}
