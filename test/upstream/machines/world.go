package machines

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	servicesKey = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services`
	controlKey  = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control`
	versionKey  = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	imagePause  = "registry.k8s.io/pause:3.10.2"
)

// table is an object of the world of test/upstream/powershell, as JSON.
type table = map[string]any

// World is a machine of image-builder's on which the plan ends well: its answers are what the plan expects. Its parts are
// those of bootstrap/plan/vectors/README.md; node is for programs.ps1.
func World(m Machine) map[string]any {
	p := m.Plan
	return table{
		"facts":     table{"diskFreeMiB": "110000", "memoryMiB": "16384", "osBuild": "20348", "osUbr": "4000"},
		"registry":  registryOf(p, draw(m.Name, 4) == 0),
		"services":  servicesOf(),
		"features":  featuresOf(p, draw(m.Name, 2) == 0),
		"adapters":  adaptersOf(p),
		"addresses": []any{table{"index": 9, "address": "10.0.0.5/24", "origin": "Dhcp"}},
		"routes":    []any{table{"index": 9, "to": "0.0.0.0/0", "via": "10.0.0.1"}},
		"dns":       []any{"10.0.0.2"},
		"pipes":     []any{"containerd-containerd"},
		"tls":       serversOf(p),
		"hns":       leftovers(),
		"stale":     staleOf(p), "managementIP": "10.0.0.5",
		"featureReboot": true, "registered": "",
		"calls": table{}, "effects": []any{}, "wire": []any{}, "console": []any{}, "said": []any{}, "acl": table{}, "tasks": table{},
		"node": nodeOf(p),
	}
}

// draw is one of n numbers, always the same for a name.
func draw(name string, n uint32) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return hash.Sum32() % n
}

func nodeOf(p *plan.Plan) table {
	return table{
		"name": p.Machine.Node, "version": versionOf(p), "containerd": "2.3.2", "updated": "Tue, 10 Mar 2026 01:02:03 GMT",
		"images": []any{imagePause}, "awaited": awaited(p), "firewall": table{}, "ports": table{}, "ran": []any{}, "class": classOf(p),
		"member": false, "off": false,
	}
}

// versionOf is the release that the plan wants of the image.
func versionOf(p *plan.Plan) string {
	for _, check := range stepsOf[*plan.Check](p) {
		if check.Name == "kubelet-patch-of-image" {
			return check.Is.String()
		}
	}
	return "1.36.3"
}

// awaited are the networks that the daemon of a CNI makes.
func awaited(p *plan.Plan) []any {
	names := []any{}
	for _, network := range stepsOf[*plan.HNSNetwork](p) {
		if network.Wait {
			names = append(names, network.Request["Name"])
		}
	}
	return names
}

// classOf is the class ID of the plan's gMSA plug-in, or "".
func classOf(p *plan.Plan) string {
	for _, run := range stepsOf[*plan.Run](p) {
		if class := run.Environment["CAPWIN_CLASS"]; class != nil {
			return class.String()
		}
	}
	return ""
}

