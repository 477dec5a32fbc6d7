package conflicts

import (
	"slices"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// subject is a pool of a Cluster with this infrastructure, beside these objects.
func subject(t *testing.T, infrastructure, files string) Subject {
	t.Helper()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing}\n---\n" + files
	s := Subject{
		Files:   expect.Got(objects.Read([]string{"-"}, "default", strings.NewReader(text)))(t),
		Cluster: &clusterv1.Cluster{}, Owner: &clusterv1.Machine{}, Windows: &infrav1.WindowsMachine{},
	}
	s.Cluster.Namespace, s.Cluster.Name, s.Owner.Namespace, s.Owner.Spec.Version = "default", "prod", "default", "v1.36.3"
	s.Cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: infrastructure, Name: "prod",
	}
	s.Cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: kubeadmGroup, Kind: "KubeadmControlPlane", Name: "prod",
	}
	return s
}

func azurePool(t *testing.T, files string, change func(*infrav1.AzureVM)) Subject {
	t.Helper()
	s := subject(t, "AzureCluster", files)
	s.Windows.Spec.Azure = &infrav1.AzureVM{VMSize: "Standard_D4s_v5"}
	change(s.Windows.Spec.Azure)
	return s
}

func vSpherePool(t *testing.T, files string, change func(*infrav1.VSphereVM)) Subject {
	t.Helper()
	s := subject(t, "VSphereCluster", files)
	s.Windows.Spec.VSphere = &infrav1.VSphereVM{Datacenter: "dc0"}
	s.Windows.Spec.IdentityRef = infrav1.IdentityReference{Kind: infrav1.IdentitySecret, Name: "vcenter"}
	change(s.Windows.Spec.VSphere)
	return s
}

// wants one note with these words, or none if there are no words.
func wants(t *testing.T, name string, notes []string, words ...string) {
	t.Helper()
	switch {
	case len(words) == 0 && len(notes) > 0, len(words) > 0 && len(notes) != 1:
		t.Errorf("%s: want a note with %q, got %q", name, words, notes)
		return
	}
	for _, word := range words {
		if !strings.Contains(notes[0], word) {
			t.Errorf("%s: want %q in the note: %s", name, word, notes[0])
		}
	}
}

// A size is judged by the letters of Azure's naming conventions alone.
func TestSizesByName(t *testing.T) {
	arm, premium, only, never := "Arm processors", "premium disks", "confidential VMs only", "is not for confidential VMs"
	for name, want := range map[string][]string{
		"Standard_D4s_v5": nil, "Standard_D4ps_v5": {arm}, "Standard_E2pds_v5": {arm}, "Standard_B2pls_v2": {arm},
		"standard_d4plds_v6": {arm}, "Standard_D4_v5": {premium}, "Standard_A2_v2": {premium}, "Standard_DS2_v2": nil,
		"Standard_GS3": nil, "Standard_E4-2s_v5": nil, "Standard_NP10s": nil, "Standard_NC4as_T4_v3": nil, "Standard_M128ms": nil,
		"Standard_HB120-16rs_v3": nil, "Standard_DC4as_v5": {only}, "Standard_EC8ads_v5": {only}, "Standard_DC4es_v6": {only},
		"Standard_DC4s_v3": nil, "Standard_DC2ds_v3": nil, "Standard_NCC40ads_H100_v5": {only}, "Standard_B2ms": nil,
		"Standard_B1ms": {"one processor"},
		"D4s_v5":        {"did you mean Standard_D4s_v5"}, "Standard_Large": {"does not have the form"}, "": nil,
	} {
		s := azurePool(t, "", func(vm *infrav1.AzureVM) { vm.VMSize, vm.OSDisk.Type = name, "Premium_LRS" })
		wants(t, name, s.sizes(), want...)
	}
	confidential := func(name string) Subject {
		return azurePool(t, "", func(vm *infrav1.AzureVM) {
			vm.VMSize, vm.SecurityProfile.SecurityType = name, infrav1.AzureConfidentialVM
		})
	}
	wants(t, "an ordinary size", confidential("Standard_D4s_v5").sizes(), never)
	wants(t, "a size of its own", confidential("Standard_DC4as_v5").sizes())
	fallback := azurePool(t, "", func(vm *infrav1.AzureVM) { vm.FallbackVMSizes = []string{"Standard_D4pds_v5"} })
	wants(t, "the second size", fallback.sizes(), "Standard_D4pds_v5", arm)
}

