package bootstrap

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func inAzure(r *room) {
	r.windows.Spec.VSphere, r.windows.Spec.Azure = nil, &infrav1.AzureVM{VMSize: "Standard_D4s_v5"}
	r.windows.Spec.ProviderID = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"
}

// served has the workload cluster refuse the probe as its policy does, and objects of guests for the reason in no.
func (r *room) served(no error) {
	probe := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "probe",
		errors.New("ValidatingAdmissionPolicy 'capwin-guests' denied request"))
	r.fail = func(call string) error {
		if call != "workload create ConfigMap" {
			return nil
		}
		if slices.Contains(r.calls, "workload create Secret") { // the token comes before the guest's object
			return no
		}
		return probe
	}
}

// reports are the names of the objects that guests report to.
func (r *room) reports(t *testing.T) (names []string) {
	t.Helper()
	defer r.quietly()()
	var all corev1.ConfigMapList
	expect.OK(t, r.workload.List(t.Context(), &all, client.InNamespace(bootstrap.GuestNamespace)))
	for _, one := range all.Items {
		names = append(names, one.Name)
	}
	return names
}

// madeInAzure has the user data made once the rights of guests have settled.
func (r *room) madeInAzure(t *testing.T, no error) {
	t.Helper()
	r.served(no)
	r.servedSoon(t)
	r.made(t)
}

// servedSoon lets the rights of guests settle.
func (r *room) servedSoon(t *testing.T) *room {
	t.Helper()
	if r.fail == nil {
		r.served(nil)
	}
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "finalizers while the rights settle", 0, len(r.now(t).Finalizers))
	expect.Same(t, "what it waits for", bootstrapv1.WaitingForGuestRightsReason,
		conditions.GetReason(r.now(t), bootstrapv1.DataSecretAvailableCondition))
	r.clock = r.clock.Add(result.RequeueAfter)
	return r
}

// rendered is the user data of a guest that has an object to report to, or none.
func (r *room) rendered(t *testing.T, reports bool) string {
	t.Helper()
	defer r.quietly()()
	f, err := r.load(t.Context(), roomKey)
	expect.OK(t, err)
	f.ca, f.reports = r.ca.Data["tls.crt"], reports
	return string(expect.Got(render(t.Context(), f, string(r.data(t).Data[keyToken]), r.clock))(t).Bytes())
}

// TestGuestReport: a guest in Azure has an object to report to before its user data name it, and a token that lets it write. The
// object outlives the token, and goes with the config.
func TestGuestReport(t *testing.T) {
	r := newRoom(t, inAzure)
	r.madeInAzure(t, nil)
	id, _, _ := strings.Cut(string(r.data(t).Data[keyToken]), ".")
	name := "m." + id
	expect.Same(t, "objects", name, strings.Join(r.reports(t), " "))
	expect.Same(t, "status.guestReport", name, r.now(t).Status.GuestReport)
	expect.Same(t, "groups of the token", nodeGroup+","+bootstrap.GuestGroup, string(r.tokens(t)[0].Data["auth-extra-groups"]))
	if made := slices.Index(r.calls, "workload create ConfigMap"); made > slices.Index(r.calls, "management create Secret") {
		t.Errorf("the user data come before the object: %q", r.calls)
	}
	expect.Same(t, "user data", r.rendered(t, true), string(r.data(t).Data[keyValue]))
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.DataSecretName, m.Status.NodeRef.Name = new("m"), "m"
	})
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "tokens after the join", 0, len(r.tokens(t)))
	expect.Same(t, "objects after the join", 1, len(r.reports(t)))
	expect.Same(t, "finalizers after the join", bootstrapv1.GuestReportFinalizer, strings.Join(r.now(t).Finalizers, " "))
	r.deleted(t)
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "objects in the end", 0, len(r.reports(t)))
	expect.Same(t, "calls", "workload delete ConfigMap, management patch WindowsBootstrapConfig",
		strings.Join(slices.DeleteFunc(r.calls, func(call string) bool { return strings.Contains(call, " get ") }), ", "))
	if r.now(t) != nil {
		t.Error("the config is still there")
	}
}

