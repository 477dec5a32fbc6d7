package release

import (
	"encoding/json"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// wantCloudProviders upgrades a control plane from 1.30 to 1.37. The image of vSphere's cloud provider is that of the project's
// chart for the lowest version there, which the control plane's status has, and not the one that is wanted. Without a status it
// is the wanted one. For 1.37 none was tried, and it is that of 1.36.
func (u user) wantCloudProviders(management *servers.Management) {
	u.t.Helper()
	u.variables = nil
	for name, object := range named(objectsIn(u.t, u.generate("upgraded", "--flavor", "windows-vsphere",
		"--kubernetes-version", "v1.30.14"))) {
		kind, _, _ := strings.Cut(name, "/")
		switch {
		case kind == "Cluster":
			object["metadata"].(tree)["annotations"] = tree{"round": "none"}
		case kind == "VSphereCluster", kind == "KubeadmControlPlane":
		case strings.HasSuffix(name, "-"+servers.CloudProviderChart):
			spec := object["spec"].(tree) // so that the test sees when the values were written again
			spec["valuesTemplate"] = spec["valuesTemplate"].(string) + "\nround: {{ .Cluster.metadata.annotations.round }}\n"
		default:
			continue
		}
		u.kubectl(management, expect.Got(json.Marshal(object))(u.t), "apply", "--validate=strict", "--warnings-as-errors", "-f", "-")
	}
	tag := u.tagIn(management, "without a status")
	expect.Same(u.t, "image without a status", "v1.30.1", tag)
	for _, c := range []struct{ kubernetes, tag string }{
		{"v1.30.14", "v1.30.1"},
		{"v1.31.14+vendor.1", "v1.31.0"},
		{"v1.32.0", "v1.32.1"},
		{"v1.33.5", "v1.33.0"},
		{"v1.34.2", "v1.34.0"},
		{"v1.35.2", "v1.35.0"},
		{"v1.36.3", "v1.36.0"},
		{"v1.37.2", "v1.36.0"},
	} {
		patch := []string{"patch", "kubeadmcontrolplane", "upgraded", "--type", "merge", "-p"}
		u.kubectl(management, nil, append(patch, `{"spec": {"version": "`+c.kubernetes+`"}}`)...)
		expect.Same(u.t, "image when "+c.kubernetes+" is wanted", tag, u.tagIn(management, c.kubernetes+" is wanted"))
		tag = c.tag
		u.kubectl(management, nil, append(patch, `{"status": {"version": "`+c.kubernetes+`"}}`, "--subresource", "status")...)
		expect.Same(u.t, "image at "+c.kubernetes, tag, u.tagIn(management, c.kubernetes+" is there"))
	}
}

// tagIn is the tag of the cloud provider's image in the values that are written after now. The add-on provider looks at a control
// plane when its Cluster changes, as it does during an upgrade, and every ten minutes.
func (u user) tagIn(management *servers.Management, round string) string {
	u.t.Helper()
	u.kubectl(management, nil, "annotate", "--overwrite", "cluster", "upgraded", "round="+round)
	var values tree
	wait.Until(u.t, "the values of "+round, func() (any, bool) {
		values = u.charts(management, "upgraded")[servers.CloudProviderChart]
		return values, values["round"] == round
	})
	daemonset, _ := values["daemonset"].(tree)
	tag, _ := daemonset["tag"].(string)
	return tag
}
