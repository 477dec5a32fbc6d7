package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	goyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// document is a part of a file between two lines of ---.
type document struct {
	file string
	// number is that of the document in its file, and line that of its first line, both from 1.
	number, line int
	text         []byte
}

// placeAt names a line of the document in messages.
func (d document) placeAt(line int) string {
	return fmt.Sprintf("%s: document %d, line %d", d.file, d.number, d.line+line-1)
}

// addFile adds the objects of all documents in a file.
func (s *Set) addFile(name string, data []byte, namespace string) error {
	text, err := textOf(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for doc := range split(name, text) {
		values, err := doc.values()
		if err == nil {
			err = s.grow(values)
		}
		if err != nil {
			return err
		}
		for _, read := range values {
			if err := s.add(read, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// split splits a file at the lines that YAML takes for the beginning of a document. In JSON there is no such line.
func split(file string, text []byte) iter.Seq[document] {
	return func(yield func(document) bool) {
		next := document{file: file, number: 1, line: 1}
		line, start, pos := 0, 0, 0
		for part := range bytes.Lines(text) {
			line++
			if begins(part) {
				if next.text = text[start:pos]; len(bytes.TrimSpace(next.text)) > 0 {
					if !yield(next) {
						return
					}
					next.number++
				}
				next.line, start = line, pos
			}
			pos += len(part)
		}
		next.text = text[start:]
		yield(next)
	}
}

var marker = []byte("---")

// begins reports whether a line begins a document: three dashes, and then nothing or a blank.
func begins(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, marker)
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// value is one value of a document, and where it begins.
type value struct {
	data  []byte // JSON
	place string
	origin
}

// values returns the values of the document: one in YAML, any number in JSON.
func (d document) values() ([]value, error) {
	if err := d.checkSize(); err != nil {
		return nil, err
	}
	if begins(d.text) {
		copy(d.text, "   ")
	}
	if !d.namedJSON() {
		blankComments(d.text)
	}
	if d.isJSON() {
		return d.valuesOfJSON()
	}
	return d.valueOfYAML()
}

// blankComments replaces comments in front of the first object by blanks, so that what follows keeps its place.
func blankComments(text []byte) {
	for i := range text {
		if text[i] == '#' {
			end := bytes.IndexByte(text[i:], '\n')
			if end < 0 {
				end = len(text) - i
			}
			copy(text[i:], bytes.Repeat([]byte(" "), end))
		} else if !strings.ContainsRune(blanks, rune(text[i])) {
			break
		}
	}
}

// isJSON goes by the name of the file, and otherwise by how an object of JSON begins.
func (d document) isJSON() bool {
	if d.namedJSON() {
		return true
	}
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(d.text, blanks), []byte("{"))
	rest = bytes.TrimLeft(rest, blanks)
	return ok && (bytes.HasPrefix(rest, []byte(`"`)) || bytes.HasPrefix(rest, []byte("}")))
}

func (d document) namedJSON() bool { return strings.EqualFold(filepath.Ext(d.file), ".json") }

// blanks are those of JSON.
const blanks = " \t\r\n"

// valuesOfJSON reads values of JSON one after another, as several calls of kubectl write them.
func (d document) valuesOfJSON() ([]value, error) {
	var found []value
	line, counted := 1, 0
	for rest := d.text; ; {
		rest = bytes.TrimLeft(rest, blanks)
		if len(rest) == 0 {
			return found, nil
		}
		begin := len(d.text) - len(rest)
		decoder := json.NewDecoder(bytes.NewReader(rest))
		var read json.RawMessage
		if err := decoder.Decode(&read); err != nil {
			return nil, d.notJSON(begin)
		}
		line += bytes.Count(d.text[counted:begin], []byte("\n"))
		counted = begin
		text := rest[:decoder.InputOffset()]
		found = append(found, value{data: read, place: d.placeAt(line), origin: origin{document: d.part(line, text)}})
		rest = rest[decoder.InputOffset():]
	}
}

// notJSON returns where and why a value is not JSON.
func (d document) notJSON(begin int) error {
	var read json.RawMessage
	err := json.Unmarshal(d.text[begin:], &read)
	line := lineAt(d.text, begin)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line = lineAt(d.text, begin+max(0, int(syntax.Offset)-1))
	}
	return fmt.Errorf("%s: not valid JSON: %w", d.placeAt(line), err)
}

// valueOfYAML converts the document as kubectl does. More than one value in it would be dropped there and is refused here.
func (d document) valueOfYAML() ([]value, error) {
	decoder := goyaml.NewDecoder(bytes.NewReader(d.text))
	var first, second goyaml.Node
	rootErr := decoder.Decode(&first)
	if err := d.checkAliases(&first, rootErr); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, d.notYAML(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is something after the end of the first object; put a line with --- between objects",
			d.placeAt(1))
	}
	if string(text) == "null" {
		return nil, nil // only comments
	}
	return []value{{data: text, place: d.placeAt(d.firstLine()), origin: origin{document: d}}}, nil
}

// firstLine returns the first line that is not blank.
func (d document) firstLine() int {
	return lineAt(d.text, len(d.text)-len(bytes.TrimLeft(d.text, blanks)))
}
