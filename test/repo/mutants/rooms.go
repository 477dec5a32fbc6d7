package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// room is a folder of Go files, and the folders whose tests guard it.
type room struct {
	folder string
	guards []guard
}

// guard is a folder of tests; run names those of them that count, as go test's -run does.
type guard struct {
	folder, run string
}

// readRooms reads rooms.txt: a folder on each line, and after it those of its guards, which is the folder itself where there is
// none. FOLDER=REGEXP takes some tests of a guard.
func readRooms(root string) (all []room, err error) {
	lines, err := linesOf(root, "rooms.txt")
	for _, line := range lines {
		words := strings.Fields(line)
		r := room{folder: words[0]}
		for _, word := range words[1:] {
			folder, run, _ := strings.Cut(word, "=")
			r.guards = append(r.guards, guard{folder, run})
		}
		if len(r.guards) == 0 {
			r.guards = []guard{{folder: r.folder}}
		}
		all = append(all, r)
	}
	return all, err
}

// equivalent is a fault that changes nothing that a test could see, as it is printed, without its line.
type equivalent struct{ file, fault string }

// readEquivalents reads equivalents.txt: a fault on each line, and after # why it changes nothing.
func readEquivalents(root string) (all []equivalent, err error) {
	lines, err := linesOf(root, "equivalents.txt")
	for _, line := range lines {
		text, why, is := strings.Cut(line, " # ")
		file, fault, has := strings.Cut(strings.TrimSpace(text), ": ")
		if !is || !has || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("equivalents.txt: %q is not FILE: FUNCTION: FAULT # REASON", line)
		}
		all = append(all, equivalent{file, fault})
	}
	return all, err
}

// linesOf reads a file of this folder, without what is empty and what is a comment.
func linesOf(root, name string) (lines []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "repo", "mutants", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// without leaves the named faults out. A name that fits none is an error, so that the list does not outlive its code.
func without(possible []*fault, named []equivalent, folder string) (left []*fault, out int, err error) {
	fits := map[equivalent]bool{}
	for _, f := range possible {
		fits[equivalent{f.file, f.what()}] = true
	}
	names := map[equivalent]bool{}
	for _, one := range named {
		if filepath.ToSlash(filepath.Dir(one.file)) != folder {
			continue
		}
		if !fits[one] {
			err = errors.Join(err, fmt.Errorf("equivalents.txt: no fault is %s: %s", one.file, one.fault))
		}
		names[one] = true
	}
	for _, f := range possible {
		if names[equivalent{f.file, f.what()}] {
			out++
			continue
		}
		left = append(left, f)
	}
	return left, out, err
}
