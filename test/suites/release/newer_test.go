package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// wantNewer applies the class of a newer release, in which all templates have new names, and one has another content. Only the
// machines of that one get a new template.
func (u user) wantNewer(management *servers.Management) {
	u.t.Helper()
	u.variables = map[string]string{"WINDOWS_CLOUD": "vsphere"}
	u.kubectl(management, nil, "create", "namespace", "newer")
	u.kubectl(management, []byte(u.generate("newer", "--flavor", "windows", "--target-namespace", "newer")), "apply", "-f", "-")
	before := u.templatesIn(management, "newer", func(templates map[string]string) bool { return len(templates) == 5 })

	file := filepath.Join(filepath.Dir(u.config), "infrastructure-windows", version, "clusterclass-windows-vsphere.yaml")
	class := string(expect.Got(os.ReadFile(file))(u.t))
	class = strings.ReplaceAll(class, "${NAMESPACE}", "newer")
	class = regexp.MustCompile(`(name: windows-vsphere[a-z-]*)-[0-9a-f]{8}\b`).ReplaceAllString(class, "$1-newer")
	newer := strings.Replace(class, "memoryAvailable: 500Mi", "memoryAvailable: 600Mi", 1)
	if newer == class {
		u.t.Fatal("nothing changes")
	}
	u.kubectl(management, []byte(newer), "apply", "-f", "-")
	const config = "WindowsBootstrapConfigTemplate windows"
	after := u.templatesIn(management, "newer", func(now map[string]string) bool { return now[config] != before[config] })
	delete(before, config)
	delete(after, config)
	expect.Same(u.t, "other templates", before, after)
}

// templatesIn waits for the templates of a Cluster of the same name as its namespace, by kind and user.
func (u user) templatesIn(
	management *servers.Management, namespace string, ready func(map[string]string) bool,
) (all map[string]string) {
	u.t.Helper()
	const used = `{range .items[*]}{.metadata.labels.topology\.cluster\.x-k8s\.io/deployment-name}` +
		`{range .spec.template.spec.bootstrap.configRef}{" "}{.kind}{" "}{.name}{end}` +
		`{range .spec.template.spec.infrastructureRef}{" "}{.kind}{" "}{.name}{end}` +
		`{range .spec.machineTemplate.spec.infrastructureRef}control-plane {.kind}{" "}{.name}{end}{"\n"}{end}`
	wait.Until(u.t, "the templates of "+namespace, func() (any, bool) {
		all = map[string]string{}
		said := string(u.kubectl(management, nil, "get", "machinedeployments,kubeadmcontrolplanes", "-n", namespace,
			"-o", "jsonpath="+used))
		for line := range strings.Lines(said) {
			words := strings.Fields(line)
			for i := 1; i+1 < len(words); i += 2 {
				all[words[i]+" "+words[0]] = words[i+1]
			}
		}
		return all, ready(all)
	})
	return all
}
