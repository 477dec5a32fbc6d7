package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// phaseStage is an API server with one machine, in which calls fail by name: "get Secret", "patch WindowsMachine".
type phaseStage struct {
	*Reconciler
	fails   map[string]error
	patched []string
}

var (
	errPhase    = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	errGone     = apierrors.NewNotFound(schema.GroupResource{Resource: "windowsmachines"}, "m")
	errOutdated = apierrors.NewConflict(schema.GroupResource{Resource: "windowsmachines"}, "m", errors.New("modified"))
)

func newPhaseStage(t *testing.T, objects ...client.Object) *phaseStage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme,
	} {
		expect.OK(t, add(scheme))
	}
	s := &phaseStage{fails: map[string]error{}}
	name := func(verb string, o client.Object) string {
		return verb + " " + strings.TrimPrefix(fmt.Sprintf("%T", o)[strings.LastIndex(fmt.Sprintf("%T", o), "."):], ".")
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&infrav1.WindowsMachine{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, o client.Object, with ...client.GetOption) error {
				if err := s.fails[name("get", o)]; err != nil {
					return err
				}
				return api.Get(ctx, key, o, with...)
			},
			Patch: func(ctx context.Context, api client.WithWatch, o client.Object, p client.Patch, with ...client.PatchOption) error {
				body, _ := p.Data(o)
				s.patched = append(s.patched, string(body))
				if err := s.fails[name("patch", o)]; err != nil {
					return err
				}
				return api.Patch(ctx, o, p, with...)
			},
			SubResourcePatch: func(
				ctx context.Context, api client.Client, _ string, o client.Object, p client.Patch, with ...client.SubResourcePatchOption,
			) error {
				s.patched = append(s.patched, "status")
				if err := s.fails[name("patch", o)]; err != nil {
					return err
				}
				return api.Status().Patch(ctx, o, p, with...)
			},
		}).Build()
	s.Reconciler = &Reconciler{Client: api, Live: api, Now: func() time.Time { return begin }}
	return s
}

// linuxNodes are the control plane of a workload cluster.
type linuxNodes []corev1.Node

func (linuxNodes) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, errPhase
}

func (n linuxNodes) ControlPlane(context.Context, client.ObjectKey) ([]corev1.Node, error) {
	return n, nil
}

// TestReady has one thing after another that a new VM needs.
func TestReady(t *testing.T) {
	node := corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	zone := func(f *facts) { f.machine.Spec.FailureDomain = "zone-a" }
	provisioned := func(f *facts) { f.cluster.Status.Initialization.InfrastructureProvisioned = new(true) }
	data := func(f *facts) { f.machine.Spec.Bootstrap.DataSecretName = new("m") }
	initialized := func(f *facts) { f.cluster.Status.Initialization.ControlPlaneInitialized = new(true) }
	for name, c := range map[string]struct {
		nodes   linuxNodes
		changes []func(*facts)
		want    phase.Stop // without its message
		says    string
	}{
		"failure domain": {
			linuxNodes{node}, []func(*facts){zone, provisioned, data, initialized},
			phase.Stop{Reason: infrav1.SpecInvalidReason, Stalled: true, After: 2 * time.Minute}, `wants failure domain "zone-a"`,
		},
		"no infrastructure": {
			linuxNodes{node}, []func(*facts){data, initialized},
			phase.Stop{Reason: infrav1.WaitingForClusterInfrastructureReason}, "is not provisioned yet",
		},
		"infrastructure lost": {
			linuxNodes{node}, []func(*facts){data, initialized, func(f *facts) {
				f.cluster.Status.Initialization.InfrastructureProvisioned = new(false)
			}},
			phase.Stop{Reason: infrav1.WaitingForClusterInfrastructureReason}, "is not provisioned yet",
		},
		"no data": {
			linuxNodes{node}, []func(*facts){provisioned, initialized},
			phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: time.Minute}, "has no bootstrap data yet",
		},
		"no control plane": {
			linuxNodes{node}, []func(*facts){provisioned, data}, phase.Stop{Reason: infrav1.WaitingForControlPlaneReason}, "not initialized",
		},
		"no Linux Node": {
			nil, []func(*facts){provisioned, data, initialized},
			phase.Stop{Reason: infrav1.WaitingForLinuxNodeReason, After: 5 * time.Second}, "no Ready Node",
		},
		"all": {linuxNodes{node}, []func(*facts){provisioned, data, initialized}, phase.Stop{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Workload: c.nodes}
			stop := phase.Of(r.ready(t.Context(), world(c.changes...)))
			if !strings.Contains(stop.Message, c.says) {
				t.Errorf("message %q, want %q", stop.Message, c.says)
			}
			stop.Message = ""
			expect.Same(t, "stop", c.want, stop)
		})
	}
}

