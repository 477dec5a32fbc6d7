// Command demo shows the whole way of the product on one machine: pools of Windows nodes in vSphere and Azure are made, join a
// real control plane, are scaled and removed. Nothing is needed but Go and its module proxy. See `make demo`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/lab"
)

func main() {
	boot := flag.Duration("boot", 5*time.Second, "how long a simulated VM takes until Windows runs")
	keep := flag.Bool("keep", false, "stay up with three nodes and print what to try")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *boot, *keep)
	if errors.Is(err, context.Canceled) {
		fmt.Println("stopped")
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run starts the lab, tells the story, and takes everything down again.
func run(ctx context.Context, boot time.Duration, keep bool) (err error) {
	fmt.Println("Windows nodes for Cluster API. vCenter, Azure and the Windows guests are simulated; the control planes, " +
		"Cluster API,")
	fmt.Println("our controllers, the user data, the join and its certificates are real. All of it runs on loopback, " +
		"in a folder of its own.")
	fmt.Printf("A simulated Windows takes %s to start, and starts twice before it reports.\n", boot)
	fmt.Println()
	l, err := lab.Start(ctx, lab.Options{BootTime: boot, LinuxLater: true, Progress: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	s := &story{lab: l, screen: newScreen(os.Stdout)}
	if keep {
		return s.keep(ctx)
	}
	return s.tell(ctx)
}
