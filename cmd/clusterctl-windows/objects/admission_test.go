package objects

import (
	"strings"
	"testing"
)

const (
	goodCluster = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: a}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: a}
`
	goodMachine = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: a}
spec:
  clusterName: a
  version: v1.36.3
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfig, name: a}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachine, name: a}
`
	goodDeployment = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: a}
spec:
  clusterName: a
  selector: {}
  replicas: 3
  template:
    spec:
      clusterName: a
      version: v1.36.3
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfigTemplate, name: a}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachineTemplate, name: a}
`
	goodControlPlane = `apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: a}
spec:
  replicas: 1
  version: v1.36.3
  machineTemplate:
    spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: a}}
  kubeadmConfigSpec:
    files: [{path: /etc/a, content: a}]
`
	goodHealthCheck = `apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: a}
spec:
  clusterName: a
  selector: {matchLabels: {a: b}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}
`
	goodSecret = `apiVersion: v1
kind: Secret
metadata: {name: a}
data: {a: YQ==}
`
	goodConfigMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: b}
`
	goodConfig = `apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: WindowsBootstrapConfig
metadata: {name: a}
spec: {windows: {timeZone: UTC}}
`
)

func TestAdmittedAsByAnAPIServer(t *testing.T) {
	for _, good := range []string{
		goodCluster, goodMachine, goodDeployment, goodControlPlane, goodHealthCheck, goodSecret, goodConfigMap, goodConfig,
		// A newer Cluster API wrote the status.
		goodMachine + "status: {fromTheFuture: true}\n",
		// An API server drops such a null.
		strings.Replace(goodDeployment, "replicas: 3", "replicas: null", 1),
		// Of another provider's kinds nothing is known.
		"apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: VSphereCluster\nmetadata: {name: a}\nspec: {some: thing}\n",
		// Cluster API's webhook sets it.
		strings.Replace(goodDeployment, "  selector: {}\n", "", 1),
	} {
		found, err := readText(t, "x.yaml", good)
		if err == nil {
			err = found.Admit()
		}
		if err != nil {
			t.Errorf("%v of\n%s", err, good)
		}
	}
}

// mistake is a good object in which one text has become another, and the sentence about it.
type mistake struct{ good, old, becomes, want string }

// areRefused wants each refused with its sentence.
func areRefused(t *testing.T, mistakes map[string]mistake) {
	t.Helper()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Replace(m.good, m.old, m.becomes, 1)
			if wrong == m.good {
				t.Fatalf("no %q", m.old)
			}
			found, err := readText(t, "x.yaml", wrong)
			if err == nil {
				err = found.Admit()
			}
			if err == nil || err.Error() != m.want {
				t.Errorf("got  %v\nwant %s", err, m.want)
			}
		})
	}
}