// TestOwned: a Machine that goes gets no VM, unless there may be one.
func TestOwned(t *testing.T) {
	going := func(f *facts) { f.machine.DeletionTimestamp = new(metav1.Now()) }
	held := func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	moved := func(f *facts) { f.machine.Spec.ProviderID = "test://m-abc" }
	for name, c := range map[string]struct {
		changes []func(*facts)
		want    string
		stalled bool
	}{
		"owned":                 {nil, "", false},
		"refused":               {[]func(*facts){func(f *facts) { f.refused = "it names another" }}, infrav1.OwnerNotSupportedReason, true},
		"no Machine":            {[]func(*facts){func(f *facts) { f.machine = nil }}, infrav1.WaitingForOwnerReason, false},
		"no Cluster":            {[]func(*facts){func(f *facts) { f.cluster = nil }}, infrav1.WaitingForOwnerReason, false},
		"goes, never had a VM":  {[]func(*facts){going}, infrav1.DeletingReason, false},
		"goes, may have a VM":   {[]func(*facts){going, held}, "", false},
		"goes, had its VM":      {[]func(*facts){going, had}, "", false},
		"goes, moved with a VM": {[]func(*facts){going, moved}, "", false},
	} {
		stop := phase.Of((&Reconciler{}).owned(t.Context(), world(c.changes...)))
		if stop.Reason != c.want || stop.Stalled != c.stalled {
			t.Errorf("%s: %+v, want %q, stalled %t", name, stop, c.want, c.stalled)
		}
	}
}

// stored is a machine as the API server has it, with changes.
func stored(changes ...func(*infrav1.WindowsMachine)) *infrav1.WindowsMachine {
	m := world().windows.DeepCopy()
	for _, change := range changes {
		change(m)
	}
	return m
}

// read are the facts of a machine that the stage has.
func (s *phaseStage) read(t *testing.T, changes ...func(*facts)) *facts {
	t.Helper()
	f := world(changes...)
	expect.OK(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m"}, f.windows))
	f.before = f.windows.DeepCopy()
	return f
}

// TestPatches are the writes of the phases: what they say, that they happen once, and that none is lost.
func TestPatches(t *testing.T) {
	held := func(m *infrav1.WindowsMachine) { m.Finalizers = []string{"test/other", infrav1.MachineFinalizer} }
	deleted := func(m *infrav1.WindowsMachine) { m.DeletionTimestamp = new(metav1.NewTime(begin)) }
	going := func(f *facts) { f.going = true }
	note := `/removed":"2026-05-04T03:02:01Z"`
	for name, c := range map[string]struct {
		of      *infrav1.WindowsMachine
		facts   func(*facts)
		do      func(*Reconciler, context.Context, *facts) error
		says    string // of the first patch; none when empty
		fails   error
		want    error
		outcome func(*infrav1.WindowsMachine) bool
	}{
		"identity": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says: `"providerID":"test://m-abc"`, outcome: func(m *infrav1.WindowsMachine) bool { return m.Spec.ProviderID == "test://m-abc" },
		},
		"identity again": {of: stored(), do: (*Reconciler).recordIdentity},
		"identity, refused": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says: "providerID", fails: errPhase, want: errPhase,
		},
		"identity of one that is gone": {
			of: stored(func(m *infrav1.WindowsMachine) { m.Spec.ProviderID = "" }), do: (*Reconciler).recordIdentity,
			says: "providerID", fails: errGone, want: errGone,
		},
		"hold": {
			of: stored(), do: (*Reconciler).hold, says: `"finalizers":["windowsmachine.infrastructure.cluster.x-k8s.io/vm"]`,
			outcome: func(m *infrav1.WindowsMachine) bool { return slices.Contains(m.Finalizers, infrav1.MachineFinalizer) },
		},
		"hold again":                 {of: stored(held), do: (*Reconciler).hold},
		"hold, refused":              {of: stored(), do: (*Reconciler).hold, says: "finalizers", fails: errPhase, want: errPhase},
		"hold, changed":              {of: stored(), do: (*Reconciler).hold, says: "resourceVersion", fails: errOutdated, want: errOutdated},
		"hold what is gone":          {of: stored(), do: (*Reconciler).hold, says: "finalizers", fails: errGone, want: errGone},
		"release":                    {of: stored(held, deleted), do: (*Reconciler).release, says: `"finalizers":["test/other"]`},
		"release, refused":           {of: stored(held, deleted), do: (*Reconciler).release, says: "finalizers", fails: errPhase, want: errPhase},
		"release what is gone":       {of: stored(held, deleted), do: (*Reconciler).release, says: "finalizers", fails: errGone},
		"removed, the Secret stays":  {of: stored(held, deleted), do: (*Reconciler).noteRemoved},
		"removed, the Secret goes":   {of: stored(held, deleted), facts: going, do: (*Reconciler).noteRemoved, says: note, outcome: isRemoved},
		"removed, and cannot say so": {of: stored(held, deleted), facts: going, do: (*Reconciler).noteRemoved, says: note, fails: errPhase, want: errPhase},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPhaseStage(t, c.of)
			s.fails["patch WindowsMachine"] = c.fails
			f := s.read(t)
			if c.facts != nil {
				c.facts(f)
			}
			if err := c.do(s.Reconciler, t.Context(), f); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if len(s.patched) != min(len(c.says), 1) || c.says != "" && !strings.Contains(s.patched[0], c.says) {
				t.Errorf("patches %q, want one with %q", s.patched, c.says)
			}
			if c.outcome != nil && !c.outcome(s.read(t).windows) {
				t.Errorf("the API server has %+v", s.read(t).windows)
			}
			if c.fails == nil && c.outcome != nil { // the next phase goes on from here
				expect.OK(t, c.do(s.Reconciler, t.Context(), f))
				expect.Same(t, "patches", 1, len(s.patched))
			}
		})
	}
}

