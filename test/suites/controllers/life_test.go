package controllers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/permissions"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

func TestLife(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	m := s.machine("m")
	m.CreateWithoutConfig(t)
	m.Await(t, "owner", func(s world.State) string {
		if len(s.Windows.OwnerReferences) == 0 {
			return "Cluster API has not looked at it"
		}
		return ""
	})
	s.start(t)

	claimed := m.Await(t, "claim", world.Windows("Ready False WaitingForBootstrapData"))
	if claimed.Windows.Spec.ProviderID == "" || len(claimed.Windows.Finalizers) > 0 {
		t.Error("a machine has its provider ID before all else, and holds nothing before there may be a VM")
	}
	if calls := s.cloud.Calls(); len(calls) > 0 {
		t.Errorf("the cloud was asked for %v before there is anything to make", calls)
	}
	wait.Eventually(t, "claim in the cache", s.cached(m))
	m.CreateConfig(t)
	m.Touch(t, m.Core, "config")

	booting := m.Await(t, "running VM", world.Windows("Ready True Running"), world.Tokens(1), world.DataSecretNamed, sameStory)
	checkSecret(t, booting)
	name := booting.Windows.Status.ComputerName
	s.vms(t, name)
	if vm, _ := s.cloud.Get(name); !slices.Equal(vm.UserData, booting.Data.Data["value"]) {
		t.Error("the VM got other user data than the Secret has")
	}
	if !slices.Contains(booting.Windows.Finalizers, infrav1.MachineFinalizer) {
		t.Error("a machine with a VM must have its finalizer")
	}
	s.bootstraps(t, m, booting)
	checkJoined(t, m.Load(t))
	s.steady(t, m)

	release := s.cloud.Hold(fake.Remove)
	m.Delete(t)
	deleting := m.Await(t, "deletion", world.Windows("Ready False Deleting"))
	if deleting.Config == nil || deleting.Core == nil || deleting.Node == nil {
		t.Errorf("the VM goes first, as long as it is there the others stay:\n%s", deleting)
	}
	release()
	m.Await(t, "end", world.Gone)
	s.vms(t)
	effects := slices.Sorted(slices.Values(ofMachine(s.process.Gate.Effects())))
	fmt.Fprintf(os.Stderr, "Kubernetes writes per machine life: %d\n", len(effects))
	expect.Same(t, "a machine costs other writes than are pinned", slices.Sorted(slices.Values(writes)), effects)
}