func TestVersionsInNames(t *testing.T) {
	for text, want := range map[string]uint64{
		"windows-2022-kube-v1.36.3": 36, "windows-2022-efi-kube-1.34.1": 34, "ws2022-1-35-0": 35, "1.35.0": 35, "136.3.20261001": 36,
		"win_v1_33_4": 33, "kube-1.36": 36, "windows-2022": 0, "1.0.0": 0, "2024.5.1": 0, "windows-2022-10.1.36": 0, "v11.36.1": 0,
		"ws2022-1.360.1": 0,
	} {
		got, found := minorOf(text)
		if got != want || found != (want != 0) {
			t.Errorf("%s: want 1.%d, got 1.%d", text, want, got)
		}
	}
}

// The version that Azure selects by counts before the name of the image.
func TestVersionOfImage(t *testing.T) {
	gallery := func(name, number string) []string {
		return azurePool(t, "", func(vm *infrav1.AzureVM) {
			vm.Image.ComputeGallery = infrav1.AzureGalleryImage{Gallery: "g", Name: name, Version: number}
		}).version()
	}
	wants(t, "the same", gallery("ws2022", "1.36.9"))
	wants(t, "another", gallery("ws2022", "1.35.0"), "computeGallery.version", "1.35", "ImageVersionMismatch")
	wants(t, "another in the name", gallery("ws2022-1.34", "2024.1.1"), "computeGallery.name", "1.34")
	wants(t, "the number counts", gallery("ws2022-1.34", "1.36.3"))
	wants(t, "a number of one's own", gallery("ws2022", "2024.1.1"))
	wants(t, "latest", gallery("ws2022", "latest"), "version is latest", "newest version")
	wants(t, "none", gallery("ws2022", ""), "version is not set", "newest version")
	template := func(name string) []string {
		return vSpherePool(t, "", func(vm *infrav1.VSphereVM) { vm.Image.Template = name }).version()
	}
	wants(t, "a template", template("/dc0/vm/kube-1.30/windows-2022"))
	wants(t, "an old template", template("/dc0/vm/windows-2022-kube-v1.34.1"), `"windows-2022-kube-v1.34.1"`, "1.34")
}

func TestSystemsByName(t *testing.T) {
	template := func(name string) Subject {
		return vSpherePool(t, "", func(vm *infrav1.VSphereVM) { vm.Image.Template = name })
	}
	for _, name := range []string{"ubuntu-2204-kube-v1.36.3", "flatcar", "photon-5", "rockylinux-9"} {
		wants(t, name, template(name).system(), "image of Linux")
	}
	for _, name := range []string{"windows-2022", "ws2022-from-ubuntu-builder", "golden"} {
		wants(t, name, template(name).system())
	}
	wants(t, "2019", template("windows-2019-kube-v1.36.3").release(), "Windows Server 2019", "2022 or 2025")
	wants(t, "2016", template("win2016-std").release(), "WindowsNotSupported")
	wants(t, "clients", template("windows-11-kube").release(), "for clients")
	wants(t, "a date", template("windows-2022-20160101").release())
	plain := azurePool(t, "", func(vm *infrav1.AzureVM) {
		vm.Image.Marketplace = infrav1.AzureMarketplaceImage{
			Publisher: "MicrosoftWindowsServer", Offer: "WindowsServer", SKU: "2022-datacenter",
		}
	})
	wants(t, "Microsoft's own", plain.system(), "neither cloudbase-init")
}

const anAzureCluster = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureCluster
metadata: {name: prod}
spec:
  location: westeurope
  subscriptionID: 11111111-2222-3333-4444-555555555555
  resourceGroup: prod
  networkSpec: {vnet: {name: net}, subnets: [{name: control, role: control-plane}, {name: nodes, role: node}]}