func isRemoved(m *infrav1.WindowsMachine) bool { return removed(&facts{windows: m}) }

// TestRemoved: what another deletion left, such as in a backup, does not count.
func TestRemoved(t *testing.T) {
	for annotation, want := range map[string]bool{"2026-05-04T03:02:01Z": true, "2026-05-04T03:02:00Z": false, "": false} {
		m := stored(func(m *infrav1.WindowsMachine) {
			m.DeletionTimestamp = new(metav1.NewTime(begin.In(time.FixedZone("", 3600))))
			m.Annotations = map[string]string{infrav1.RemovedAnnotation: annotation}
		})
		if isRemoved(m) != want {
			t.Errorf("%q: %t", annotation, !want)
		}
	}
}

// answers is a cloud that gives the same answers always.
type answers struct {
	cloud.Cloud
	vm  cloud.VM
	err error
	did *[]string
}

func (a answers) Ensure(context.Context, cloud.Machine) (cloud.VM, error) {
	*a.did = append(*a.did, "Ensure")
	return a.vm, a.err
}

func (a answers) Observe(context.Context, cloud.Machine) (cloud.VM, error) {
	*a.did = append(*a.did, "Observe")
	return a.vm, a.err
}

func (a answers) Delete(context.Context, cloud.Machine) error {
	*a.did = append(*a.did, "Delete")
	return a.err
}

