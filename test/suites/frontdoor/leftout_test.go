package frontdoor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// leftOut makes a cluster without the kinds of Calico, without the network of Services for it, without its cloud provider,
// without the API server's address for Calico and without kube-proxy, and adds one after the other; before that address it takes
// strict affinity away. Each time no pod runs, and somebody says why. That it was for the part that is added then, shows what
// happens next.
func leftOut(t *testing.T) {
	w := newWorld(t)
	w.onVSphere()
	m := w.newManagement("management")
	variables := w.vsphereVariables()
	w.shell(m, vsphereLogin, variables...)
	whole := w.shell(m, generate, variables...)
	lacking, file := without(t, whole), filepath.Join(w.dir, "lacking.yaml")
	expect.OK(t, os.WriteFile(file, lacking, 0o600))
	complete := filepath.Join(w.dir, "complete.yaml")
	expect.OK(t, os.WriteFile(complete, []byte(whole), 0o600))
	apply := func(kind, name string) { w.shell(m, "kubectl apply -f "+w.only(whole, kind, name)) }
	w.make(m, "kubectl apply -f "+file, nil)

	w.releaseSays(m, "demo-calico", `no matches for kind "Installation" in version "operator.tigera.io/v1"`)
	apply("HelmChartProxy", "demo-calico-crds")

	w.calicoSays("calico", "installation spec.ServiceCIDRs must be provided when using Calico CNI on Windows")
	w.poolSays("has no Ready Node among its 1")
	w.noNetwork()
	w.shell(m, "kubectl apply -f "+w.only(string(withServices(t, whole)), "HelmChartProxy", "demo-calico"))

	w.poolSays("no cloud provider has initialized Node", "demo-vsphere-cloud-secret")
	if made, _ := w.counts(); made > 0 {
		t.Errorf("%d Windows VMs were ordered without a cloud provider", made)
	}
	w.noPodRuns()
	w.shell(m, cloudProviderLogin, variables...)

	w.calicoSays(calicoOnWindows, `Error reading services endpoint configmap: ConfigMap "kubernetes-services-endpoint" not found`)
	w.refusesValues()
	w.windowsNodeSays("cni plugin not initialized")
	w.commandSays(m, smokeTest, noNetwork...)
	w.commandSays(m, calicoSettings, "the address of the API server is missing, and Calico's Windows nodes need it")
	w.noPodRuns()
	w.loosen(m, whole)
	apply("HelmChartProxy", "demo-calico")

	w.calicoSays(calicoOnWindows, "Invalid StrictAffinity, it must be set to 'true' when using Calico IPAM on Windows")
	w.commandSays(m, smokeTest, noNetwork...)
	kind := "ipamconfigs.v1.crd.projectcalico.org"
	if w.operator != "" { // whose API is served
		kind = "ipamconfigurations.projectcalico.org"
	}
	w.commandSays(m, calicoSettings, "# Addresses of a Windows node's block are its own.",
		"kubectl patch "+kind+` default --type merge --patch '{"spec":{"strictAffinity":true}}'`)
	w.noPodRuns()
	apply("ConfigMap", "demo-calico")

	w.commandSays(m, calicoSettings, "# Nothing is missing.")
	w.windowsPodRuns()
	failed := map[string]string{}
	found, failure := w.smoke(m)
	if failure == nil {
		t.Error("clusterctl windows smoke ends with code 0 without kube-proxy")
	}
	for _, finding := range found {
		if finding.Result == "failed" {
			failed[finding.Check] = finding.Message
		}
	}
	said := failed["Windows pod to Service of Linux pod"]
	if !strings.Contains(said, "Kube-proxy does not work on this node") {
		t.Errorf("clusterctl windows smoke does not say that kube-proxy is missing: %v", failed)
	}
	apply("ConfigMap", "demo-windows-addons")
	w.until("kube-proxy on the Windows Node", func() (any, bool) {
		return nil, w.seen(proxyRuns)
	})
	w.smokeHolds(m)
}

// The commands that say why no pod runs on Windows. Where the network is missing, the second has what Calico lacks.
const (
	smokeTest      = "clusterctl windows smoke"
	calicoSettings = "clusterctl windows addons --kubernetes-version " + kubernetesVersion +
		" --mode Overlay --cni Calico --form CalicoSettings"
)

var noNetwork = []string{
	"no Windows Node takes pods: ", "cni plugin not initialized",
	`the CNI does not run there yet, see docs/networks.md, "What you apply"`,
}

// commandSays runs a command of the plugin for the workload cluster until it has these words.
func (w *world) commandSays(m *management, command string, words ...string) {
	w.Helper()
	file := filepath.Join(w.dir, "left-out.kubeconfig")
	w.shell(m, "clusterctl get kubeconfig demo > "+file)
	w.until(command+" to say "+words[len(words)-1], func() (any, bool) {
		said, _ := w.try(&management{}, command+" --kubeconfig "+file) // which may fail, as it should
		for _, part := range words {
			if !strings.Contains(said, part) {
				return said, false
			}
		}
		w.tell("%s: %s", command, strings.TrimSpace(said))
		return said, true
	})
}

