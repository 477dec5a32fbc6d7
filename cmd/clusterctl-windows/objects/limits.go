package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	goyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// A few bytes of YAML can stand for gigabytes, and reading takes several times what is read. So much is read at once.
const (
	// mostText is the size of all files together, and of all their objects once each alias is what it stands for.
	mostText = 64 << 20
	// mostDocument is the size of one document, and mostParts how many values it may have: an empty one takes memory, too. An API
	// server takes 3 MiB at once.
	mostDocument = 8 << 20
	mostParts    = 1 << 20
	// mostDocuments of a file are read, those with comments only among them.
	mostDocuments = 1 << 17
	// objectSize is what an object takes besides its text, and partSize what a value does.
	objectSize = 512
	partSize   = 64
	// garbage may be so many percent of what is in use, before that: this program ends soon, and a third of its time was the
	// garbage collector's.
	garbage = 400
	// mostMemory is where the garbage of what was read goes at once: it is more than the objects themselves.
	mostMemory = 256 << 20
)

const readLess = "give it the objects of one cluster, in several files or documents"

// readSource reads a file, or standard input, up to the limit.
func readSource(file string, stdin io.Reader) (name string, data []byte, err error) {
	if file == "-" {
		data, err = readAll("standard input", stdin)
		return "standard input", data, err
	}
	opened, err := os.Open(file)
	if err != nil {
		return file, nil, err
	}
	defer opened.Close() //nolint:errcheck // because it was only read
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		return file, nil, fmt.Errorf("%s is a directory; give its files, each with -f", file)
	}
	data, err = readAll(file, opened)
	return file, data, err
}

func readAll(name string, r io.Reader) ([]byte, error) {
	var text bytes.Buffer
	if _, err := text.ReadFrom(io.LimitReader(r, mostText+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if text.Len() > mostText {
		return nil, fmt.Errorf("%s has more than %d MiB, which is more than this program reads; %s", name, mostText>>20, readLess)
	}
	return text.Bytes(), nil
}

// grow refuses the objects of a document if all that were read are too much together.
func (s *Set) grow(found []value) error {
	for _, value := range found {
		if s.size += len(value.data) + objectSize; s.size > mostText {
			return fmt.Errorf("%s: with this document, the objects have more than %d MiB, which is more than this program reads; %s",
				value.place, mostText>>20, readLess)
		}
	}
	return nil
}

// checkSize refuses a document that would take too much memory, or is one too many. It only counts, before anything is decoded.
func (d document) checkSize() error {
	if d.number > mostDocuments {
		return fmt.Errorf("%s: there are more than %d documents, which are more than this program reads; %s",
			d.placeAt(1), mostDocuments, readLess)
	}
	if len(d.text) > mostDocument {
		return fmt.Errorf("%s: this document has more than %d MiB, which is more than this program reads; %s",
			d.placeAt(1), mostDocument>>20, readLess)
	}
	parts := 1
	for _, mark := range []string{"\n", ",", ":", "[", "{", "?", "- "} {
		parts += bytes.Count(d.text, []byte(mark)) // nothing else begins a value, in YAML or JSON
	}
	if parts > mostParts {
		return fmt.Errorf("%s: this document has more than %d values, which are more than this program reads; %s",
			d.placeAt(1), mostParts, readLess)
	}
	return nil
}

// checkAliases refuses a document whose aliases stand for too much, and one with aliases that cannot be counted.
func (d document) checkAliases(root *goyaml.Node, unread error) error {
	if !bytes.ContainsRune(d.text, '&') || !bytes.ContainsRune(d.text, '*') || errors.Is(unread, io.EOF) {
		return nil
	}
	if unread != nil {
		return d.notYAML(unread)
	}
	if expanded(root, map[*goyaml.Node]int{}) > mostText {
		return fmt.Errorf("%s: the aliases of this document stand for more than %d MiB, which is more than this program reads; "+
			"write out what they stand for, or remove them", d.placeAt(1), mostText>>20)
	}
	return nil
}

// expanded is the size of a node once each alias is what it stands for, as far as it matters. A node that contains itself has
// no end.
func expanded(node *goyaml.Node, sizes map[*goyaml.Node]int) int {
	if size, ok := sizes[node]; ok {
		return size
	}
	if node.Kind == goyaml.AliasNode {
		return expanded(node.Alias, sizes)
	}
	sizes[node] = mostText + 1
	size := partSize + len(node.Value) + escaped*len(escapes.FindAllStringIndex(node.Value, -1))
	for _, child := range node.Content {
		if size += expanded(child, sizes); size > mostText {
			return mostText + 1
		}
	}
	sizes[node] = size
	return size
}

// escapes are the characters that JSON writes with so many more.
var escapes = regexp.MustCompile(`[\x00-\x1f<>&"\\]`)

const escaped = 5
