package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	goyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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
	expect.Same(t, "objects", 50, len(found.Items))
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
	for name, text := range map[string]string{
		"a document": secretNamed("a") + strings.Repeat(" ", mostDocument-len(secretNamed("a"))),
		"values":     secretNamed("a") + strings.Repeat("\n", mostParts-9), // the Secret itself has 9 marks of a value
	} {
		_, err := Read([]string{"-"}, "default", strings.NewReader(text))
		expect.OK(t, err)
		_, err = Read([]string{"-"}, "default", strings.NewReader(text+"\n"))
		expect.Says(t, name+" that is larger by one", err, readLess)
	}
	few := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {a: b}, annotations: *l}\n"
	expect.OK(t, expect.Got(Read([]string{"-"}, "default", strings.NewReader(few)))(t).Admit())
}

// TestFilesAtTheLimit: a file on disk has the limit of standard input, and so have all objects together.
func TestFilesAtTheLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.yaml")
	expect.OK(t, os.WriteFile(file, nil, 0o600))
	for size, want := range map[int64]string{
		mostText:     ": line 1: there is a NUL byte, so this is not a text of objects; " + saveAsUTF8, // it was read
		mostText + 1: " has more than 64 MiB, which is more than this program reads; " + readLess,
	} {
		expect.OK(t, os.Truncate(file, size))
		_, err := Read([]string{file}, "default", nil)
		expect.Same(t, "a file", file+want, fmt.Sprint(err))
	}
	object := []byte(secretNamed("a"))
	full := &Set{size: mostText - objectSize - len(object)}
	expect.OK(t, full.addFile("x.json", object, "default"))
	expect.Same(t, "one more", "y.json: document 1, line 1: with this document, the objects have more than 64 MiB, which is "+
		"more than this program reads; "+readLess, fmt.Sprint(full.addFile("y.json", object, "default")))
}

// TestAliases: what aliases stand for is counted as often as they are there, where there are any.
func TestAliases(t *testing.T) {
	t.Parallel()
	const most = mostText/64 - 1 - partSize
	with := func(text string, size int) error {
		item := &goyaml.Node{Kind: goyaml.ScalarNode, Value: strings.Repeat("x", size)}
		list := &goyaml.Node{Kind: goyaml.SequenceNode, Content: slices.Repeat([]*goyaml.Node{item}, 64)}
		return document{text: []byte(text)}.checkAliases(list, nil)
	}
	const tooMuch = "the aliases of this document stand for more than 64 MiB"
	expect.OK(t, with("a: &a b, c: *a", most))
	expect.Says(t, "one byte more in each", with("a: &a b, c: *a", most+1), tooMuch)
	expect.OK(t, with("a: &a b", most+1))
	expect.OK(t, with("a: b*c", most+1))
	doubled := &goyaml.Node{Kind: goyaml.ScalarNode, Value: "x"}
	for range 80 { // more than a number of 64 bits can count
		doubled = &goyaml.Node{Kind: goyaml.SequenceNode, Content: []*goyaml.Node{doubled, doubled}}
	}
	expect.Says(t, "twice as much in each of many steps", document{text: []byte("&a *a")}.checkAliases(doubled, nil), tooMuch)
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
		{Namespace: "default", Name: "b"}: "Secret default/b exists 2 times; keep only one: " +
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
