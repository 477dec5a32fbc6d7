package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errInterrupted ends the program with exitInterrupted.
var errInterrupted = errors.New("interrupted")

// replacing is held while files are replaced, which no signal ends half way.
var replacing sync.Mutex

// interruptible returns a context that ends with the first Ctrl-C, so that calls are ended, a session is closed and a namespace
// removed. The second Ctrl-C does not wait for that. A terminal that is closed counts as Ctrl-C, unless the program runs under
// nohup.
func interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		<-signals
		replacing.Lock()
		os.Exit(exitInterrupted)
	}()
	return ctx
}

// await does a work that no context can end, such as reading a pipe, and leaves it behind when the user interrupts the program.
func await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := work()
		results <- result{value, err}
	}()
	var got result
	select {
	case got = <-results:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return got.value, errInterrupted
	}
	return got.value, got.err
}
