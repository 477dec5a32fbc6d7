package lab_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/guest"
	"github.com/capwin/cluster-api-provider-windows/test/lab/pods"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
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
	// daemons is what the nodes ask for by their label, proxy that kube-proxy's pods run there.
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
	// without takes the daemon away in the spec; nil where the label does.
	without func(n *bootstrapv1.Network)
	// noDaemon is what is seen then, noProgram what is seen where the program is missing.
	noDaemon, noProgram string
}

const (
	noCNI      = "cni plugin not initialized"
	noPolicies = "no kube-proxy has made the Service's policies"
)

func noKubeProxy(n *bootstrapv1.Network) { n.KubeProxy.Run = bootstrapv1.KubeProxyNone }

func noFlanneld(n *bootstrapv1.Network) { n.Flannel.Run = bootstrapv1.FlannelExternal }

var pairs = []pair{
	{
		name: "Overlay Calico", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNICalico, daemons: pods.CalicoVXLAN, proxy: true,
		missing: "kube-proxy", late: "calico", noDaemon: noCNI, noProgram: noPolicies,
	},
	{
		name: "L2Bridge Calico", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, daemons: pods.CalicoBGP, proxy: true,
		missing: "kube-proxy", late: "calico", noDaemon: noCNI, noProgram: noPolicies,
	},
	{
		name: "Overlay Flannel", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		plugins: []string{"flannel", "win-overlay", "host-local"}, missing: `C:\k\flanneld.exe`, late: `C:\k\flanneld.exe`,
		without: noFlanneld, noDaemon: noCNI, noProgram: "flanneld.exe",
	},
	{
		name: "L2Bridge Flannel", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		plugins: []string{"flannel", "win-bridge", "host-local"}, missing: `C:\k\flanneld.exe`, late: `C:\k\flanneld.exe`,
		without: noFlanneld, noDaemon: noCNI, noProgram: "flanneld.exe",
	},
	{
		name: "L2Bridge WinBridge", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIWinBridge, daemons: pods.NoDaemons,
		plugins: []string{"win-bridge", "host-local"}, missing: `C:\k\kube-proxy.exe`, late: `C:\k\kube-proxy.exe`,
		without: noKubeProxy, noDaemon: noPolicies, noProgram: "kube-proxy.exe",
	},
	{
		name: "Overlay WinOverlay", mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIWinOverlay, daemons: pods.NoDaemons,
		plugins: []string{"win-overlay", "host-local"}, missing: `C:\k\kube-proxy.exe`, late: `C:\k\kube-proxy.exe`,
		without: noKubeProxy, noDaemon: noPolicies, noProgram: "kube-proxy.exe",
	},
	{
		name: "L2Bridge AzureCNI", mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, daemons: pods.NoDaemons, azure: true,
		plugins: []string{"azure-vnet", "azure-vnet-ipam"}, missing: `C:\k\kube-proxy.exe`, late: `C:\k\kube-proxy.exe`,
		without: noKubeProxy, noDaemon: noPolicies, noProgram: "kube-proxy.exe",
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

// The builds of Windows Server, and the conditions in which each pair is tried.
var (
	builds     = map[string]string{"2019": "17763.7000", "2022": "20348.2700", "2025": "26100.4000"}
	situations = []string{allThere, daemonMissing, programMissing, daemonLate, rebooted, addressLate}
)

const (
	allThere       = "all there"
	daemonMissing  = "daemon missing"
	programMissing = "program missing"
	daemonLate     = "daemon late by 400 s"
	rebooted       = "reboot"
	addressLate    = "address late by 30 s"
)

// cell is one node: a pair on a Windows in a condition.
type cell struct {
	pair
	year, condition string
	number          int
	clock           *windows.FastClock
	guest           *guest.Simulated
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
	case programMissing:
		return false, c.noProgram
	}
	return c.noService == "", c.noService
}

// side is how many guests run at a time.
const side = 16

// TestPods joins a node for each pair, Windows and condition, has the real scheduler bind a pod to it, and asks a Service from
// there. Nothing of a CNI or of kube-proxy runs that the plan or a bound pod has not started.
func TestPods(t *testing.T) {
	w := podCluster(t)
	cells := podCells()
	results := make([]outcome, len(cells))
	var all sync.WaitGroup
	free := make(chan struct{}, side)
	for i, c := range cells {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
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
		}
		if r.service != good || !strings.Contains(r.sentence, sentence) {
			t.Errorf("%s, %s, %s: %+v, want %t with %q", c.name, c.year, c.condition, r, good, sentence)
		}
		table += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, c.year, c.condition, yes(r.joined), yes(r.ready),
			yes(r.address), yes(r.service), strings.ReplaceAll(r.sentence, "\n", " "))
	}
	t.Logf("\n| Pair | Windows | Condition | Joined | Ready | Address | Service | Why not |\n| --- | --- | --- | --- | --- | --- "+
		"| --- | --- |\n%s\nFalse Ready: %d", table, falseReady)
	if falseReady > 0 {
		t.Errorf("%d nodes are Ready on which no pod gets an address", falseReady)
	}
	comparePage(t, cells, results)
}

// reached is what a pod of the node reaches, in the words of docs/networks.md.
func (r outcome) reached() string {
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

// comparePage: docs/networks.md has a line for each pair, as it is on Windows Server 2022.
func comparePage(t *testing.T, cells []*cell, results []outcome) {
	t.Helper()
	page := string(expect.Got(os.ReadFile("../../docs/networks.md"))(t))
	for _, p := range pairs {
		line := "| " + p.name
		for i, c := range cells {
			if c.name == p.name && c.year == "2022" {
				line += " | " + results[i].reached()
			}
		}
		if *onlyCells == "" && !strings.Contains(page, line+" |\n") {
			t.Errorf("docs/networks.md does not have the line\n%s |", line)
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
	for _, p := range pairs {
		for _, year := range []string{"2019", "2022", "2025"} {
			for _, condition := range situations {
				name := p.name + ", " + year + ", " + condition
				if !regexp.MustCompile(*onlyCells).MatchString(name) {
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

// lateness is of a daemon; never is of an image that no registry has.
const (
	lateness = 400 * time.Second
	never    = 24 * time.Hour
)