`

func TestPlaceInAzure(t *testing.T) {
	const network = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/prod/providers/Microsoft.Network/" +
		"virtualNetworks/net/subnets/"
	in := func(subnet infrav1.AzureSubnet, location string) Subject {
		return azurePool(t, anAzureCluster, func(vm *infrav1.AzureVM) {
			vm.Location, vm.NetworkInterfaces = location, []infrav1.AzureNetworkInterface{{Name: "node", Subnet: subnet}}
		})
	}
	good := in(infrav1.AzureSubnet{Name: "nodes"}, "westeurope")
	wants(t, "the cluster's", slices.Concat(good.location(), good.subnets()))
	wants(t, "another region", in(infrav1.AzureSubnet{}, "northeurope").location(), "northeurope", "westeurope", "Remove location")
	wants(t, "the control plane's", in(infrav1.AzureSubnet{Name: "control"}, "").subnets(), "role control-plane", "write nodes")
	wants(t, "the control plane's by ID", in(infrav1.AzureSubnet{ID: network + "control"}, "").subnets(), "subnet.id", "write nodes")
	wants(t, "that of nodes by ID", in(infrav1.AzureSubnet{ID: strings.ToUpper(network) + "nodes"}, "").subnets())
	wants(t, "another network", in(infrav1.AzureSubnet{ID: strings.Replace(network, "/net/", "/nett/", 1) + "nodes"}, "").subnets(),
		"nett", "peered")
	wants(t, "another group", in(infrav1.AzureSubnet{ID: strings.Replace(network, "/prod/", "/hub/", 1) + "nodes"}, "").subnets(),
		"resource group hub", "resource group prod")
}

func TestClusters(t *testing.T) {
	vsphere := vSpherePool(t, "", func(*infrav1.VSphereVM) {})
	wants(t, "its own cloud", vsphere.otherCloud())
	vsphere.Cluster.Spec.InfrastructureRef.Kind = "AzureCluster"
	wants(t, "another cloud", vsphere.otherCloud(), "on Azure", "write spec.azure")
	vsphere.Cluster.Spec.InfrastructureRef.Kind = "ExternalCluster"
	wants(t, "nobody's cloud", vsphere.otherCloud())
	wants(t, "kubeadm's", vsphere.controlPlane())
	for kind, program := range map[string]string{
		"RKE2ControlPlane": "RKE2", "TalosControlPlane": "Talos", "K0sControlPlane": "k0s",
	} {
		vsphere.Cluster.Spec.ControlPlaneRef.Kind = kind
		wants(t, kind, vsphere.controlPlane(), kind+" prod", program, "ControlPlaneNotKubeadm")
	}
	vsphere.Cluster.Spec.ControlPlaneRef.Kind = "KamajiControlPlane"
	wants(t, "kubeadm's in a pod", vsphere.controlPlane())
}

// What the spec lacks is told after the reason for which nothing else says it.
func TestExplain(t *testing.T) {
	lacks := cloud.Missing("spec.azure.subscriptionID")
	s := azurePool(t, "", func(*infrav1.AzureVM) {})
	expect.Same(t, "its own cloud", lacks.Error(), s.Explain(lacks).Error())
	s.Cluster.Spec.InfrastructureRef.Kind = "VSphereCluster"
	wants(t, "another cloud", []string{s.Explain(lacks).Error()}, "on vSphere", "subscriptionID is not set")
	s.Cluster.Spec.ControlPlaneRef.Kind = "AzureManagedControlPlane"
	wants(t, "AKS", []string{s.Explain(lacks).Error()}, "is an AKS cluster", "AzureManagedMachinePool")
	if strings.Contains(s.Explain(lacks).Error(), "subscriptionID") {
		t.Error("who sets a subscription gets VMs that cannot join AKS")
	}
	waits := cloud.Errorf(cloud.Transient, infrav1.WaitingForClusterInfrastructureReason, "wait")
	expect.Same(t, "something else", "wait", s.Explain(waits).Error())
}

const thumbprint = "ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB"

func TestLogins(t *testing.T) {
	secret := func(name, content string) []string {
		return vSpherePool(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: "+
			""+name+"}\n"+content+"\n", func(*infrav1.VSphereVM) {}).secret()
	}
	good := "stringData: {server: vc.example.com, username: a@vsphere.local, password: b, thumbprint: " + thumbprint + "}"
	wants(t, "good", secret("vcenter", good))
	wants(t, "an end of line", secret("vcenter", strings.Replace(good, "password: b", `password: "b\n"`, 1)))
	wants(t, "another key", secret("vcenter", strings.Replace(good, "username", "user", 1)), `no key "username"`, "it has user")
	wants(t, "SHA-1", secret("vcenter", strings.Replace(good, thumbprint, thumbprint[:40], 1)), "SHA-256")
	wants(t, "a URL", secret("vcenter", strings.Replace(good, "vc.example.com", "https://vc.example.com/sdk", 1)), "without "+
		"https://")
	wants(t, "no domain", secret("vcenter", strings.Replace(good, "@vsphere.local", "", 1)), "no domain")
	wants(t, "base64", secret("vcenter", strings.Replace(good, "vc.example.com", "dmMuZXhhbXBsZS5jb20=", 1)), "base64 once more")
	wants(t, "a name like it", secret("vcentre", good), "did you mean vcentre")
	wants(t, "a name unlike it", secret("login-of-team-a", good), "did you mean login-of-team-a")
	wants(t, "another Secret", secret("pull", "stringData: {a: b}"))
	wants(t, "another namespace", secret("vcenter, namespace: team-a", good), "in the namespace team-a")
	for _, one := range secret("vcenter", strings.Replace(good, "username", "s3cret-word-9", 1)) {
		if strings.Contains(one, "s3cret") {
			t.Errorf("a key that may be a password is shown: %s", one)
		}
	}
}

func TestServers(t *testing.T) {
	files := "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: VSphereCluster\nmetadata: {name: prod}\n" +
		"spec: {server: 'https://vc1.example.com'}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: vcenter}\nstringData: {server: "
	wants(t, "the same", vSpherePool(t, files+"'VC1.example.com:443'}\n", func(*infrav1.VSphereVM) {}).server())
	wants(t, "another", vSpherePool(t, files+"vc2.example.com}\n", func(*infrav1.VSphereVM) {}).server(), "vc2", "vc1")
}

func TestPoolsOfAddresses(t *testing.T) {
	pool := func(ref infrav1.IPPoolReference, spec string) []string {
		files := "apiVersion: ipam.cluster.x-k8s.io/v1alpha2\nkind: InClusterIPPool\nmetadata: {name: nodes}\nspec: " + spec + "\n"
		return vSpherePool(t, files, func(vm *infrav1.VSphereVM) {
			vm.NetworkInterfaces = []infrav1.VSphereNetworkInterface{{Name: "node", AddressesFromPools: []infrav1.IPPoolReference{ref}}}
		}).pools()
	}
	ref := infrav1.IPPoolReference{APIGroup: ipam, Kind: "InClusterIPPool", Name: "nodes"}
	wants(t, "good", pool(ref, "{addresses: [10.0.0.10-10.0.0.20], prefix: 24, gateway: 10.0.0.1}"))
	wants(t, "no gateway", pool(ref, "{addresses: [10.0.0.10-10.0.0.20], prefix: 24}"))
	wants(t, "a link-local gateway", pool(ref, "{addresses: ['fd00::/64'], prefix: 64, gateway: 'fe80::1'}"))
	wants(t, "outside", pool(ref, "{addresses: [10.0.0.10-10.0.0.20], prefix: 24, gateway: 10.0.1.1}"), "10.0.1.1", "10.0.0.0/24")
	ref.Name = "node"
	wants(t, "another name", pool(ref, "{}"), "did you mean nodes")
	ref.APIGroup = "cluster.x-k8s.io"
	wants(t, "another group", pool(ref, "{}"), ipam)
}

func TestReferences(t *testing.T) {
	s := azurePool(t, anAzureCluster, func(*infrav1.AzureVM) {})
	wants(t, "good", s.references())
	ref := &s.Cluster.Spec.InfrastructureRef
	ref.Name = "prodd"
	wants(t, "a name like it", s.references(), "AzureCluster prodd", "did you mean prod")
	ref.Name, ref.Kind = "elsewhere", "AzureCluster"
	wants(t, "in another repository", s.references())
	ref.APIGroup = "cluster.x-k8s.io"
	wants(t, "another group", s.references(), "spec.infrastructureRef.apiGroup", infrastructureGroup)
	wants(t, "cause", []string{s.Explain(cloud.Missing("spec.azure.location")).Error()}, infrastructureGroup)
	ref.APIGroup, ref.Kind = infrastructureGroup, "AzureClusterTemplate"
	wants(t, "a template", s.references(), "is a template", "write the kind AzureCluster")
	ref.Kind = "AzureCluster"
	s.Cluster.Spec.ControlPlaneRef.APIGroup = "bootstrap.cluster.x-k8s.io"
	wants(t, "another group of the control plane", s.references(), "spec.controlPlaneRef.apiGroup", kubeadmGroup)
}

func TestPlacesByForm(t *testing.T) {
	in := func(change func(*infrav1.VSphereVM)) []string { return vSpherePool(t, "", change).place() }
	for name, want := range map[string][]string{
		"windows": nil, "/dc0/vm/windows": nil, "vm/team-a/windows": nil, "/europe/dc0/vm/windows": nil, "*/windows": nil,
		`dc0\vm\windows`: {"backslashes"}, "[ssd1] windows/a.vmx": {"path of files"}, "windows.ova": {"name of a file"},
		"/dc1/vm/windows": {"in the datacenter dc1", `"dc0"`}, "/windows": nil,
	} {
		wants(t, name, in(func(vm *infrav1.VSphereVM) { vm.Folder = name }), want...)
	}
	wants(t, "a template of another datacenter", in(func(vm *infrav1.VSphereVM) { vm.Image.Template = "/dc1/vm/windows" }))
}

func TestDiskOfTheSystem(t *testing.T) {
	of := func(size int32) []string {
		return azurePool(t, "", func(vm *infrav1.AzureVM) { vm.OSDisk.SizeGiB = size }).disk()
	}
	wants(t, "none", of(0))
	wants(t, "good", of(128))
	wants(t, "small", of(64), "is 64", "DiskSmallerThanImage")
}
