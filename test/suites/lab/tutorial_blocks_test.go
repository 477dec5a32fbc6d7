package lab_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// notRun are the blocks of commands that the lab cannot run, by their first words, with the reason.
var notRun = map[string]string{
	"export IMAGE=": "has names of the reader's own; the test sets those of the lab, and compares which there are",
	"kubectl apply --server-side --filename out/repository/install.yaml": "is instead of clusterctl, which the reader has used; " +
		"TestInstallFromGit of test/suites/release applies the file",
	"docker build": "needs Docker; `make push` makes the same image",
	"git clone https://github.com/kubernetes-sigs/image-builder": "needs the network, packer, a vCenter and an ISO of Windows",
	"govc vm.info":         "needs a vCenter with an image that packer made",
	"govc sso.user.create": "needs Single Sign On",
	"export VSPHERE_DATASTORE=datastore1 TEMPLATES=":           "needs govc; a test of internal/cloud/vsphere carries it out",
	"govc permissions.set":                                     "needs govc; the same test carries it out",
	"export VSPHERE_SWITCH=":                                   "needs govc; the same test carries it out",
	"export CLUSTER_OF_HOSTS=":                                 "needs govc; the same test carries it out",
	"govc role.create capwin-linux":                            "needs govc; test/suites/frontdoor compares it with what CAPV took",
	"kubectl --kubeconfig workload.kubeconfig get ippools.crd": "needs a cluster with Calico",
	"export CLUSTER=":                                          "has names of the reader's own; the test sets those of the lab",
	"kind create cluster": "needs kind and the other providers; test/suites/frontdoor applies what the command " +
		"prints to real ones",
	"git clone https://github.com/capwin/cluster-api-provider-windows\nmake --directory": "install.md has the same, " +
		"which run",
	`clusterctl --config "$CONFIG" generate cluster "$CLUSTER" --infrastructure windows --flavor windows-pool-azure`: "needs a " +
		"Cluster in Azure; TestRelease of test/suites/release applies every flavor",
	"helm --kubeconfig workload.kubeconfig install azuredisk": "needs helm, the chart and Azure",
	"az ":                              "needs Azure",
	"export AZURE_SUBSCRIPTION_ID=":    "needs Azure",
	"export AZURE_CLIENT_ID=":          "needs Azure; TestRoleFileIsEnough of internal/cloud/azure lives with the role",
	"export USE_AZURE_CLI_AUTH=":       "needs Azure, and the network; packer makes a VM there",
	"export CAPWIN_AZURE_IDENTITIES":   "needs Azure's provider; test/suites/release installs ours with the variable",
	"kubectl get cluster,azurecluster": "needs Azure; the same check runs in internal/cloud/azure",
	`kubectl --namespace "$NAMESPACE" delete cluster "$CLUSTER"`: "would end the Cluster of other pages; test/suites/frontdoor " +
		"deletes such a Cluster",
	"openssl s_client": "the vCenter of the lab has another port",
	"clusterctl windows smoke --kubeconfig workload.kubeconfig": "needs kube-proxy on the node; TestSmoke runs it where one is",
	"cat > calico.yaml": "needs helm, Calico's charts and its images",
	"clusterctl windows addons -f cluster.yaml -f pool.yaml --form CalicoSettings": "needs a cluster with Calico",
	"curl --fail --location --remote-name https://github.com/flannel-io":           "needs the network, and Flannel's image",
	"for file in antrea.yml": "needs the network, and Antrea's images",
	"kubectl --kubeconfig workload.kubeconfig --namespace kube-system patch daemonset node-local-dns": "the lab's cluster has none",
	"kubectl --kubeconfig workload.kubeconfig --namespace monitoring": "the lab's cluster has no such agent; " +
		"TestPolicies has one",
	`clusterctl move --config out/repository/clusterctl.yaml --namespace "$NAMESPACE" --from-directory`: "needs a second " +
		"management cluster, into which TestOneCommand restores",
	"kubectl --kubeconfig other.kubeconfig --namespace capwin-infrastructure-system patch": "needs one that was restored without " +
		"Secrets; TestRestore of test/suites/controllers has it",
	"clusterctl move --config out/repository/clusterctl.yaml --to-kubeconfig": "needs a second management cluster, which " +
		"TestOneCommand has; a dry run of it is run",
	`kubectl --namespace "$NAMESPACE" annotate helmchartproxies`: "needs the Helm provider, which TestOneCommand has",
	`kubectl --kubeconfig other.kubeconfig --namespace "$NAMESPACE" annotate helmchartproxies`: "needs a second management " +
		"cluster, which TestOneCommand has",
	`kubectl --namespace "$NAMESPACE" patch secret "$CLUSTER"`: "is for a flavor's cluster; TestClasses in suites/release runs it",
}

