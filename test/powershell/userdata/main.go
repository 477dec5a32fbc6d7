// Command userdata writes the files of a plan's user data into a folder, as cloudbase-init does, for the tests of the loader:
// what PowerShell runs there is what a node gets.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
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
	var config struct {
		//nolint:tagliatelle // because cloud-config calls it so
		WriteFiles []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"write_files"`
	}
	if err := yaml.Unmarshal(scripts.UserData(plan), &config); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, file := range config.WriteFiles {
		content, err := unpack(file.Content)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", file.Path, err)
		}
		name := file.Path[strings.LastIndex(file.Path, `\`)+1:]
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func unpack(content string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(content) // which skips line ends
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
