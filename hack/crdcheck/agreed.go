package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	bases = "config/crd/bases"
	// standIn stands for the last release as long as there is none.
	standIn = "hack/crdcheck/agreed.yaml"
)

// release is the name of a release's tag. A pre-release promises nothing.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// agreed is what the CRDs are held to: the last release, or the file that stands for it.
type agreed struct {
	name        string
	released    bool
	definitions map[string]tree
	problems    []string
}

func lastAgreed(root string) (agreed, error) {
	tag, err := lastRelease(root)
	if err != nil {
		return agreed{}, err
	}
	if tag != "" {
		return agreedIn(root, tag)
	}
	content, err := os.ReadFile(filepath.Join(root, standIn))
	if errors.Is(err, fs.ErrNotExist) {
		return agreed{}, fmt.Errorf("this clone has neither a tag of a release nor %s: run git fetch --tags", standIn)
	}
	if err != nil {
		return agreed{}, err
	}
	_, intact := reasonIn(content)
	if !intact {
		return agreed{}, fmt.Errorf("%s was edited or merged: only make renew-crds writes this file", standIn)
	}
	definitions, err := readDefinitions(content)
	return agreed{name: standIn + ", because this clone has no tag of a release", definitions: definitions}, err
}

// lastRelease returns the tag of the highest version, or nothing.
func lastRelease(root string) (string, error) {
	tags, err := git(root, "tag", "--list", "v*", "--sort=-version:refname")
	if err != nil {
		return "", err
	}
	for tag := range strings.Lines(string(tags)) {
		if tag = strings.TrimSpace(tag); release.MatchString(tag) {
			return tag, nil
		}
	}
	return "", nil
}

// agreedIn reads the CRDs of a release.
func agreedIn(root, tag string) (agreed, error) {
	names, err := git(root, "ls-tree", "--name-only", tag, bases+"/")
	if err != nil {
		return agreed{}, err
	}
	var all [][]byte
	for name := range strings.Lines(string(names)) {
		content, err := git(root, "show", tag+":"+strings.TrimSpace(name))
		if err != nil {
			return agreed{}, err
		}
		all = append(all, content)
	}
	definitions, err := readDefinitions(all...)
	if err == nil && len(definitions) == 0 {
		err = fmt.Errorf("%s has no CRDs in %s", tag, bases)
	}
	return agreed{name: tag, released: true, definitions: definitions, problems: renewedAfter(root, tag)}, err
}

// renewedAfter tells of a file that was renewed after the release, which clones without tags would be compared with.
func renewedAfter(root, tag string) []string {
	now, err := os.ReadFile(filepath.Join(root, standIn))
	if err != nil {
		return nil // removed, as it should be
	}
	if then, err := git(root, "show", tag+":"+standIn); err == nil && bytes.Equal(then, now) {
		return nil
	}
	return []string{fmt.Sprintf("%s: the file was changed after %s; remove it, because there is a release now", standIn, tag)}
}

func definitionsInTree(root string) (map[string]tree, error) {
	files, err := filepath.Glob(filepath.Join(root, bases, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, content)
	}
	return readDefinitions(all...)
}

// readDefinitions returns CRDs by their names.
func readDefinitions(files ...[]byte) (map[string]tree, error) {
	definitions := map[string]tree{}
	for document := range bytes.SplitSeq(bytes.Join(files, []byte("\n---\n")), []byte("\n---\n")) {
		var definition tree
		if err := yaml.Unmarshal(document, &definition); err != nil {
			return nil, err
		}
		if len(definition) > 0 {
			definitions[fmt.Sprint(asTree(definition["metadata"])["name"])] = definition
		}
	}
	return definitions, nil
}

// git runs a git command in the repository.
func git(root string, args ...string) ([]byte, error) {
	command := exec.Command("git", append([]string{"-C", root}, args...)...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(complaint.Bytes()))
	}
	return output, nil
}
