// Command realvcenter proves or disproves, in a real vCenter, what no simulator can prove, and writes a report that can be sent
// to us. It first announces what it will do, asks, and removes what it made. See docs/contributing/realvcenter.md.
//
//	run.go       the story: connect, announce, ask, check, remove, report
//	checks.go    the list of all checks, in the order in which they run
//	config.go    what the operator writes
//	ours.go      the product's side: its account, and the VMs that it makes and removes
//	witness.go   a second session, which reads the vCenter itself; pushes.go is a collector of it
//	report.go    the report, without secrets
//
// Each check is in a file with others of its topic: inventory.go, tasks.go, role.go, restart.go, userdata.go, addresses.go and
// windows.go, whose VM runs a plan of ours with probe.ps1 and after.ps1.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/version"
)

const usage = `Checks in a real vCenter what no simulator proves, and writes a report that can be sent to us.

It logs in, says what it will do, and asks. After a yes it makes one VM, or two with a limited user, and removes them
at the end. It ends with 1 if a check does not hold or a VM is left. docs/contributing/realvcenter.md has the config file and
what each check means.

  go run ./cmd/realvcenter -list                      print the checks; connects to nothing
  go run ./cmd/realvcenter -config realvcenter.yaml   ask, check, remove, report

`

func main() {
	o := options{out: os.Stdout, times: patientTimes}
	file := flag.String("config", "realvcenter.yaml", "file with the vCenter, its user, and where VMs are made")
	names := flag.String("only", "", "names of the checks to run or list, with commas between them; default: all")
	list := flag.Bool("list", false, "print the checks, and connect to nothing")
	flag.BoolVar(&o.yes, "yes", false, "do not ask, except for the restart")
	flag.BoolVar(&o.restart, "restart", false, "ask for a restart of the vCenter on the way, and check what is different after it")
	flag.BoolVar(&o.hideServer, "hide-server", false, "leave the digest of the server's name out of the report")
	flag.StringVar(&o.dir, "report", ".", "folder for the report")
	flag.DurationVar(&o.times.guest, "guest", o.times.guest, "how long Windows may take to start and report")
	printVersion := flag.Bool("version", false, "print the version of this program")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if *printVersion {
		fmt.Println(version.Line("realvcenter"))
		return
	}
	if *names != "" {
		o.names = strings.Split(*names, ",")
	}
	if *list {
		exit(listChecks(os.Stdout, o.names))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second Ctrl-C ends the program at once
	o.ask = askOn(os.Stdin)
	err := start(ctx, *file, o)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "realvcenter:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func listChecks(out io.Writer, names []string) error {
	chosen, err := choose(checks, names)
	describeAll(out, chosen)
	return err
}

func start(ctx context.Context, file string, o options) (err error) {
	if o.config, err = readConfig(file, os.Getenv); err != nil {
		return err
	}
	r, err := run(ctx, o)
	if err != nil {
		return err
	}
	failed := 0
	for _, result := range r.Results {
		if result.Verdict == doesNot {
			failed++
		}
	}
	switch {
	case len(r.Left) > 0:
		return errors.New("something is left in the vCenter, see above; run the program again to remove it")
	case failed > 0:
		return fmt.Errorf("checks that do not hold: %d; please send us the report", failed)
	}
	return nil
}

// askOn reads an answer to each question. Everything but y and yes is a no, and so is the end of ctx.
func askOn(in *os.File) func(context.Context, string) bool {
	lines := bufio.NewScanner(in)
	return func(ctx context.Context, question string) bool {
		fmt.Printf("%s [y/N] ", question)
		answer := make(chan string, 1)
		go func() {
			lines.Scan()
			answer <- strings.ToLower(strings.TrimSpace(lines.Text()))
		}()
		select {
		case text := <-answer:
			return text == "y" || text == "yes"
		case <-ctx.Done():
			fmt.Println()
			return false
		}
	}
}

// times are how long something may take.
type times struct {
	// poll is the pause between two looks, settle how long a change may take until the vCenter reports it.
	poll, settle time.Duration
	// make is for a VM until it runs, guest for Windows until it reports, clean for the removal of all that was made.
	make, guest, clean time.Duration
}

var patientTimes = times{
	poll: 2 * time.Second, settle: time.Minute, make: 30 * time.Minute, guest: 40 * time.Minute, clean: 15 * time.Minute,
}