// TestProvision says what each answer of a cloud means for a machine, with and without a VM before.
func TestProvision(t *testing.T) {
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	going := func(f *facts) { f.machine.DeletionTimestamp = new(metav1.Now()) }
	away := cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away")
	for name, c := range map[string]struct {
		facts func(*facts)
		vm    cloud.VM
		err   error
		did   string
		want  phase.Stop // without its message
	}{
		"runs":              {vm: cloud.VM{State: cloud.Running}, did: "Ensure"},
		"stopped":           {vm: cloud.VM{State: cloud.Stopped}, did: "Ensure", want: phase.Stop{Reason: infrav1.VMNotRunningReason}},
		"being made":        {did: "Ensure", want: phase.Stop{Reason: infrav1.ProvisioningReason, After: time.Minute}},
		"had one, runs":     {facts: had, vm: cloud.VM{State: cloud.Running}, did: "Observe"},
		"goes, never had":   {facts: going, err: cloud.ErrNotFound, did: "Observe", want: phase.Stop{Reason: infrav1.DeletingReason}},
		"goes, it is there": {facts: going, vm: cloud.VM{State: cloud.Running}, did: "Observe"},
		"had one, it is gone": {
			facts: had, err: cloud.ErrNotFound, did: "Observe",
			want: phase.Stop{Reason: infrav1.VMVanishedReason, Stalled: true, After: 2 * time.Minute},
		},
		"away": {err: away, did: "Ensure", want: phase.Stop{Reason: infrav1.CloudUnreachableReason, BackOff: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			f := world(func(f *facts) { f.cloud, f.account = answers{vm: c.vm, err: c.err, did: &did}, "Secret cloud" })
			if c.facts != nil {
				c.facts(f)
			}
			stop := phase.Of((&Reconciler{}).provision(t.Context(), f))
			if aboutAccount[stop.Reason] && !strings.HasPrefix(stop.Message, "Secret cloud: ") {
				t.Errorf("the message names no account: %q", stop.Message)
			}
			stop.Message = ""
			expect.Same(t, "stop", c.want, stop)
			expect.Same(t, "asked", c.did, strings.Join(did, " "))
			if (f.vm != nil) != (c.err == nil) {
				t.Errorf("VM %+v", f.vm)
			}
		})
	}
}

// TestRemove goes on only when the cloud says that nothing is left.
func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want phase.Stop
	}{
		"nothing left": {cloud.ErrNotFound, phase.Stop{}},
		"asked for":    {nil, phase.Stop{Reason: infrav1.DeletingReason, Message: "VM m-abc is being deleted", After: 5 * time.Second}},
		"away": {
			cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "away"),
			phase.Stop{Reason: infrav1.CloudUnreachableReason, Message: "Secret cloud: away", BackOff: true},
		},
		"an error": {errPhase, phase.Stop{Reason: clusterv1.InternalErrorReason, Err: errPhase}},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			f := world(func(f *facts) { f.cloud, f.account = answers{err: c.err, did: &did}, "Secret cloud" })
			got := phase.Of((&Reconciler{}).remove(t.Context(), f))
			if got.Err != nil && c.want.Err != nil {
				got.Err, c.want.Err = nil, nil
			}
			expect.Same(t, "stop", c.want, got)
		})
	}
}

// TestUserData: each read of the bootstrap Secret that fails stops in its own way.
func TestUserData(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"value": []byte("x")},
	}
	empty := secret.DeepCopy()
	delete(empty.Data, "value")
	theirs := secret.DeepCopy()
	theirs.Type = clusterv1.ClusterSecretType
	for name, c := range map[string]struct {
		secret *corev1.Secret
		fails  error
		want   phase.Stop // without its message
	}{
		"there":        {secret: secret},
		"not there":    {want: phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: 15 * time.Second}},
		"empty":        {secret: empty, want: phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: 15 * time.Second}},
		"another's":    {secret: theirs, want: phase.Stop{Reason: infrav1.BootstrapDataRefusedReason, After: 2 * time.Minute, Stalled: true}},
		"not readable": {secret: secret, fails: errPhase, want: phase.Stop{Reason: clusterv1.InternalErrorReason}},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if c.secret != nil {
				objects = append(objects, c.secret.DeepCopy())
			}
			s := newPhaseStage(t, objects...)
			s.fails["get Secret"] = c.fails
			data, err := s.userData(t.Context(), world(func(f *facts) { f.machine.Spec.Bootstrap.DataSecretName = new("data") }))
			stop := phase.Of(err)
			stop.Message, stop.Err = "", nil
			expect.Same(t, "stop", c.want, stop)
			if string(data) != map[bool]string{true: "x"}[name == "there"] {
				t.Errorf("data %q", data)
			}
		})
	}
}

