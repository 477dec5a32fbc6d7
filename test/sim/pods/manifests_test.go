package pods

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestOneKubeProxy: no manifest of the lab, of a template or of a page has a DaemonSet of kube-proxy: the only one is that which
// clusterctl windows addons prints.
func TestOneKubeProxy(t *testing.T) {
	seen := 0
	look := func(where string, text []byte) {
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			if !bytes.Contains(document, []byte("kind: DaemonSet")) {
				continue
			}
			seen++
			var set appsv1.DaemonSet
			expect.OK(t, yaml.Unmarshal(document, &set))
			for _, c := range set.Spec.Template.Spec.Containers {
				if strings.Contains(strings.Join(append(append([]string{c.Name, c.Image}, c.Command...), c.Args...), " "), "kube-proxy") {
					t.Errorf("%s: the DaemonSet %s runs kube-proxy", where, set.Name)
				}
			}
		}
	}
	for _, file := range expect.Got(fs.Glob(manifests, "manifests/*.yaml"))(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		look(file, expect.Got(manifest{File: name, Namespace: CalicoVXLAN, Backend: "vxlan"}.text())(t))
	}
	const root = "../../.."
	for _, folder := range []string{"docs", "templates", "config", "test"} {
		expect.OK(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasPrefix(path, filepath.Join(root, "test", "sim", "pods")) {
				return err
			}
			switch filepath.Ext(path) {
			case ".yaml", ".yml":
				look(path, expect.Got(os.ReadFile(path))(t))
			case ".md":
				for _, block := range yamlBlock.FindAllSubmatch(expect.Got(os.ReadFile(path))(t), -1) {
					look(path, block[1])
				}
			}
			return nil
		}))
	}
	if seen < 5 {
		t.Errorf("there are only %d DaemonSets to look at", seen)
	}
}
