package bootstrap_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// fieldHalves are the rules of fields, half by half: what is refused, and the nearest to it that is taken.
var fieldHalves = []struct{ refused, taken, want string }{
	{`{"containerLogMaxFiles": 1}`, `{"containerLogMaxFiles": 2}`, "containerLogMaxFiles must be more than 1"},
	{`{"containerLogMaxWorkers": 0}`, `{"containerLogMaxWorkers": 1}`, "containerLogMaxWorkers must be 1 or more"},

	{`{"imageGCLowThresholdPercent": -1}`, `{"imageGCLowThresholdPercent": 0}`, "must be percentages"},
	{`{"imageGCHighThresholdPercent": 101}`, `{"imageGCHighThresholdPercent": 100}`, "must be percentages"},
	{`{"imageGCLowThresholdPercent": 85}`, `{"imageGCLowThresholdPercent": 84}`, "must be percentages"},
	{`{"imageGCHighThresholdPercent": 80}`, `{"imageGCHighThresholdPercent": 81}`, "must be percentages"},
	{
		`{"imageGCLowThresholdPercent": 50, "imageGCHighThresholdPercent": 50}`,
		`{"imageGCLowThresholdPercent": 50, "imageGCHighThresholdPercent": 51}`, "must be percentages",
	},

	{`{"maxParallelImagePulls": 0}`, `{"maxParallelImagePulls": 1}`, "maxParallelImagePulls must be 1 or more"},
	{
		`{"maxParallelImagePulls": 2, "serializeImagePulls": true}`, `{"maxParallelImagePulls": 1, "serializeImagePulls": true}`,
		"maxParallelImagePulls must be 1 or more",
	},
	{
		`{"maxParallelImagePulls": 3, "serializeImagePulls": true}`, `{"maxParallelImagePulls": 3, "serializeImagePulls": false}`,
		"and not above 1 with serializeImagePulls: true",
	},

	{`{"shutdownGracePeriod": "19s"}`, `{"shutdownGracePeriod": "20s"}`, "at least as long as"},
	{`{"shutdownGracePeriodCriticalPods": "61s"}`, `{"shutdownGracePeriodCriticalPods": "60s"}`, "at least as long as"},
	{
		`{"shutdownGracePeriod": "999ms", "shutdownGracePeriodCriticalPods": "0s"}`,
		`{"shutdownGracePeriod": "1s", "shutdownGracePeriodCriticalPods": "0s"}`, "neither may be between 0s and 1s",
	},
	{`{"shutdownGracePeriodCriticalPods": "999ms"}`, `{"shutdownGracePeriodCriticalPods": "1s"}`, "may be between 0s and 1s"},
	{
		`{"shutdownGracePeriod": "-1s", "shutdownGracePeriodCriticalPods": "-2s"}`,
		`{"shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s"}`, "at least as long as",
	},
	{`{"shutdownGracePeriodCriticalPods": "-1s"}`, `{"shutdownGracePeriodCriticalPods": "0s"}`, "at least as long as"},
	{
		`{"shutdownGracePeriodCriticalPods": "0s", "shutdownGracePeriodByPodPriority": [{"priority": 0, ` +
			`"shutdownGracePeriodSeconds": 5}]}`,
		`{"shutdownGracePeriodCriticalPods": "0s", "shutdownGracePeriodByPodPriority": []}`, "replaces the other two periods",
	},

	{`{"eventBurst": -1}`, `{"eventBurst": 0}`, "must not be negative"},
	{`{"kubeAPIBurst": -1}`, `{"kubeAPIBurst": 0}`, "must not be negative"},
	{`{"registryBurst": -1}`, `{"registryBurst": 0}`, "must not be negative"},
	{`{"eventRecordQPS": -1}`, `{"eventRecordQPS": 0}`, "must not be negative"},
	{`{"kubeAPIQPS": -1}`, `{"kubeAPIQPS": 0}`, "must not be negative"},
	{`{"registryPullQPS": -1}`, `{"registryPullQPS": 0}`, "must not be negative"},
	{`{"nodeStatusMaxImages": -2}`, `{"nodeStatusMaxImages": -1}`, "must not be negative"},

	{`{"containerLogMonitorInterval": "2999ms"}`, `{"containerLogMonitorInterval": "3s"}`, "must be 3s or more"},
	{`{"imageMinimumGCAge": "-1s"}`, `{"imageMinimumGCAge": "0s"}`, "neither may be negative"},
	{`{"imageMaximumGCAge": "-1s"}`, `{"imageMaximumGCAge": "0s"}`, "neither may be negative"},
	{
		`{"imageMaximumGCAge": "2m", "imageMinimumGCAge": "2m"}`, `{"imageMaximumGCAge": "121s", "imageMinimumGCAge": "2m"}`,
		"must be longer than imageMinimumGCAge",
	},
	{`{"logging": {"format": "JSON"}}`, `{"logging": {"format": "json"}}`, "logging.format must be text or json"},
	{`{"logging": {"format": "klog"}}`, `{"logging": {"format": "text"}}`, "logging.format must be text or json"},
	{`{"logging": {"options": {"json": {"splitStream": true}}}}`, `{"logging": {"options": {}}}`, "needs alpha feature gates"},

	{`{"port": 65536}`, `{"port": 65535}`, "must be valid ports"},
	{`{"port": -1}`, `{"port": 1}`, "must be valid ports"},
	{`{"readOnlyPort": 65536}`, `{"readOnlyPort": 65535}`, "must be valid ports"},
	{`{"readOnlyPort": -1}`, `{"readOnlyPort": 0}`, "must be valid ports"},
	{`{"healthzPort": 65536}`, `{"healthzPort": 65535}`, "must be valid ports"},
	{`{"healthzPort": -1}`, `{"healthzPort": 0}`, "must be valid ports"},

	{`{"clusterDNS": ["10.96.0.10", "dns"]}`, `{"clusterDNS": ["10.96.0.10", "fd00::a"]}`, "clusterDNS must have addresses"},
	{`{"clusterDNS": ["010.96.0.10"]}`, `{"clusterDNS": ["2001:db8:0:0::10"]}`, "clusterDNS must have addresses"},
	{`{"clusterDomain": "-"}`, `{"clusterDomain": ""}`, "clusterDomain must be a domain"},
	{`{"nodeLeaseDurationSeconds": -1}`, `{"nodeLeaseDurationSeconds": 0}`, "nodeLeaseDurationSeconds must not be negative"},

	{
		`{"evictionSoft": {"memory.availabl": "1Gi"}, "evictionSoftGracePeriod": {"memory.availabl": "1m"}}`,
		`{"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}`,
		"evictionSoft must name signals",
	},
	{
		`{"evictionSoft": {"pid.available": "10%"}, "evictionSoftGracePeriod": {"pid.available": "1m"}}`,
		`{"evictionSoft": {"nodefs.available": "10%"}, "evictionSoftGracePeriod": {"nodefs.available": "1m"}}`,
		"evictionSoft must name signals",
	},
	{
		`{"evictionSoft": {"imagefs.available": "lots"}, "evictionSoftGracePeriod": {"imagefs.available": "1m"}}`,
		`{"evictionSoft": {"imagefs.available": "10Gi"}, "evictionSoftGracePeriod": {"imagefs.available": "1m"}}`,
		"evictionSoft must name signals",
	},
	{
		`{"evictionSoft": {"memory.available": "1Gi", "nodefs.available": "1Gi"}, ` +
			`"evictionSoftGracePeriod": {"memory.available": "1m"}}`,
		`{"evictionSoft": {"memory.available": " 1Gi "}, "evictionSoftGracePeriod": {"memory.available": "1m"}}`,
		"each with its time",
	},
	{`{"evictionSoft": {}, "evictionSoftGracePeriod": {"memory.available": "1m"}}`, `{"evictionSoft": {}}`, "each with its time"},

	{`{"staticPodURLHeader": {"Fact": ["cpus"]}}`, `{"staticPodURLHeader": {"Facts": ["cpus"]}}`, `a map has the key "Fact"`},
	{`{"staticPodURLHeader": {"FACT": ["a"], "X": ["b"]}}`, `{"staticPodURLHeader": {"X": ["b"]}}`, `a map has the key "FACT"`},
	{
		`{"staticPodURLHeader": {"X-A": ["1"], "x-a": ["2"]}}`, `{"staticPodURLHeader": {"X-A": ["1"], "X-B": ["2"]}}`,
		`the keys "X-A" and "x-a", which are the same on Windows`,
	},
	{
		`{"shutdownGracePeriodByPodPriority": [{"priority": 0, "Priority": 1}]}`, `{"shutdownGracePeriodByPodPriority": []}`,
		"the kubelet would ignore a field",
	},
}