// wantPrinted is what blocks print, by their first words.
var wantPrinted = map[string][]string{
	"make repository IMAGE=": {
		"wrote ", "capwin-infrastructure-controller-manager", "capwin-bootstrap-controller-manager",
	},
	"kubectl apply --filename pool.yaml":                              {"machinedeployment.cluster.x-k8s.io/demo-windows created"},
	`kubectl --namespace "$NAMESPACE" wait --for=create --timeout=1m`: {"condition met", "windowsmachine"},
	`kubectl create secret generic "$CLUSTER-$WINDOWS_POOL-vsphere"`: {
		"secret/demo-quick-vsphere created", "secret/demo-quick-vsphere labeled",
		"machinehealthcheck.cluster.x-k8s.io/demo-quick created",
		"machinedeployment.cluster.x-k8s.io/demo-quick created", "machinedeployment.cluster.x-k8s.io/demo-quick condition met",
	},
	`clusterctl windows addons --kubernetes-version "$KUBERNETES_VERSION" --mode Overlay --cni Calico --form Manifests`: {
		"daemonset.apps/kube-proxy-windows created", "runtimeclass.node.k8s.io/windows-2022 created",
	},
	`clusterctl windows addons --kubernetes-version "$KUBERNETES_VERSION" --mode Overlay --cni Calico --csi-proxy`: {
		"daemonset.apps/csi-proxy created",
	},
	"kubectl --kubeconfig workload.kubeconfig run hello": {"pod/hello created", "pod/hello condition met"},
	`kubectl delete --filename "$CLUSTER-$WINDOWS_POOL.yaml"`: {
		`secret "demo-quick-vsphere" deleted`, `machinedeployment.cluster.x-k8s.io "demo-quick" deleted`,
	},
	`kubectl --namespace "$NAMESPACE" get machinedeployments,windowsmachines`: {
		"machinedeployment.cluster.x-k8s.io/demo-windows ", "windowsmachine.infrastructure.cluster.x-k8s.io/demo-windows-",
		"MachineDeployment default/demo-windows, ",
	},
	`kubectl --namespace "$NAMESPACE" scale machinedeployment`: {
		"machinedeployment.cluster.x-k8s.io/demo-windows scaled", "machinedeployment.cluster.x-k8s.io/demo-windows condition met",
	},
	`sed -e "s/$CLUSTER-windows-1/$CLUSTER-windows-2/"`: {
		"windowsmachinetemplate.infrastructure.cluster.x-k8s.io/demo-windows-2 created",
		"machinedeployment.cluster.x-k8s.io/demo-windows condition met",
	},
	"clusterctl --config out/repository/clusterctl.yaml alpha rollout restart": {
		"machinedeployment.cluster.x-k8s.io/demo-windows condition met",
	},
	`kubectl --namespace "$NAMESPACE" annotate machinedeployment`: {
		"machinedeployment.cluster.x-k8s.io/demo-windows annotated",
	},
	"clusterctl --config out/repository/clusterctl.yaml generate yaml": {
		"kind: ClusterClass\n", "name: windows-vsphere\n",
	},
	`kubectl --namespace "$NAMESPACE" patch secret vcenter`: {
		"secret/vcenter patched", "windowsmachine.infrastructure.cluster.x-k8s.io/demo-windows-", " condition met",
	},
	"export MACHINE=$(": {
		"VMRunning", `machine.cluster.x-k8s.io "demo-windows-`, " deleted",
	},
	`kubectl --namespace "$NAMESPACE" patch cluster "$CLUSTER"`: {
		"cluster.cluster.x-k8s.io/demo patched", "windowsmachine.infrastructure.cluster.x-k8s.io/demo-windows-", " condition met",
	},
	`kubectl --namespace "$NAMESPACE" wait --for=jsonpath='{.status.conditions[?(@.type=="RollingOut")].status}'=False`: {
		"This is a dry-run move", `Secret="vcenter"`, `MachineDeployment="demo-windows"`,
	},
	`kubectl --namespace "$NAMESPACE" delete machinedeployment "$CLUSTER-windows"`: {
		`machinedeployment.cluster.x-k8s.io "demo-windows" deleted`,
		`windowsmachinetemplate.infrastructure.cluster.x-k8s.io "demo-windows-2" deleted`,
	},
}

// Every block is run, or has a reason; no reason is left over.
func TestTutorialBlocks(t *testing.T) {
	used := map[string]bool{}
	blocks := tutorialBlocks(t)
	for _, b := range blocks {
		used[b.excuse()] = true
	}
	for start := range wantPrinted {
		used[start] = slices.ContainsFunc(blocks, func(b block) bool { return b.excuse() == "" && strings.HasPrefix(b.text, start) })
	}
	for _, start := range slices.Concat(slices.Collect(maps.Keys(notRun)), slices.Collect(maps.Keys(wantPrinted))) {
		if !used[start] {
			t.Errorf("no page has a block that begins with %q", start)
		}
	}
}
