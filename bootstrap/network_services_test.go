package bootstrap_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Which services of the network a node has follows from its CNI, and the user's word counts more.
func TestServicesOfTheNetwork(t *testing.T) {
	none, proxy, both := []string(nil), []string{"kube-proxy"}, []string{"flanneld", "kube-proxy"}
	for name, test := range map[string]struct {
		change change
		want   []string
	}{
		"L2Bridge Flannel":   {inNetwork("L2Bridge", "Flannel"), both},
		"L2Bridge AzureCNI":  {inNetwork("L2Bridge", "AzureCNI", onAzure, vnet), proxy},
		"L2Bridge Calico":    {inNetwork("L2Bridge", "Calico"), none},
		"Overlay Flannel":    {inNetwork("Overlay", "Flannel"), both},
		"Overlay Calico":     {inNetwork("Overlay", "Calico"), none},
		"Transparent Antrea": {inNetwork("Transparent", "Antrea"), none},
		"Transparent":        {inNetwork("Transparent", ""), none},
		"None":               {inNetwork("None", ""), none},
		"no network":         {nil, none},
		"Calico, a service":  {inNetwork("Overlay", "Calico", withKubeProxy), proxy},
		"Flannel by pods":    {inNetwork("Overlay", "Flannel", spec(`network: {flannel: {run: External}}`)), proxy},
		"kube-proxy by pods": {
			inNetwork("L2Bridge", "Flannel", spec(`network: {kubeProxy: {run: DaemonSet}}`)), []string{"flanneld"},
		},
		"AzureCNI without one":    {inNetwork("L2Bridge", "AzureCNI", onAzure, vnet, spec(`network: {kubeProxy: {run: None}}`)), none},
		"Antrea, as by default":   {inNetwork("Transparent", "Antrea", spec(`network: {kubeProxy: {run: None}}`)), none},
		"no pods' ranges at hand": {inNetwork("Overlay", "Calico", withRanges(nil, nil), withKubeProxy), proxy},
	} {
		p := render(t, plainInput(t, test.change)).Plan()
		var made []string
		for _, service := range every[*plan.Service](p) {
			if service.Service != "kubelet" {
				made = append(made, service.Service)
			}
		}
		expect.Same(t, name+": services", test.want, made)
		expect.Same(t, name+": services that the background starts", test.want, started(p))
	}
}

// TestRoutesOfAzureCNI: where kube-proxy does not return directly, or the node has no kube-proxy of ours, which may not, packets
// to Services leave a pod through the host. Only where it does may a pod reach itself by its Service.
func TestRoutesOfAzureCNI(t *testing.T) {
	type policy struct {
		Type, DestinationPrefix string
		NeedEncap               bool
	}
	type plugin struct {
		WindowsSettings struct{ EnableLoopbackDSR bool }
		AdditionalArgs  []struct{ Value policy }
	}
	encapsulated := []policy{{"ROUTE", "10.96.0.0/12", true}}
	for name, test := range map[string]struct {
		change change
		direct bool
		want   []policy
	}{
		"by default":         {nil, true, nil},
		"without DSR":        {withDSR("Disabled"), false, encapsulated},
		"kube-proxy of pods": {spec(`network: {kubeProxy: {run: DaemonSet}}`), false, encapsulated},
		"without kube-proxy": {spec(`network: {kubeProxy: {run: None}}`), false, encapsulated},
		"dual-stack, no DSR": {all(dualStack, withDSR("Disabled")), false, []policy{
			{"ROUTE", "10.96.0.0/16", true}, {"ROUTE", "fd00:10:96::/112", true},
		}},
	} {
		p := render(t, plainInput(t, inNetwork("L2Bridge", "AzureCNI", onAzure, vnet, test.change))).Plan()
		text := stepOf[*plan.File](t, p, "cni-configuration").Text.String()
		var config struct{ Plugins []plugin }
		expect.OK(t, json.Unmarshal([]byte(text), &config))
		var routes []policy
		for _, one := range config.Plugins[0].AdditionalArgs {
			if one.Value.Type == "ROUTE" {
				routes = append(routes, one.Value)
			}
		}
		expect.Same(t, name+": routes", test.want, routes)
		expect.Same(t, name+": a pod by its Service", test.direct, config.Plugins[0].WindowsSettings.EnableLoopbackDSR)
	}
}

// started by the background, in this order; what else starts a service of the network is an error of the plan.
func started(p *plan.Plan) []string {
	var names []string
	for _, phase := range slices.Concat(p.Phases, p.EveryBoot, p.Background) {
		for _, one := range phase.Steps {
			state, ok := one.(*plan.ServiceState)
			if !ok || state.State != plan.ServiceRunning || state.Service != "kube-proxy" && state.Service != "flanneld" {
				continue
			}
			name := state.Service
			if phase.Name != "in-background" {
				name += " in " + phase.Name
			}
			names = append(names, name)
		}
	}
	return names
}

