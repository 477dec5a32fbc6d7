// Command mutants puts faults into the Go code of rooms, one at a time, and prints those that no test of the room's guards sees.
//
// The faults are drawn with a seed, so many for each room, from all that it finds: conditions that are always true or false, an
// operand that is dropped, a boundary that moves by one, a call or an assignment that is left out, an error that becomes nil, a
// bool that is the other one. All faults of a room are in one program, which an environment variable tells which one is on: a
// room is built once for each of its guards. The tree stays as it is, because Go compiles the faults over it.
//
// test/kit/proved/mutants.sh and test/upstream/powershell/mutants.sh have tables of faults that were chosen, for what decides
// whose a VM is and for the scripts.
//
//	main.go     flags, and what is printed
//	rooms.go    rooms.txt: rooms and their guards; equivalents.txt: faults that change nothing
//	load.go     reads a room, with its types
//	faults.go   finds the faults in it
//	write.go    writes the room with its faults, and what Go needs to compile them
//	try.go      builds the guards, and tries the faults
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// options are what a person chooses.
type options struct {
	root  string
	rooms string
	count int
	seed  uint64
	box   time.Duration
	jobs  int
	least int
}

func main() {
	o := options{root: "."}
	flag.StringVar(&o.rooms, "rooms", "", "folders, with commas between; empty for all of rooms.txt")
	flag.IntVar(&o.count, "count", 25, "how many faults are tried in each room")
	flag.Uint64Var(&o.seed, "seed", 1, "what the faults are drawn with")
	flag.DurationVar(&o.box, "time", time.Hour, "how long faults are tried; no room begins after that")
	flag.IntVar(&o.jobs, "jobs", 2, "how many faults are tried at once")
	flag.IntVar(&o.least, "least", 90, "how many of a hundred faults must be seen in each room")
	flag.Parse()
	good, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !good {
		os.Exit(1)
	}
}

// run tries the faults of all rooms, and says whether enough of them were seen.
func run(o options) (good bool, err error) {
	all, err := readRooms(o.root)
	if err != nil {
		return false, err
	}
	named, err := readEquivalents(o.root)
	if err != nil {
		return false, err
	}
	fmt.Printf("seed %d, %d faults a room\n", o.seed, o.count)
	good = true
	until := time.Now().Add(o.box)
	for _, r := range chosen(all, o.rooms) {
		if time.Now().After(until) {
			fmt.Printf("%s: not tried, the time is over\n", r.folder)
			continue
		}
		enough, err := tryRoom(o, r, named, until)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.folder, err)
		}
		good = good && enough
	}
	return good, nil
}

// chosen are the rooms of these folders.
func chosen(all []room, folders string) (some []room) {
	if folders == "" {
		return all
	}
	for folder := range strings.SplitSeq(folders, ",") {
		folder = strings.TrimPrefix(strings.TrimSuffix(folder, "/"), "./")
		at := slices.IndexFunc(all, func(r room) bool { return r.folder == folder })
		if at < 0 {
			some = append(some, room{folder: folder, guards: []guard{{folder: folder}}})
			continue
		}
		some = append(some, all[at])
	}
	return some
}

func tryRoom(o options, r room, named []equivalent, until time.Time) (enough bool, err error) {
	code, err := load(o.root, r.folder)
	if err != nil {
		return false, err
	}
	possible, left, err := without(code.faults(), named, r.folder)
	if err != nil {
		return false, err
	}
	drawn := draw(possible, o.count, o.seed, r.folder)
	t, err := build(o, r, code, drawn)
	if err != nil {
		return false, err
	}
	defer t.remove()
	began := time.Now()
	results := t.tryAll(until)
	dead, tried := 0, 0
	for i, f := range drawn {
		switch result := results[i]; result {
		case notTried:
			continue
		case alive, unreached:
			fmt.Printf("  %s: %s\n", f, result)
		default:
			dead++
		}
		tried++
	}
	fmt.Printf("%s: %d of %d dead, of %d possible faults; %d are named as equivalent; %d not tried; %s\n",
		r.folder, dead, tried, len(possible), left, len(drawn)-tried, time.Since(began).Round(time.Second))
	return dead*100 >= o.least*tried, nil
}

// draw takes so many faults by chance, the same for a seed and a room, in the order of the code.
func draw(possible []*fault, count int, seed uint64, folder string) []*fault {
	h := fnv.New64a()
	_, _ = h.Write([]byte(folder))
	chance := rand.New(rand.NewPCG(seed, h.Sum64()))
	drawn := slices.Clone(possible)
	chance.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	drawn = drawn[:min(count, len(drawn))]
	slices.SortFunc(drawn, inOrder)
	return drawn
}
