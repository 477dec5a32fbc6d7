package objects

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// A pipe that ends early is told, or gives what was whole until then.
func TestPipesThatEnd(t *testing.T) {
	beforeKind, _, _ := strings.Cut(yamlOfTwo, "kind")
	cases := map[string]struct {
		from io.Reader
		want string
	}{
		"nothing": {
			strings.NewReader(""),
			"standard input: there is no object; write the Cluster, the MachineDeployment and its two templates",
		},
		"in JSON": {
			strings.NewReader(secretNamed("a")[:30]), "standard input: document 1, line 1: not valid JSON: unexpected end of JSON input",
		},
		"in a quote of YAML": {
			strings.NewReader("apiVersion: v1\nkind: Secret\nmetadata: {name: \"a\n"),
			"standard input: document 1, line 4: not valid YAML: found unexpected end of stream",
		},
		"behind the kind": {
			strings.NewReader(beforeKind),
			"standard input: document 1, line 2: not a Kubernetes object: apiVersion or kind is missing",
		},
		"by an error": {
			io.MultiReader(strings.NewReader(yamlOfTwo), iotest.ErrReader(errors.New("the other end is gone"))),
			"standard input: the other end is gone",
		},
	}
	for name, c := range cases {
		_, err := Read([]string{"-"}, "default", c.from)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", name, err, c.want)
		}
	}
}

func TestDirectories(t *testing.T) {
	folder := t.TempDir()
	_, err := Read([]string{folder}, "default", nil)
	expect.Same(t, "refusal", folder+" is a directory; give its files, each with -f", err.Error())
	_, err = Read([]string{filepath.Join(folder, "x.yaml")}, "default", nil)
	expect.Says(t, "a file that is not there", err, "no such file or directory")
	expect.Same(t, "whether it is known as such", true, errors.Is(err, os.ErrNotExist))
}

// A file may be large, a document and all that is read together may not.
func TestLargeFiles(t *testing.T) {
	one := []byte("---\n#" + strings.Repeat("x", 1<<20) + "\n" + secretNamed("a") + "\n")
	found, err := Read([]string{"-"}, "default", bytes.NewReader(bytes.Repeat(one, 50)))
	expect.OK(t, err)
	expect.Same(t, "objects", 50, len(found.All))
	for name, c := range map[string]struct{ text, want string }{
		"a file": {
			strings.Repeat("#\n", 33<<20),
			"standard input has more than 64 MiB, which is more than this program reads; " + readLess,
		},
		"a document": {
			"# first\n---\n" + secretNamed("a") + "\n#" + strings.Repeat("x", 8<<20),
			"standard input: document 2, line 2: this document has more than 8 MiB, which is more than this program reads; " + readLess,
		},
		"documents": {
			strings.Repeat("---\n#\n", 1<<17+1),
			"standard input: document 131073, line 262145: there are more than 131072 documents, which are more than this program " +
				"reads; " + readLess,
		},
		"values": {
			"a: [" + strings.Repeat("[],", 1<<20),
			"standard input: document 1, line 1: this document has more than 1048576 values, which are more than this program reads; " +
				readLess,
		},
		"aliases": {
			"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 64) + "]\n",
			"standard input: document 1, line 1: the aliases of this document stand for more than 64 MiB, which is more than this " +
				"program reads; write out what they stand for, or remove them",
		},
		"an alias of itself": {
			"a: &a [*a]\n",
			"standard input: document 1, line 1: the aliases of this document stand for more than 64 MiB, which is more than this " +
				"program reads; write out what they stand for, or remove them",
		},
	} {
		_, err := Read([]string{"-"}, "default", strings.NewReader(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %.300v\nwant %s", name, err, c.want)
		}
	}
	few := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {a: b}, annotations: *l}\n"
	expect.OK(t, expect.Got(Read([]string{"-"}, "default", strings.NewReader(few)))(t).Admit())
}

func TestBinarySecrets(t *testing.T) {
	found := expect.Got(readText(t, "x.yaml", strings.Replace(goodSecret, "YQ==", "AP/+Gw==", 1)))(t)
	expect.OK(t, found.Admit())
	secret := expect.Got(Load[corev1.Secret](found, "Secret", types.NamespacedName{Namespace: "default", Name: "a"}))(t)
	expect.Same(t, "bytes", []byte{0, 0xff, 0xfe, 0x1b}, secret.Data["a"])
}

func TestObjectsThatAreNotThere(t *testing.T) {
	found := expect.Got(readText(t, "x.yaml", yamlOfTwo+"---\n"+secretNamed("b")))(t)
	for key, want := range map[types.NamespacedName]string{
		{Namespace: "default", Name: "b"}: "Secret default/b is there 2 times; keep only one: " +
			"x.yaml: document 2, line 7; x.yaml: document 3, line 11",
		{Namespace: "team-b", Name: "a"}: "Secret team-b/a is not in x.yaml, which has one of this name in the namespace default; " +
			"set metadata.namespace of both to the same, or give that of objects without one with -n",
		{Namespace: "default", Name: "c"}: "Secret default/c is not in x.yaml; add the output of: kubectl get secret c -n default -o " +
			"yaml",
	} {
		_, err := Load[corev1.Secret](found, "Secret", key)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", key, err, want)
		}
	}
}