// TestMuteGuest: a machine whose guest cannot report gets its user data, and people a warning.
func TestMuteGuest(t *testing.T) {
	r := newRoom(t, inAzure)
	r.madeInAzure(t, errors.New("exceeded quota: small"))
	expect.Same(t, "objects", 0, len(r.reports(t)))
	expect.Same(t, "user data", r.rendered(t, false), string(r.data(t).Data[keyValue]))
	expect.Same(t, "warning", "the workload cluster refuses the objects that guests report by: make the object of the guest's "+
		"reports: "+
		"exceeded quota: small, so guests cannot report there, and progress comes from the Node alone",
		conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition))
}

// TestNameOfGuestRightsTaken: a Role of somebody else that has the name of ours stays as it is. The machine gets its user data at
// once, without reports, and an event of its own tells people of the Role once.
func TestNameOfGuestRightsTaken(t *testing.T) {
	r := newRoom(t, inAzure)
	theirs := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.GuestNamespace, Name: "capwin-guest"}}
	theirs.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	expect.OK(t, r.workload.Create(t.Context(), theirs))
	r.made(t)
	expect.Same(t, "user data", r.rendered(t, false), string(r.data(t).Data[keyValue]))
	expect.Same(t, "objects of guests", 0, len(r.reports(t)))
	after := &rbacv1.Role{}
	expect.OK(t, r.workload.Get(t.Context(), client.ObjectKeyFromObject(theirs), after))
	expect.Same(t, "the Role", theirs, after)
	why := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
	if !strings.HasPrefix(why, "Role capwin-guests/capwin-guest in the workload cluster of Cluster ns/prod is not capwin's") {
		t.Errorf("the warning is %q", why)
	}
	told := "Warning " + bootstrapv1.GuestRightsNameTakenReason + " " + why
	expect.Same(t, "events", []string{told, "Warning " + bootstrapv1.WarningsGivenReason + " " + why}, r.told())
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "events of the next look", 0, len(r.told()))
}

// TestReportIsLeft: the object goes wherever the process died; what cannot be reached holds the config no longer than its token
// would live, and not at all when the cluster is being deleted, too.
func TestReportIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*room)
		gone   bool // the config, at once
		left   int  // objects
	}{
		"the status is lost":      {func(*room) {}, true, 0},
		"the Secret is lost, too": {func(r *room) { expect.OK(t, r.management.Delete(t.Context(), r.data(t))) }, true, 0},
		"the WindowsMachine, too": {func(r *room) { expect.OK(t, r.management.Delete(t.Context(), r.windows)) }, true, 1},
		"its name, too": {func(r *room) {
			roomChange(t, r, r.management, r.windows, func(m *infrav1.WindowsMachine) { m.Status.ComputerName = "" })
		}, true, 1},
		"the cluster is away": {func(r *room) { r.unreachable = &workload.UnreachableError{Why: "is away"} }, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, inAzure)
			r.madeInAzure(t, nil)
			r.fail = nil
			r.losesStatus(t)
			c.change(r)
			r.deleted(t)
			r.clock = r.now(t).DeletionTimestamp.Time
			_, err := r.look(t)
			expect.OK(t, err)
			expect.Same(t, "objects", c.left, len(r.reports(t)))
			expect.Same(t, "the config is gone", c.gone, r.now(t) == nil)
			r.clock = r.clock.Add(roomTTL + time.Second)
			_, err = r.look(t)
			expect.OK(t, err)
			expect.Same(t, "the config is gone in the end", true, r.now(t) == nil)
		})
	}
}

// losesStatus is what a move does.
func (r *room) losesStatus(t *testing.T) {
	t.Helper()
	config := r.now(t)
	config.Status = bootstrapv1.WindowsBootstrapConfigStatus{}
	expect.OK(t, r.management.Status().Update(t.Context(), config))
}

