// Command userdata packs a plan as user data, for the tests of the loader: what PowerShell runs there is what a node gets.
package main

import (
	"fmt"
	"os"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: userdata PLAN OUT")
		os.Exit(2)
	}
	plan, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], scripts.UserData(plan), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "userdata:", err)
		os.Exit(1)
	}
}