// registryOf has the kubelet's service as one of two images makes it: by a wrapper of its logs, or by nssm.
func registryOf(p *plan.Plan, nssm bool) table {
	command := `C:\k\kube-log-runner.exe --log-file=C:/var/log/kubelet/kubelet.log C:\k\kubelet.exe --windows-service`
	if nssm {
		command = `C:\k\nssm.exe`
	}
	keys := table{
		servicesKey + `\kubelet`: table{"ImagePath": command, "Start": 2, "DependOnService": []any{"containerd"}},
		servicesKey + `\containerd`: table{
			"ImagePath": `"C:\Program Files\containerd\containerd.exe" --run-service`, "Start": 2,
		},
		servicesKey + `\w32time`:                          table{"Start": 3, "ImagePath": `C:\Windows\svchost.exe -k LocalService`},
		controlKey + `\Session Manager\Memory Management`: table{"PagingFiles": []any{`?:\pagefile.sys`}},
		controlKey + `\CCG\COMClasses`:                    table{"": ""},
		versionKey:                                        table{"UBR": 4000, "InstallationType": "Server Core"},
	}
	if class := classOf(p); class != "" {
		keys[`HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\`+class+`\InprocServer32`] = table{"": `C:\Windows\System32\plugin.dll`}
	}
	return keys
}

func servicesOf() table {
	services := table{"RemoteAccess": table{"state": "Stopped"}, "w32time": table{"state": "Stopped"}}
	for _, name := range []string{"containerd", "kubelet", "VMTools", "hns", "vid"} {
		services[name] = table{"state": "Running"}
	}
	return services
}

// featuresOf are those that the plan wants, all there or all to be installed.
func featuresOf(p *plan.Plan, there bool) table {
	state := map[bool]string{true: "Installed", false: "Available"}[there]
	features := table{"Containers": "Installed"}
	for _, feature := range stepsOf[*plan.Feature](p) {
		for _, name := range feature.Features {
			features[name.String()] = state
		}
	}
	return features
}

// adaptersOf are those that the plan names by their MACs, in the order of these, and the first one, which has the default route,
// also where DHCP has it and no step is about it.
func adaptersOf(p *plan.Plan) []any {
	macs := map[string]bool{}
	for _, adapter := range stepsOf[*plan.Adapter](p) {
		macs[macOf(adapter.MAC)] = true
	}
	for _, address := range stepsOf[*plan.Address](p) {
		macs[macOf(address.MAC)] = true
	}
	delete(macs, "")
	sorted := slices.Sorted(maps.Keys(macs))
	if len(sorted) == 0 || !strings.HasSuffix(sorted[0], "-01") {
		sorted = append([]string{"00-50-56-00-00-01"}, sorted...)
	}
	var adapters []any
	for i, mac := range sorted {
		adapters = append(adapters, table{"index": 9 + i, "mac": mac, "name": fmt.Sprintf("Ethernet%d 2", i)})
	}
	return adapters
}

func macOf(mac plan.Value) string { return strings.ToUpper(strings.ReplaceAll(mac.String(), ":", "-")) }

// serversOf answer, but for the first seconds after the start of the machine.
func serversOf(p *plan.Plan) table {
	servers := table{}
	for _, wait := range stepsOf[*plan.WaitFor](p) {
		if wait.For == plan.ForHTTPS {
			servers[wait.Host.String()+":"+cmp.Or(wait.Port.String(), "443")] = 4
		}
	}
	return servers
}

// leftovers are what the node that the image was made of has left in HNS; nat and what nobody knows stay.
func leftovers() []any {
	var items []any
	for i, name := range []string{"nat", "mine", "Calico", "flannel.4096", "cbr0", "azure"} {
		items = append(items, hnsNetwork(fmt.Sprintf("old-%d", i), name))
	}
	for i, name := range []string{"mine", "Calico_ep", "abc_cbr0", "abc_flannel.4096", "abc-eth0"} {
		items = append(items, table{"kind": "endpoints", "ID": fmt.Sprintf("old-ep-%d", i), "Name": name})
	}
	return items
}

func hnsNetwork(id, name string) table {
	return table{"kind": "networks", "ID": id, "Name": name, "Type": "Overlay", "ManagementIP": "10.9.9.9"}
}

// staleOf are what a CNI leaves for each start of the machine.
func staleOf(p *plan.Plan) []any {
	var items []any
	for _, phase := range p.EveryBoot {
		for _, step := range phase.Steps {
			if cleanup, ok := step.(*plan.HNSCleanup); ok {
				name := cleanup.Networks[0].String()
				items = append(items, hnsNetwork("stale", name),
					table{"kind": "endpoints", "ID": "stale-ep", "Name": "abc_" + strings.Trim(name, "*")})
			}
		}
	}
	return items
}

// containerdConfig is config.toml as image-builder writes it, as far as it is played.
const containerdConfig = `version = 3
root = 'C:\ProgramData\containerd\root'
state = 'C:\ProgramData\containerd\state'
imports = ['C:\Program Files\containerd\conf.d\*.toml']
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '` + imagePause + `'
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = 'C:\ProgramData\containerd\certs.d'
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['C:\opt\cni\bin']
conf_dir = 'C:\etc\cni\net.d'
`

// Files are on the disk of the image, with what the node that it was made of has left.
func Files(p *plan.Plan) map[string]string {
	files := map[string]string{
		`C:\Program Files\containerd\config.toml`: containerdConfig, `C:\AzureData\CustomData.bin`: "custom data",
		`C:\k\SourceVip.json`: "old", `C:\run\flannel\subnet.env`: "old", `C:\var\lib\cni\networks\cbr0\10.244.9.2`: "old",
		`C:\etc\cni\net.d\10-calico.conf`: "old", `C:\etc\cni\net.d\99-mine.conf`: "mine", `C:\k\azure-vnet-ipam.json.lock`: "old",
		`C:\Windows\System32\azure-vnet.json`: "old",
	}
	for _, name := range []string{"win-bridge", "win-overlay", "host-local", "azure-vnet", "azure-vnet-ipam", "azure-vnet-ipamv6"} {
		files[`C:\opt\cni\bin\`+name+".exe"] = "a program"
	}
	for _, wait := range stepsOf[*plan.WaitFor](p) {
		if path := wait.Target.String(); wait.For == plan.ForFile && strings.HasSuffix(path, ".exe") {
			files[path] = "a program"
		}
	}
	return files
}
