package controllers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

func TestMissingCA(t *testing.T) {
	s := ready(t)
	ca := &corev1.Secret{}
	ca.Namespace, ca.Name = s.Name, world.ClusterName+"-ca"
	expect.OK(t, s.Client.Delete(t.Context(), ca))
	m := s.machine("m")
	m.Create(t)
	if state := m.Await(t, "CA", world.Config("Ready Unknown WaitingForClusterCA"),
		world.Config("Stalled True WaitingForClusterCA")); state.Data != nil {
		t.Error("a node would trust blindly")
	}
	again := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ca.Namespace, Name: ca.Name},
		Data:       map[string][]byte{"tls.crt": s.Management.Config.CAData},
	}
	expect.OK(t, s.Client.Create(t.Context(), again))
	s.process.Later(t, world.Configs, m.Key)
	m.Await(t, "life with a CA", world.Windows("Ready True Running"), world.Tokens(1))
}

func TestControlPlaneMachine(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Core.Labels[clusterv1.MachineControlPlaneLabel] = ""
	m.Create(t)
	m.Await(t, "refusal", world.Config("Ready Unknown OwnerNotSupported"), world.Config("Stalled True OwnerNotSupported"))
	if state := m.Load(t); state.Data != nil || len(state.Tokens) > 0 || len(state.Config.Finalizers) > 0 {
		t.Errorf("something was made for it:\n%s", state)
	}
	s.vms(t)
}

func TestMachinePool(t *testing.T) {
	s := ready(t)
	pool := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "pool"},
		Spec: clusterv1.MachinePoolSpec{ClusterName: world.ClusterName, Template: clusterv1.MachineTemplateSpec{
			Spec: s.machine("pool").Core.Spec,
		}},
	}
	expect.OK(t, s.Client.Create(t.Context(), pool))
	m := s.machine("pool")
	m.Config.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(pool, clusterv1.GroupVersion.WithKind("MachinePool")),
	}
	expect.OK(t, s.Client.Create(t.Context(), m.Config))
	m.Await(t, "refusal", world.Config("Ready Unknown OwnerNotSupported"), world.Config("Stalled True OwnerNotSupported"))
}

// TestFailedBootstrap has a guest that gives up.
func TestFailedBootstrap(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	reason := bootstrap.Reasons()[0]
	s.tell(state, `{"version":1,"state":"Failed","reason":"`+reason+`","message":"it did not work","exitCode":3,"elapsed":180,`+
		`"phase":{"index":4,"of":5,"name":"join"},"lastLines":["x509: unknown authority"]}`)
	failed := m.Await(t, "failure", world.Windows("Ready False "+reason), world.Windows("Stalled True "+reason), world.Tokens(0),
		world.Config("Ready False "+reason), sameStory, shownByCore, released)
	want := `Bootstrap 4/5 join failed after 3m: exit 3, "it did not work" (` + reason + `)`
	if got := conditions.GetMessage(failed.Windows, infrav1.ReadyCondition); got != want {
		t.Errorf("the message does not say what happened: %s", got)
	}
	s.vms(t, state.Windows.Status.ComputerName)
	s.look(t, m)
	m.Await(t, "no new token", world.Tokens(0))
	m.End(t)
}

// TestUntrustedReports has a guest that lies: what it writes must neither stop the controllers nor end up in the API as it is.
func TestUntrustedReports(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	for _, report := range []string{
		"{", `{"version":1,"state":"dancing"}`, `{"version":7,"state":"Succeeded"}`, `{"version":1,"state":"Failed","message":"` +
			strings.Repeat("x", 100_000) + `"}`,
	} {
		s.tell(state, report)
		s.look(t, m)
		m.Await(t, "no notice", world.Windows("Ready True Running"), world.Tokens(1))
	}
	s.tell(state, `{"version":1,"state":"Failed","reason":"Joined","message":"`+strings.Repeat("y",
		5000)+`\u001b[31m","elapsed":-5,"phase":{"index":1,"of":1,"name":"p"}}`)
	lied := m.Await(t, "failure", world.Windows("Ready False BootstrapFailed"))
	if text := lied.Windows.Status.Bootstrap.Message; len(text) > 1024 || strings.ContainsRune(text, '\x1b') {
		t.Errorf("the guest's message is %d long", len(text))
	}
}

