package bootstrap

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// row is what `kubectl get windowsbootstrapconfigs` would show, by column.
type row map[string]string

// storedRow is what others differ from: the user data is there, and no VM runs yet.
var storedRow = row{
	"Ready": "Unknown WaitingForGuest", "Data": "True DataSecretAvailable", "Secret": "m", "Created": "true",
	"Stalled": "False NotStalled", "Warnings": "False NoWarnings",
}

// without is the row of a config that has no user data and was not warned of any.
func without(reason string) row {
	return storedRow.but(row{
		"Ready": "Unknown " + reason, "Data": "False " + reason, "Warnings": "", "Secret": "", "Created": "false",
	})
}

// Others: the node has joined; the user data is gone.
var (
	joinedRow = storedRow.but(row{"Ready": "True Joined", "Warnings": ""})
	lostRow   = storedRow.but(row{
		"Ready": "Unknown DataSecretLost", "Data": "False DataSecretLost", "Stalled": "True DataSecretLost", "Warnings": "",
	})
)

// but is the row with other cells; a cell may stand for several columns.
func (r row) but(cells row) row {
	r = maps.Clone(r)
	for columns, cell := range cells {
		for column := range strings.FieldsSeq(columns) {
			r[column] = cell
		}
	}
	return r
}

func rowOf(c *bootstrapv1.WindowsBootstrapConfig) row {
	return row{
		"Ready": short(c, bootstrapv1.ReadyCondition), "Data": short(c, bootstrapv1.DataSecretAvailableCondition),
		"Stalled": short(c, bootstrapv1.StalledCondition), "Secret": c.Status.DataSecretName,
		"Warnings": short(c, bootstrapv1.HasWarningsCondition),
		"Created":  strconv.FormatBool(ptr.Deref(c.Status.Initialization.DataSecretCreated, false)),
	}
}

func short(c *bootstrapv1.WindowsBootstrapConfig, kind string) string {
	condition := conditions.Get(c, kind)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func world(change ...func(*facts)) *facts {
	f := &facts{
		config:  &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "ns", Generation: 2}},
		machine: &clusterv1.Machine{},
		cluster: &clusterv1.Cluster{},
	}
	for _, c := range change {
		c(f)
	}
	return f
}

func stored(f *facts) { f.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "m"}} }

func warned(f *facts) {
	f.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string][]byte{"warnings": []byte("a: b")}}
}

// wasWarned is a config whose Secret was read before and is not any more.
func wasWarned(f *facts) {
	warned(f)
	report(f, nil)
	f.secret = nil
}

func named(f *facts) { f.machine.Spec.Bootstrap.DataSecretName = new("m") }

// tells is a WindowsMachine that says so much of its guest.
func tells(status metav1.ConditionStatus, reason string) func(*facts) {
	return func(f *facts) {
		f.windows = &infrav1.WindowsMachine{}
		conditions.Set(f.windows, metav1.Condition{
			Type: infrav1.BootstrapSucceededCondition, Status: status, Reason: reason, Message: "told",
		})
	}
}

// waitsFor is a WindowsMachine whose VM does not run.
func waitsFor(reason string) func(*facts) {
	return func(f *facts) {
		conditions.Set(f.windows, metav1.Condition{Type: infrav1.VMRunningCondition, Status: metav1.ConditionFalse, Reason: reason})
	}
}

func running(f *facts) {
	conditions.Set(f.windows, metav1.Condition{
		Type: infrav1.VMRunningCondition, Status: metav1.ConditionTrue, Reason: infrav1.RunningReason,
	})
}

func runsUntold(f *facts) {
	f.windows = &infrav1.WindowsMachine{}
	running(f)
}

func saidFailed(f *facts) {
	f.windows.Status.Bootstrap = &infrav1.BootstrapProgress{State: string(plan.StateFailed)}
}

func isDeleting(f *facts) { f.config.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func withNode(f *facts) { f.machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: "n"} }

