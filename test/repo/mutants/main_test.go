package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// module writes a module of one room, with its tests in a folder beside it.
func module(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"room/room.go": `package room

import "errors"

var Ready = true

type flag bool

var ErrSmall = errors.New("small")

func Check(n int, set, force bool) (total int, err error) {
	if n < 10 && !set || force {
		return 0, ErrSmall
	}
	for i := 0; i < n; i++ {
		total += i
	}
	note(func() bool { return total > 44 })
	switch {
	case total >= 1000:
		total = 1000
	}
	return total, nil
}

func note(f func() bool) { noted = f() }

var noted bool

func Unused() (bool, flag) { return noted, flag(noted) }
`,
		"guard/room_test.go": `package guard

import (
	"testing"

	"example.com/m/room"
)

func TestCheck(t *testing.T) {
	if total, err := room.Check(10, false, false); total != 45 || err != nil || !room.Ready {
		t.Error(total, err)
	}
	if _, err := room.Check(9, false, false); err == nil {
		t.Error("9 is large enough")
	}
}

func TestElsewhere(t *testing.T) {}
`,
	} {
		file := filepath.Join(root, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return root
}

// TestFaults: all that are found in a room, and with all of them in it, it compiles; those live that no test can see.
func TestFaults(t *testing.T) {
	t.Parallel()
	root := module(t)
	c := expect.Got(load(root, "room"))(t)
	all := c.faults()
	trial := expect.Got(build(options{root: root, jobs: 2}, room{"room", []guard{{folder: "guard"}}}, c, all))(t)
	t.Cleanup(trial.remove)
	var got []string
	for i, one := range trial.tryAll(time.Now().Add(time.Hour)) {
		line, _ := strings.CutPrefix(all[i].String(), "room/room.go:")
		got = append(got, line+": "+string(one))
	}
	slices.Sort(got)
	expect.Same(t, "faults", []string{
		"12: Check: always false: n < 10 && !set || force: dead",
		"12: Check: always true: n < 10 && !set || force: dead",
		"12: Check: boundary: n < 10: dead",
		"12: Check: operand dropped: !set: alive",
		"12: Check: operand dropped: force: alive",
		"12: Check: operand dropped: n < 10 && !set: dead",
		"12: Check: operand dropped: n < 10: dead",
		"13: Check: error is nil: ErrSmall: dead",
		"15: Check: always false: i < n: dead",
		"15: Check: boundary: i < n: dead",
		"16: Check: assignment deleted: total += i: dead",
		"18: Check: always false: total > 44: alive",
		"18: Check: always true: total > 44: alive",
		"18: Check: boundary: total > 44: alive",
		"18: Check: call deleted: note(func() bool { return total > 44 }): alive",
		"20: Check: always false: total >= 1000: alive",
		"20: Check: always true: total >= 1000: dead",
		"20: Check: boundary: total >= 1000: alive",
		"21: Check: assignment deleted: total = 1000: alive, no test comes by",
		"26: note: assignment deleted: noted = f(): alive",
		"30: Unused: always false: noted: alive, no test comes by",
		"30: Unused: always true: noted: alive, no test comes by",
		"5: var: bool flipped: true: dead",
	}, got)
	var comeBy []string
	for _, one := range trial.guards[0].tests {
		if len(one.reaches) > 1 { // those of a var are reached at the start of the program
			comeBy = append(comeBy, one.name)
		}
	}
	expect.Same(t, "tests that come by", []string{"TestCheck"}, comeBy)
	text := expect.Got(os.ReadFile(filepath.Join(root, "room", "room.go")))(t)
	expect.Same(t, "the room has a fault in it", false, strings.Contains(string(text), "mutantIs"))
}

// TestDraw: a seed draws the same faults each time, and another seed others.
func TestDraw(t *testing.T) {
	t.Parallel()
	all := expect.Got(load(module(t), "room"))(t).faults()
	first, again, other := draw(all, 5, 1, "room"), draw(all, 5, 1, "room"), draw(all, 5, 2, "room")
	expect.Same(t, "how many", 5, len(first))
	expect.Same(t, "the same seed", true, slices.Equal(first, again))
	expect.Same(t, "another seed", false, slices.Equal(first, other))
	expect.Same(t, "more than there are", len(all), len(draw(all, 1000, 1, "room")))
}

// TestEquivalents: what is named is not drawn, and a name that no fault has any more is an error.
func TestEquivalents(t *testing.T) {
	t.Parallel()
	all := expect.Got(load(module(t), "room"))(t).faults()
	named := []equivalent{{"room/room.go", "Check: boundary: total > 44"}, {"other/other.go", "f: call deleted: g()"}}
	left, out, err := without(all, named, "room")
	expect.OK(t, err)
	expect.Same(t, "left out and left", []int{1, len(all) - 1}, []int{out, len(left)})
	_, _, err = without(all, append(named, equivalent{"room/room.go", "Check: boundary: total > 45"}), "room")
	expect.Says(t, "a name of old", err, "no fault is room/room.go: Check: boundary: total > 45")
}

// TestLists: each room of the list is there, and its guards are; each equivalent has a reason, and is a fault of its room still.
func TestLists(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	rooms := expect.Got(readRooms(root))(t)
	for _, r := range rooms {
		for _, g := range append(slices.Clone(r.guards), guard{folder: r.folder}) {
			if files, err := filepath.Glob(filepath.Join(root, g.folder, "*.go")); err != nil || len(files) == 0 {
				t.Errorf("%s has no Go files: %v", g.folder, err)
			}
		}
	}
	named := expect.Got(readEquivalents(root))(t)
	folders := map[string]bool{}
	for _, one := range named {
		folders[filepath.ToSlash(filepath.Dir(one.file))] = true
	}
	for folder := range folders {
		if !slices.ContainsFunc(rooms, func(r room) bool { return r.folder == folder }) {
			t.Errorf("equivalents are named in %s, which is no room of the list", folder)
		}
		_, _, err := without(expect.Got(load(root, folder))(t).faults(), named, folder)
		expect.Says(t, folder, err, "")
	}
}
