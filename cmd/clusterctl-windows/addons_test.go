package main

import (
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// silentPool is the pool of git, whose Cluster has networks.
func silentPool(t *testing.T, oldnew ...string) string {
	t.Helper()
	return changed(t, gitFile, append([]string{
		"  name: blue\nspec:\n  infra", "  name: blue\nspec:\n  clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}, services: " +
			"{cidrBlocks: [10.96.0.0/12]}}\n  infra",
	}, oldnew...)...)
}

// calicoPool is the same with Calico in a VXLAN.
func calicoPool(t *testing.T, oldnew ...string) string {
	t.Helper()
	return silentPool(t, append([]string{
		"      bootstrapDeadlineSeconds: 1500\n", "      network: {mode: Overlay, cni: Calico}\n",
	}, oldnew...)...)
}

// secondPool is another pool of the same Cluster, with Flannel.
func secondPool(t *testing.T, oldnew ...string) string {
	t.Helper()
	_, pool, _ := strings.Cut(calicoPool(t, append([]string{"cni: Calico", "cni: Flannel"}, oldnew...)...),
		"    port: 6443\n---\n")
	pool, _, _ = strings.Cut(pool, "---\napiVersion: v1\nkind: Secret")
	return "---\n" + strings.ReplaceAll(pool, "blue-windows", "blue-flannel")
}

// TestAddons: what is printed follows from the files, or from flags that say the same.
func TestAddons(t *testing.T) {
	const label = "note: a ClusterResourceSet finds its Cluster by a label; give it this one: kubectl label cluster blue -n " +
		"default cluster.x-k8s.io/cluster-name=blue\n"
	labelled := calicoPool(t, "kind: Cluster\nmetadata:\n  name: blue\n",
		"kind: Cluster\nmetadata:\n  name: blue\n  labels: {cluster.x-k8s.io/cluster-name: blue}\n")
	byFile := call(t, labelled, "addons", "-f", "-")
	if byFile.Code != exitDone || byFile.Err != "" || !strings.Contains(byFile.Out, "\n# MachineDeployment default/blue-windows "+
		"(Overlay with Calico): kube-proxy is the DaemonSet kube-proxy-windows, of v1.36.3.\n") {
		t.Fatalf("got %+v", byFile)
	}
	for name, c := range map[string]struct {
		input string
		args  []string
		err   string
	}{
		"without a label": {calicoPool(t), []string{"-f", "-"}, label},
		"network by flags": {
			silentPool(t), []string{"-f", "-", "--mode", "Overlay", "--cni", "Calico"}, label,
		},
		"no files": {
			"", []string{"--kubernetes-version", "v1.36.3", "--mode", "Overlay", "--cni", "Calico", "--cluster", "blue"}, label,
		},
	} {
		got := call(t, c.input, append([]string{"addons"}, c.args...)...)
		_, want, _ := strings.Cut(byFile.Out, "\napiVersion")
		if _, objects, _ := strings.Cut(got.Out, "\napiVersion"); got.Code != exitDone || got.Err != c.err || objects != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	both := call(t, labelled+secondPool(t), "addons", "-f", "-", "--form", "Manifests")
	for _, says := range []string{
		"# MachineDeployment default/blue-flannel (Overlay with Flannel): nothing to apply for kube-proxy, which is a service",
		"# MachineDeployment default/blue-windows (Overlay with Calico): kube-proxy is the DaemonSet",
		"image: sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
	} {
		if both.Code != exitDone || !strings.Contains(both.Out, says) {
			t.Errorf("two pools, without %q: %+v", says, both)
		}
	}
}

// TestAddonsRefused: one sentence, and nothing is printed that could be applied.
func TestAddonsRefused(t *testing.T) {
	pool := calicoPool(t)
	for name, c := range map[string]struct {
		input string
		args  []string
		code  int
		says  string
	}{
		"nothing":          {"", nil, exitUsage, "-f FILE is missing, or --mode, --cni and --kubernetes-version instead of it"},
		"no Cluster":       {"", []string{"--mode", "Overlay"}, exitUsage, "--cluster NAME is missing"},
		"kubectl's --as":   {pool, []string{"--as", "Manifests"}, exitUsage, "unknown flag: --as; no command impersonates a user"},
		"a wrong endpoint": {pool, []string{"-f", "-", "--endpoint", "10.0.0.1"}, exitUsage, `--endpoint "10.0.0.1" is not HOST:PORT`},
		"a cluster for nothing": {
			pool, []string{"-f", "-", "--context", "a"}, exitUsage, "only --form CalicoSettings reads a cluster",
		},
		"images in a form": {
			pool, []string{"-f", "-", "--images", "--form", "Manifests"}, exitUsage, "--images prints no objects, which --form is for",
		},
		"images of a cluster": {
			pool, []string{"-f", "-", "--images", "--context", "a"}, exitUsage, "only --form CalicoSettings reads a cluster",
		},
		"another mode than the file": {
			pool, []string{"-f", "-", "--mode", "L2Bridge"}, exitRefused, "spec.network.mode is Overlay, but --mode is L2Bridge",
		},
		"a machine that no file has": {
			pool + secondPool(t), []string{"-f", "-", "--machine", "other"}, exitRefused, "cannot find Machine other in standard input",
		},
		"no patch in a file": {
			calicoPool(t, "v1.36.3", "v1.36"), []string{"-f", "-"}, exitRefused, "must be a full version, such as v1.36.3",
		},
		"an unknown pair in a file": {
			calicoPool(t, "cni: Calico", "cni: Antrea"), []string{"-f", "-"}, exitRefused, "mode and cni do not fit together",
		},
		"two Clusters": {
			pool + "---\n" + strings.NewReplacer("name: blue\n", "name: green\n", "clusterName: blue", "clusterName: green",
				"blue-windows", "green-windows", "blue-ca", "green-ca").Replace(pool),
			[]string{"-f", "-"},
			exitRefused,
			"MachineDeployment default/green-windows: its Cluster is default/green, but that of MachineDeployment " +
				"default/blue-windows is default/blue; choose a pool with --machine",
		},
		"no pool": {
			without(t, gitFile, "kind: MachineDeployment"),
			[]string{"-f", "-"},
			exitRefused,
			"has neither a Machine nor a MachineDeployment of Windows machines",
		},
	} {
		got := call(t, c.input, append([]string{"addons"}, c.args...)...)
		lines := strings.Count(got.Err, "\n")
		if got.Code != c.code || !strings.Contains(got.Err, c.says) || got.Out != "" || c.code == exitRefused && lines != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// calicoCluster is a workload cluster that answers for some paths, as an API server does: with the object, or a Status.
func calicoCluster(t *testing.T, objects map[string]string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, there := objects[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+clusterToken:
			answer(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		case text == "forbidden":
			answer(w, http.StatusForbidden, "Forbidden", `installations.operator.tigera.io "default" is forbidden`)
		case !there:
			answer(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return inFile(t, kubeconfigOf(t, server.URL, ca, "default"))
}

// poolsOf is a list of Calico's pools, of which one has blocks of this size.
func poolsOf(size int) string {
	return fmt.Sprintf(`{"items":[{"metadata":{"name":"default-ipv4-ippool"},`+
		`"spec":{"cidr":"10.244.0.0/16","blockSize":%d}}]}`, size)
}

// TestCalicoSettings: with a cluster, what is missing there, and nothing that it has.
func TestCalicoSettings(t *testing.T) {
	const installation, group = "/apis/operator.tigera.io/v1/installations/default", "/apis/projectcalico.org/v3"
	const endpoint = "/api/v1/namespaces/tigera-operator/configmaps/kubernetes-services-endpoint"
	stock := map[string]string{
		group: "{}", group + "/ipamconfigurations/default": `{"spec":{"strictAffinity":false}}`,
		installation: `{"spec":{"calicoNetwork":{"bgp":"Enabled","ipPools":[{"cidr":"10.244.0.0/16","encapsulation":"IPIP"}]}}}`,
	}
	whole := map[string]string{
		group: "{}", group + "/ipamconfigurations/default": `{"spec":{"strictAffinity":true}}`,
		endpoint: `{"data":{"KUBERNETES_SERVICE_HOST":"10.0.0.10","KUBERNETES_SERVICE_PORT":"6443"}}`,
		installation: `{"spec":{"serviceCIDRs":["10.96.0.0/12"],"calicoNetwork":{"bgp":"Disabled","windowsDataplane":"HNS",` +
			`"ipPools":[{"cidr":"10.244.0.0/16","encapsulation":"VXLAN"}]}}}`,
	}
	ask := func(objects map[string]string) ended {
		return call(t, calicoPool(t), "addons", "-f", "-", "--form", "CalicoSettings", "--kubeconfig", calicoCluster(t, objects))
	}
	for _, says := range []string{
		`kubectl patch ipamconfigurations.projectcalico.org default --type merge --patch '{"spec":{"strictAffinity":true}}'`,
		`KUBERNETES_SERVICE_HOST: "10.0.0.10"`, `"windowsDataplane":"HNS"`, `"serviceCIDRs":["10.96.0.0/12"]`, `"bgp":"Disabled"`,
		`"path":"/spec/calicoNetwork/ipPools/0/encapsulation","value":"VXLAN"`,
	} {
		if got := ask(stock); got.Code != exitDone || !strings.Contains(got.Out, says) {
			t.Errorf("a stock Calico, without %s: %+v", says, got)
		}
	}
	got := ask(whole)
	if got.Code != exitDone || strings.Contains(got.Out, "kubectl") || !strings.Contains(got.Out, "Nothing is missing") {
		t.Errorf("a whole Calico: %+v", got)
	}
	for pools, says := range map[string]string{
		"":                       "which has 60 for pods in the pool 10.244.0.0/16 with blockSize 26, and spec.kubelet.maxPods is",
		poolsOf(26):              "which has 60 for pods in the pool default-ipv4-ippool with blockSize 26, and spec.kubelet.maxPods",
		poolsOf(25):              "",
		"forbidden":              "the user of this kubeconfig may not list Calico's ippools, so only its default blockSize is known",
		"HostLocal":              "",
		`{"items":[],"other":1}`: "which has 60 for pods in the pool 10.244.0.0/16 with blockSize 26",
	} {
		objects := maps.Clone(whole)
		if pools == "HostLocal" {
			objects[installation] = strings.Replace(whole[installation], `"spec":{`, `"spec":{"cni":{"ipam":{"type":"HostLocal"}},`, 1)
			pools = poolsOf(26)
		}
		if pools != "" {
			objects["/apis/crd.projectcalico.org/v1"], objects["/apis/crd.projectcalico.org/v1/ippools"] = "{}", pools
		}
		got := ask(objects)
		if got.Code != exitDone || (got.Err == "") != (says == "") || !strings.Contains(got.Err, says) || got.Out == "" {
			t.Errorf("the pools %s, without %q: %+v", pools, says, got)
		}
	}
	dead := call(t, calicoPool(t), "addons", "-f", "-", "--form", "CalicoSettings", "--kubeconfig",
		inFile(t, kubeconfigOf(t, "https://127.0.0.1:1", nil, "default")))
	if dead.Code != exitRefused || !strings.Contains(dead.Err, "connection refused; look at the address in --kubeconfig ") {
		t.Errorf("a dead cluster: %+v", dead)
	}
	for says, objects := range map[string]map[string]string{
		`has no Installation "default" of operator.tigera.io`:     {},
		`installations.operator.tigera.io "default" is forbidden`: {installation: "forbidden"},
	} {
		got := ask(objects)
		if got.Code != exitRefused || !strings.Contains(got.Err, says) || strings.Count(got.Err, "\n") != 1 || got.Out != "" {
			t.Errorf("%s: %+v", says, got)
		}
		if strings.Contains(got.Err, clusterToken) {
			t.Error("the output has the token")
		}
	}
}
