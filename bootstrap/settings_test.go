package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// hidden is what the Secrets of these tests hold: it may stand in files for administrators and nowhere else.
const hidden = "correct-horse-battery"

// settingsGoldens are machines of whose Windows the user has said something.
var settingsGoldens = []goldenCase{
	{"files", "text, bytes, a Secret for administrators only", withFiles},
	{"scripts", "before and after the join, written before they run, erased in the end", withScripts},
	{"proxy", "machine, containerd, kubelet, and what stays near", all(withClusterNetwork, withProxy)},
	{"trusted-certificates", "one step for each of a file", withTrust},
	{"registries", "mirrors, CA and credentials, also of a mirror", withRegistries},
	{"images", "another pause image, and some before the join", withImages},
	{"drop-ins", "the user's own words to containerd", withDropIns},
	{"hyper-v", "a feature, and a handler for a RuntimeClass", withHyperV},
	{"time", "zone and servers", withTime},
	{"users", "by key only", withUsers},
	{"features-and-defender", "more of both", withFeatures},
	{"csi-proxy", "a service of a program that is there", withCSIProxy},
	{"azure-json", "no secret in it", all(onAzure, withCloudConfig)},
	{"azure-group", "a label by which the cloud controller manager finds the VM", inGroup("windows-nodes")},
	{"discovery", "a kubeconfig of the user's, with another endpoint and CA", withDiscovery},
	{"discovery-1.30", "the same to an older kubeadm", all(withDiscovery, ofVersion("v1.30.14"))},
	{"domain", "a member after a restart, and the password gone", withDomainJoin},
	{"gmsa-plugin", "a class that is there, made known to Windows", withGMSAPlugin},
	{"data-drive", "made before all else, with containerd's root and the page file", ofWindows(
		`dataDrive: {letter: D, format: IfEmpty}, pageFile: {policy: Fixed, sizeMiB: 8192}`)},
	{"data-drive-azure", "a drive that is there, a page file by Windows, the user's own words to containerd", all(
		onAzure, withCloudConfig, withDropIns, ofWindows(`dataDrive: {letter: E}, pageFile: {policy: Managed}`))},
	{"everything", "all at once on vSphere", everything},
	{"everything-azure", "all at once on Azure", all(onAzure, withCloudConfig, everything)},
	{"azure-reports", "a guest that has an object to report to", all(onAzure, withReports)},
	{"azure-reports-discovery", "a guest that reports where discovery leads it", all(onAzure, withDiscovery, withReports)},
}

var everything = all(
	withFiles, withScripts, withClusterNetwork, withProxy, withTrust, withRegistries, withImages, withDropIns, withHyperV, withTime,
	withUsers, withFeatures, withCSIProxy, withDomainJoin, withGMSAPlugin,
)

// source puts a text where the spec refers to.
func source(in *bootstrap.Input, name, text string) {
	if in.Sources == nil {
		in.Sources = map[string][]byte{}
	}
	in.Sources[name] = []byte(text)
}

func withFiles(in *bootstrap.Input) {
	spec(`custom: {files: [
		{path: 'C:\etc\app.conf', content: "pool=blue\r\n"},
		{path: 'C:\etc\app.key', contentFrom: {secret: {name: app, key: key}}},
		{path: 'C:\etc\logo.png', contentFrom: {configMap: {name: app, key: logo}}, access: Administrators}]}`)(in)
	source(in, "secret/app/key", hidden)
	source(in, "configmap/app/logo", "\x89PNG\x00\xff")
}

func withScripts(in *bootstrap.Input) {
	spec(`custom: {
		preJoin: [
			{name: agent, content: "Write-Output 'hello'"},
			{name: drivers, type: Cmd, contentFrom: {configMap: {name: app, key: drivers}}, timeoutSeconds: 900}],
		postJoin: [{name: agent, type: PowerShell, contentFrom: {secret: {name: app, key: register}}}]}`)(in)
	source(in, "configmap/app/drivers", "@echo off\r\nexit /b 0\r\n")
	source(in, "secret/app/register", "register.exe --key\n"+hidden)
}