// loosen takes strict affinity away, as Calico's own IPAMConfig has none, before its operator has looked for it.
func (w *world) loosen(m *management, whole string) {
	w.Helper()
	file := w.only(whole, "ConfigMap", "demo-calico")
	strict := string(expect.Got(os.ReadFile(file))(w))
	loose := strings.Replace(strict, "strictAffinity: true", "strictAffinity: false", 1)
	if loose == strict {
		w.Fatalf("the ConfigMap of Calico sets no strict affinity:\n%s", strict)
	}
	expect.OK(w, os.WriteFile(file, []byte(loose), 0o600))
	w.shell(m, "kubectl apply -f "+file)
	workload, _ := w.demo().Workload()
	w.until("strict affinity to be off", func() (any, bool) {
		said, _ := w.try(&management{}, "kubectl --kubeconfig "+workload.KubeconfigFile+
			" get ipamconfigs.v1.crd.projectcalico.org default -o jsonpath={.spec.strictAffinity}")
		return said, said == "false"
	})
}

// without leaves out of a manifest what leftOut adds.
func without(t *testing.T, manifest string) []byte {
	t.Helper()
	return changed(t, manifest, map[string]func(*unstructured.Unstructured) bool{
		"HelmChartProxy demo-calico-crds": func(*unstructured.Unstructured) bool { return false },
		"HelmChartProxy demo-calico": func(object *unstructured.Unstructured) bool {
			cutEndpoint(t, object)
			cutValues(t, object, "  {{- with .Cluster.spec.clusterNetwork.services }}", "  windowsNodes:")
			return true
		},
		"ConfigMap demo-windows-addons": func(object *unstructured.Unstructured) bool {
			data, _, _ := unstructured.NestedString(object.Object, "data", "addons.yaml")
			_, rest, found := strings.Cut(data, "---\n")
			if !found || !strings.Contains(data, "kube-proxy-windows") || strings.Contains(rest, "kube-proxy-windows") {
				t.Fatal("the DaemonSet of kube-proxy is not first")
			}
			expect.OK(t, unstructured.SetNestedField(object.Object, rest, "data", "addons.yaml"))
			return true
		},
	})
}

// withServices is the manifest of which only the API server's address for Calico is left out.
func withServices(t *testing.T, manifest string) []byte {
	t.Helper()
	return changed(t, manifest, map[string]func(*unstructured.Unstructured) bool{
		"HelmChartProxy demo-calico": func(object *unstructured.Unstructured) bool { cutEndpoint(t, object); return true },
	})
}

func cutEndpoint(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	cutValues(t, object, "{{- with .Cluster.spec.controlPlaneEndpoint }}", "{{- if $azure }}\n# The address")
}

// cutValues takes out of a chart's values what is from one text to another.
func cutValues(t *testing.T, object *unstructured.Unstructured, from, to string) {
	t.Helper()
	values, _, _ := unstructured.NestedString(object.Object, "spec", "valuesTemplate")
	begin, end := strings.Index(values, from), strings.Index(values, to)
	if begin < 0 || end < begin {
		t.Fatalf("the values of Calico have no %s before %s:\n%s", from, to, values)
	}
	expect.OK(t, unstructured.SetNestedField(object.Object, values[:begin]+values[end:], "spec", "valuesTemplate"))
}

// changed is a manifest with changes of its objects, by kind and name; what answers with false is left out.
func changed(t *testing.T, manifest string, changes map[string]func(*unstructured.Unstructured) bool) []byte {
	t.Helper()
	var kept [][]byte
	for _, object := range objects(t, manifest) {
		change := changes[object.GetKind()+" "+object.GetName()]
		if change == nil || change(object) {
			kept = append(kept, expect.Got(sigsyaml.Marshal(object.Object))(t))
		}
	}
	return bytes.Join(kept, []byte("---\n"))
}

func objects(t *testing.T, manifest string) (all []*unstructured.Unstructured) {
	t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return all
		}
		expect.OK(t, err)
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// only writes one object of a manifest to a file.
func (w *world) only(manifest, kind, name string) string {
	w.Helper()
	for _, object := range objects(w.T, manifest) {
		if object.GetKind() == kind && object.GetName() == name {
			file := filepath.Join(w.dir, kind+"-"+name+".yaml")
			expect.OK(w, os.WriteFile(file, expect.Got(sigsyaml.Marshal(object.Object))(w), 0o600))
			return file
		}
	}
	w.Fatalf("the manifest has no %s %s", kind, name)
	return ""
}

