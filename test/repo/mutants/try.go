package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is what came of a fault.
type result string

const (
	notTried  result = ""
	alive     result = "alive"
	unreached result = "alive, no test comes by"
	dead      result = "dead"
)

// trial is a room with its faults, built for each of its guards.
type trial struct {
	root, folder string
	jobs         int
	faults       []*fault
	guards       []*built
}

// built is a guard's program and its tests.
type built struct {
	guard
	program string
	tests   []test
}

// test is a test, the faults that it comes by, and how long it takes alone.
type test struct {
	name    string
	reaches map[int]bool
	takes   time.Duration
}

// build builds the guards, and runs each of their tests once without a fault.
func build(o options, r room, c *code, faults []*fault) (*trial, error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	t := &trial{root: o.root, folder: folder, jobs: max(o.jobs, 1), faults: faults}
	if err := t.build(r, c); err != nil {
		t.remove()
		return nil, err
	}
	return t, nil
}

func (t *trial) build(r room, c *code) error {
	overlay, err := c.overlay(t.root, t.folder, t.faults)
	if err != nil {
		return err
	}
	for i, g := range r.guards {
		b := &built{guard: g, program: filepath.Join(t.folder, fmt.Sprint("guard", i))}
		command := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.program, "./"+g.folder)
		command.Dir = t.root
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s with faults: %w: %s", g.folder, err, head(out))
		}
		if err := b.runWithout(t); err != nil {
			return err
		}
		t.guards = append(t.guards, b)
	}
	return nil
}

func (t *trial) remove() { _ = os.RemoveAll(t.folder) } // it is a temporary folder

// runWithout runs each test of a guard alone and without a fault, which must be green, and notes which faults it comes by: only
// the tests that come by a fault can see it.
func (b *built) runWithout(t *trial) error {
	names, err := b.list(t)
	if err != nil {
		return err
	}
	b.tests = make([]test, len(names))
	wrong := make([]error, len(names))
	inJobs(t.jobs, len(names), time.Time{}, func(i int) { b.tests[i], wrong[i] = b.look(t, names[i]) })
	return errors.Join(wrong...)
}

// list names the tests of a guard. What a TestMain writes is not one of them.
func (b *built) list(t *trial) (names []string, err error) {
	out, err := b.run(t, 20*time.Minute, []string{"-test.list=" + cmp.Or(b.guard.run, ".")})
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w: %s", b.folder, err, head(out))
	}
	return testName.FindAllString(string(out), -1), nil
}

var testName = regexp.MustCompile(`(?m)^(Test|Fuzz|Example)\w*$`)

func (b *built) look(t *trial, name string) (test, error) {
	one := test{name: name, reaches: map[int]bool{}}
	reached := filepath.Join(t.folder, filepath.Base(b.program)+"."+name)
	began := time.Now()
	if out, err := b.run(t, 20*time.Minute, []string{"-test.run=^" + name + "$"}, envReached+"="+reached); err != nil {
		return one, fmt.Errorf("%s of %s fails without a fault: %w: %s", name, b.folder, err, head(out))
	}
	one.takes = time.Since(began)
	text, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return one, err
	}
	for word := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return one, err
		}
		one.reaches[n] = true
	}
	return one, nil
}

// run runs a guard's program where go test runs it.
func (b *built) run(t *trial, most time.Duration, flags []string, environment ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most+10*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, b.program, append(flags, "-test.failfast", "-test.timeout="+most.String())...)
	command.Dir = filepath.Join(t.root, b.folder)
	command.Env = append(os.Environ(), environment...)
	command.WaitDelay = time.Second
	return command.CombinedOutput()
}

// tryAll tries the faults, some at once, until the time is over.
func (t *trial) tryAll(until time.Time) []result {
	results := make([]result, len(t.faults))
	inJobs(t.jobs, len(t.faults), until, func(i int) { results[i] = t.try(i + 1) })
	return results
}

// inJobs does what there is to do from 0 to n, some at once, and begins nothing behind until, unless that is zero.
func inJobs(jobs, n int, until time.Time, do func(i int)) {
	numbers := make(chan int)
	var working sync.WaitGroup
	for range jobs {
		working.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		if !until.IsZero() && time.Now().After(until) {
			break
		}
		numbers <- i
	}
	close(numbers)
	working.Wait()
}

// try says whether a guard sees a fault: a test that comes by it fails, or they hang for longer than three times what they take.
func (t *trial) try(n int) result {
	found := unreached
	for _, b := range t.guards {
		var names []string
		most := 20 * time.Second
		for _, one := range b.tests {
			if one.reaches[n] {
				names = append(names, one.name)
				most += 3 * one.takes
			}
		}
		if len(names) == 0 {
			continue
		}
		found = alive
		only := "-test.run=^(" + strings.Join(names, "|") + ")$"
		if _, err := b.run(t, most, []string{only}, fmt.Sprint(envFault, "=", n)); err != nil {
			return dead
		}
	}
	return found
}

// head is the first of what a program has written.
func head(out []byte) []byte {
	const most = 2000
	return bytes.TrimSpace(out[:min(len(out), most)])
}
