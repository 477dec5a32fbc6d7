package main

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/smoke"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestOutwards: without the flag, the registry is the server outside of the cluster: each node reaches it, or pulls nothing.
func TestOutwards(t *testing.T) {
	for registry, want := range map[string]string{
		smoke.DefaultRegistry: "registry.k8s.io:443", "registry.example.com:5000/a/b": "registry.example.com:5000",
		"registry.example.com": "registry.example.com:443", "team/mirror": "docker.io:443", "localhost:5000/x": "localhost:5000",
	} {
		c := &smokeTest{cluster: clusterFlags{context: "c"}, options: smoke.Options{Registry: registry, Tag: "1", Start: 1}}
		expect.OK(t, c.complete())
		expect.Same(t, registry, want, c.options.Outwards)
	}
	c := &smokeTest{cluster: clusterFlags{context: "c"}, options: smoke.Options{Registry: "r", Tag: "1", Start: 1}, outwards: noHost}
	expect.OK(t, c.complete())
	expect.Same(t, "none", "", c.options.Outwards)
}

// TestSmokeAsksNobody: a cluster that is not there is told in a sentence, before anything is made, and without its secrets.
func TestSmokeAsksNobody(t *testing.T) {
	config := inFile(t, kubeconfigOf(t, "https://u:canary-1@127.0.0.1:1", nil, ""))
	got := call(t, "", "smoke", "--kubeconfig", config)
	if got.Code != exitRefused || got.Out != "" || strings.Count(got.Err, "\n") != 1 || strings.Contains(got.Err, "canary") ||
		!strings.Contains(got.Err, "the cluster https://u:xxxxx@127.0.0.1:1 cannot be read: ") ||
		!strings.HasSuffix(got.Err, "; look at the address in --kubeconfig "+config+"\n") {
		t.Errorf("got %+v", got)
	}
}