// poolSays waits until a machine of the pool says why it waits.
func (w *world) poolSays(parts ...string) {
	w.Helper()
	w.until("the pool to say "+parts[0], func() (any, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.waits) == 0 {
			return nil, false
		}
		said := w.waits[len(w.waits)-1].Message
		for _, part := range parts {
			if !strings.Contains(said, part) {
				return said, false
			}
		}
		return said, true
	})
}

// noNetwork: an Installation that is invalid for Windows brings none to Linux either.
func (w *world) noNetwork() {
	w.Helper()
	_, api := w.demo().Workload()
	_, err := api.AppsV1().DaemonSets(calicoSystem).Get(w.Context(), "calico-node", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		w.Errorf("Calico has a DaemonSet for Linux: %v", err)
	}
}

// calicoSays waits for a sentence of Calico's operator about one of its parts.
func (w *world) calicoSays(part, sentence string) {
	w.Helper()
	workload, _ := w.demo().Workload()
	w.until("Calico to say "+sentence, func() (any, bool) {
		said, _ := w.try(&management{}, "kubectl --kubeconfig "+workload.KubeconfigFile+
			" get tigerastatus "+part+` -o jsonpath='{.status.conditions[?(@.type=="Degraded")].message}'`)
		return said, strings.Contains(said, sentence)
	})
	w.tell("kubectl get tigerastatus %s: %s", part, sentence)
}

// releaseSays waits for what the add-on provider says of a chart that cannot be installed.
func (w *world) releaseSays(m *management, proxy, sentence string) {
	w.Helper()
	w.until("the release of "+proxy+" to say "+sentence, func() (any, bool) {
		said := w.shell(m, "kubectl get helmreleaseproxies --selector "+
			"helmreleaseproxy.addons.cluster.x-k8s.io/helmchartproxy-name="+proxy+
			` -o jsonpath='{.items[*].status.conditions[?(@.type=="HelmReleaseReady")].message}'`)
		return said, strings.Contains(said, sentence)
	})
	w.tell("kubectl get helmreleaseproxies: %s", sentence)
}

// refusesValues offers the kinds of Calico what is in none of their enumerations.
func (w *world) refusesValues() {
	w.Helper()
	workload, _ := w.demo().Workload()
	for _, spec := range []string{
		`{"calicoNetwork":{"bgp":"Any"}}`, `{"calicoNetwork":{"windowsDataplane":"Any"}}`, `{"kubernetesProvider":"Any"}`,
		`{"calicoNetwork":{"ipPools":[{"cidr":"192.168.0.0/16","encapsulation":"Any"}]}}`,
		`{"calicoNetwork":{"ipPools":[{"cidr":"192.168.0.0/16","natOutgoing":"Any"}]}}`,
		`{"calicoNetwork":{"linuxDataplane":"Any"}}`, `{"cni":{"type":"Any"}}`,
	} {
		said, err := w.try(&management{}, "kubectl --kubeconfig "+workload.KubeconfigFile+
			" patch installation default --type merge --dry-run=server --patch '{\"spec\":"+spec+"}'")
		if err == nil || !strings.Contains(said, `Unsupported value: "Any"`) {
			w.Errorf("an Installation with %s: %v: %s", spec, err, said)
		}
	}
}

func (w *world) windowsNodeSays(sentence string) {
	w.Helper()
	_, api := w.demo().Workload()
	w.until("the Windows Node to say "+sentence, func() (any, bool) {
		nodes := expect.Got(api.CoreV1().Nodes().List(w.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/os=windows"}))(w)
		for _, node := range nodes.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && strings.Contains(condition.Message, sentence) {
					return condition, true
				}
			}
		}
		return nodes.Items, false
	})
}

// held is how long no pod may run: longer than the lab's kubelets and controllers need.
const held = 5 * time.Second

// noPodRuns on Windows but those of the host's network, and not only because it is new. Calico has no DaemonSet for Windows yet.
func (w *world) noPodRuns() {
	w.Helper()
	_, api := w.demo().Workload()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "early"}, Spec: corev1.PodSpec{
		RuntimeClassName: new("windows-2022"), Containers: []corev1.Container{{Name: "iis", Image: "example.com/iis"}},
	}}
	w.until("the pod to be taken", func() (any, bool) {
		_, err := api.CoreV1().Pods(namespace).Create(w.Context(), pod, metav1.CreateOptions{})
		return err, err == nil || apierrors.IsAlreadyExists(err)
	})
	tick := time.NewTicker(held / 20)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < held; <-tick.C {
		found := expect.Got(api.CoreV1().Pods(namespace).Get(w.Context(), pod.Name, metav1.GetOptions{}))(w)
		if found.Status.Phase != corev1.PodPending {
			w.Fatalf("the pod is %s on Node %q", found.Status.Phase, found.Spec.NodeName)
		}
		_, err := api.AppsV1().DaemonSets(calicoSystem).Get(w.Context(), calicoWindows, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			w.Fatalf("Calico has the DaemonSet %s: %v", calicoWindows, err)
		}
	}
}
