package machines

import (
	"encoding/json"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

// pieceLength is how many characters of a secret in a row are a leak. Shorter ones would be in plain words as well.
const pieceLength = 8

// Secrets are what a plan must not tell: what it redacts, and the lines of secret files.
type Secrets struct {
	Lines  []string
	pieces map[string]bool
}

// String hides them.
func (Secrets) String() string { return "[hidden]" }

// GoString hides them.
func (Secrets) GoString() string { return "[hidden]" }

// SecretsOf finds them in a machine's plan. A piece that also stands in what is no secret is none.
func SecretsOf(m Machine) (Secrets, error) {
	p := m.Plan
	var all []string
	all = append(all, p.Redact...)
	for _, file := range stepsOf[*plan.File](p) {
		if file.Secret {
			all = append(all, file.Text.String()+string(file.Content))
		}
	}
	s := Secrets{pieces: map[string]bool{}}
	for _, text := range all {
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
			s.note(strings.TrimSpace(line))
		}
	}
	public, err := publicText(m)
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(public) {
		eachPiece(line, func(piece string) bool {
			delete(s.pieces, piece)
			return true
		})
	}
	return s, nil
}

func (s *Secrets) note(line string) {
	if len(dense(line)) < pieceLength {
		return
	}
	s.Lines = append(s.Lines, line)
	eachPiece(line, func(piece string) bool {
		s.pieces[piece] = true
		return true
	})
}

// publicText is all that anybody may read: the scripts, the world, the image, and the plan without what is secret in it, as JSON
// and as the texts in it.
func publicText(m Machine) (string, error) {
	open, err := withoutSecrets(m.Plan)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, part := range []any{open, World(m), Files(m.Plan)} {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			return "", err
		}
		texts = appendTexts(append(texts, string(data)), tree)
	}
	return strings.Join(append(texts, scripts.Agent(), scripts.Loader()), "\n"), nil
}

// withoutSecrets is a plan with line ends in place of its secrets.
func withoutSecrets(p *plan.Plan) (any, error) {
	data, err := p.Encode()
	if err != nil {
		return nil, err
	}
	open, err := plan.Decode(data)
	if err != nil {
		return nil, err
	}
	for _, file := range stepsOf[*plan.File](open) {
		if file.Secret {
			file.Text, file.Content = plan.Text(""), nil
		}
	}
	open.Redact = nil
	if data, err = open.Encode(); err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	return mapTexts(tree, func(text string) string {
		for _, secret := range p.Redact {
			text = strings.ReplaceAll(text, secret, "\n")
		}
		return text
	}), nil
}

func mapTexts(node any, change func(string) string) any {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			node[key] = mapTexts(value, change)
		}
	case []any:
		for i, value := range node {
			node[i] = mapTexts(value, change)
		}
	case string:
		return change(node)
	}
	return node
}

// appendTexts adds the texts of a tree, also the names in it.
func appendTexts(texts []string, node any) []string {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			texts = appendTexts(append(texts, key), value)
		}
	case []any:
		for _, value := range node {
			texts = appendTexts(texts, value)
		}
	case string:
		texts = append(texts, node)
	}
	return texts
}

// dense is a text as a console that wraps it, or writes it in another code page, leaves it.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
}

// eachPiece calls with all pieces of a text, one after another, until there is no need for more.
func eachPiece(text string, do func(string) bool) {
	packed := dense(text)
	for i := 0; i+pieceLength <= len(packed); i++ {
		if !do(packed[i : i+pieceLength]) {
			return
		}
	}
}

// Find is the first piece of a secret in a text, or "".
func (s Secrets) Find(text string) (found string) {
	eachPiece(text, func(piece string) bool {
		if s.pieces[piece] {
			found = piece
		}
		return found == ""
	})
	return found
}

// Spill is what a program may write that has the secrets in its hands: each as it is, wrapped by a console of 80 and of 120
// columns, in another code page, and cut, as PowerShell shows the line of a script that failed.
func (s Secrets) Spill() string {
	var text strings.Builder
	for _, line := range s.Lines {
		text.WriteString("value: " + line + "\r\n")
		text.WriteString(wrapped("the value that was given is not valid, because "+line+" is not what was expected", 80))
		text.WriteString(wrapped("an error occurred while the value "+line+" was read", 120))
		text.WriteString("oem: " + asked(line) + "\r\n")
		text.WriteString("At C:\\run\\capwin\\scripts\\a.ps1:1 char:1\r\n+ $x = " + cut(line) + " ...\r\n+ ~~~~~~\r\n" +
			"    + CategoryInfo          : InvalidArgument: (" + cut(line) + "...:String) [], ParentContainsErrorRecordException\r\n")
	}
	return text.String()
}

// asked has a question mark for each character that a code page does not know.
func asked(line string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, line)
}

// cut leaves seven tenths.
func cut(line string) string {
	all := []rune(line)
	return string(all[:len(all)*7/10])
}

func wrapped(text string, columns int) string {
	var lines strings.Builder
	for all := []rune(text); len(all) > 0; {
		end := min(columns, len(all))
		lines.WriteString(string(all[:end]) + "\r\n")
		all = all[end:]
	}
	return lines.String()
}
