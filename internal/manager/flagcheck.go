package manager

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
)

// minTokenTTL leaves time to look at a token three times in its life, and minSyncPeriod time for anything else.
const minTokenTTL, minSyncPeriod = time.Minute, time.Minute

// wanted checks the flags and returns the providers to run.
func (f *managerFlags) wanted() (map[string]bool, error) {
	wanted := map[string]bool{}
	for _, name := range f.controllers {
		if name != infrastructureProvider && name != bootstrapProvider {
			return nil, fmt.Errorf("--controllers=%s is not valid; use infrastructure, bootstrap, or both with a comma between them", name)
		}
		wanted[name] = true
	}
	if len(wanted) == 0 {
		return nil, errors.New("--controllers is empty, so nothing would be reconciled; use infrastructure, bootstrap, or both " +
			"with a comma between them")
	}
	_, err := f.limits()
	return wanted, errors.Join(
		f.checkScope(), f.checkTimes(), f.checkLimits(), f.checkLease(), f.checkProfiler(), f.checkTookOver(), err)
}

// checkScope refuses what selects no object, so that the manager would do nothing and be healthy.
func (f *managerFlags) checkScope() error {
	if problems := validation.IsDNS1123Label(f.namespace); f.namespace != "" && len(problems) > 0 {
		return fmt.Errorf("--namespace=%q is not the name of a namespace: %s; leave it out for all "+
			"namespaces", f.namespace, problems[0])
	}
	if problems := validation.IsValidLabelValue(f.watchFilter); len(problems) > 0 {
		return fmt.Errorf("--watch-filter=%q is not a valid label value: %s; leave it out for all objects", f.watchFilter, problems[0])
	}
	return nil
}

func (f *managerFlags) checkTimes() error {
	if f.tokenTTL < minTokenTTL {
		return fmt.Errorf("--bootstrap-token-ttl=%s is too short; use at least %s", f.tokenTTL, minTokenTTL)
	}
	if f.syncPeriod < minSyncPeriod {
		return fmt.Errorf("--sync-period=%s is too short: each object is reconciled that often; use at least %s", f.syncPeriod,
			minSyncPeriod)
	}
	return nil
}

// checkLimits refuses numbers with which client-go waits for ever, or has no limit.
func (f *managerFlags) checkLimits() error {
	for _, option := range []struct {
		flag  string
		value float64
	}{
		{"kube-api-qps", float64(f.qps)},
		{"kube-api-burst", float64(f.burst)},
		{"workload-api-qps", float64(f.workloadQPS)},
		{"workload-api-burst", float64(f.workloadBurst)},
		{"windowsmachine-concurrency", float64(f.machineConcurrency)},
		{"windowsbootstrapconfig-concurrency", float64(f.configConcurrency)},
	} {
		if !(option.value > 0) { // nor NaN
			return fmt.Errorf("--%s=%v is not a limit; use a number above 0", option.flag, option.value)
		}
	}
	return nil
}

// checkTookOver refuses a UID that no namespace can have: it would match nothing, unnoticed.
func (f *managerFlags) checkTookOver() error {
	for _, uid := range f.tookOverFrom {
		if parsed, err := uuid.Parse(uid); err != nil || parsed.String() != uid {
			return fmt.Errorf("--took-over-from=%q is not the UID of a management cluster; the condition of a machine that waits for it "+
				"names that, such as 11111111-2222-3333-4444-555555555555", uid)
		}
	}
	return nil
}

// namespaceOfPod is a file that every Pod has. Without it controller-runtime does not know where the lease belongs.
const namespaceOfPod = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (f *managerFlags) checkLease() error {
	if _, err := os.Stat(namespaceOfPod); err == nil || !f.leaderElect || f.leaseSpace != "" {
		return nil
	}
	return errors.New("--leader-elect needs a namespace for its lease, and outside of a cluster there is none by itself; " +
		"set --leader-elect-namespace, or leave --leader-elect out if only one manager runs")
}

// checkProfiler keeps the profiler, which asks for no login, away from the network.
func (f *managerFlags) checkProfiler() error {
	if f.profilerAddress == "" || f.profilerAddress == "0" {
		return nil
	}
	host, _, err := net.SplitHostPort(f.profilerAddress)
	if address := net.ParseIP(host); err == nil && (host == "localhost" || address != nil && address.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("--profiler-address=%s is not on the loopback interface, and the profiler needs no login; use "+
		"localhost:6060 and kubectl port-forward", f.profilerAddress)
}
