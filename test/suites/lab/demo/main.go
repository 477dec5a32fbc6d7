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

	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// azureSpeed shortens what proves that a VM is gone: two looks, half a minute of Azure's time apart, and a list between them.
const azureSpeed = 10

func main() {
	boot := flag.Duration("boot", 2*time.Second, "how long a simulated VM takes until Windows runs")
	keep := flag.Bool("keep", false, "stay up with three nodes and print what to try")
	drawing := flag.String("picture", "", "file that gets a picture of the screen, as SVG")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, options{out: os.Stdout, boot: *boot, keep: *keep, picture: *drawing})
	if errors.Is(err, context.Canceled) {
		fmt.Println("stopped")
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// options of a demo.
type options struct {
	out     *os.File
	boot    time.Duration
	keep    bool
	picture string
}

// run starts the lab, tells the story, and takes everything down again.
func run(ctx context.Context, o options) (err error) {
	s, err := begin(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lab.Stop()) }()
	if o.keep {
		return s.keep(ctx)
	}
	if err := s.tell(ctx); err != nil || o.picture == "" {
		return err
	}
	return os.WriteFile(o.picture, []byte(picture("make demo", s.seen)), 0o644)
}

// begin says what is to come, and starts the lab.
func begin(ctx context.Context, o options) (s *story, err error) {
	s = &story{screen: newScreen(o.out)}
	if o.picture != "" {
		s.screen.width = pictureColumns
	}
	s.screen.printf("Windows nodes for Cluster API. vCenter, Azure and the Windows guests are simulated; the control planes,\n"+
		"Cluster API, our controllers, the user data, the join and its certificates are real. All of it runs on loopback,\n"+
		"in a folder of its own.\n"+
		"A simulated Windows takes %s to start, and starts twice before it reports.\n"+
		"The simulated Azure's clock runs %d times faster than the time, and so does our manager's for Azure.\n\n", o.boot, azureSpeed)
	s.lab, err = lab.Start(ctx, lab.Options{BootTime: o.boot, LinuxLater: true, AzureSpeed: azureSpeed, Progress: o.out})
	return s, err
}