func withClusterNetwork(in *bootstrap.Input) {
	in.Cluster.Spec.ClusterNetwork = clusterv1.ClusterNetwork{
		Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"10.244.0.0/16"}},
		Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
	}
}

func withProxy(in *bootstrap.Input) {
	ofWindows(`proxy: {
		http: 'http://proxy.example.com:3128', https: 'http://proxy.example.com:3128',
		noProxy: [.example.com, 10.0.0.0/8, localhost], credentialsRef: {name: proxy}}`)(in)
	source(in, "secret/proxy/username", "node")
	source(in, "secret/proxy/password", "proxy-password\n")
}

func withTrust(in *bootstrap.Input) {
	ofWindows(`trustedCertificates: [{name: company, contentFrom: {configMap: {name: cas, key: company}}}]`)(in)
	withCertificate("proxy", string(secondCA))(in)
	source(in, "configmap/cas/company", "a comment\n"+string(firstCA)+string(secondCA))
}

func withRegistries(in *bootstrap.Input) {
	containerd(`registries: [
		{host: docker.io, mirrors: [
			{url: 'https://harbor.example.com:8443/v2/docker-hub'}, {url: 'http://10.0.0.5:5000'}]},
		{host: 'harbor.example.com:8443', caFrom: {configMap: {name: cas, key: harbor}}, credentialsRef: {name: harbor}},
		{host: _default, mirrors: [{url: 'https://mirror.example.com'}]}]`)(in)
	source(in, "configmap/cas/harbor", string(firstCA))
	source(in, "secret/harbor/username", "node")
	source(in, "secret/harbor/password", hidden+"\n")
}

var withImages = containerd(`pauseImage: 'registry.example.com/pause:3.10.2', prepullImages: [
	'mcr.microsoft.com/windows/nanoserver:ltsc2022', 'localhost:5000/app@sha256:` + strings.Repeat("a", 64) + "']")

func withDropIns(in *bootstrap.Input) {
	containerd(`dropIns: [
		{name: pulls, content: "version = 3\n[plugins.'io.containerd.cri.v1.images']\nmax_concurrent_downloads = 8\n"},
		{name: plugin, contentFrom: {secret: {name: plugin, key: toml}}}]`)(in)
	source(in, "secret/plugin/toml", "version = 3\n# "+hidden+"\n")
}

var withHyperV = containerd(`hyperVIsolation: Enabled`)

var withTime = ofWindows(`timeZone: W. Europe Standard Time, ntpServers: [time.example.com, 10.0.0.2]`)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7x1x8M3N8pEb1oQx4y1e7VxWk2uJvH6cN4tYpQmZ0a ops@example.com"

var withUsers = all(withUser("ops", bootstrapv1.UserRoleAdministrator, publicKey), withUser("log_reader", "", publicKey))

var withFeatures = ofWindows(`features: [Containers], defenderExclusions: {folders: ['C:\data'], processes: [app.exe]}`)

var withCSIProxy = ofWindows(`csiProxy: {path: 'C:\k\csi-proxy.exe'}`)

func withDomainJoin(in *bootstrap.Input) {
	ofWindows(`domain: {name: corp.example.com, organizationalUnit: 'OU=Nodes,DC=corp,DC=example,DC=com',
		credentialsRef: {name: joiner}}`)(in)
	source(in, "secret/joiner/username", `CORP\joiner`)
	source(in, "secret/joiner/password", hidden)
}

var withGMSAPlugin = ofWindows(`gmsaPlugin: {classID: ccc2a336-d7f3-4818-a213-272b7924213e}`)

const tenant = "11111111-2222-3333-4444-555555555555"

const azureNetwork = "/subscriptions/s/resourceGroups/network/providers/Microsoft.Network/"

