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
		return fmt.Errorf("%s: %s", d.at(line), keyTwice(twice[1]))
	}
	if at, column := d.template(); at > 0 {
		return fmt.Errorf("%s, column %d: %s", d.at(at), column, templateOfHelm)
	}
	if at, column := d.tab(line); at > 0 {
		return fmt.Errorf("%s, column %d: a tab stands before the text of this line; YAML is indented by blanks only, so write blanks",
			d.at(at), column)
	}
	return fmt.Errorf("%s: not valid YAML: %s", d.at(line), inOurWords(text))
}

// inOurWords replaces what the parser says with values of the file, which may be secrets.
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
		if at := bytes.Index(text, []byte("{{")); at >= 0 && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("#")) {
			return number, at + 1
		}
	}
	return 0, 0
}

// tab finds the line with a tab before its text that is nearest to where the parser stopped, at most one line away: it counts
// lines from 0 in some messages.
func (d document) tab(near int) (line, column int) {
	number := 0
	for text := range bytes.Lines(d.text) {
		number++
		blank := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if at := bytes.IndexByte(blank, '\t'); at >= 0 && near-1 <= number && number <= near+1 {
			return number, at + 1
		}
	}
	return 0, 0
}
