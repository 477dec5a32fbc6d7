package objects

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var update = flag.Bool("update", false, "write the schemas of Cluster API anew")

// The embedded schemas are those of the Cluster API in go.mod.
func TestSchemasOfClusterAPI(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	folder := strings.TrimSpace(string(expect.Got(list.Output())(t)))
	all := map[schema.GroupKind]schemas{}
	for _, pattern := range []string{
		"core/config/crd/bases/cluster.x-k8s.io_*.yaml", "*/kubeadm/config/crd/bases/*.yaml",
	} {
		files := expect.Got(filepath.Glob(filepath.Join(folder, pattern)))(t)
		if len(files) == 0 {
			t.Errorf("Cluster API has no files %s", pattern)
		}
		for _, file := range files {
			expect.OK(t, addSchemas(all, expect.Got(os.ReadFile(file))(t)))
		}
	}
	named := map[string]any{}
	for kind, versions := range all {
		var plain map[string]any
		expect.OK(t, json.Unmarshal(expect.Got(json.Marshal(versions))(t), &plain))
		undescribe(plain)
		named[kind.String()] = plain
	}
	want := expect.Got(json.MarshalIndent(named, "", " "))(t)
	if *update {
		var packed bytes.Buffer
		writer := expect.Got(gzip.NewWriterLevel(&packed, gzip.BestCompression))(t)
		expect.Got(writer.Write(want))(t)
		expect.OK(t, writer.Close())
		expect.OK(t, os.WriteFile("clusterapi.json.gz", packed.Bytes(), 0o600))
		return
	}
	got := expect.Got(io.ReadAll(expect.Got(gzip.NewReader(bytes.NewReader(clusterAPI)))(t)))(t)
	if !bytes.Equal(got, want) {
		t.Error("clusterapi.json.gz is of another Cluster API than go.mod; " +
			"run: go test ./cmd/clusterctl-windows/objects -run Schemas -update")
	}
}

// undescribe removes descriptions from a schema, except of what has a pattern.
func undescribe(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, text := node["description"].(string); text && node["pattern"] == nil {
			delete(node, "description")
		}
		for _, below := range node {
			undescribe(below)
		}
	case []any:
		for _, below := range node {
			undescribe(below)
		}
	}
}