func withCloudConfig(in *bootstrap.Input) {
	in.WindowsMachine.Status.Azure = &infrav1.AzurePlacement{
		Cloud: infrav1.AzurePublicCloud, TenantID: tenant, SubscriptionID: tenant, ResourceGroup: "nodes", Location: "westeurope",
		SubnetIDs:       []string{azureNetwork + "virtualNetworks/vnet/subnets/nodes"},
		SecurityGroupID: azureNetwork + "networkSecurityGroups/nodes-nsg", RouteTableID: azureNetwork + "routeTables/nodes-routes",
		LoadBalancerName: "blue",
	}
	in.WindowsMachine.Spec.Azure.Identities = infrav1.AzureIdentities{
		Type:         infrav1.AzureIdentitiesUserAssigned,
		UserAssigned: []string{"/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"},
	}
	in.Config.Spec.Node.CloudConfigFile = bootstrapv1.CloudConfigFileManaged
}

// The programs that read azure.json find the VM by its kind, and log in with its identity.
func TestAzureJSON(t *testing.T) {
	const noIdentity, whichIdentity = "the VM has no identity", "the VM has 2 identities"
	azure := infrav1.AzureIdentities{Type: infrav1.AzureIdentitiesUserAssigned, UserAssigned: []string{"/subscriptions/one"}}
	none := infrav1.AzureIdentities{Type: infrav1.AzureIdentitiesNone}
	two := infrav1.AzureIdentities{Type: infrav1.AzureIdentitiesUserAssigned, UserAssigned: []string{"one", "two"}}
	for name, c := range map[string]struct {
		vm       infrav1.AzureVM
		flexible bool
		identity string
		warning  string
	}{
		"of the system":    {vm: infrav1.AzureVM{Identities: infrav1.AzureIdentities{Type: infrav1.AzureIdentitiesSystemAssigned}}},
		"in a scale set":   {vm: infrav1.AzureVM{Identities: azure, ScaleSetID: "set"}, flexible: true, identity: "/subscriptions/one"},
		"no identity":      {warning: noIdentity},
		"none":             {vm: infrav1.AzureVM{Identities: none}, warning: noIdentity},
		"several":          {vm: infrav1.AzureVM{Identities: two}, warning: whichIdentity},
		"one of the users": {vm: infrav1.AzureVM{Identities: azure}, identity: "/subscriptions/one"},
	} {
		in := plainInput(t, all(onAzure, withCloudConfig))
		in.WindowsMachine.Spec.Azure = &c.vm
		userData := render(t, in)
		encoded := string(expect.Got(userData.Plan().Encode())(t))
		if got := strings.Contains(encoded, `\"enableVmssFlexNodes\": true`); got != c.flexible || !strings.Contains(encoded, "vmss") {
			t.Errorf("%s: flexible %t in\n%s", name, got, encoded)
		}
		if got := strings.Contains(encoded, `\"userAssignedIdentityID\": \"`+c.identity+`\"`); got != (c.identity != "") ||
			strings.Contains(encoded, "userAssignedIdentityID") != got {
			t.Errorf("%s: want the identity %q in\n%s", name, c.identity, encoded)
		}
		warnings := strings.Join(userData.Warnings(), "; ")
		if c.warning == "" && strings.Contains(warnings, "identit") || !strings.Contains(warnings, c.warning) {
			t.Errorf("%s: warnings %q, want %q", name, warnings, c.warning)
		}
	}
}

// Whatever a spec refers to must be known before it is rendered.
func TestSourcesAreComplete(t *testing.T) {
	for _, golden := range settingsGoldens {
		in := plainInput(t, golden.change)
		listed := map[string]bool{}
		for _, source := range bootstrap.Sources(in.Config.Spec) {
			listed[source.String()] = true
		}
		for name := range in.Sources {
			if !listed[name] {
				t.Errorf("%s: %s is not listed", golden.name, name)
			}
			delete(listed, name)
		}
		if len(listed) > 0 {
			t.Errorf("%s: listed and not used: %v", golden.name, listed)
		}
	}
}

// What comes from a Secret is hidden, or stands where only administrators look; nothing of it outlives the bootstrap in
// the plan.
func TestSecretsOfSettings(t *testing.T) {
	for _, golden := range settingsGoldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		everyBoot := &plan.Plan{Phases: p.EveryBoot}
		data, err := everyBoot.Encode()
		if err != nil || strings.Contains(string(data), hidden) {
			t.Errorf("%s: everyBoot tells a secret (%v)", golden.name, err)
		}
		for phase, step := range every[plan.Step](p) {
			one := plan.Plan{Phases: []plan.Phase{{Name: "a", Steps: []plan.Step{step}}}}
			data := expect.Got(one.Encode())(t)
			file, isFile := step.(*plan.File)
			if strings.Contains(string(data), hidden) && (!isFile || file.Access != plan.FileAdmin) {
				t.Errorf("%s: %s/%s shows a secret", golden.name, phase, step.Base().Name)
			}
		}
	}
}

