package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	// about is what the file says of itself.
	about = `# The API that was last agreed on, without its texts for people. As long as there is no release, make verify compares
# the CRDs with this file. Only make renew-crds WHY="..." writes it.
`
	separator     = "---\n"
	shortestWhy   = 20
	wantsSentence = `write a sentence that says why the file is renewed: make renew-crds WHY="..."`
)

// parts of the file: its reason, the sum of reason and content, the content.
var parts = regexp.MustCompile(`(?s)^(?:# [^\n]*\n)*# Why: ([^\n]+)\n# Sum: ([0-9a-f]+)\n(---\n.*)$`)

// renew writes the file that stands for the last release anew, from the CRDs of the tree.
func renew(root, why string) error {
	tag, err := lastRelease(root)
	if err != nil {
		return err
	}
	if tag != "" {
		return fmt.Errorf("users have the CRDs of %s: nothing else can stand for them now", tag)
	}
	file := filepath.Join(root, standIn)
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	why = strings.Join(strings.Fields(why), " ")
	if last, _ := reasonIn(before); len(why) < shortestWhy || why == last {
		return errors.New(wantsSentence)
	}
	now, err := definitionsInTree(root)
	if err != nil {
		return err
	}
	content, err := write(now)
	if err != nil {
		return err
	}
	return os.WriteFile(file, fmt.Appendf(nil, "%s# Why: %s\n# Sum: %s\n%s", about, why, sum(why, content), content), 0o644)
}

// reasonIn returns the reason in the file's head, and whether the file is as it was written.
func reasonIn(file []byte) (why string, intact bool) {
	found := parts.FindSubmatch(file)
	if found == nil {
		return "", false
	}
	why = string(found[1])
	return why, string(found[2]) == sum(why, found[3])
}

func sum(why string, content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(append([]byte(why+"\n"), content...)))
}

// write returns all CRDs, one document each.
func write(definitions map[string]tree) ([]byte, error) {
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		document, err := yaml.Marshal(undescribed(definitions[name]))
		if err != nil {
			return nil, err
		}
		all.WriteString(separator)
		all.Write(document)
	}
	return all.Bytes(), nil
}

// forPeople are the texts of a CRD that are not compared.
var forPeople = []string{"description", "message", "messageExpression", "fieldPath"}

// undescribed leaves out what is written for people. A field may be called message, too; its value is a tree.
func undescribed(value any) any {
	switch value := value.(type) {
	case tree:
		kept := tree{}
		for name, child := range value {
			if _, text := child.(string); !text || !slices.Contains(forPeople, name) {
				kept[name] = undescribed(child)
			}
		}
		return kept
	case []any:
		var kept []any
		for _, child := range value {
			kept = append(kept, undescribed(child))
		}
		return kept
	default:
		return value
	}
}