func TestReport(t *testing.T) {
	cases := map[string]struct {
		reason string
		facts  *facts
		end    error
		want   row
	}{
		"waits": {
			"a wait is no failure, and Ready has its reason",
			world(), phase.Wait(phase.Cluster, bootstrapv1.WaitingForControlPlaneReason, "not yet"), without("WaitingForControlPlane"),
		},
		"invalid": {
			"only another config helps: GitOps tools hear of it, and no new Machine is made",
			world(), phase.Stall(bootstrapv1.ConfigInvalidReason, "no"),
			without("ConfigInvalid").but(row{"Stalled": "True ConfigInvalid"}),
		},
		"stored":               {"Cluster API gets the name once the Secret is there", world(stored), nil, storedRow},
		"stored with warnings": {"they stop nothing", world(warned), nil, storedRow.but(row{"Warnings": "True WarningsGiven"})},
		"warned and joined": {
			"the Secret is not read any more, and what it said stays said",
			world(wasWarned, named, withNode), nil, joinedRow.but(row{"Warnings": "True WarningsGiven"}),
		},
		"stored, token out of reach": {
			"trouble afterwards does not take the user data away",
			world(stored), phase.Poll(bootstrapv1.WorkloadUnreachableReason, "down"), storedRow,
		},
		"moved":  {"status is lost in a move, the Machine still names the Secret", world(stored, named), nil, storedRow},
		"joined": {"a node that joined needs no Secret any more", world(named, withNode), nil, joinedRow},
		"lost": {
			"a Secret that is gone under a booting VM is not made anew, and its guest may still join",
			world(named, tells("Unknown", "Bootstrapping"), running), phase.Stall(bootstrapv1.DataSecretLostReason, "gone"),
			lostRow.but(row{"Ready": "Unknown Bootstrapping"}),
		},
		"lost while the VM is made": {
			"the cloud has it already",
			world(named, tells("Unknown", "WaitingForGuest")), phase.Stall(bootstrapv1.DataSecretLostReason, "gone"), lostRow,
		},
		"lost before there is a VM": {
			"only a new Machine has a new Secret",
			world(named, tells("Unknown", "WaitingForGuest"), waitsFor(infrav1.WaitingForBootstrapDataReason)),
			phase.Stall(bootstrapv1.DataSecretLostReason, "gone"), lostRow.but(row{"Ready": "False DataSecretLost"}),
		},
		"lost with its WindowsMachine": {
			"nothing tells that there is no VM", world(named), phase.Stall(bootstrapv1.DataSecretLostReason, "gone"), lostRow,
		},
		"runs, and nothing is told of its guest": {
			"what the user data wait for is all that is known", world(runsUntold),
			phase.Wait(phase.Cluster, bootstrapv1.WaitingForControlPlaneReason, "not yet"), without("WaitingForControlPlane"),
		},
		"error": {
			"an error without a reason is not hidden", world(), errors.New("boom"),
			without("InternalError").but(row{"Data": "Unknown InternalError"}),
		},

		"guest at work": {
			"the config tells the guest's story",
			world(stored, tells("Unknown", "Bootstrapping")), nil, storedRow.but(row{"Ready": "Unknown Bootstrapping"}),
		},
		"guest failed": {
			"a new Machine helps", world(stored, tells("False", "JoinFailed")), nil, storedRow.but(row{"Ready": "False JoinFailed"}),
		},
		"token replaced": {
			"the guest tells whether it could join all the same",
			world(stored, tells("Unknown", "Bootstrapping")), phase.Stall(bootstrapv1.BootstrapTokenReplacedReason, "other"),
			storedRow.but(row{"Ready": "Unknown Bootstrapping", "Stalled": "True BootstrapTokenReplaced"}),
		},
		"joined late": {
			"the WindowsMachine may not know yet",
			world(stored, tells("False", "GuestSilent"), withNode), nil, storedRow.but(row{"Ready": "True Joined"}),
		},
		"joined, which the Machine does not show yet": {
			"another controller may see the Machine first", world(stored, tells("True", "Joined")), nil,
			storedRow.but(row{"Ready": "True Joined"}),
		},
		"joined, VM off": {
			"what became a node stays one for its bootstrap",
			world(stored, tells("True", "Joined"), waitsFor(infrav1.VMNotRunningReason), withNode), nil,
			storedRow.but(row{"Ready": "True Joined"}),
		},
		"joined, node deleted": {
			"Cluster API tells of Nodes", world(stored, tells("True", "NodeDeleted"), withNode), nil,
			storedRow.but(row{"Ready": "True Joined"}),
		},
		"joined, then failed": {
			"scripts after the join were asked for, too",
			world(stored, tells("False", "PostJoinScriptFailed"), saidFailed, withNode), nil,
			storedRow.but(row{"Ready": "False PostJoinScriptFailed"}),
		},
		"deleting": {
			"that is no failure", world(stored, tells("False", "JoinFailed"), isDeleting),
			phase.Poll(bootstrapv1.WorkloadUnreachableReason, "down"),
			storedRow.but(row{"Ready": "Unknown Deleting", "Data": "False Deleting"}),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report(c.facts, c.end)
			expect.Same(t, c.reason, c.want, rowOf(c.facts.config))
			if c.facts.config.Status.ObservedGeneration != 2 {
				t.Error("observedGeneration is not written")
			}
			again := c.facts.config.DeepCopy()
			report(c.facts, c.end)
			expect.Same(t, "the status after a second report on the same facts", again.Status, c.facts.config.Status)
		})
	}
}

