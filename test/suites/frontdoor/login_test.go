package frontdoor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// losesLogin names the Secret of the cluster's login in a second Cluster, which a person can write by hand. The vSphere provider
// refuses that Cluster and, when it is deleted, deletes the Secret. The Windows machine says so and, after the commands of
// docs/conditions.md, both providers have their login again.
func (w *world) losesLogin(m *management) {
	w.Helper()
	w.shell(m, "kubectl apply -f - <<END\n"+w.clusterOnVSphere("same")+"END\n")
	w.saysOf(m, "vspherecluster same", "VCenterAvailable", "another cluster has set the OwnerRef for Secret default/demo")
	w.shell(m, "kubectl delete cluster same --timeout=2m")
	machine := strings.TrimSpace(w.shell(m, "kubectl get windowsmachines -o jsonpath='{.items[*].metadata.name}'"))
	w.saysOf(m, "windowsmachine "+machine, "CloudReachable", "Secret demo")
	w.saysOf(m, "windowsmachine "+machine, "CloudReachable", "is being deleted")

	page := string(expect.Got(os.ReadFile(filepath.Join(root, "docs", "conditions.md")))(w))
	_, commands, _ := strings.Cut(page, "\n### A Secret that is being deleted\n")
	_, commands, _ = strings.Cut(commands, "```sh\n")
	commands, _, found := strings.Cut(commands, "```\n")
	if !found {
		w.Fatal("docs/conditions.md has no commands for a Secret that is being deleted")
	}
	names := strings.NewReplacer("windowsmachine NAME", "windowsmachine "+machine, "NAME", "demo", "OTHER", "demo-2")
	w.shell(m, names.Replace(commands))
	w.shell(m, "kubectl annotate vsphereclusters --all look=now") // or else in 10 minutes (main.go of v1.16.1, sync-period)
	w.until("the vSphere provider to take the new Secret over", func() (any, bool) {
		said := w.shell(m, "kubectl get secret demo -o jsonpath='{.metadata.finalizers} {.metadata.deletionTimestamp}'")
		return said, strings.Contains(said, "vspherecluster/") && !strings.Contains(said, "T")
	})
	w.tell("%s: a Secret that was deleted with another Cluster is replaced", w.played())
}

// saysOf waits until a condition of an object has these words.
func (w *world) saysOf(m *management, object, condition, words string) {
	w.Helper()
	w.until(object+" to say "+words, func() (any, bool) {
		said := w.shell(m, "kubectl get "+object+` -o jsonpath='{.status.conditions[?(@.type=="`+condition+`")].message}'`)
		return said, strings.Contains(said, words)
	})
}
