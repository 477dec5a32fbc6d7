// Package metrics counts and measures what operators of the managers watch; docs/metrics.md lists it. A caller may rely on this:
//
//   - Every metric is named capwin_..., is in the registry that the managers serve, and has times in seconds.
//   - The values of a label are few and our own: kinds of clouds, methods, outcomes, phases, reasons. No metric has the name of a
//     VM, of a machine or of a server. A Secret's name stands for an account, and a Cluster's for its VMs, because these are few.
//     What a server or a guest writes is never a label; callers see to that with lists of what they know.
//   - A call is cheap, waits for nothing, and may be made from several goroutines.
//
// What can be read from what there is now, such as accounts and machines, is read when a scrape asks for it: rooms that know it
// are collectors, which main.go adds.
package metrics

import (
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The outcomes of calls beside the kinds of cloud.Error, which are written in small letters.
const (
	// OK: the answer is what was asked for.
	OK = "ok"
	// Canceled: the manager needed no answer any more.
	Canceled = "canceled"
)

var (
	build = registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "capwin_build_info",
		Help: "Always 1; the labels show which manager this is and how it was built.",
	}, []string{"version", "go_version", "controllers"}))

	skew = registered(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "capwin_clock_skew_seconds",
		Help: "By how much the manager's clock is ahead of that of the management cluster's API server; negative if it is behind.",
	}))

	calls = registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "capwin_cloud_call_duration_seconds",
		Help:    "How long calls to a cloud took, by method and outcome.",
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 180},
	}, []string{"cloud", "method", "outcome"}))

	made = registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "capwin_vm_creation_duration_seconds",
		Help:    "How long it took from a machine that had its bootstrap data to its running VM.",
		Buckets: []float64{15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200},
	}, []string{"cloud"}))

	joined = registered(prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "capwin_node_join_duration_seconds",
		Help:    "How long it took from a running VM to its Node.",
		Buckets: []float64{60, 120, 180, 300, 450, 600, 900, 1200, 1800, 3600, 7200},
	}))

	phases = registered(prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "capwin_bootstrap_phase_duration_seconds",
		Help:    "How long a phase of a bootstrap took, as its guest reports at the end.",
		Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600},
	}, []string{"phase"}))

	failures = registered(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "capwin_bootstrap_failures_total",
		Help: "Bootstraps that failed or were given up, by reason.",
	}, []string{"reason"}))

	orphans = registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "capwin_orphan_vms",
		Help: "VMs that were made for a machine of this Cluster and that no machine has.",
	}, []string{"cluster_name"}))

	placements = registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "capwin_placement_findings",
		Help: "What is wrong with the placement of pods in this Cluster, by problem, such as workloads that may come to Windows Nodes.",
	}, []string{"cluster_name", "problem"}))

	leftovers = registered(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "capwin_orphan_resources",
		Help: "Disks, network interfaces and public IP addresses that a VM of this Cluster left and that no machine has.",
	}, []string{"cluster_name"}))
)

// Build reports the version of this manager.
func Build(version string, controllers []string) {
	build.WithLabelValues(version, runtime.Version(), strings.Join(controllers, ",")).Set(1)
}

// ClockSkew reports by how much our clock is ahead of the API server's.
func ClockSkew(lead time.Duration) { skew.Set(lead.Seconds()) }

// Call counts a call to a cloud. The method is one of a fixed list, and so is the outcome.
func Call(cloud, method, outcome string, took time.Duration) {
	calls.WithLabelValues(cloud, method, outcome).Observe(seconds(took))
}

// Made counts a VM that runs for the first time, so long after its machine could be made.
func Made(cloud string, took time.Duration) { made.WithLabelValues(cloud).Observe(seconds(took)) }

// Joined counts a Node that has joined, so long after its VM ran.
func Joined(took time.Duration) { joined.Observe(seconds(took)) }

// Phase counts a phase of a bootstrap that has ended. The name is one of ours, not of the guest.
func Phase(name string, took time.Duration) { phases.WithLabelValues(name).Observe(seconds(took)) }

// Failed counts a bootstrap that failed. The reason is one of the API.
func Failed(reason string) { failures.WithLabelValues(reason).Inc() }

// Orphans reports how many VMs of a Cluster, and how many resources that VMs left, have no machine; the name is NAMESPACE/NAME.
// With none the Cluster is forgotten.
func Orphans(cluster string, vms, resources int) {
	for gauge, n := range map[*prometheus.GaugeVec]int{orphans: vms, leftovers: resources} {
		if n == 0 {
			gauge.DeleteLabelValues(cluster)
			continue
		}
		gauge.WithLabelValues(cluster).Set(float64(n))
	}
}

// Placements reports how many findings with a problem a Cluster has; the name is NAMESPACE/NAME, and the problem one of ours.
// With none the series is forgotten.
func Placements(cluster, problem string, n int) {
	if n == 0 {
		placements.DeleteLabelValues(cluster, problem)
		return
	}
	placements.WithLabelValues(cluster, problem).Set(float64(n))
}

// Add lets the scrapes of this process collect from c, too.
func Add(c prometheus.Collector) error { return metrics.Registry.Register(c) }

func registered[C prometheus.Collector](c C) C {
	metrics.Registry.MustRegister(c)
	return c
}

// seconds is never negative: the two times may be from the clocks of two computers.
func seconds(took time.Duration) float64 { return max(0, took.Seconds()) }
