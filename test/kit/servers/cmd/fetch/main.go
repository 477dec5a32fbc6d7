// Command fetch makes sure that the servers our tests and the lab run are there, and prints their folder as its only line
// on stdout (progress is on stderr): KUBEBUILDER_ASSETS=$(go run ./test/kit/servers/cmd/fetch).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	binaries, err := servers.Ensure(ctx, os.Stderr)
	if err == nil {
		_, _, err = servers.EnsureIPAM(ctx, os.Stderr)
	}
	if err == nil {
		_, err = servers.EnsureCAAPH(ctx, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(binaries.Dir)
}
