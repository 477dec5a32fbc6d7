package machine

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

func wantStop(t *testing.T, err error, reason, message string) {
	t.Helper()
	stop := phase.Of(err)
	if stop.Reason != reason || !strings.Contains(stop.Message, message) || reason != "" && !stop.Stalled {
		t.Errorf("stop is %+v, want it stalled with %q: %s", stop, reason, message)
	}
}

// A machine of a cloud that came to the API after this release decodes to one without a cloud. It is no other cloud's.
func TestCloudOfANewerAPI(t *testing.T) {
	newer := &infrav1.WindowsMachine{}
	newer.Name, newer.UID = "m", "1"
	r := &Reconciler{Clouds: inClouds(fake.Provider{})}
	wantStop(t, r.identify(t.Context(), &facts{windows: newer}), infrav1.CloudNotSupportedReason,
		"this release of the manager does not support the cloud in the spec")
}

// Values that came to the API after this release are not taken for one that it knows.
func TestIdentityOfANewerAPI(t *testing.T) {
	newer := &infrav1.WindowsMachine{}
	newer.Spec.IdentityRef = infrav1.IdentityReference{Kind: "AzureClusterIdentity", Name: "team"}
	newer.Spec.Azure = &infrav1.AzureVM{}
	r := &Reconciler{Clouds: inClouds(fake.Provider{})}
	wantStop(t, r.connect(t.Context(), &facts{windows: newer}), infrav1.SpecInvalidReason,
		`identityRef has the kind "AzureClusterIdentity", which this release of the manager does not support`)
}

// Machines in the clouds of several AzureClusters share a Secret that does not say where its principal is: each logs in to its
// own, and one that has none to the manager's.
func TestCloudOfASecret(t *testing.T) {
	register := &accounts.Register{Changed: func(...cloud.Key) {}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- register.Start(ctx) }()
	defer func() { stop(); expect.OK(t, <-ended) }()
	secret := client.ObjectKey{Namespace: "ns", Name: "azure"}
	data := map[string][]byte{
		"tenantID": []byte("11111111-2222-3333-4444-555555555555"), "clientID": []byte("11111111-2222-3333-4444-555555555556"),
		"clientSecret": []byte("a secret"),
	}
	server := func(of infrav1.AzureCloud) string {
		m := &infrav1.WindowsMachine{Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}}
		if of != "" {
			m.Status.Azure = &infrav1.AzurePlacement{Cloud: of}
		}
		provider, holder := cloud.Provider(azure.Provider{}), secret
		if place := azure.Registration(nil).Part(m).Place; place != nil {
			provider, holder = inItsCloud(*place, provider, secret)
		}
		var account cloud.Cloud
		wait.Eventually(t, "the register", func(context.Context) (err error) {
			account, err = register.Get(provider, holder, data, false)
			return err
		})
		return account.Health().Server
	}
	for range 2 { // nobody takes another's account away
		for of, want := range map[infrav1.AzureCloud]string{
			"": "https://management.azure.com", infrav1.AzurePublicCloud: "https://management.azure.com",
			infrav1.AzureUSGovernmentCloud: "https://management.usgovcloudapi.net",
			infrav1.AzureChinaCloud:        "https://management.chinacloudapi.cn",
		} {
			expect.Same(t, "server of a machine in "+string(of), want, server(of))
		}
	}
}

func TestUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		format, reason, message string
		setup                   infrav1.ImageSetup
	}{
		"our own":             {format: "cloudbase-init"},
		"a user's own":        {},
		"of a KubeadmConfig":  {"cloud-config", infrav1.BootstrapFormatMismatchReason, `format "cloud-config", but the image runs`, ""},
		"Ignition":            {"ignition", infrav1.BootstrapFormatMismatchReason, `image.setup is CloudbaseInit`, ""},
		"other letters":       {"CloudbaseInit", infrav1.BootstrapFormatMismatchReason, "use a WindowsBootstrapConfig", ""},
		"setup of a new API":  {"sysprep", infrav1.SpecInvalidReason, `image.setup "Sysprep" is not supported`, "Sysprep"},
		"setup, without data": {"", infrav1.SpecInvalidReason, `upgrade the manager`, "Sysprep"},
	} {
		t.Run(name, func(t *testing.T) {
			data := &corev1.Secret{Data: map[string][]byte{"value": []byte("x")}}
			if c.format != "" {
				data.Data["format"] = []byte(c.format)
			}
			for _, spec := range []infrav1.WindowsMachineSpec{
				{VSphere: &infrav1.VSphereVM{Image: infrav1.VSphereImage{Setup: c.setup}}},
				{Azure: &infrav1.AzureVM{Image: infrav1.AzureImage{Setup: c.setup}}},
			} {
				f := world(func(f *facts) { f.windows.Spec = spec })
				wantStop(t, understood(f, data), c.reason, c.message)
			}
		})
	}
}

