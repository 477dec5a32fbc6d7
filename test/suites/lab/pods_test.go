package lab_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/stories"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var (
	onlyCells = flag.String("pods.only", "", "try those alone whose names fit a regular expression")
	everyCell = flag.Bool("pods.all", false, "try every condition on every Windows, not on Server 2022 alone")
)

// pair is a mode and CNI from a user's point of view: what brings pods their network, and what may lack.
type pair struct {
	name string
	mode bootstrapv1.NetworkMode
	cni  bootstrapv1.CNI
	// spec changes what the config says besides.
	spec func(n *bootstrapv1.Network)
	// daemons is what the nodes ask for by their label, proxy that pods of kube-proxy run there where no service does.
	daemons string
	proxy   bool
	azure   bool
	// plugins are in the image; missing is the program, or the part of an image's name, that lacks in one condition.
	plugins []string
	missing string
	// late is the program, or the part of an image's name, that comes late.
	late string
	// noService is why the Service is not reached where all is there; empty where it is.
	noService string
	// noDaemon is what is seen where the daemon is missing, noProgram where the program is, noRights where the rights are, if that
	// is not the same as noDaemon.
	noDaemon, noProgram, noRights string
}

const (
	noCNI      = "cni plugin not initialized"
	noPolicies = "no kube-proxy has made the Service's policies"

	flanneldProgram  = `C:\k\flanneld.exe`
	kubeProxyProgram = `C:\k\kube-proxy.exe`
)

func external(n *bootstrapv1.Network) { n.Flannel.Run = bootstrapv1.FlannelExternal }

var (
	bridgePlugins  = []string{"win-bridge", "host-local"}
	overlayPlugins = []string{"win-overlay", "host-local"}
)

var pairs = []pair{
	{
		name: "Overlay Calico", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNICalico, daemons: pods.CalicoVXLAN, proxy: true,
		missing: "kube-proxy", late: "node-windows", noDaemon: noCNI, noProgram: noPolicies,
	},
	{
		name: "L2Bridge Calico", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, daemons: pods.CalicoBGP, proxy: true,
		missing: "kube-proxy", late: "node-windows", noDaemon: noCNI, noProgram: noPolicies,
	},
	{
		name: "Overlay Flannel", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		plugins: append(overlayPlugins, "flannel"), missing: flanneldProgram, late: flanneldProgram, noDaemon: noCNI,
		noProgram: "flanneld.exe",
	},
	{
		name: "Overlay Flannel, `flannel.run: External`", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, spec: external,
		daemons: pods.Flanneld, missing: "cni-plugins", late: "flanneld", noDaemon: noCNI, noProgram: noCNI, noRights: noPolicies,
	},
	{
		name: "L2Bridge Flannel", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		plugins: append(bridgePlugins, "flannel"), missing: flanneldProgram, late: flanneldProgram, noDaemon: noCNI,
		noProgram: "flanneld.exe",
	},
	{
		name: "L2Bridge AzureCNI", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, daemons: pods.NoDaemons, azure: true,
		plugins: []string{"azure-vnet", "azure-vnet-ipam"}, missing: kubeProxyProgram, late: kubeProxyProgram, noDaemon: noPolicies,
		noProgram: "kube-proxy.exe",
	},
	{
		name: "Transparent Antrea", mode: bootstrapv1.NetworkTransparent, cni: bootstrapv1.CNIAntrea, daemons: pods.Antrea,
		missing: "antrea-windows", late: "antrea-windows", noDaemon: noCNI, noProgram: noCNI,
	},
	{
		name: "Transparent", mode: bootstrapv1.NetworkTransparent, missing: "lab-cni", late: "lab-cni", noService: noPolicies,
		noDaemon: noCNI, noProgram: noCNI,
	},
	{
		name: "None", mode: bootstrapv1.NetworkNone, missing: "lab-cni", late: "lab-cni", noService: noPolicies,
		noDaemon: noCNI, noProgram: noCNI,
	},
}

// The builds of Windows Server, and the conditions in which pairs are tried.
var (
	builds     = map[string]string{"2019": "17763.7000", "2022": "20348.2700", "2025": "26100.4000"}
	situations = []string{
		allThere, daemonMissing, programMissing, daemonLate, rebooted, addressLate, rightsMissing, twoProxies, rebootedPools,
	}
)

const (
	allThere       = "all there"
	daemonMissing  = "daemon missing"
	programMissing = "program missing"
	daemonLate     = "daemon late by 400 s"
	rebooted       = "reboot"
	rebootedPools  = "reboot, addresses of pools"
	addressLate    = "address late by 30 s"
	rightsMissing  = "rights missing"
	twoProxies     = "two kube-proxies"
)

// isTried: pools are for vSphere, rights are those of services of the node, and only Calico has pods of kube-proxy that would run
// beside one.
func (p pair) isTried(condition string) bool {
	switch condition {
	case rebootedPools:
		return !p.azure
	case rightsMissing:
		return p.hasRights() && p.noService == ""
	case twoProxies:
		return p.proxy
	}
	return true
}