func TestRefusedAsByAnAPIServer(t *testing.T) {
	areRefused(t, map[string]mistake{
		"selectr": {
			goodDeployment, "selector: {}", "selectr: {}",
			`MachineDeployment default/a: unknown field "spec.selectr"; did you mean "spec.selector"?`,
		},
		"deep in a MachineDeployment": {
			goodDeployment, "      version", "      verzion: a\n      version",
			`MachineDeployment default/a: unknown field "spec.template.spec.verzion"; did you mean "spec.template.spec.version"?`,
		},
		"beside the spec": {
			goodDeployment, "spec:\n  cluster", "spek: {}\nspec:\n  cluster",
			`MachineDeployment default/a: unknown field "spek"; did you mean "spec"?`,
		},
		"replicas in quotes": {
			goodDeployment, "replicas: 3", `replicas: "3"`,
			`MachineDeployment default/a: spec.replicas: must be a whole number, not the text "3"; write 3`,
		},
		"a version that is a number": {
			goodMachine, "v1.36.3", "1.36",
			"Machine default/a: spec.version: must be a text, not the number 1.36; write it in quotes",
		},
		"Machine": {
			goodMachine, "  version", "  verzion: a\n  version",
			`Machine default/a: unknown field "spec.verzion"; did you mean "spec.version"?`,
		},
		"Cluster": {
			goodCluster, "pods:", "podz:",
			`Cluster default/a: unknown field "spec.clusterNetwork.podz"; did you mean "spec.clusterNetwork.pods"?`,
		},
		"Cluster without a kind": {
			goodCluster, "kind: VSphereCluster, ", "", "Cluster default/a: spec.infrastructureRef.kind: is missing; set it",
		},
		"KubeadmControlPlane": {
			goodControlPlane, "content: a", "contents: a",
			`KubeadmControlPlane default/a: unknown field "spec.kubeadmConfigSpec.files[0].contents"; did you mean ` +
				`"spec.kubeadmConfigSpec.files[0].content"?`,
		},
		"an old KubeadmControlPlane": {
			strings.Replace(goodControlPlane, "v1beta2", "v1beta1", 1), "apiGroup: infra", "group: infra",
			`KubeadmControlPlane default/a: unknown field "spec.machineTemplate.spec"; it is a field of v1beta2; ` +
				`write apiVersion: controlplane.cluster.x-k8s.io/v1beta2`,
		},
		"MachineHealthCheck": {
			goodHealthCheck, "timeoutSeconds: 300", "timeout: 5m",
			`MachineHealthCheck default/a: unknown field "spec.checks.unhealthyNodeConditions[0].timeout"; ` +
				`it is the name in v1beta1 for spec.checks.unhealthyNodeConditions[].timeoutSeconds; write timeoutSeconds: 300`,
		},
		"a kind that Cluster API does not have": {
			goodMachine, "kind: Machine\n", "kind: Machin\n",
			"Machin default/a: there is no such kind in cluster.x-k8s.io; did you mean Machine?",
		},
		"metadata": {
			goodMachine, "{name: a}", "{name: a, lables: {}}",
			`Machine default/a: unknown field "metadata.lables"; did you mean "metadata.labels"?`,
		},
		"a label that is a number": {
			goodMachine, "{name: a}", "{name: a, labels: {a: 1}}", "Machine default/a: metadata.labels: must be a text, not a number; " +
				"write it in quotes",
		},
		"an invalid label": {
			goodConfig, "{name: a}", "{name: a, labels: {a: ä}}",
			"WindowsBootstrapConfig default/a: metadata.labels: a valid label must be an empty string or consist of alphanumeric " +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'MyValue',  or 'my_value',  or '12345')",
		},
		"no name": {goodMachine, "{name: a}", "{}", "Machine default/: metadata.name: is missing; name or generateName is required"},
		"Secret":  {goodSecret, "\ndata:", "\ndataa:", `Secret default/a: unknown field "dataa"`},
		"a Secret's number": {
			goodSecret, "YQ==", "1", "Secret default/a: data: must be a text in base64, not a number",
		},
		"a Secret not in base64": {
			goodSecret, "YQ==", "plain text", "Secret default/a: data.a is not base64; write plain text to stringData",
		},
		"ConfigMap": {goodConfigMap, "a: b", "a: 1", "ConfigMap default/a: data: must be a text, not a number; write it in quotes"},
		"ours": {
			goodConfig, "timeZone: UTC", "timezone: UTC",
			`WindowsBootstrapConfig default/a: unknown field "spec.windows.timezone"; did you mean "spec.windows.timeZone"?`,
		},
		"two of one name": {
			goodConfig, "timeZone: UTC",
			"users: [{name: a, sshAuthorizedKeys: [ssh-ed25519 AAAA]}, {name: a, sshAuthorizedKeys: [ssh-ed25519 BBBB]}]",
			"WindowsBootstrapConfig default/a: spec.windows.users[1]: is listed twice, remove one",
		},
		"one of a few words": {
			goodConfig, "timeZone: UTC", "users: [{name: a, role: hunter2, sshAuthorizedKeys: [ssh-ed25519 AAAA]}]",
			`WindowsBootstrapConfig default/a: spec.windows.users[0].role: must be one of "Administrator", "User"`,
		},
		"a name that may be a secret": {
			goodConfig, "timeZone: UTC", "users: [{'hunter2.x[0]': a}]", "WindowsBootstrapConfig default/a: unknown field in " +
				"spec.windows.users[0]; its name is not shown, because it has more than letters and may be a secret",
		},
		"the same in a Secret": {
			goodSecret, "\ndata:", "\nhunter2: a\ndata:", "Secret default/a: unknown field in the object; its name is not shown, " +
				"because it has more than letters and may be a secret",
		},
	})
}
