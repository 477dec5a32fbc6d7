package objects

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
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

// at names a line of the document in messages.
func (d document) at(line int) string {
	return fmt.Sprintf("%s: document %d, line %d", d.file, d.number, d.line+line-1)
}

// addFile adds the objects of all documents in a file.
func (s *Set) addFile(name string, data []byte, namespace string) error {
	text, err := textOf(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, one := range split(name, text) {
		values, err := one.values()
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
func split(file string, text []byte) []document {
	var all []document
	next := document{file: file, number: 1, line: 1}
	line := 0
	for part := range bytes.Lines(text) {
		line++
		switch empty := len(bytes.TrimSpace(next.text)) == 0; {
		case begins(part) && empty:
			next.line, next.text = line, nil
		case begins(part):
			all = append(all, next)
			next = document{file: file, number: next.number + 1, line: line}
		}
		next.text = append(next.text, part...)
	}
	return append(all, next)
}

var marker = []byte("---")

// begins says whether a line begins a document: three dashes, and then nothing or a blank.
func begins(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, marker)
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// value is one value of a document, and where it begins.
type value struct {
	data  []byte // JSON
	place string
}

// values returns the values of the document: one in YAML, any number in JSON.
func (d document) values() ([]value, error) {
	if begins(d.text) {
		d.text = bytes.Replace(d.text, marker, []byte("   "), 1)
	}
	if !d.namedJSON() {
		d.text = blankComments(d.text)
	}
	if d.isJSON() {
		return d.valuesOfJSON()
	}
	return d.valueOfYAML()
}

// blankComments replaces comments in front of the first object by blanks, so that what follows keeps its place.
func blankComments(text []byte) []byte {
	clean := bytes.Clone(text)
	for at := 0; at < len(clean); at++ {
		if clean[at] == '#' {
			end := bytes.IndexByte(clean[at:], '\n')
			if end < 0 {
				end = len(clean) - at
			}
			copy(clean[at:], bytes.Repeat([]byte(" "), end))
			at += end - 1
		} else if !strings.ContainsRune(blanks, rune(clean[at])) {
			break
		}
	}
	return clean
}

// isJSON goes by the name of the file, and otherwise by how an object of JSON begins.
func (d document) isJSON() bool {
	text := bytes.TrimLeft(d.text, blanks)
	if len(text) == 0 {
		return false
	}
	if d.namedJSON() {
		return true
	}
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	rest = bytes.TrimLeft(rest, blanks)
	return ok && (bytes.HasPrefix(rest, []byte(`"`)) || bytes.HasPrefix(rest, []byte("}")))
}

func (d document) namedJSON() bool { return strings.EqualFold(filepath.Ext(d.file), ".json") }

// blanks are those of JSON.
const blanks = " \t\r\n"

// valuesOfJSON reads values of JSON one after another, as several calls of kubectl write them.
func (d document) valuesOfJSON() ([]value, error) {
	var found []value
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
		found = append(found, value{data: read, place: d.at(lineAt(d.text, begin))})
		rest = rest[decoder.InputOffset():]
	}
}

// notJSON says where and why a value is not JSON.
func (d document) notJSON(begin int) error {
	var read json.RawMessage
	err := json.Unmarshal(d.text[begin:], &read)
	line := lineAt(d.text, begin)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line = lineAt(d.text, begin+max(0, int(syntax.Offset)-1))
	}
	return fmt.Errorf("%s: not valid JSON: %w", d.at(line), err)
}

// valueOfYAML converts the document as kubectl does. More than one value in it would be dropped there and is refused here.
func (d document) valueOfYAML() ([]value, error) {
	text, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, d.notYAML(err)
	}
	decoder := goyaml.NewDecoder(bytes.NewReader(d.text))
	var first, second any
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is something after the end of the first object; put a line with --- between objects", d.at(1))
	}
	if string(text) == "null" {
		return nil, nil // only comments
	}
	return []value{{data: text, place: d.at(d.firstLine())}}, nil
}

// firstLine returns the first line that is not blank.
func (d document) firstLine() int {
	return lineAt(d.text, len(d.text)-len(bytes.TrimLeft(d.text, blanks)))
}

var (
	lineOfYAML  = regexp.MustCompile(`line (\d+): `)
	twiceInYAML = regexp.MustCompile(`key "(.*)" already set in map`)
)

// notYAML names the line in the file, which the parser counts from the document's beginning.
func (d document) notYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if found := lineOfYAML.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		_, text, _ = strings.Cut(text, found[0])
	}
	if strings.HasPrefix(text, "unknown anchor") {
		text = "a value that begins with * must be in quotes" // the name may be a password
	}
	if twice := twiceInYAML.FindStringSubmatch(text); twice != nil {
		return fmt.Errorf("%s: %s", d.at(line), keyTwice(twice[1]))
	}
	return fmt.Errorf("%s: not valid YAML: %s", d.at(line), text)
}
