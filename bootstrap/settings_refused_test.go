package bootstrap_test

import (
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

func TestSettingsRefused(t *testing.T) {
	const file, script, proxy = "custom.files[0]", "custom.preJoin[0]", "windows.proxy.http"
	const trust, user, registry = "windows.trustedCertificates[0]", "windows.users[0]", "containerd.registries[0]"
	const noPath, noProxy, noSecret = "is not a plain path", "is not the URL of a proxy", `Secret a has no content under the key `
	key := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	junk := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	shortened := strings.Join(strings.Fields(publicKey)[:2], " ")
	shortened = shortened[:len(shortened)-1]
	secret := func(in *bootstrap.Input) { source(in, "secret/a/b", hidden) }
	refuse(t, []mistake{
		{"file without content", file, fileOf(`{path: 'C:\a'}`), "set exactly one of content"},
		{"file with two contents", file, fileOf(`{path: 'C:\a', content: a, ` + fromAB + `}`), "set exactly one of content"},
		{"content that is not there", file, fileOf(`{path: 'C:\a', ` + fromAB + `}`), noSecret + `"b"`},
		{"relative path", file, fileOf(`{path: 'etc\a', content: a}`), `"etc\\a" is not a plain path`},
		{"other drive", file, fileOf(`{path: 'D:\a', content: a}`), "is not a plain path on drive C:"},
		{"slashes", file, fileOf(`{path: 'C:/a', content: a}`), noPath},
		{"way up", file, fileOf(`{path: 'C:\a\..\run\kubeadm\a', content: a}`), noPath},
		{"stream", file, fileOf(`{path: 'C:\a:b', content: a}`), noPath},
		{"wildcard", file, fileOf(`{path: 'C:\a*', content: a}`), noPath},
		{"our folder", file, fileOf(`{path: 'c:\RUN\kubeadm\join-config.yaml', content: a}`), `is in C:\run\kubeadm`},
		{
			"our sentinel", file, fileOf(`{path: 'C:\run\cluster-api\bootstrap-success.complete', content: a}`),
			`is in C:\run\cluster-api`,
		},
		{"file twice", "custom.files[1]", fileOf(`{path: 'C:\a', content: a}, {path: 'c:\A', content: a}`), "is used twice"},
		{
			"Secret for all", file, all(fileOf(`{path: 'C:\a', access: Inherited, `+fromAB+`}`), secret),
			"access Inherited would let every user read a Secret",
		},
		{"odd access", file, fileOf(`{path: 'C:\a', content: a, access: All}`), `access "All" is not valid`},
		{"short name", file, fileOf(`{path: 'C:\PROGRA~1\containerd\config.toml', content: a}`), noPath},
		{"containerd's", file, fileOf(`{path: 'C:\Program Files\Containerd\config.toml', content: a}`), `Files\containerd, which`},
		{"kube-proxy's", file, fileOf(`{path: 'C:\etc\kube-proxy\config.conf', content: a}`), "is in"},
		{"the CNI's", file, fileOf(`{path: 'C:\etc\cni\net.d\10-flannel.conf', content: a}`), "is in"},
		{"the kubelet", file, fileOf(`{path: 'C:\k\Kubelet.exe', content: a}`), `is in C:\k\kubelet.exe`},
		{"file of ours", file, fileOf(`{path: 'C:\k\azure.json', content: a}`), `is in C:\k\azure.json`},
		{"script without content", script, withScript(`{name: a}`), "set exactly one of content"},
		{"script without a name", script, withScript(`{content: a}`), `name "" is not valid`},
		{"script of odd type", script, withScript(`{name: a, type: Perl, content: a}`), `type "Perl" is not valid`},
		{
			"scripts longer than the deadline", "custom", withScript(`{name: a, content: a, timeoutSeconds: 1500}, {name: b, content: a}`),
			"the scripts may take 1800 s together, and bootstrapDeadlineSeconds is 1800",
		},
		{
			"a start that Windows delays", "kubelet.start",
			all(kubelet(`start: AutomaticDelayed`), spec(`custom: {everyBoot: [{name: a, content: a}]}`)),
			"AutomaticDelayed has no effect with custom.everyBoot",
		},
		{"script twice", "custom.preJoin[1]", withScript(`{name: a, content: a}, {name: a, content: b}`), `name "a" is used twice`},
		{"proxy without host", proxy, withProxyURL("http://:3128"), noProxy + "; use scheme, host and port only"},
		{"proxy with path", proxy, withProxyURL("http://proxy/path"), noProxy},
		{"proxy with a port that is none", proxy, withProxyURL("http://proxy:70000"), noProxy},
		{"proxy with a password", proxy, withProxyURL("http://user:" + hidden + "@proxy"), "write credentialsRef"},
		{"no login", "windows.proxy.credentialsRef", ofWindows(`proxy: {http: 'http://p:1', credentialsRef: {name: a}}`), noSecret},
		{"proxy of other scheme", proxy, withProxyURL("socks5://proxy:1080"), noProxy},
		{"no URL", proxy, withProxyURL("http://%zz"), noProxy},
		{"exceptions without a proxy", "windows.proxy", ofWindows(`proxy: {noProxy: [a]}`), "there is no proxy for noProxy"},
		{
			"login without a proxy", "windows.proxy", ofWindows(`proxy: {credentialsRef: {name: a}}`),
			"there is no proxy for noProxy and credentialsRef",
		},
		{"star", "windows.proxy.noProxy", ofWindows(`proxy: {http: 'http://p:1', noProxy: ['*.local']}`), "entry 1 is not a host"},
		{"host bits", "windows.proxy.noProxy", ofWindows(`proxy: {http: 'http://p:1', noProxy: [10.0.0.1/8]}`), "is not a host"},
		{"odd exception", "windows.proxy.noProxy", ofWindows(`proxy: {http: 'http://p:1', noProxy: ['a,b']}`), "entry 1 is not a host"},
		{"no certificate", trust, withCertificate("a", "hello"), "there is no certificate"},
		{"key as certificate", trust, withCertificate("a", key), "a private key does not belong here"},
		{"broken certificate", trust, withCertificate("a", junk), "cannot be read"},
		{"certificate without a name", trust, withCertificate("", string(firstCA)), `name "" is not valid`},
		{"zone of the IANA", "windows.timeZone", ofWindows(`timeZone: Europe/Berlin`), `"Europe/Berlin" is not a time zone of Windows`},
		{"odd time server", "windows.ntpServers", ofWindows(`ntpServers: [a b]`), `"a b" is neither`},
		{"odd feature", "windows.features", ofWindows(`features: [a b]`), `"a b" is not a feature`},
		{"odd user", user, withUser("a b", "", publicKey), `name "a b" is not one that Windows accepts`},
		{"user of Windows", user, withUser("Administrator", "", publicKey), `name "Administrator" belongs to Windows`},
		{"user twice", "windows.users[1]", all(withUser("a", "", publicKey), withUser("A", "", publicKey)), `name "A" is used twice`},
		{"odd role", user, withUser("a", "King", publicKey), `role "King" is not valid`},
		{"user without a key", user, withUser("a", ""), "sshAuthorizedKeys is empty"},
		{"private key", user, withUser("a", "", "-----BEGIN "+hidden), "sshAuthorizedKeys[0] is not a public key"},
		{"key without its last letter", user, withUser("a", "", shortened), "is cut off or damaged"},
		{"cut key", user, withUser("a", "", publicKey, "ssh-rsa AAAA"), "sshAuthorizedKeys[1] is cut off or damaged"},
		{
			"odd exclusion", "windows.defenderExclusions.folders", ofWindows(`defenderExclusions: {folders: ['D:\a']}`),
			`"D:\\a" is not a plain path`,
		},
		{
			"path as process", "windows.defenderExclusions.processes", ofWindows(`defenderExclusions: {processes: ['C:\a.exe']}`),
			"is not the name",
		},
		{"drive of Windows", "windows.dataDrive.letter", ofWindows(`dataDrive: {letter: C}`), `"C" is not the letter of another drive`},
		{"drive with a colon", "windows.dataDrive.letter", ofWindows(`dataDrive: {letter: 'D:'}`), "use D to Z"},
		{"format of nothing", "windows.dataDrive.letter", ofWindows(`dataDrive: {format: IfEmpty}`), `"" is not the letter`},
		{"odd format", "windows.dataDrive.format", ofWindows(`dataDrive: {letter: D, format: Always}`), `"Always" is not valid`},
		{"odd csi-proxy", "windows.csiProxy.path", ofWindows(`csiProxy: {path: 'C:\k\csi-proxy'}`), "is not a program on drive C:"},
		{"domain without dots", "windows.domain.name", ofWindows(`domain: {name: CORP}`), `"CORP" is not the DNS name of a domain`},
		{
			"odd unit", "windows.domain.organizationalUnit", ofWindows(`domain: {name: a.b, organizationalUnit: Nodes}`),
			`"Nodes" is not valid`,
		},
		{"domain without a Secret", "windows.domain.credentialsRef", ofWindows(`domain: {name: a.b}`), "must be set"},
		{
			"Secret that is not there", "windows.domain.credentialsRef", ofWindows(`domain: {name: a.b, credentialsRef: {name: a}}`),
			noSecret + `"username"`,
		},
		{"braces", "windows.gmsaPlugin.classID", ofWindows(`gmsaPlugin: {classID: '{'}`), `"{" is not a class ID`},
		{"azure.json on vSphere", "node.cloudConfigFile", node(`cloudConfigFile: Managed`), "the machine is not on Azure; remove it"},
		{
			"azure.json of nobody", "node.cloudConfigFile", all(onAzure, node(`cloudConfigFile: Mine`)),
			`"Mine" is not valid; use Managed`,
		},
		{
			"pause without registry", "containerd.pauseImage", containerd(`pauseImage: 'pause:3.10'`),
			`"pause:3.10" is not the full name`,
		},
		{"image of Docker's kind", "containerd.prepullImages[0]", containerd(`prepullImages: [nginx]`), `"nginx" is not the full name`},
		{"odd isolation", "containerd.hyperVIsolation", containerd(`hyperVIsolation: 'Yes'`), `"Yes" is not valid`},
		{"drop-in without a name", "containerd.dropIns[0]", containerd(`dropIns: [{content: a}]`), `name "" is not valid`},
		{"odd registry", registry, withRegistry(`host: 'https://a', credentialsRef: {name: a}`), `host "https://a" is not valid`},
		{"registry of nothing", registry, withRegistry(`host: a.example.com`), "registry a.example.com has no mirrors"},
		{
			"registry twice", "containerd.registries[1]",
			containerd(`registries: [&a {host: a.example.com, mirrors: [{url: 'https://b'}]}, *a]`), "is listed twice",
		},
		{"credentials for all", registry, withRegistry(`host: _default, credentialsRef: {name: a}`), "would go to every registry"},
		{
			"no password", registry + ".credentialsRef", withRegistry(`host: a.example.com, credentialsRef: {name: a}`),
			noSecret + `"username"`,
		},
		{"odd mirror", registry, withRegistry(`host: a.example.com, mirrors: [{url: 'ftp://a'}]`), "mirrors[0] is not a URL"},
	})
}

// fromAB takes the content from a Secret.
const fromAB = `contentFrom: {secret: {name: a, key: b}}`

// Parts of a spec, in YAML.

func ofWindows(text string) change { return spec("windows: {" + text + "}") }

func containerd(text string) change { return spec("containerd: {" + text + "}") }

func node(text string) change { return spec("node: {" + text + "}") }

func fileOf(text string) change { return spec("custom: {files: [" + text + "]}") }

func withScript(text string) change { return spec("custom: {preJoin: [" + text + "]}") }

func withRegistry(text string) change { return containerd("registries: [{" + text + "}]") }

func withProxyURL(url string) change {
	return func(in *bootstrap.Input) { in.Config.Spec.Windows.Proxy.HTTP = url }
}

func withCertificate(name, pem string) change {
	return func(in *bootstrap.Input) {
		certificate := bootstrapv1.TrustedCertificate{Name: name, Content: pem}
		in.Config.Spec.Windows.TrustedCertificates = append(in.Config.Spec.Windows.TrustedCertificates, certificate)
	}
}

func withUser(name string, role bootstrapv1.UserRole, keys ...string) change {
	return func(in *bootstrap.Input) {
		user := bootstrapv1.LocalUser{Name: name, Role: role, SSHAuthorizedKeys: keys}
		in.Config.Spec.Windows.Users = append(in.Config.Spec.Windows.Users, user)
	}
}
