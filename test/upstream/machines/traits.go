package machines

import (
	"encoding/base64"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// The clouds that a trait is for; the zero value is both.
const (
	vSphere = "vsphere"
	azure   = "azure"
)

// trait is something that a user may say of a machine.
type trait struct {
	name, cloud string
	apply       func(*draft) error
}

// oneSpecOf is a trait of words alone.
func oneSpecOf(texts ...string) func(*draft) error {
	return func(d *draft) error { return d.spec(pick(d.random, texts...)) }
}

// traits in the order in which they are put in.
var traits = []trait{
	{"addresses", vSphere, addresses},
	{"adapters", azure, azureAdapters},
	{"dual stack", "", dualStack},
	{"template size", vSphere, func(d *draft) error {
		d.WindowsMachine.Spec.VSphere.CPUs, d.WindowsMachine.Spec.VSphere.MemoryMiB = 0, 0
		return nil
	}},
	{"reports", "", func(d *draft) error { d.Reports = true; return nil }},
	{"now", "", func(d *draft) error { d.Now = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC); return nil }},
	{"cloud config", azure, oneSpecOf("node: {cloudConfigFile: Managed}")},
	{"deadline", "", oneSpecOf("bootstrapDeadlineSeconds: 3600", "bootstrapDeadlineSeconds: 5400")},
	{"labels", "", labels},
	{"discovery", "", discovery},

	{"kube-proxy", "", oneSpecOf("network: {kubeProxy: {run: Service}}",
		"network: {kubeProxy: {run: Service, dsr: Disabled}}")},
	{"ports", "", oneSpecOf(`network: {nodePorts: {first: 20000, last: 20999}, dynamicPorts: {first: 40000, last: 60000}}`)},
	{"firewall", "", oneSpecOf(`network: {firewall: [{name: metrics, protocol: TCP, ports: {first: 9182}},
		{name: games, protocol: UDP, ports: {first: 7000, last: 7100}}]}`)},
	{"pods' names", "", oneSpecOf("network: {clusterDNS: 10.96.0.53}")},
	{"adapter of pods", vSphere, oneSpecOf("network: {interface: Ethernet0 2}")},

	{"pods", "", oneSpecOf("kubelet: {maxPods: 250}", "kubelet: {maxPods: 50}")},
	{"arguments", "", oneSpecOf(`kubelet: {extraArgs: [{name: vmodule, value: kubelet_node_status=4},
		{name: image-credential-provider-bin-dir, value: 'C:\Program Files\providers\'},
		{name: image-credential-provider-config, value: 'C:\k\providers.yaml'}]}`)},
	{"log", "", oneSpecOf(`kubelet: {log: {directory: 'C:\Kubernetes Logs\kubelet', verbosity: 4, maxSizeMiB: 20, maxAgeHours: 24}}`,
		`kubelet: {log: {directory: 'C:\Logs\kubelet of the node'}}`)},
	{"priority", "", oneSpecOf("kubelet: {priorityClass: High, start: AutomaticDelayed}",
		"kubelet: {priorityClass: AboveNormal}")},
	{"log query", "", oneSpecOf("kubelet: {systemLogQuery: Enabled, serverCertificates: ClusterSigned}",
		"kubelet: {systemLogQuery: Enabled}")},
	{"no cloud provider", "", oneSpecOf("kubelet: {cloudProvider: None}")},
	{"kubelet's fields", "", oneSpecOf(`kubelet: {configuration: {clusterDomain: green.local, containerLogMaxSize: 20Mi,
		evictionSoft: {memory.available: 1Gi}, evictionSoftGracePeriod: {memory.available: 90s}}}`)},
	{"reservations", "", oneSpecOf(`reservations: {system: {cpu: '1', memory: 3Gi, ephemeralStorage: 10Gi}, kube: {memory: 1Gi}}`,
		`reservations: {system: {memory: 1Gi}, kube: {memory: 512Mi}, eviction: {memoryAvailable: 5%, imagefsAvailable: 10Gi},
		lowMemoryPolicy: Allow}`)},

	{"files", "", files},
	{"scripts", "", scriptsOfUser},
	{"scripts at each start", "", oneSpecOf(`custom: {everyBoot: [{name: routes, content: "route add"},
		{name: tidy, type: Cmd, content: "rem x\r\n", timeoutSeconds: 60}]}`)},

	{"proxy", "", proxy},
	{"trust", "", trust},
	{"time", "", oneSpecOf("windows: {timeZone: W. Europe Standard Time, ntpServers: [time.example.com, 10.0.0.2]}")},
	{"page file", "", oneSpecOf("windows: {pageFile: {policy: Managed}}",
		"windows: {pageFile: {policy: Fixed, sizeMiB: 8192}}")},
	{"data drive", "", oneSpecOf("windows: {dataDrive: {letter: D, format: IfEmpty}}", "windows: {dataDrive: {letter: E}}")},
	{"users", "", users},
	{"features", "", oneSpecOf(`windows: {features: [Containers, NFS-Client],
		defenderExclusions: {folders: ['C:\data'], processes: [app.exe]}}`)},
	{"csi-proxy", "", oneSpecOf(`windows: {csiProxy: {path: 'C:\k\csi-proxy.exe'}}`)},
	{"domain", "", domain},
	{"gMSA plug-in", "", oneSpecOf("windows: {gmsaPlugin: {classID: ccc2a336-d7f3-4818-a213-272b7924213e}}")},

	{"registries", "", registries},
	{"images", "", oneSpecOf(`containerd: {pauseImage: 'registry.example.com/pause:3.10.2', prepullImages: [
		'mcr.microsoft.com/windows/nanoserver:ltsc2022', 'localhost:5000/app:1']}`)},
	{"drop-ins", "", dropIns},
	{"Hyper-V", "", oneSpecOf("containerd: {hyperVIsolation: Enabled}")},
}

