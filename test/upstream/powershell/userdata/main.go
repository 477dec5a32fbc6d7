// Command userdata writes the files of a plan's user data into a folder, as cloudbase-init does, for the tests of the loader:
// what PowerShell runs there is what a node gets.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/test/upstream/machines"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: userdata PLAN FOLDER")
		os.Exit(2)
	}
	if err := writeFiles(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "userdata:", err)
		os.Exit(1)
	}
}

func writeFiles(planFile, folder string) error {
	plan, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	files, err := machines.Unpack(scripts.UserData(plan))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for path, content := range files {
		name := path[strings.LastIndex(path, `\`)+1:]
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
