package objects

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	lineOfYAML  = regexp.MustCompile(`line (\d+): `)
	twiceInYAML = regexp.MustCompile(`key "(.*)" already set in map`)
)

// notYAML names the line in the file, which the parser counts from the document's beginning, and what to do about it.
func (d document) notYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if found := lineOfYAML.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1])
		_, text, _ = strings.Cut(text, found[0])
	}
	if twice := twiceInYAML.FindStringSubmatch(text); twice != nil {
		return fmt.Errorf("%s: %s", d.placeAt(line), keyTwice(twice[1]))
	}
	if row, column := d.template(); row > 0 {
		return fmt.Errorf("%s, column %d: %s", d.placeAt(row), column, templateOfHelm)
	}
	if row, column := d.tab(line); row > 0 {
		return fmt.Errorf("%s, column %d: a tab stands before the text of this line; YAML is indented by blanks only, so write blanks",
			d.placeAt(row), column)
	}
	return fmt.Errorf("%s: not valid YAML: %s", d.placeAt(line), inOurWords(text))
}

// inOurWords replaces messages of the parser that quote the file, which may have secrets.
func inOurWords(text string) string {
	switch {
	case strings.HasPrefix(text, "unknown anchor"):
		return "a value that begins with * must be in quotes"
	case strings.HasPrefix(text, "invalid map key"):
		return "a key is an object or a list; write a name in front of the colon, and put a value that begins with { or [ in quotes"
	}
	return text
}

const templateOfHelm = "{{ }} of a template is not filled in; render it first, such as with helm template, and give what that " +
	"prints"

// template finds the first line with {{ that is no comment.
func (d document) template() (line, column int) {
	number := 0
	for text := range bytes.Lines(d.text) {
		number++
		if offset := bytes.Index(text, []byte("{{")); offset >= 0 && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("#")) {
			return number, offset + 1
		}
	}
	return 0, 0
}

// tab finds the line with a tab before its text that is nearest to where the parser stopped, at most one line away: it counts
// lines from 0 in some messages.
func (d document) tab(stopLine int) (line, column int) {
	number := 0
	for text := range bytes.Lines(d.text) {
		number++
		blank := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if offset := bytes.IndexByte(blank, '\t'); offset >= 0 && stopLine-1 <= number && number <= stopLine+1 {
			return number, offset + 1
		}
	}
	return 0, 0
}
