package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	faults       []*fault
	guards       []built
}

// built is a guard's program, the faults that its tests come by, and how long they take.
type built struct {
	guard
	program string
	reaches map[int]bool
	takes   time.Duration
}

// build builds the guards, and runs each once without a fault.
func build(o options, r room, c *code, faults []*fault) (*trial, error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	t := &trial{root: o.root, folder: folder, faults: faults}
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
		b := built{guard: g, program: filepath.Join(t.folder, fmt.Sprint("guard", i)), reaches: map[int]bool{}}
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

// runWithout runs a guard without a fault, which must be green, and notes which faults it comes by.
func (b *built) runWithout(t *trial) error {
	reached := b.program + ".reached"
	began := time.Now()
	if out, err := b.run(t, 20*time.Minute, envReached+"="+reached); err != nil {
		return fmt.Errorf("the tests of %s fail without a fault: %w: %s", b.folder, err, head(out))
	}
	b.takes = time.Since(began)
	text, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for word := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		b.reaches[n] = true
	}
	return nil
}

// run runs a guard's tests where go test runs them.
func (b *built) run(t *trial, most time.Duration, environment ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), most+10*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, b.program, "-test.failfast", "-test.timeout="+most.String(), "-test.run="+b.guard.run)
	command.Dir = filepath.Join(t.root, b.folder)
	command.Env = append(os.Environ(), environment...)
	command.WaitDelay = time.Second
	return command.CombinedOutput()
}

// tryAll tries the faults, some at once, until the time is over.
func (t *trial) tryAll(jobs int, until time.Time) []result {
	results := make([]result, len(t.faults))
	numbers := make(chan int)
	var working sync.WaitGroup
	for range max(jobs, 1) {
		working.Go(func() {
			for i := range numbers {
				results[i] = t.try(i + 1)
			}
		})
	}
	for i := range t.faults {
		if time.Now().After(until) {
			break
		}
		numbers <- i
	}
	close(numbers)
	working.Wait()
	return results
}

// try says whether a guard sees a fault: a test fails, or hangs for longer than three times what all of them take.
func (t *trial) try(n int) result {
	found := unreached
	for i := range t.guards {
		b := &t.guards[i]
		if !b.reaches[n] {
			continue
		}
		found = alive
		if _, err := b.run(t, 3*b.takes+20*time.Second, fmt.Sprint(envFault, "=", n)); err != nil {
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
