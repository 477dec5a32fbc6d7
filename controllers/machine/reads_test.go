package machine

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestUserData: each read of the bootstrap Secret that fails stops in its own way.
func TestUserData(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"value": []byte("x")},
	}
	empty := secret.DeepCopy()
	delete(empty.Data, "value")
	foreign := secret.DeepCopy()
	foreign.Data["format"] = []byte("cloud-config")
	theirs := secret.DeepCopy()
	theirs.Type = clusterv1.ClusterSecretType
	for name, c := range map[string]struct {
		secret *corev1.Secret
		fails  error
		want   phase.Stop // without its message
	}{
		"there":     {secret: secret},
		"not there": {want: phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: 15 * time.Second}},
		"empty":     {secret: empty, want: phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: 15 * time.Second}},
		"of another format": {
			secret: foreign,
			want:   phase.Stop{Reason: infrav1.BootstrapFormatMismatchReason, After: 2 * time.Minute, Stalled: true},
		},
		"another's": {
			secret: theirs, want: phase.Stop{Reason: infrav1.BootstrapDataRefusedReason, After: 2 * time.Minute, Stalled: true},
		},
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
			if string(data) != map[string]string{"there": "x", "of another format": "x"}[name] {
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
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "WindowsMachine", Name: "m",
	}
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
		"no CRD of configs":        {fails: "get WindowsBootstrapConfig", with: errNoKind, want: "machine cluster"},
		"its Cluster is not there": {fails: "get Cluster", with: errGone, want: "machine config"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPhaseStage(t, windows.DeepCopy(), machine.DeepCopy(), config.DeepCopy(), cluster.DeepCopy())
			s.fails[c.fails], s.WatchFilter, s.Speed = c.with, c.filter, 3
			f, err := s.load(t.Context(), client.ObjectKeyFromObject(windows))
			if c.want == "" {
				if !errors.Is(err, errPhase) {
					t.Errorf("error %v", err)
				}
				return
			}
			expect.OK(t, err)
			if f != nil && (!f.now.Equal(begin) || f.speed != 3) {
				t.Errorf("the time is %s, the speed %d", f.now, f.speed)
			}
			found := whatIs(f)
			want := strings.Fields(c.want)
			expect.Same(t, "found", want, found)
		})
	}
}

// TestNamesConfig: a machine without an owner, and one whose config is another provider's, have no config of ours.
func TestNamesConfig(t *testing.T) {
	expect.Same(t, "without an owner", false, namesConfig(world(func(f *facts) { f.machine = nil })))
	for _, ref := range []clusterv1.ContractVersionedObjectReference{
		{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "Other", Name: "c"},
		{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "WindowsBootstrapConfig", Name: "c"},
		{APIGroup: "bootstrap.example.com", Kind: "WindowsBootstrapConfig", Name: "c"},
	} {
		f := world(func(f *facts) { f.machine.Spec.Bootstrap.ConfigRef = ref })
		expect.Same(t, ref.APIGroup+" "+ref.Kind, ref == ourConfig("c"), namesConfig(f))
	}
}

// whatIs names the objects of some facts.
func whatIs(f *facts) (found []string) {
	if f == nil {
		return []string{"nothing"}
	}
	if f.machine != nil {
		found = append(found, "machine")
	}
	if f.cluster != nil {
		found = append(found, "cluster")
	}
	if f.config != nil {
		found = append(found, "config")
	}
	return found
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
			s.fails["patch WindowsMachine status"] = c.fails
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

// TestNoCredentials: a Secret that is being deleted serves the machines that may have a VM, and no other.
func TestNoCredentials(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "cloud"}
	held := func(f *facts) { f.windows.Finalizers = []string{infrav1.MachineFinalizer} }
	had := func(f *facts) { f.windows.Status.Initialization.Provisioned = new(true) }
	there, going := credentials.Secret{Exists: true}, credentials.Secret{Exists: true, Going: true}
	for name, c := range map[string]struct {
		secret  credentials.Secret
		changes []func(*facts)
		want    string
	}{
		"there":                        {there, nil, ""},
		"there, machine goes":          {there, []func(*facts){isDeleting, held}, ""},
		"not there":                    {credentials.Secret{}, nil, infrav1.CredentialsMissingReason},
		"not there, machine goes":      {credentials.Secret{}, []func(*facts){isDeleting, held}, infrav1.CredentialsMissingReason},
		"of another type":              {credentials.Secret{Exists: true, Unheld: true}, nil, infrav1.CredentialsRejectedReason},
		"of another type, held before": {credentials.Secret{Exists: true, Unheld: true}, []func(*facts){held}, ""},
		"going":                        {going, nil, infrav1.CredentialsBeingDeletedReason},
		"going, there may be a VM":     {going, []func(*facts){held}, ""},
		"going, there was a VM":        {going, []func(*facts){had}, ""},
		"going, and there is a VM":     {going, []func(*facts){had, held}, ""},
		"there, and there may be a VM": {there, []func(*facts){held}, ""},
	} {
		f := world(c.changes...)
		expect.Same(t, name+": it serves", c.want == "", c.secret.Serves(mayHaveVM(f)))
		if c.want == "" {
			continue
		}
		stop := phase.Of(noCredentials(f, key, c.secret))
		expect.Same(t, name, c.want, stop.Reason)
		if stop.Wakes != phase.Credentials || stop.After != 0 || stop.Stalled {
			t.Errorf("%s: %+v, want the Secret alone to wake it", name, stop)
		}
		told := phase.Of(lastResort(noCredentials(f, key, c.secret)))
		if !strings.Contains(told.Message, "by hand") {
			t.Errorf("%s: %q", name, told.Message)
		}
	}
}