// What a Machine without a config may name, and what one with a config.
func TestRefuse(t *testing.T) {
	const name = "m"
	config := &bootstrapv1.WindowsBootstrapConfig{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1"}}
	ours := ourConfig(name)
	other := clusterv1.ContractVersionedObjectReference{APIGroup: ours.APIGroup, Kind: "KubeadmConfig", Name: name}
	of := func(apiVersion, kind, name string, uid types.UID) func(*corev1.Secret) {
		return func(d *corev1.Secret) {
			d.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true)},
			}
		}
	}
	group := bootstrapv1.GroupVersion.String()
	for what, c := range map[string]struct {
		ref    clusterv1.ContractVersionedObjectReference
		change func(*corev1.Secret)
		says   string
	}{
		"made by the config":            {ours, of(group, ours.Kind, name, "1"), ""},
		"lost its owner":                {ours, func(d *corev1.Secret) { d.OwnerReferences = nil }, ""},
		"has an owner without control":  {ours, func(d *corev1.Secret) { d.OwnerReferences[0].Controller = nil }, ""},
		"made by the config's namesake": {ours, of(group, ours.Kind, name, "2"), "was not made by WindowsBootstrapConfig m"},
		"made by another config":        {ours, of(group, ours.Kind, "other", "2"), "was not made by"},
		"lost it, another name":         {ours, func(d *corev1.Secret) { d.OwnerReferences, d.Name = nil, "o" }, "was not"},
		"lost it, another type":         {ours, func(d *corev1.Secret) { d.OwnerReferences, d.Type = nil, "Opaque" }, "was not"},
		"lost it, another label":        {ours, func(d *corev1.Secret) { d.OwnerReferences, d.Labels = nil, nil }, "was not"},
		"lost it and our mark":          {ours, func(d *corev1.Secret) { d.OwnerReferences, d.Annotations = nil, nil }, "was not"},
		"lost it, can be changed":       {ours, func(d *corev1.Secret) { d.OwnerReferences, d.Immutable = nil, nil }, "was not"},

		"made by another provider": {other, of("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", name, "3"), ""},
		"of another provider's other config": {
			other, of("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "o", "3"), "was not made by KubeadmConfig m",
		},
		"of another kind":         {other, of("bootstrap.cluster.x-k8s.io/v1beta2", "Other", name, "3"), "was not"},
		"of another group":        {other, of("example.com/v1", "KubeadmConfig", name, "3"), "was not"},
		"of a group without form": {other, of("a/b/c", "KubeadmConfig", name, "3"), "was not"},
		"without an owner":        {other, func(d *corev1.Secret) { d.OwnerReferences = nil }, "was not"},

		"made by the config, with a name of a kubeconfig": {ours, func(d *corev1.Secret) { d.Name = "prod-kubeconfig" }, ""},
		"of the user's own":                {change: func(d *corev1.Secret) { d.Type, d.OwnerReferences = "Opaque", nil }},
		"of the user's own, by a program":  {change: func(d *corev1.Secret) { d.Type = "Opaque" }},
		"another machine's":                {says: "has the type cluster.x-k8s.io/secret", change: func(*corev1.Secret) {}},
		"with a name of a kubeconfig":      {says: "the name of a kubeconfig", change: named("prod-kubeconfig", "Opaque")},
		"of Cluster API, a kubeconfig":     {says: "of a kubeconfig", change: named("prod-kubeconfig", clusterv1.ClusterSecretType)},
		"of Cluster API, a CA":             {says: "has the type", change: named("prod-ca", clusterv1.ClusterSecretType)},
		"the token of a ServiceAccount":    {says: "has the type", change: named("t", corev1.SecretTypeServiceAccountToken)},
		"with credentials of a registry":   {says: "has the type", change: named("t", corev1.SecretTypeDockerConfigJson)},
		"with a certificate of a server":   {says: "has the type", change: named("t", corev1.SecretTypeTLS)},
		"with a state of Helm's":           {says: "has the type", change: named("t", "helm.sh/release.v1")},
		"with a bootstrap token of a node": {says: "has the type", change: named("t", "bootstrap.kubernetes.io/token")},
	} {
		t.Run(what, func(t *testing.T) {
			data := &corev1.Secret{Type: clusterv1.ClusterSecretType, Immutable: new(true), ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
				Annotations: map[string]string{bootstrapv1.RenderedGenerationAnnotation: "1"},
			}}
			of(group, ours.Kind, name, "1")(data)
			c.change(data)
			f := &facts{machine: &clusterv1.Machine{}}
			f.machine.Name, f.machine.Spec.ClusterName, f.machine.Spec.Bootstrap.ConfigRef = name, "c", c.ref
			if c.ref == ours {
				f.config = config
			}
			reason := infrav1.BootstrapDataRefusedReason
			if c.says == "" {
				reason = ""
			}
			wantStop(t, refuse(f, data), reason, c.says)
		})
	}
}