func labels(d *draft) error {
	d.Config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"example.com/pool": "gpu", "example.com/batch": ""}
	d.Config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoExecute}}
	return nil
}

func discovery(d *draft) error {
	ca := base64.StdEncoding.EncodeToString([]byte(d.ca))
	d.source("secret/discovery/value", fmt.Sprintf(`{"kind": "Config", "apiVersion": "v1", "clusters": [{"name": "", "cluster": {
		"server": "https://inside.example.com:8443", "certificate-authority-data": %q}}]}`, ca))
	return d.spec("discovery: {kubeconfigFrom: {secret: {name: discovery, key: value}}}")
}

func files(d *draft) error {
	d.source("secret/app/key", d.lines(3))
	d.source("secret/app/binary", "\x00\x01"+d.password()+"\xff")
	d.source("configmap/app/logo", "\x89PNG\x00\xff")
	return d.spec(`custom: {files: [{path: 'C:\etc\app.conf', content: "pool=green\r\n"},
		{path: 'C:\etc\app.key', contentFrom: {secret: {name: app, key: key}}},
		{path: 'C:\etc\app.bin', contentFrom: {secret: {name: app, key: binary}}},
		{path: 'C:\etc\logo.png', contentFrom: {configMap: {name: app, key: logo}}, access: Administrators}]}`)
}

// Scripts called reboot want a restart at first; see programs.ps1.
func scriptsOfUser(d *draft) error {
	d.source("configmap/app/drivers", "@echo off\r\nexit /b 0\r\n")
	d.source("secret/app/register", "register.exe --key\n"+d.lines(2))
	return d.spec(`custom: {
		preJoin: [{name: reboot, content: "exit 3010"},
			{name: drivers, type: Cmd, contentFrom: {configMap: {name: app, key: drivers}}, timeoutSeconds: 900}],
		postJoin: [{name: agent, type: PowerShell, contentFrom: {secret: {name: app, key: register}}},
			{name: plain, content: "exit"}]}`)
}

func proxy(d *draft) error {
	d.source("secret/proxy/username", "node")
	d.source("secret/proxy/password", d.password()+"\n")
	return d.spec(`windows: {proxy: {http: 'http://proxy.example.com:3128', https: 'http://proxy.example.com:3128',
		noProxy: [.example.com, 10.0.0.0/8, localhost], credentialsRef: {name: proxy}}}`)
}

func trust(d *draft) error {
	d.source("configmap/cas/company", "a comment\n"+d.ca+d.ca)
	return d.spec(`windows: {trustedCertificates: [{name: company, contentFrom: {configMap: {name: cas, key: company}}}]}`)
}

func users(d *draft) error {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7x1x8M3N8pEb1oQx4y1e7VxWk2uJvH6cN4tYpQmZ0a ops@example.com"
	return d.spec(fmt.Sprintf(`windows: {users: [{name: ops, role: Administrator, sshAuthorizedKeys: ['%s']},
		{name: log_reader, sshAuthorizedKeys: ['%s']}]}`, key, key))
}

func domain(d *draft) error {
	d.source("secret/joiner/username", `CORP\joiner`)
	d.source("secret/joiner/password", d.password())
	return d.spec(`windows: {domain: {name: corp.example.com, organizationalUnit: 'OU=Nodes,DC=corp,DC=example,DC=com',
		credentialsRef: {name: joiner}}}`)
}

func registries(d *draft) error {
	d.source("configmap/cas/harbor", d.ca)
	d.source("secret/harbor/username", "node")
	d.source("secret/harbor/password", d.password())
	return d.spec(`containerd: {registries: [
		{host: docker.io, mirrors: [{url: 'https://harbor.example.com:8443/v2/docker-hub'}, {url: 'http://10.0.0.5:5000'}]},
		{host: 'harbor.example.com:8443', caFrom: {configMap: {name: cas, key: harbor}}, credentialsRef: {name: harbor}},
		{host: _default, mirrors: [{url: 'https://mirror.example.com'}]}]}`)
}

func dropIns(d *draft) error {
	d.source("secret/plugin/toml", "version = 3\n# "+d.password()+"\n")
	return d.spec(`containerd: {dropIns: [
		{name: pulls, content: "version = 3\n[plugins.'io.containerd.cri.v1.images']\nmax_concurrent_downloads = 8\n"},
		{name: plugin, contentFrom: {secret: {name: plugin, key: toml}}}]}`)
}