// TestLoad: what cannot be read is an error, and no machine without an owner or a config.
func TestLoad(t *testing.T) {
	const label = clusterv1.WatchLabel
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core", UID: "uid"}}
	machine.Spec.ClusterName = "blue"
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m"}
	machine.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: bootstrapv1.GroupVersion.Group, Kind: "WindowsBootstrapConfig", Name: "c",
	}
	owned := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "core", UID: "uid"}
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", OwnerReferences: []metav1.OwnerReference{owned},
	}}
	windows := stored(func(m *infrav1.WindowsMachine) {
		m.OwnerReferences, m.Labels = []metav1.OwnerReference{owned}, map[string]string{label: "ours"}
	})
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "blue"}}
	for name, c := range map[string]struct {
		fails  string
		with   error
		filter string
		want   string // what is there
	}{
		"all":                      {want: "machine cluster config"},
		"of ours":                  {filter: "ours", want: "machine cluster config"},
		"of others":                {filter: "theirs", want: "nothing"},
		"it cannot be read":        {fails: "get WindowsMachine", with: errPhase},
		"its Machine":              {fails: "get Machine", with: errPhase},
		"its Cluster":              {fails: "get Cluster", with: errPhase},
		"its config":               {fails: "get WindowsBootstrapConfig", with: errPhase},
		"its config is not there":  {fails: "get WindowsBootstrapConfig", with: errGone, want: "machine cluster"},
		"its Cluster is not there": {fails: "get Cluster", with: errGone, want: "machine config"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPhaseStage(t, windows.DeepCopy(), machine.DeepCopy(), config.DeepCopy(), cluster.DeepCopy())
			s.fails[c.fails], s.WatchFilter = c.with, c.filter
			f, err := s.load(t.Context(), client.ObjectKeyFromObject(windows))
			if c.want == "" {
				if !errors.Is(err, errPhase) {
					t.Errorf("error %v", err)
				}
				return
			}
			expect.OK(t, err)
			var found []string
			switch {
			case f == nil:
				found = []string{"nothing"}
			default:
				for name, there := range map[string]bool{"machine": f.machine != nil, "cluster": f.cluster != nil, "config": f.config != nil} {
					if there {
						found = append(found, name)
					}
				}
			}
			want := strings.Fields(c.want)
			slices.Sort(want)
			slices.Sort(found)
			expect.Same(t, "found", want, found)
		})
	}
}

// TestWrite writes a status once, if it changed, and says if that failed; but not of an object that is gone.
func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		change      bool
		fails, want error
		times       int
	}{
		"nothing new": {},
		"news":        {change: true, times: 1},
		"gone":        {change: true, fails: errGone, times: 1},
		"refused":     {change: true, fails: errPhase, want: errPhase, times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPhaseStage(t, stored())
			s.fails["patch WindowsMachine"] = c.fails
			f := s.read(t)
			if c.change {
				f.windows.Status.ComputerName = "m-abc"
			}
			if err := s.write(t.Context(), f); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			expect.Same(t, "writes", c.times, len(s.patched))
		})
	}
}

// TestHeldByAnother: a machine whose VM is gone, and which another finalizer keeps, says that it is deleted, not that it runs.
func TestHeldByAnother(t *testing.T) {
	f := world(wasRunning, isDeleting)
	f.windows.Finalizers = []string{"test/other"}
	expect.OK(t, (&Reconciler{}).next(t.Context(), f))
	report(f, nil)
	for _, name := range []string{infrav1.ReadyCondition, infrav1.VMRunningCondition} {
		if c := conditions.Get(f.windows, name); c.Status != metav1.ConditionFalse || c.Reason != infrav1.DeletingReason || name == infrav1.VMRunningCondition && c.Message != "the VM is deleted" {
			t.Errorf("%s is %+v", name, c)
		}
	}
	if f.windows.Status.Phase != infrav1.PhaseDeleting {
		t.Errorf("phase %s", f.windows.Status.Phase)
	}
}

// TestLinesOfAReport: the API takes 20 lines and 20 warnings; of more the last ones are told.
func TestLinesOfAReport(t *testing.T) {
	for _, told := range []int{19, 20, 21, 300} {
		var lines []string
		for i := range told {
			lines = append(lines, fmt.Sprintf("%q", fmt.Sprint("line ", i+1)))
		}
		list := "[" + strings.Join(lines, ",") + "]"
		progress := expect.Got(readReport(reported("Failed", "4/5 join", `"lastLines":`+list+`,"warnings":`+list)))(t).Bootstrap
		for name, got := range map[string][]string{"lines": progress.LastLines, "warnings": progress.Warnings} {
			if len(got) != min(told, 20) || got[len(got)-1] != fmt.Sprint("line ", told) || got[0] != fmt.Sprint("line ", max(1, told-19)) {
				t.Errorf("%d told, %s: %d, from %q to %q", told, name, len(got), got[0], got[len(got)-1])
			}
		}
	}
}
