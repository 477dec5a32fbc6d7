package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// settingsRefused are mistakes of users.
var settingsRefused = []struct {
	name, field, want string
	change            func(*bootstrap.Input)
}{
	{"file without content", "spec.custom.files[0]", "set exactly one of content", withFile(bootstrapv1.CustomFile{Path: `C:\a`})},
	{
		"file with two contents", "spec.custom.files[0]", "set exactly one of content",
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a", ContentFrom: fromSecret("a", "b")}),
	},
	{
		"content that is not there", "spec.custom.files[0]", `Secret a has no content under the key "b"`,
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, ContentFrom: fromSecret("a", "b")}),
	},
	{
		"relative path", "spec.custom.files[0]", `"etc\\a" is not a plain path`,
		withFile(bootstrapv1.CustomFile{Path: `etc\a`, Content: "a"}),
	},
	{
		"other drive", "spec.custom.files[0]", "is not a plain path on drive C:",
		withFile(bootstrapv1.CustomFile{Path: `D:\a`, Content: "a"}),
	},
	{"slashes", "spec.custom.files[0]", "is not a plain path", withFile(bootstrapv1.CustomFile{Path: `C:/a`, Content: "a"})},
	{
		"way up", "spec.custom.files[0]", "is not a plain path",
		withFile(bootstrapv1.CustomFile{Path: `C:\a\..\run\kubeadm\a`, Content: "a"}),
	},
	{"stream", "spec.custom.files[0]", "is not a plain path", withFile(bootstrapv1.CustomFile{Path: `C:\a:b`, Content: "a"})},
	{"wildcard", "spec.custom.files[0]", "is not a plain path", withFile(bootstrapv1.CustomFile{Path: `C:\a*`, Content: "a"})},
	{
		"our folder", "spec.custom.files[0]", `is in C:\run\kubeadm`,
		withFile(bootstrapv1.CustomFile{Path: `c:\RUN\kubeadm\join-config.yaml`, Content: "a"}),
	},
	{
		"our sentinel", "spec.custom.files[0]", `is in C:\run\cluster-api`,
		withFile(bootstrapv1.CustomFile{Path: `C:\run\cluster-api\bootstrap-success.complete`, Content: "a"}),
	},
	{
		"file twice", "spec.custom.files[1]", "is used twice",
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a"}, bootstrapv1.CustomFile{Path: `c:\A`, Content: "a"}),
	},
	{
		"Secret for all", "spec.custom.files[0]", "access Inherited would let every user read a Secret",
		func(in *bootstrap.Input) {
			withFile(bootstrapv1.CustomFile{Path: `C:\a`, ContentFrom: fromSecret("a", "b"), Access: "Inherited"})(in)
			source(in, "secret/a/b", hidden)
		},
	},
	{
		"odd access", "spec.custom.files[0]", `access "All" is not valid`,
		withFile(bootstrapv1.CustomFile{Path: `C:\a`, Content: "a", Access: "All"}),
	},
	{"script without a name", "spec.custom.preJoin[0]", `name "" is not valid`, withPreJoin(bootstrapv1.CustomScript{Content: "a"})},
	{
		"script of odd type", "spec.custom.preJoin[0]", `type "Perl" is not valid`,
		withPreJoin(bootstrapv1.CustomScript{Name: "a", Type: "Perl", Content: "a"}),
	},
	{
		"script twice", "spec.custom.preJoin[1]", `name "a" is used twice`,
		withPreJoin(bootstrapv1.CustomScript{Name: "a", Content: "a"}, bootstrapv1.CustomScript{Name: "a", Content: "b"}),
	},
	{
		"proxy without host", "spec.windows.proxy.http", "is not the URL of a proxy; use scheme, host and port only",
		badProxy("http://:3128"),
	},
	{"proxy with path", "spec.windows.proxy.http", "is not the URL of a proxy", badProxy("http://user:" + hidden + "@proxy/path")},
	{"proxy of other scheme", "spec.windows.proxy.http", "is not the URL of a proxy", badProxy("socks5://proxy:1080")},
	{"no URL", "spec.windows.proxy.http", "is not a URL", badProxy("http://user:" + hidden + "%zz@proxy")},
	{
		"exceptions without a proxy", "spec.windows.proxy", "noProxy has no effect without a proxy",
		ofWindows(func(w *bootstrapv1.Windows) { w.Proxy.NoProxy = []string{"a"} }),
	},
	{"odd exception", "spec.windows.proxy.noProxy", `"a,b" is not a host`, ofWindows(func(w *bootstrapv1.Windows) {
		w.Proxy = bootstrapv1.Proxy{HTTP: "http://p:1", NoProxy: []string{"a,b"}}
	})},
	{"no certificate", "spec.windows.trustedCertificates[0]", "there is no certificate", badTrust("a", "hello")},
	{
		"key as certificate", "spec.windows.trustedCertificates[0]", "a PRIVATE KEY does not belong here",
		badTrust("a", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
	},
	{
		"broken certificate", "spec.windows.trustedCertificates[0]", "cannot be read",
		badTrust("a", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
	},
	{"certificate without a name", "spec.windows.trustedCertificates[0]", `name "" is not valid`, badTrust("", string(firstCA))},
	{
		"zone of the IANA", "spec.windows.timeZone", `"Europe/Berlin" is not a time zone of Windows`,
		ofWindows(func(w *bootstrapv1.Windows) { w.TimeZone = "Europe/Berlin" }),
	},
	{
		"odd time server", "spec.windows.ntpServers", `"a b" is neither`,
		ofWindows(func(w *bootstrapv1.Windows) { w.NTPServers = []string{"a b"} }),
	},
	{
		"odd feature", "spec.windows.features", `"a b" is not a feature`,
		ofWindows(func(w *bootstrapv1.Windows) { w.Features = []string{"a b"} }),
	},
	{"odd user", "spec.windows.users[0]", `name "a b" is not one that Windows accepts`, badUser("a b", "", publicKey)},
	{"user of Windows", "spec.windows.users[0]", `name "Administrator" belongs to Windows`, badUser("Administrator", "", publicKey)},
	{"user twice", "spec.windows.users[1]", `name "A" is used twice`, ofWindows(func(w *bootstrapv1.Windows) {
		w.Users = []bootstrapv1.LocalUser{{Name: "a", SSHKeys: []string{publicKey}}, {Name: "A", SSHKeys: []string{publicKey}}}
	})},
	{"odd role", "spec.windows.users[0]", `role "King" is not valid`, badUser("a", "King", publicKey)},
	{"user without a key", "spec.windows.users[0]", "sshKeys is empty", badUser("a", "")},
	{"private key", "spec.windows.users[0]", "sshKeys[0] is not a public key", badUser("a", "", "-----BEGIN "+hidden)},
	{"cut key", "spec.windows.users[0]", "sshKeys[1] is cut off or damaged", badUser("a", "", publicKey, "ssh-rsa AAAA")},
	{
		"odd exclusion", "spec.windows.defenderExclusions.folders", `"D:\\a" is not a plain path`,
		ofWindows(func(w *bootstrapv1.Windows) { w.DefenderExclusions.Folders = []string{`D:\a`} }),
	},
	{"path as process", "spec.windows.defenderExclusions.processes", "is not the name", ofWindows(func(w *bootstrapv1.Windows) {
		w.DefenderExclusions.Processes = []string{`C:\a.exe`}
	})},
	{
		"odd csi-proxy", "spec.windows.csiProxy.path", "is not a program on drive C:",
		ofWindows(func(w *bootstrapv1.Windows) { w.CSIProxy.Path = `C:\k\csi-proxy` }),
	},
	{
		"domain without dots", "spec.windows.domain.name", `"CORP" is not the DNS name of a domain`,
		badDomain(bootstrapv1.Domain{Name: "CORP"}),
	},
	{
		"odd unit", "spec.windows.domain.organizationalUnit", `"Nodes" is not valid`,
		badDomain(bootstrapv1.Domain{Name: "a.b", OrganizationalUnit: "Nodes"}),
	},
	{"domain without a Secret", "spec.windows.domain.credentialsRef", "must be set", badDomain(bootstrapv1.Domain{Name: "a.b"})},
	{
		"Secret that is not there", "spec.windows.domain.credentialsRef", `Secret a has no content under the key "username"`,
		badDomain(bootstrapv1.Domain{Name: "a.b", CredentialsRef: bootstrapv1.SecretReference{Name: "a"}}),
	},
	{
		"braces", "spec.windows.gmsaPlugin.classID", `"{" is not a class ID`,
		ofWindows(func(w *bootstrapv1.Windows) { w.GMSAPlugin.ClassID = "{" }),
	},
	{"azure.json on vSphere", "spec.windows.azureCloudConfig", "the machine is not on Azure", withAzureConfig},
	{
		"German cloud", "spec.windows.azureCloudConfig.cloud", `"AzureGermanCloud" is not valid`,
		badAzure(func(c *bootstrapv1.AzureCloudConfig) { c.Cloud = "AzureGermanCloud" }),
	},
	{
		"odd tenant", "spec.windows.azureCloudConfig.tenantID", `"x" is not an ID`,
		badAzure(func(c *bootstrapv1.AzureCloudConfig) { c.TenantID = "x" }),
	},
	{
		"odd identity", "spec.windows.azureCloudConfig.userAssignedIdentityID", `"x" is not an ID`,
		badAzure(func(c *bootstrapv1.AzureCloudConfig) { c.UserAssignedIdentityID = "x" }),
	},
	{
		"odd group", "spec.windows.azureCloudConfig.securityGroupName", `"/x" is not a name`,
		badAzure(func(c *bootstrapv1.AzureCloudConfig) { c.SecurityGroupName = "/x" }),
	},
	{
		"odd routes", "spec.windows.azureCloudConfig.routeTableName", `"/x" is not a name`,
		badAzure(func(c *bootstrapv1.AzureCloudConfig) { c.RouteTableName = "/x" }),
	},
	{
		"pause without registry", "spec.containerd.pauseImage", `"pause:3.10" is not the full name`,
		containerd(func(c *bootstrapv1.Containerd) { c.PauseImage = "pause:3.10" }),
	},
	{
		"image of Docker's kind", "spec.containerd.prepullImages[0]", `"nginx" is not the full name`,
		containerd(func(c *bootstrapv1.Containerd) { c.PrepullImages = []string{"nginx"} }),
	},
	{
		"odd isolation", "spec.containerd.hyperVIsolation", `"Yes" is not valid`,
		containerd(func(c *bootstrapv1.Containerd) { c.HyperVIsolation = "Yes" }),
	},
	{
		"drop-in without a name", "spec.containerd.dropIns[0]", `name "" is not valid`,
		containerd(func(c *bootstrapv1.Containerd) { c.DropIns = []bootstrapv1.ContainerdDropIn{{Content: "a"}} }),
	},
	{
		"odd registry", "spec.containerd.registries[0]", `host "https://a" is not valid`,
		badRegistry(bootstrapv1.Registry{Host: "https://a", CredentialsRef: bootstrapv1.SecretReference{Name: "a"}}),
	},
	{
		"registry of nothing", "spec.containerd.registries[0]", "registry a.example.com has no mirrors",
		badRegistry(bootstrapv1.Registry{Host: "a.example.com"}),
	},
	{"registry twice", "spec.containerd.registries[1]", "is listed twice", badRegistry(goodMirror, goodMirror)},
	{
		"credentials for all", "spec.containerd.registries[0]", "would go to every registry",
		badRegistry(bootstrapv1.Registry{Host: "_default", CredentialsRef: bootstrapv1.SecretReference{Name: "a"}}),
	},
	{
		"no password", "spec.containerd.registries[0].credentialsRef", `Secret a has no content under the key "username"`,
		badRegistry(bootstrapv1.Registry{Host: "a.example.com", CredentialsRef: bootstrapv1.SecretReference{Name: "a"}}),
	},
	{
		"odd mirror", "spec.containerd.registries[0]", `mirror "ftp://a" is not a URL`,
		badRegistry(bootstrapv1.Registry{Host: "a.example.com", Mirrors: []bootstrapv1.RegistryMirror{{URL: "ftp://a"}}}),
	},
	{
		"file of ours", "spec.custom.files[0]", `is in C:\k\azure.json`,
		withFile(bootstrapv1.CustomFile{Path: `C:\k\azure.json`, Content: "a"}),
	},
	{"script without content", "spec.custom.preJoin[0]", "set exactly one of content", withPreJoin(bootstrapv1.CustomScript{Name: "a"})},
}

var goodMirror = bootstrapv1.Registry{Host: "a.example.com", Mirrors: []bootstrapv1.RegistryMirror{{URL: "https://b"}}}

func badRegistry(registries ...bootstrapv1.Registry) func(*bootstrap.Input) {
	return containerd(func(c *bootstrapv1.Containerd) { c.Registries = registries })
}

func badProxy(url string) func(*bootstrap.Input) {
	return ofWindows(func(w *bootstrapv1.Windows) { w.Proxy.HTTP = url })
}

func badDomain(domain bootstrapv1.Domain) func(*bootstrap.Input) {
	return ofWindows(func(w *bootstrapv1.Windows) { w.Domain = domain })
}

func badTrust(name, pem string) func(*bootstrap.Input) {
	return ofWindows(func(w *bootstrapv1.Windows) {
		w.TrustedCertificates = []bootstrapv1.TrustedCertificate{{Name: name, Content: pem}}
	})
}

func badUser(name string, role bootstrapv1.UserRole, keys ...string) func(*bootstrap.Input) {
	return ofWindows(func(w *bootstrapv1.Windows) {
		w.Users = []bootstrapv1.LocalUser{{Name: name, Role: role, SSHKeys: keys}}
	})
}

func badAzure(change func(*bootstrapv1.AzureCloudConfig)) func(*bootstrap.Input) {
	return func(in *bootstrap.Input) {
		onAzure(in)
		withAzureConfig(in)
		change(&in.Config.Spec.Windows.AzureCloudConfig)
	}
}

func withFile(files ...bootstrapv1.CustomFile) func(*bootstrap.Input) {
	return custom(func(c *bootstrapv1.Custom) { c.Files = files })
}

func withPreJoin(scripts ...bootstrapv1.CustomScript) func(*bootstrap.Input) {
	return custom(func(c *bootstrapv1.Custom) { c.PreJoin = scripts })
}

func TestSettingsRefused(t *testing.T) {
	for _, test := range settingsRefused {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, test.change))
			var refused *bootstrap.InvalidError
			if !errors.As(err, &refused) || refused.Field != "WindowsBootstrapConfig "+test.field {
				t.Fatalf("%v, want one of %s", err, test.field)
			}
			if !strings.Contains(refused.Message, test.want) || strings.Contains(refused.Message, hidden) {
				t.Errorf("%q, want %q and no secret", refused.Message, test.want)
			}
		})
	}
}
