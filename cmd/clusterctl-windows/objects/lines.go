package objects

import (
	"bytes"
	"slices"
	"strconv"

	goyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// origin is the text that an object was read from, and where in it the object is.
type origin struct {
	document
	// itemPath leads to an item of a list.
	itemPath []string
}

// part is the part of the document that begins in a line of it.
func (d document) part(line int, text []byte) document {
	d.line += line - 1
	d.text = text
	return d
}

func (o origin) item(i int) origin {
	o.itemPath = append(slices.Clone(o.itemPath), "items", strconv.Itoa(i))
	return o
}

// Lines are those of an object's fields.
type Lines struct {
	origin
	root *goyaml.Node
}

// Lines reads the object's text once more, for the lines of its fields.
func (o Object) Lines() Lines {
	var document goyaml.Node
	if err := goyaml.NewDecoder(bytes.NewReader(o.origin.text)).Decode(&document); err != nil {
		return Lines{origin: o.origin}
	}
	return Lines{o.origin, document.Content[0]}
}

// Place names file, document and line of the last part of a path that the text has. A part of the path is the name of a field,
// the name of an item that has one, or the number of an item.
func (l Lines) Place(path ...string) string {
	line, _ := l.find(path)
	return l.placeAt(line)
}

// Contains reports whether the text has all parts of a path.
func (l Lines) Contains(path ...string) bool {
	_, complete := l.find(path)
	return complete
}

func (l Lines) find(path []string) (line int, complete bool) {
	if l.root == nil {
		return 1, false
	}
	node, line := l.root, l.root.Line
	for _, part := range slices.Concat(l.itemPath, path) {
		next, nextLine := nodeBelow(node, part)
		if next == nil {
			return line, false
		}
		node, line = next, nextLine
	}
	return line, true
}

// nodeBelow returns the node of a part of a path, and the line where the part begins.
func nodeBelow(node *goyaml.Node, part string) (next *goyaml.Node, line int) {
	if node.Kind == goyaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case goyaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == part {
				return node.Content[i+1], key.Line
			}
		}
	case goyaml.SequenceNode:
		return itemOf(node.Content, part)
	}
	return nil, 0
}

func itemOf(items []*goyaml.Node, part string) (item *goyaml.Node, line int) {
	for _, item := range items {
		if name, _ := nodeBelow(item, "name"); name != nil && name.Value == part {
			return item, item.Line
		}
	}
	if number, err := strconv.Atoi(part); err == nil && number >= 0 && number < len(items) {
		return items[number], items[number].Line
	}
	return nil, 0
}
