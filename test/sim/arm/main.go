// Command arm serves the simulator of Azure Resource Manager on a loopback address, until it is interrupted. Its clock follows
// the time.
//
//	go run ./test/sim/arm --address 127.0.0.1:8443 --ca /tmp/arm-ca.pem
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "loopback address to serve on")
	ca := flag.String("ca", "", "file that the certificate is written to, which clients must trust")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *ca); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, ca string) error {
	host, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	if !host.IP.IsLoopback() {
		return errors.New("the simulator's secrets are public: use a loopback address")
	}
	cloud := armsim.Start(address, time.Now())
	defer cloud.Close()
	if ca != "" {
		if err := os.WriteFile(ca, cloud.CA(), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("endpoint      %s\ntenant        %s\nsubscription  %s\nresourceGroup %s\nsubnet        %s\nclientID      "+
		"%s\nclientSecret  %s\n",
		cloud.Endpoint(), armsim.Tenant, armsim.Subscription, armsim.Group, armsim.SubnetID, armsim.ClientID, armsim.Secret)
	cloud.KeepTime(ctx)
	return nil
}
