// Command host runs a command, such as go test, whose packages share one world (test/kit/world) and one API server for admission.
// Each server starts when the first package asks for it. At the end it prints how many API servers and managers were started, by
// it and by the packages.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./test/kit/host COMMAND...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string, args ...string) (err error) {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	folder, release, err := own(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	host, err := world.Open(folder)
	if err != nil {
		return err
	}
	starts := filepath.Join(folder, "starts")
	if err := os.Setenv(servers.StartsVariable, starts); err != nil { // its own starts count as well
		return err
	}
	failed := during(command, args, append(os.Environ(), world.Variable+"="+folder))
	return errors.Join(failed, host.Close(), printStarts(starts, root))
}

// own makes the folder of a tree. Its name is always the same, because go runs a test anew when a variable has changed that it
// reads. Beside a second host of the same tree, it is any.
func own(root string) (folder string, release func() error, err error) {
	folder = filepath.Join(os.TempDir(), fmt.Sprintf("capwin-host-%x", sha256.Sum256([]byte(root)))[:20])
	lock, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = lock.Close()
		folder, err = os.MkdirTemp("", "capwin-host-")
		return folder, func() error { return os.RemoveAll(folder) }, err
	}
	release = func() error { return errors.Join(os.RemoveAll(folder), lock.Close()) }
	return folder, release, errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700))
}

// during runs the command. Ctrl-C reaches it as it reaches us, and the servers stay until it has ended.
func during(name string, args, environment []string) error {
	command := exec.Command(name, args...)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = command.Process.Signal(s) // it may have ended
			}
		}
	}()
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func printStarts(file, root string) error {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Println(servers.Starts(string(text), root))
	return nil
}