// hasService: what comes late is a service of the node.
func (p pair) hasService() bool { return strings.HasPrefix(p.late, `C:\`) }

// hasRights: the nodes of the pair have services that speak to the cluster, if only kube-proxy.
func (p pair) hasRights() bool { return p.hasService() || p.cni == bootstrapv1.CNIFlannel }

// cell is one node: a pair on a Windows in a condition.
type cell struct {
	pair
	year, condition string
	// signed has the cluster sign the certificate of the kubelet's port, when somebody approves it.
	signed bool
	number int
	// policyTakes is how long each policy of a network of HNS takes.
	policyTakes time.Duration
	clock       *windows.FastClock
	guest       *guest.Simulated
}

// outcome is what came of a cell.
type outcome struct {
	joined, ready, address, service bool
	sentence                        string
	falseReady                      bool
}

// want is what has to come: the sentence is in the one that is told.
func (c *cell) want() (good bool, sentence string) {
	switch c.condition {
	case daemonMissing:
		return false, c.noDaemon
	case rightsMissing:
		return false, cmp.Or(c.noRights, c.noDaemon)
	case programMissing:
		return false, c.noProgram
	}
	return c.noService == "", c.noService
}

// side is how many guests run at a time.
const side = 16

// TestPods joins a node for each pair, Windows and condition, has the real scheduler bind a pod to it, and asks a Service from
// there, whose pods are on another node. Nothing of a CNI or of kube-proxy runs that the plan or a bound pod has not started.
func TestPods(t *testing.T) {
	stories.Begin(t)
	w := podCluster(t, nil)
	cells := podCells()
	results := make([]outcome, len(cells))
	var all sync.WaitGroup
	w.giveRights(t, cells)
	for i, c := range cells {
		all.Go(func() {
			w.awaitRights(c)
			w.turns <- struct{}{}
			defer func() { <-w.turns }()
			results[i] = w.try(t, c)
		})
	}
	all.Wait()
	table, falseReady := "", 0
	for i, c := range cells {
		r := results[i]
		good, sentence := c.want()
		if r.falseReady {
			falseReady++
			t.Errorf("%s, %s, %s: the node was Ready for more than %s while no pod got an address: %+v",
				c.name, c.year, c.condition, falselyReady, r)
		}
		if r.service != good || !strings.Contains(r.sentence, sentence) {
			t.Errorf("%s, %s, %s: %+v, want %t with %q", c.name, c.year, c.condition, r, good, sentence)
		}
		table += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, c.year, c.condition, yes(r.joined), yes(r.ready),
			yes(r.address), yes(r.service), strings.ReplaceAll(r.sentence, "\n", " "))
	}
	t.Logf("\n| Pair | Windows | Condition | Joined | Ready | Address | Service | Why not |\n| --- | --- | --- | --- | --- | --- "+
		"| --- | --- |\n%s\nFalse Ready: %d", table, falseReady)
	comparePage(t, cells, results)
}

// reached is what a pod of the node reaches, in the words of docs/contributing/pods.md.
func (c *cell) reached(r outcome) string {
	switch {
	case r.service:
		return "Service"
	case r.address:
		return "pods alone"
	case r.joined:
		return "Node not Ready"
	}
	return "no join"
}

// comparePage: docs/contributing/pods.md has a line for each pair, which holds for each Windows.
func comparePage(t *testing.T, cells []*cell, results []outcome) {
	t.Helper()
	page := string(expect.Got(os.ReadFile("../../../docs/contributing/pods.md"))(t))
	for _, p := range pairs {
		_, line, found := strings.Cut(page, "\n| "+p.name+" |")
		line, _, _ = strings.Cut(line, "\n")
		columns := strings.Split(strings.TrimSuffix(line, "|"), "|")
		if !found || len(columns) != len(situations) {
			t.Errorf("docs/contributing/pods.md has no line of %d conditions for %s", len(situations), p.name)
			continue
		}
		for i, condition := range situations {
			said := strings.TrimSpace(columns[i])
			if tried := p.isTried(condition); tried == (said == "-") {
				t.Errorf("docs/contributing/pods.md says %q of %s, %s; it is tried: %t", said, p.name, condition, tried)
			}
			for k, c := range cells {
				if c.name == p.name && c.condition == condition && c.reached(results[k]) != said {
					t.Errorf("docs/contributing/pods.md says %q of %s, %s; on Windows Server %s it is %q",
						said, p.name, condition, c.year, c.reached(results[k]))
				}
			}
		}
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func podCells() []*cell {
	var cells []*cell
	for _, condition := range situations {
		for _, p := range pairs {
			for _, year := range []string{"2019", "2022", "2025"} {
				name := p.name + ", " + year + ", " + condition
				if !regexp.MustCompile(*onlyCells).MatchString(name) || !p.isTried(condition) {
					continue
				}
				if *everyCell || year == "2022" || condition == allThere {
					cells = append(cells, &cell{
						pair: p, year: year, condition: condition, number: len(cells), clock: windows.NewFastClock(10),
					})
				}
			}
		}
	}
	return cells
}

// lateness is of a daemon, latenessOfStart of one that is late at each start of Windows, by more than a node may be falsely
// Ready; never is of an image that no registry has, and of a program that never works.
const (
	lateness        = 400 * time.Second
	latenessOfStart = falselyReady + 20*time.Second
	never           = 24 * time.Hour
)