func TestWarningsAreListed(t *testing.T) {
	for warnings, want := range map[string]string{"": "", "a: b": "a: b", "a: b\nc: d\ne": "* a: b\n* c: d\n* e"} {
		if got := warningsCondition(warnings).Message; got != want {
			t.Errorf("warnings %q read %q", warnings, got)
		}
	}
}

func TestReportPaused(t *testing.T) {
	f := world(func(f *facts) { f.config.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	report(f, nil)
	if got := short(f.config, bootstrapv1.PausedCondition) + ", " +
		short(f.config, bootstrapv1.ReadyCondition); got != "True Paused, Unknown Paused" {
		t.Errorf("got %s", got)
	}
}

// The default of the API server is as old as time: the first condition of ours has the time of the first look.
func TestReadyHasItsOwnTime(t *testing.T) {
	f := world()
	f.config.Status.Conditions = []metav1.Condition{{
		Type: bootstrapv1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: bootstrapv1.NotYetReportedReason,
		LastTransitionTime: metav1.NewTime(time.Unix(0, 0)),
	}}
	report(f, phase.Wait(phase.Cluster, bootstrapv1.WaitingForOwnerReason, "none"))
	if ready := conditions.Get(f.config, bootstrapv1.ReadyCondition); ready.LastTransitionTime.Unix() == 0 {
		t.Errorf("Ready is %+v", ready)
	}
}

// What the WindowsMachine tells of its guest is told in the same words.
func TestReadyHasTheWordsOfTheMachine(t *testing.T) {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionFalse} {
		f := world(stored, tells(status, "Reason"))
		report(f, nil)
		if got := conditions.GetMessage(f.config, bootstrapv1.ReadyCondition); got != "told" {
			t.Errorf("%s: Ready says %q", status, got)
		}
	}
}

func TestTokenID(t *testing.T) {
	config := func(uid string) *bootstrapv1.WindowsBootstrapConfig {
		return &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	}
	if id := tokenID(config("a"), 0); id != "27uysz" {
		t.Errorf("%s: %s", id, "the id of a config's token must be the same for ever, or a crash makes a second token")
	}
	seen := map[string]bool{}
	for _, uid := range []string{"a", "b", "c"} {
		for try := range maxTokenIDs {
			id := tokenID(config(uid), try)
			if len(id) != 6 || seen[id] {
				t.Errorf("token id %q of %s, try %d", id, uid, try)
			}
			seen[id] = true
		}
	}
}

func TestTokenSecretsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		secret := newTokenSecret()
		if len(secret) != 16 || seen[secret] {
			t.Fatalf("token secret of %d characters, or one that came before", len(secret))
		}
		seen[secret] = true
	}
}

func TestExpiration(t *testing.T) {
	here := &room{clock: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))}
	r := Reconciler{TokenTTL: time.Hour, Workload: here}
	if got, want := string(r.expiration(world())), "2026-01-02T03:04:05Z"; got != want {
		t.Errorf("the token cleaner wants UTC without fractions: got %s, want %s", got, want)
	}
}

// An error that only changes its words does not change the status.
func TestInternalError(t *testing.T) {
	f := world()
	report(f, errors.New("get cluster CA: try 1"))
	report(f, errors.New("get cluster CA: try 2"))
	if got := conditions.GetMessage(f.config, bootstrapv1.ReadyCondition); got != "get cluster CA: try 1" {
		t.Errorf("Ready says %q", got)
	}
}