func TestFieldRulesHalfByHalf(t *testing.T) {
	for _, size := range []struct {
		name   string
		change change
	}{{"size known", nil}, {"size of the template", ofTemplateSize}} {
		for _, half := range fieldHalves {
			_, err := bootstrap.Render(plainInput(t, size.change, withConfig(half.refused)))
			refused, ok := errors.AsType[*bootstrap.InvalidError](err)
			if !ok || !strings.HasSuffix(refused.Field, "spec.kubelet.configuration") || !strings.Contains(refused.Message, half.want) {
				t.Errorf("%s: %s: %v, want %s", size.name, half.refused, err, half.want)
			}
			if _, err := bootstrap.Render(plainInput(t, size.change, withConfig(half.taken))); err != nil {
				t.Errorf("%s: %s: %v", size.name, half.taken, err)
			}
		}
	}
}

// What a user may write in a Machine and a Cluster, and what comes of it.
func TestVersionsAndHosts(t *testing.T) {
	const version, host = "Machine spec.version", "Cluster spec.controlPlaneEndpoint"
	refuse(t, []mistake{
		{"no patch", version, ofVersion("v1.36"), `"v1.36" is not a full version; use one such as v1.36.3`},
		{"blank behind", version, ofVersion("v1.36.3 "), `"v1.36.3 " is not a full version`},
		{"blank before", version, ofVersion(" v1.36.3"), `" v1.36.3" is not a full version`},
		{"line end", version, ofVersion("v1.36.3\n"), `"v1.36.3\n" is not a full version`},
		{"four numbers", version, ofVersion("v1.36.3.1"), "is not a full version"},
		{"odd suffix", version, ofVersion("v1.36.3+a b"), "is not a full version"},
		{"no suffix", version, ofVersion("v1.36.3+"), "is not a full version"},
		{"too old", version, ofVersion("v1.29.9"), "is not supported; use v1.30.0"},
		{"another Kubernetes", version, ofVersion("v2.36.0"), "is not supported"},
		{"leading zero", host, withEndpoint("010.0.0.1", 6443), `host "010.0.0.1" is neither a DNS name nor an IP address`},
		{"too few numbers", host, withEndpoint("10.1", 6443), "is neither"},
		{"number", host, withEndpoint("167772161", 6443), "is neither"},
		{"hexadecimal", host, withEndpoint("10.0.0.0x1", 6443), "is neither"},
		{"zone", host, withEndpoint("fe80::1%eth0", 6443), "is neither"},
		{"IPv4 in IPv6", host, withEndpoint("::ffff:10.0.0.1", 6443), "is neither"},
		{"brackets", host, withEndpoint("[fd00::10]", 6443), "is neither"},
		{"port 0", host, withEndpoint("10.0.0.1", 0), "host or port is missing"},
		{"port above", host, withEndpoint("10.0.0.1", 65536), "port 65536 is not valid"},
		{"port below", host, withEndpoint("10.0.0.1", -1), "port -1 is not valid"},
	})
	for _, version := range []string{"v1.36.3", "1.36.3", "v1.36.3+vmware.1", "v1.36.3_vmware.1", "v1.36.3-rc.1", "v1.30.0"} {
		if _, err := bootstrap.Render(plainInput(t, ofVersion(version))); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	for _, host := range []string{"10-0-0-1.example.com", "API.example.com", "a.b1", "1.example", "10.0.0.1", "0x1.com"} {
		if _, err := bootstrap.Render(plainInput(t, withEndpoint(host, 65535), withEndpoint(host, 1))); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// An IPv6 address is told to kubeadm and to the checks in one form, however it was written.
func TestEndpointInAnotherForm(t *testing.T) {
	for _, host := range []string{"2001:db8:0:0::10", "2001:DB8::10", "2001:0db8:0:0:0000:0000:0000:0010", "2001:db8::0.0.0.16"} {
		p := render(t, plainInput(t, withEndpoint(host, 6443))).Plan()
		if got := joinConfiguration(t, p).Discovery.BootstrapToken.APIServerEndpoint; got != "[2001:db8::10]:6443" {
			t.Errorf("%s: kubeadm gets %s", host, got)
		}
	}
}

// An expired CA may still be in use, so it is a warning. There is none as long as one of several CAs is good.
func TestExpiredCA(t *testing.T) {
	ends := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	sooner, last := caUntil(t, ends.AddDate(-1, 0, 0)), caUntil(t, ends)
	for _, test := range []struct {
		name string
		now  time.Time
		want bool
	}{
		{"no clock", time.Time{}, false},
		{"a second before", ends.Add(-time.Second), false},
		{"as it ends", ends, true},
		{"a year later", ends.AddDate(1, 0, 0), true},
	} {
		in := plainInput(t, withCA(slices.Concat(sooner, last, sooner)))
		in.Now = test.now
		warnings := strings.Join(render(t, in).Warnings(), "\n")
		if got := strings.Contains(warnings, "the cluster's CA expired on "+ends.UTC().Format(time.DateOnly)); got != test.want {
			t.Errorf("%s: %q", test.name, warnings)
		}
	}
}

// caUntil is a CA that ends at a time.
func caUntil(t *testing.T, ends time.Time) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends, IsCA: true, BasicConstraintsValid: true}
	der := expect.Got(x509.CreateCertificate(nil, template, template, public, private))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
