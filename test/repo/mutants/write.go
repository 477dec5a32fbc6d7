package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const (
	// envFault has the number of the fault that is on, from 1; envReached the file that gets those that a test comes by.
	envFault   = "CAPWIN_MUTANT"
	envReached = "CAPWIN_MUTANTS_REACHED"
)

// written writes the text between two places with the faults in it, which are in order and lie inside. The number of a fault is
// its place in all, from 1.
func written(text []byte, start, end int, inside, all []*fault) string {
	out, at := "", start
	for len(inside) > 0 {
		f := inside[0]
		last := 1
		for last < len(inside) && inside[last].end <= f.end {
			last++
		}
		nested := inside[1:last]
		inside = inside[last:]
		out += string(text[at:f.start]) + f.put(1+slices.Index(all, f), func(start, end int) string {
			var within []*fault
			for _, one := range nested {
				if start <= one.start && one.end <= end {
					within = append(within, one)
				}
			}
			return written(text, start, end, within, all)
		})
		at = f.end
	}
	return out + string(text[at:end])
}

// helper is the file that is added to a room.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var (
	mutantOn, _  = strconv.Atoi(os.Getenv(%q))
	mutantFile   = os.Getenv(%q)
	mutantsFound sync.Map
)

func mutantIs(n int) bool {
	if mutantFile != "" {
		if _, before := mutantsFound.LoadOrStore(n, true); !before {
			file, err := os.OpenFile(mutantFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			file.WriteString(strconv.Itoa(n) + "\n")
			file.Close()
		}
	}
	return n == mutantOn
}

func mutantNil(on bool, err error) error {
	if on {
		return nil
	}
	return err
}
`

// overlay writes the room with its faults into a folder, and returns the file that shows Go where.
func (c *code) overlay(root, into string, all []*fault) (file string, err error) {
	replace := map[string]string{}
	put := func(path, text string) error {
		from, err := filepath.Abs(filepath.Join(root, path))
		if err != nil {
			return err
		}
		replace[from] = filepath.Join(into, fmt.Sprint(len(replace), ".go"))
		return os.WriteFile(replace[from], []byte(text), 0o600)
	}
	for _, one := range c.files {
		here := slices.DeleteFunc(slices.Clone(all), func(f *fault) bool { return f.file != one.path })
		if len(here) == 0 {
			continue
		}
		if err := put(one.path, written(one.text, 0, len(one.text), here, all)); err != nil {
			return "", err
		}
	}
	added := filepath.Join(filepath.Dir(c.files[0].path), "capwin_mutants.go")
	if err := put(added, fmt.Sprintf(helper, c.name, envFault, envReached)); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(into, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}