func ourConfig(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{
		APIGroup: bootstrapv1.GroupVersion.Group, Kind: "WindowsBootstrapConfig", Name: name,
	}
}

func named(name string, kind corev1.SecretType) func(*corev1.Secret) {
	return func(d *corev1.Secret) { d.Name, d.Type, d.OwnerReferences = name, kind, nil }
}

// A Machine that names another's config does not get its Secret, even if that one has lost its owner.
func TestRefuseOfAnothersConfig(t *testing.T) {
	f := &facts{machine: &clusterv1.Machine{}}
	f.machine.Spec.Bootstrap.ConfigRef = ourConfig("m")
	stop := phase.Of(refuse(f, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "m"}}))
	if stop.Reason != infrav1.BootstrapDataRefusedReason || stop.Stalled || stop.After == 0 {
		t.Errorf("stop is %+v; it is to be looked at again soon, as the config may be on its way", stop)
	}
}

// TestSecretOf names the Secret of a machine that has one.
func TestSecretOf(t *testing.T) {
	r := &Reconciler{Clouds: inClouds(fake.Provider{})}
	m := &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
	none := types.NamespacedName{}
	if got := r.secretOf(m); got != none {
		t.Errorf("of a cloud that is not known: %s", got)
	}
	m.Spec.IdentityRef, m.Spec.Azure = infrav1.IdentityReference{Kind: "Other", Name: "cloud"}, &infrav1.AzureVM{}
	if got := r.secretOf(m); got != none {
		t.Errorf("of another kind: %s", got)
	}
	m.Spec.IdentityRef.Kind = infrav1.IdentitySecret
	if got := r.secretOf(m); got != (types.NamespacedName{Namespace: "ns", Name: "cloud"}) {
		t.Errorf("of a Secret: %s", got)
	}
}

// TestProviders: each cloud has its own.
func TestProviders(t *testing.T) {
	world := &fake.World{}
	there, elsewhere := fake.Provider{World: world}, fake.Provider{}
	r := &Reconciler{Clouds: cloud.Registry{vsphere.Registration(there), azure.Registration(elsewhere)}}
	of := func(spec infrav1.WindowsMachineSpec) cloud.Provider {
		return r.Clouds.Find(&infrav1.WindowsMachine{Spec: spec}).Provider
	}
	if of(infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}}) != there ||
		of(infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{}}) != elsewhere || of(infrav1.WindowsMachineSpec{}) != nil {
		t.Error("a machine has another cloud's provider")
	}
}

// TestAccountName shows a server only if it looks like one.
func TestAccountName(t *testing.T) {
	for server, want := range map[string]string{
		"": "Secret s", "vcenter.example.com": "Secret s (vcenter.example.com)", " [::1]:443\n": "Secret s ([::1]:443)",
		"delete everything": "Secret s", strings.Repeat("x", 254): "Secret s",
	} {
		if got := accountName("s", []byte(server)); got != want {
			t.Errorf("%q: %s, want %s", server, got, want)
		}
	}
}

// TestOfCloud names the account where an answer is about it, and not where it is about the VM.
func TestOfCloud(t *testing.T) {
	f := &facts{account: "Secret s"}
	for reason, named := range map[string]bool{
		"CredentialsMissing": true, "CredentialsRejected": true, "CloudUnreachable": true, "TooManyAccounts": true,
		"CloudThrottled": true, "NameTaken": false, "TemplateNotFound": false,
	} {
		stop := phase.Of(f.ofCloud(cloud.Errorf(cloud.Denied, reason, "no")))
		if want := map[bool]string{true: "Secret s: no", false: "no"}[named]; stop.Message != want {
			t.Errorf("%s: %q, want %q", reason, stop.Message, want)
		}
	}
}