// The background waits for what kube-proxy needs before it writes and starts: with Calico's VXLAN that is an endpoint, too.
func TestKubeProxyWaits(t *testing.T) {
	const copied, written, running = "run kube-proxy-kubeconfig", "file kube-proxy-configuration", "serviceState kube-proxy-running"
	const rules = "fact kube-proxy-rules"
	for name, test := range map[string]struct {
		change change
		want   []string
	}{
		"azure-vnet": {
			inNetwork("L2Bridge", "AzureCNI", onAzure, vnet), []string{"hnsNetwork azure", copied, written, running, rules},
		},
		"Calico": {
			inNetwork("Overlay", "Calico", withKubeProxy),
			[]string{"hnsNetwork Calico", "hnsEndpoint Calico_ep", copied, written, running, rules},
		},
		"Flannel": {
			inNetwork("Overlay", "Flannel", withVNI(5000)),
			[]string{
				"run flanneld-kubeconfig", "serviceState flanneld-running", "waitFor flannel-subnet",
				"fact flannel-own-subnet", "file source-vip",
				"file cni-configuration", "hnsNetwork flannel.5000", copied, written, running, rules,
			},
		},
		"Flannel behind addresses of pools": {
			inNetwork("Overlay", "Flannel", withAdapters(staticAdapter("10.0.0.5/24")), spec(`network: {kubeProxy: {run: None}}`)),
			[]string{
				"run flanneld-kubeconfig", "serviceState flanneld-running", "hnsNetwork flannel.4096", "address addresses-1-behind-cni",
				"waitFor flannel-subnet", "file cni-configuration",
			},
		},
		"Flannel by pods": {
			inNetwork("L2Bridge", "Flannel", spec(`network: {kubeProxy: {run: None}, flannel: {run: External}}`)),
			[]string{
				"waitFor flannel-subnet", "waitFor cni-program-flannel", "waitFor cni-program-win-bridge",
				"waitFor cni-program-host-local", "fact flannel-own-subnet", "file daemon-address", "file cni-configuration",
			},
		},
	} {
		p := render(t, plainInput(t, test.change)).Plan()
		var got []string
		for _, one := range p.Background[0].Steps {
			got = append(got, said(one))
		}
		expect.Same(t, name+": the background", test.want, got)
	}
}

func said(one plan.Step) string {
	switch one := one.(type) {
	case *plan.HNSNetwork:
		return fmt.Sprintf("hnsNetwork %v%s", one.Request["Name"], map[bool]string{false: " MADE"}[one.Wait])
	case *plan.HNSEndpoint:
		return "hnsEndpoint " + one.Endpoint.String()
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", one), "*plan.")
	return strings.ToLower(kind[:1]) + kind[1:] + " " + one.Base().Name
}

// containerd calls the network ready as soon as there is a configuration. So that of Flannel is there only behind subnet.env.
func TestFlannelIsNeverReadyTooEarly(t *testing.T) {
	const file = `C:\etc\cni\net.d\10-flannel.conf`
	for _, golden := range networkGoldens {
		in := plainInput(t, golden.change)
		if in.Config.Spec.Network.CNI != "Flannel" {
			continue
		}
		p := render(t, in).Plan()
		for _, phase := range slices.Concat(p.Phases, p.EveryBoot) {
			for _, one := range phase.Steps {
				if written, ok := one.(*plan.File); ok && written.Path.String() == file {
					t.Errorf("%s: %s writes %s before flanneld has said that its network is there", golden.name, phase.Name, file)
				}
			}
		}
		if !removes(p.EveryBoot, file) {
			t.Errorf("%s: a later start leaves %s of an earlier one", golden.name, file)
		}
	}
}

func removes(phases []plan.Phase, file string) bool {
	for _, removed := range every[*plan.Remove](&plan.Plan{Phases: phases}) {
		if slices.ContainsFunc(removed.Paths, func(path plan.Value) bool { return path.String() == file }) {
			return true
		}
	}
	return false
}

// flanneld gets its settings from the registry, by nssm.exe, and its network from a file.
func TestFlanneldSettings(t *testing.T) {
	const flags = `--kube-subnet-mgr --kubeconfig-file=C:\etc\kube-flannel\kubeconfig.conf ` +
		`--net-config-path=C:\etc\kube-flannel\net-conf.json --subnet-file=C:\run\flannel\subnet.env --iface=`
	for name, test := range map[string]struct {
		change         change
		address, files string
	}{
		"VXLAN": {
			inNetwork("Overlay", "Flannel", withVNI(5000)), "10.0.0.9",
			`{"Backend":{"Name":"flannel.5000","Port":4789,"Type":"vxlan","VNI":5000},"Network":"10.244.0.0/16"}`,
		},
		"an address of a pool, another name": {
			inNetwork("Overlay", "Flannel", withAdapters(staticAdapter("10.0.0.5/24")), withName("pods")), "10.0.0.5",
			`{"Backend":{"Name":"pods","Port":4789,"Type":"vxlan","VNI":4096},"Network":"10.244.0.0/16"}`,
		},
		"host-gw, dual-stack": {
			inNetwork("L2Bridge", "Flannel", dualStack), "10.0.0.7",
			`{"Backend":{"Name":"cbr0","Type":"host-gw"},"Network":"10.244.0.0/16"}`,
		},
	} {
		p := render(t, plainInput(t, test.change)).Plan()
		facts := strings.NewReplacer("<nodeAddress>", "10.0.0.9", "<managementIP>", "10.0.0.7")
		values := map[string]string{}
		for _, one := range every[*plan.Registry](p) {
			if strings.HasSuffix(one.Key, `\Services\flanneld\Parameters`) {
				for _, value := range append(one.Values, one.Value) {
					values[one.ValueName] += facts.Replace(value.String())
				}
			}
		}
		expect.Same(t, name+": parameters", map[string]string{
			"Application": `C:\k\flanneld.exe`, "AppDirectory": `C:\k`, "AppParameters": flags + test.address,
			"AppStdout": `C:\var\log\flanneld\flanneld.log`, "AppStderr": `C:\var\log\flanneld\flanneld.log`,
			"AppRotateFiles": "1", "AppRotateOnline": "1", "AppRotateBytes": "10485760",
			"AppEnvironmentExtra": "NODE_NAME=blue-win-x7k2p",
		}, values)
		found := ""
		for _, file := range every[*plan.File](p) {
			if file.Path.String() == `C:\etc\kube-flannel\net-conf.json` {
				found = strings.TrimSpace(file.Text.String())
			}
		}
		expect.Same(t, name+": net-conf.json", test.files, found)
	}
}