// A word of the plan is no secret: reports would hide it everywhere, and it stands in what stays on the node.
func TestSecretIsAWordOfThePlan(t *testing.T) {
	networked := inNetwork("Overlay", "Flannel")
	for _, test := range []struct {
		password string
		change   change
		refused  bool
	}{
		{"kubernetes", networked, true},
		{"containerd", networked, true},
		{"kubernetes, and more", networked, false},
		{"kubernetes", all(), false},
		{"default route", all(), true},
	} {
		in := plainInput(t, test.change, containerd(`registries: [{host: harbor.example.com, credentialsRef: {name: harbor}}]`))
		source(&in, "secret/harbor/username", "node")
		source(&in, "secret/harbor/password", test.password)
		_, err := bootstrap.Render(in)
		invalid, _ := errors.AsType[*bootstrap.InvalidError](err)
		refused := invalid != nil && strings.Contains(err.Error(), "use another value, such as a longer password")
		if refused != test.refused || !refused && err != nil {
			t.Errorf("%q: %v, want refused %t", test.password, err, test.refused)
		}
	}
}

// User and password reach a proxy in its URL, whatever characters they have, and no report tells the password.
func TestProxyLogin(t *testing.T) {
	for _, c := range []struct{ user, password, url, hidden string }{
		{"node", "proxy-password", "node:proxy-password@", "proxy-password"},
		{`CORP\node`, "p@ss/word:1", "CORP%5Cnode:p%40ss%2Fword%3A1@", "p%40ss%2Fword%3A1 p@ss/word:1"},
		{"user", "short", "user:short@", "user:short"},
		{"u", "short", "u:short@", "u:short@"},
		{"u", "b", "u:b@", "http://u:b@ https://u:b@"},
	} {
		in := plainInput(t, ofWindows(`proxy: {https: 'http://proxy:3128', credentialsRef: {name: a}}`))
		source(&in, "secret/a/username", c.user)
		source(&in, "secret/a/password", c.password)
		p := render(t, in).Plan()
		expect.Same(t, c.user, proxyOf("HTTPS_PROXY", "http://"+c.url+"proxy:3128"), proxyIn(t, p, "HTTPS_PROXY"))
		if got := strings.Join(p.Redact[2:], " "); got != c.hidden {
			t.Errorf("%s: %q is hidden, want %q", c.user, got, c.hidden)
		}
	}
}

func TestNoProxy(t *testing.T) {
	p := render(t, plainInput(t, withClusterNetwork, withProxy)).Plan()
	want := "localhost,127.0.0.1,::1,169.254.169.254,168.63.129.16,.svc,.cluster.local," +
		"blue-win-x7k2p,10.0.0.10,10.244.0.0/16,10.96.0.0/12,.example.com,10.0.0.0/8"
	expect.Same(t, "NO_PROXY", proxyOf("NO_PROXY", want), proxyIn(t, p, "NO_PROXY"))
}

// proxyOf is a variable of the machine, of containerd and of the kubelet.
func proxyOf(name, value string) []string {
	return []string{value, name + "=" + value, name + "=" + value}
}

// proxyIn finds it in a plan.
func proxyIn(t *testing.T, p *plan.Plan, name string) []string {
	t.Helper()
	found := []string{stepOf[*plan.Registry](t, p, "proxy-"+strings.ReplaceAll(name, "_", "-")).Value.String()}
	for _, service := range []string{"containerd", "kubelet"} {
		for _, value := range stepOf[*plan.Registry](t, p, service+"-proxy").Values {
			if strings.HasPrefix(value.String(), name+"=") {
				found = append(found, value.String())
			}
		}
	}
	return found
}