// TestLostSecret removes the bootstrap Secret under a VM that boots with it.
func TestLostSecret(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	expect.OK(t, s.Client.Delete(t.Context(), state.Data))
	s.process.Later(t, world.Configs, m.Key)
	lost := m.Await(t, "notice", world.Config("Stalled True DataSecretLost"), world.Config("Ready Unknown WaitingForGuest"))
	if lost.Data != nil || len(lost.Tokens) != 1 {
		t.Errorf("another Secret or token was made:\n%s", lost)
	}
	s.vms(t, state.Windows.Status.ComputerName)
	s.tell(state, succeeded)
	m.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
	m.Join(t)
	m.Await(t, "node all the same", world.Windows("BootstrapSucceeded True Joined"), world.Config("Ready True Joined"),
		world.Tokens(0), released)
	m.End(t)
}

// TestForeignSecret has another user's Secret under the name that ours must have.
func TestForeignSecret(t *testing.T) {
	s := ready(t)
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "m"}, Data: map[string][]byte{"value": []byte("theirs")},
	}
	expect.OK(t, s.Client.Create(t.Context(), foreign))
	m := s.machine("m")
	m.Create(t)
	stalled := m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"))
	if diff := cmp.Diff(foreign.Data, stalled.Data.Data); diff != "" || stalled.Data.UID != foreign.UID || len(stalled.Tokens) > 0 {
		t.Errorf("somebody else's Secret was touched: %s", diff)
	}
	s.vms(t)
	expect.OK(t, s.Client.Delete(t.Context(), foreign))
	s.process.Later(t, world.Configs, m.Key)
	m.Await(t, "life without it", world.Windows("Ready True Running"))
}

// TestHopelessConfig has a config that only a rendering finds out: it is told before anything is made for it.
func TestHopelessConfig(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Config.Spec.Kubelet.Configuration.Raw = []byte(`{"cgroupsPerQOS":true}`)
	m.Create(t)
	stalled := m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"))
	if stalled.Data != nil || len(stalled.Tokens) > 0 || len(stalled.Config.Finalizers) > 0 {
		t.Errorf("something was made for it:\n%s", stalled)
	}
	// The config wakes its machine, which looks again by itself only after a minute.
	begun := time.Now()
	m.Await(t, "the machine's word", world.Windows("VMRunning False ConfigInvalid"), world.Windows("Stalled True ConfigInvalid"))
	t.Logf("the machine told of its config after %v", time.Since(begun).Round(time.Millisecond))
	world.Change(t, s.Client, stalled.Config, func(config *bootstrapv1.WindowsBootstrapConfig) {
		config.Spec.Kubelet.Configuration.Raw = nil
	})
	m.Await(t, "life without it", world.Windows("Ready True Running"), world.Tokens(1))
}

// TestChangedWhileStored has user data that were made of a spec which was changed before they were told of.
func TestChangedWhileStored(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password, NotInitialized: true})
	s.start(t)
	m := s.machine("m")
	m.Create(t)
	config := m.Await(t, "wait", world.Config("Ready Unknown WaitingForControlPlane")).Config
	stored := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Name, Name: config.Name, Annotations: map[string]string{bootstrapv1.RenderedGenerationAnnotation: "0"},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")),
			},
		},
		Data: map[string][]byte{"value": []byte("of before")},
	}
	expect.OK(t, s.Client.Create(t.Context(), stored))
	s.Initialize(t)
	stalled := m.Await(t, "refusal", world.Config("Stalled True ConfigInvalid"))
	if text := conditions.GetMessage(stalled.Config, bootstrapv1.ReadyCondition); !strings.Contains(text,
		"spec changed after Secret m had been made from it") {
		t.Errorf("it says %q", text)
	}
	s.vms(t)
	m.End(t)
}

// TestMachineDeletedEarly deletes a Machine whose node is still waited for, and which a hook of its user holds.
func TestMachineDeletedEarly(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password, NotInitialized: true})
	s.start(t)
	m := s.machine("m")
	hook := clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/backup"
	m.Core.Annotations = map[string]string{hook: "tester"}
	m.Create(t)
	m.Await(t, "wait", world.Config("Ready Unknown WaitingForControlPlane"))
	m.Delete(t)
	s.Initialize(t)
	held := m.Await(t, "notice", world.Config("Ready Unknown Deleting"))
	if held.Data != nil || len(held.Tokens) > 0 || len(held.Config.Finalizers) > 0 {
		t.Errorf("something was made for a machine that goes:\n%s", held)
	}
	world.Change(t, s.Client, held.Core, func(machine *clusterv1.Machine) { delete(machine.Annotations, hook) })
	m.Await(t, "end", world.Gone)
	s.vms(t)
}