// A node's Secret is read again only to learn what its object is called, after a move.
func TestReportOfANodeThatMoved(t *testing.T) {
	r := newRoom(t, inAzure)
	r.madeInAzure(t, nil)
	name := r.now(t).Status.GuestReport
	r.names(t)
	r.joins(t)
	reads := func() bool {
		t.Helper()
		_, err := r.look(t)
		expect.OK(t, err)
		expect.Same(t, "status.guestReport", name, r.now(t).Status.GuestReport)
		return slices.Contains(r.calls, "management get Secret")
	}
	expect.Same(t, "reads the Secret to remove the token", true, reads())
	expect.Same(t, "reads the Secret of a node", false, reads())
	r.losesStatus(t)
	expect.Same(t, "reads the Secret after a move", true, reads())
}

// What cannot be reached ends the look: user data that say nothing of reports would say so for ever. So does the end of the
// process.
func TestReportsNeedAnAnswer(t *testing.T) {
	away := &workload.UnreachableError{Why: "is away"}
	for name, c := range map[string]struct {
		prepare func(*room, context.CancelFunc)
		reason  string
		says    string
	}{
		"the rights": {func(r *room, _ context.CancelFunc) {
			r.clock = r.clock.Add(time.Hour)
			r.fail = func(call string) error {
				if call == "workload create ConfigMap" {
					return away
				}
				return nil
			}
		}, "WorkloadUnreachable", ""},
		"the object": {func(r *room, _ context.CancelFunc) { r.served(away) }, "WorkloadUnreachable", ""},
		"the object, at the end of the process": {func(r *room, end context.CancelFunc) {
			r.served(errRoom)
			served := r.fail
			r.fail = func(call string) error {
				err := served(call)
				if errors.Is(err, errRoom) {
					end()
				}
				return err
			}
		}, "InternalError", "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, inAzure).servedSoon(t)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			c.prepare(r, end)
			r.calls = nil
			_, err := r.lookOn(ctx, t)
			expect.Says(t, "the queue", err, c.says)
			expect.Same(t, "Ready", c.reason, conditions.GetReason(r.now(t), bootstrapv1.ReadyCondition))
			expect.Same(t, "user data", true, r.data(t) == nil)
		})
	}
}

// A cluster that keeps its rights for itself has guests that are silent; so has a manager that gives none.
func TestGuestsWithoutRights(t *testing.T) {
	r := newRoom(t, inAzure)
	r.Rights = nil
	r.made(t)
	expect.Same(t, "groups of the token", nodeGroup, string(r.tokens(t)[0].Data["auth-extra-groups"]))

	r = newRoom(t, inAzure).servedSoon(t)
	r.fail = func(call string) error {
		if call == "workload create ConfigMap" {
			return apierrors.NewForbidden(schema.GroupResource{}, "capwin-guests", errRoom)
		}
		return nil
	}
	r.made(t)
	expect.Same(t, "objects", 0, len(r.reports(t)))
	expect.Same(t, "finalizers", bootstrapv1.ConfigFinalizer, strings.Join(r.now(t).Finalizers, " "))
	warning := conditions.GetMessage(r.now(t), bootstrapv1.HasWarningsCondition)
	if !strings.Contains(warning, "kubeconfig may not read and write") {
		t.Errorf("the warning is %q", warning)
	}
}

// TestRemovalOfAReportFails: the config is there until its guest's object is gone.
func TestRemovalOfAReportFails(t *testing.T) {
	for _, call := range []string{"management get Secret", "workload delete ConfigMap"} {
		r := newRoom(t, inAzure)
		r.madeInAzure(t, nil)
		r.fail = nil
		roomChange(t, r, r.management, r.now(t), func(o *bootstrapv1.WindowsBootstrapConfig) {
			o.Finalizers = []string{bootstrapv1.GuestReportFinalizer}
		})
		r.losesStatus(t)
		r.deleted(t)
		r.clock = r.now(t).DeletionTimestamp.Time
		r.fail = func(made string) error {
			if made == call {
				return errRoom
			}
			return nil
		}
		_, err := r.look(t)
		expect.Says(t, call, err, "boom")
		if r.now(t) == nil || len(r.reports(t)) != 1 {
			t.Errorf("%s fails, and the config or the object is gone", call)
		}
	}
}
