package repo

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	architecturePage = "docs/contributing/architecture.md"
	// architectureBytes is what a newcomer reads in a quarter of an hour.
	architectureBytes = 12 << 10
	wayFunctions      = 15
)

// The map of the rooms is short, and has each room once. A room of tests is in the map of test/README.md.
func TestArchitectureHasTheRooms(t *testing.T) {
	text := string(expect.Got(os.ReadFile(filepath.Join(root, filepath.FromSlash(architecturePage))))(t))
	if len(text) > architectureBytes {
		t.Errorf("%s has %d bytes, at most %d are good", architecturePage, len(text), architectureBytes)
	}
	var named []string
	for _, row := range rowsOf(pageSection(t, architecturePage, "Rooms")) {
		named = append(named, roomsOfRow(row[0])...)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(strings.Trim(row[2], "`")))); err != nil {
			t.Errorf("%s: where to start reading: %v", architecturePage, err)
		}
	}
	var there []string
	for _, s := range sources(t) {
		if s.folder != "." && !s.isTest && !strings.HasPrefix(s.folder, "test/") && !slices.Contains(there, s.folder) {
			there = append(there, s.folder)
		}
	}
	for _, room := range there {
		if !slices.Contains(named, room) {
			t.Errorf("%s lacks the room %s", architecturePage, room)
		}
	}
	for i, room := range named {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(room))); err != nil || slices.Contains(named[:i], room) {
			t.Errorf("%s has the room %s, which is not there, or is named twice", architecturePage, room)
		}
	}
}

// roomsOfRow are the rooms of a cell. A name that begins with no folder of the root is below the first one.
func roomsOfRow(cell string) (all []string) {
	for _, found := range codeOfCell.FindAllStringSubmatch(cell, -1) {
		name := path.Clean(found[1])
		first, _, isPath := strings.Cut(name, "/")
		if _, err := os.Stat(filepath.Join(root, first)); len(all) > 0 && (err != nil || !isPath) {
			name = path.Join(all[0], name)
		}
		all = append(all, name)
	}
	return all
}

// What a third cloud brings is there for each of the two.
func TestArchitectureOfAThirdCloud(t *testing.T) {
	for _, row := range rowsOf(pageSection(t, architecturePage, "A third cloud")) {
		for _, found := range codeOfCell.FindAllStringSubmatch(row[1], -1) {
			for _, cloud := range []string{"vsphere", "azure"} {
				name := strings.ReplaceAll(found[1], "CLOUD", cloud)
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
					t.Errorf("%s: a third cloud: %v", architecturePage, err)
				}
			}
		}
	}
}

// The drawn ways have functions that are there.
func TestArchitectureHasTheWays(t *testing.T) {
	const vsphere, azure = "From a WindowsMachine to CloneVM_Task", "From a WindowsMachine to the PUT of its VM"
	functions := map[string]bool{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				functions[s.path+" "+function.Name.Name] = true
			}
		}
	}
	first, second := rowsOf(pageSection(t, architecturePage, vsphere)), rowsOf(pageSection(t, architecturePage, azure))
	expect.Same(t, "functions of each way", []int{wayFunctions, wayFunctions}, []int{len(first), len(second) + 8})
	for _, row := range slices.Concat(first, second) {
		name := codeOfCell.FindStringSubmatch(row[1])[1]
		if !functions[strings.Trim(row[2], "`")+" "+name] {
			t.Errorf("%s: %s has no function %s", architecturePage, row[2], name)
		}
	}
}