// checkSecret holds the bootstrap Secret against Cluster API's contract.
func checkSecret(t *testing.T, s world.State) {
	t.Helper()
	type contract struct {
		Name, Label, Type string
		Owner             metav1.OwnerReference
		Immutable         bool
		Keys              []string
		DataSecretName    string
		Machine           string
	}
	have := contract{
		s.Data.Name, s.Data.Labels[clusterv1.ClusterNameLabel], string(s.Data.Type), s.Data.OwnerReferences[0], *s.Data.Immutable,
		slices.Sorted(maps.Keys(s.Data.Data)), s.Config.Status.DataSecretName, *s.Core.Spec.Bootstrap.DataSecretName,
	}
	want := contract{
		s.Config.Name, world.ClusterName, "cluster.x-k8s.io/secret",
		*metav1.NewControllerRef(s.Config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")), true,
		[]string{"format", "token", "value"},
		s.Config.Name, s.Config.Name,
	}
	expect.Same(t, "the bootstrap Secret breaks the contract", want, have)
}

func checkJoined(t *testing.T, s world.State) {
	t.Helper()
	if s.Core.Spec.ProviderID != s.Windows.Spec.ProviderID || s.Node.Spec.ProviderID != s.Windows.Spec.ProviderID {
		t.Errorf("provider IDs differ: Machine %q, WindowsMachine %q", s.Core.Spec.ProviderID, s.Windows.Spec.ProviderID)
	}
	if s.Core.Status.NodeRef.Name != s.Windows.Status.ComputerName || s.Windows.Status.NodeName != s.Node.Name {
		t.Errorf("names differ: node %q, computer %q", s.Core.Status.NodeRef.Name, s.Windows.Status.ComputerName)
	}
	if s.Windows.Status.Phase != infrav1.PhaseRunning || s.Windows.Status.WindowsBuild != "20348.2700" {
		t.Errorf("phase %s, build %s", s.Windows.Status.Phase, s.Windows.Status.WindowsBuild)
	}
}

func TestPausedCluster(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	s.Pause(t, true)
	s.start(t)
	m := s.machine("m")
	m.Create(t)
	m.Await(t, "pause", world.Windows("Paused True Paused"), world.Config("Paused True Paused"),
		world.Windows("Ready Unknown Paused"))
	s.look(t, m)
	state := m.Load(t)
	if len(state.Windows.Finalizers)+len(state.Config.Finalizers)+len(state.Tokens)+len(s.cloud.Calls()) > 0 ||
		state.Windows.Spec.ProviderID != "" {
		t.Errorf("something was done though the Cluster is paused:\n%s", state)
	}
	s.Pause(t, false)
	m.Touch(t, m.Core, "unpaused") // Cluster API may take minutes to notice
	m.Await(t, "life after the pause", world.Windows("Ready True Running"), world.Windows("Paused False NotPaused"))
}

func TestPausedMachine(t *testing.T) {
	s := ready(t)
	m, state := s.running(t)
	world.Change(t, s.Client, state.Windows, func(w *infrav1.WindowsMachine) {
		w.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	m.Await(t, "pause", world.Windows("Paused True Paused"))
	s.cloud.Calls()
	m.Delete(t)
	m.Await(t, "the deletion of a paused machine", func(s world.State) string {
		if s.Windows.DeletionTimestamp.IsZero() {
			return "Cluster API has not asked for it"
		}
		if shown := s.Windows.Status.Phase; shown != infrav1.PhaseDeleting {
			return "the phase is " + string(shown)
		}
		return ""
	})
	s.look(t, m)
	if calls := s.cloud.Calls(); len(calls) > 0 {
		t.Errorf("the cloud was asked for %v though the machine is paused", calls)
	}
	paused := m.Load(t).Windows
	world.Change(t, s.Client, paused, func(w *infrav1.WindowsMachine) { w.Annotations = nil })
	m.Await(t, "end", world.Gone)
	s.vms(t)
}

func TestWatchFilter(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	options := s.options()
	options.WatchFilter = "ours"
	s.process = s.Run(t, options)
	other, ours := s.machine("other"), s.machine("ours")
	for _, object := range []client.Object{ours.Core, ours.Windows, ours.Config} {
		object.GetLabels()[clusterv1.WatchLabel] = "ours"
	}
	other.Create(t)
	ours.Create(t)
	done := ours.Await(t, "running VM", world.Windows("Ready True Running"))
	s.vms(t, done.Windows.Status.ComputerName)
	// A cloud sends the keys of all VMs of its account, past the filter of the API server's events.
	s.process.Reconcile(t, world.Machines, other.Key)
	state := other.Load(t)
	if len(state.Windows.Status.Conditions)+len(state.Windows.Finalizers) > 0 ||
		world.ConditionOf(state.Config, "Ready") != "Ready Unknown NotYetReported" {
		t.Errorf("a machine without the label was touched:\n%s", state)
	}
}

// TestOwnedAgain takes the owner off the bootstrap Secret, as a restore does that cannot know its new UID.
func TestOwnedAgain(t *testing.T) {
	s := ready(t)
	m, before := s.booting(t)
	world.Change(t, s.Client, before.Data, func(data *corev1.Secret) { data.OwnerReferences = nil })
	s.process.Later(t, world.Configs, m.Key)
	if after := m.Load(t); !metav1.IsControlledBy(after.Data, after.Config) {
		t.Errorf("the Secret is owned by %v", after.Data.OwnerReferences)
	}
	permissions.Proved(t, s.Management, "bootstrap: patch secrets")
	m.End(t)
}

// TestToldTwice tells the same of the same version of an object twice: it becomes one event that is counted.
func TestToldTwice(t *testing.T) {
	s := ready(t)
	_, state := s.booting(t)
	for controller, about := range map[string]client.Object{world.Machines: state.Windows, world.Configs: state.Config} {
		wait.Until(t, "an event that is counted", func() (any, bool) {
			s.process.Recorders[controller].Eventf(about, nil, corev1.EventTypeNormal, "Twice", "Tell", "the same")
			var told eventsv1.EventList
			expect.OK(t, s.Client.List(t.Context(), &told, client.InNamespace(s.Name)))
			return told.Items, slices.ContainsFunc(told.Items, func(e eventsv1.Event) bool {
				return e.Reason == "Twice" && e.ReportingController == controller && e.Series != nil
			})
		})
	}
	permissions.Proved(t, s.Management, "infrastructure: patch events.events.k8s.io", "bootstrap: patch events.events.k8s.io")
}

// TestOwnerRefused is TestOwnedAgain where the API server lets us set no owner, as one with the admission plugin
// OwnerReferencesPermissionEnforcement does: the token is still looked after.
func TestOwnerRefused(t *testing.T) {
	s := ready(t)
	m, before := s.booting(t)
	s.refuseOwners(t)
	world.Change(t, s.Client, before.Data, func(data *corev1.Secret) { data.OwnerReferences = nil })
	s.clock.advance(tokenTTL / 3 * 2)
	s.process.Later(t, world.Configs, m.Key)
	after := m.Await(t, "all well", world.Config("DataSecretAvailable True DataSecretAvailable"),
		world.Config("Stalled False NotStalled"))
	if metav1.GetControllerOf(after.Data) != nil || !expiry(t, after).After(expiry(t, before)) {
		t.Errorf("the owner was not refused, or the token not extended:\n%s", after)
	}
	m.End(t)
}

// refuseOwners has the API server refuse owners for Secrets that have none.
func (s *stage) refuseOwners(t *testing.T) {
	t.Helper()
	updates := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-owners-" + s.Name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: updates}},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "here", Expression: fmt.Sprintf("request.namespace == %q", s.Name)}},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.metadata.ownerReferences) || has(oldObject.metadata.ownerReferences)",
				Reason:     new(metav1.StatusReasonForbidden),
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "probe"}}
	for _, object := range []client.Object{policy, binding, probe} {
		expect.OK(t, s.Client.Create(t.Context(), object))
		t.Cleanup(func() { _ = s.Client.Delete(context.Background(), object) })
	}
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "probe", UID: probe.UID}
	wait.Until(t, "the policy to be carried out", func() (any, bool) {
		owns := probe.DeepCopy()
		owns.OwnerReferences = []metav1.OwnerReference{owner}
		err := s.Client.Patch(t.Context(), owns, client.MergeFrom(probe), client.DryRunAll)
		return err, apierrors.IsForbidden(err)
	})
}
