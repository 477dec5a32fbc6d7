package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestExamples runs each line of each command's example, in a folder with the files that it names.
func TestExamples(t *testing.T) {
	ran := 0
	for _, line := range examples(newRoot(calledAs("clusterctl-windows"), streams{})) {
		words := strings.Fields(line)
		if slices.ContainsFunc(words, func(word string) bool { return slices.Contains([]string{"azure", "linux", "smoke"}, word) }) {
			continue // TestExamplesOfAzure, test/suites/plugin, and make test-smoke
		}
		t.Run(line, func(t *testing.T) {
			ran++
			v := vcenter.New(t)
			prepare(t, strings.ReplaceAll(checkedPool(t), "blue-windows\n", "prod-windows\n"), checkedLogin(v))
			got := call(t, "", words[2:]...)
			if got.Code != exitDone || got.Out == "" {
				t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
			}
		})
	}
	if ran < 8 {
		t.Errorf("there are %d examples", ran)
	}
}

func TestExamplesOfAzure(t *testing.T) {
	for _, line := range examples(newRoot(calledAs("clusterctl-windows"), streams{})) {
		words := strings.Fields(line)
		if !slices.Contains(words, "azure") {
			continue
		}
		t.Run(line, func(t *testing.T) {
			login := azureLogin(armsim.New(t), armsim.Secret)
			pool := azurePool(t)
			if !slices.Contains(words, "secret.yaml") {
				pool += login // as the page has it: a Secret of the pool's own file
			}
			prepare(t, pool, login)
			if got := call(t, "", words[2:]...); got.Code != exitDone || got.Out == "" {
				t.Errorf("exit code %d\n%s%s", got.Code, got.Out, got.Err)
			}
		})
	}
}

// examples are the lines of a command and of those below it.
func examples(cmd *cobra.Command) (lines []string) {
	for line := range strings.Lines(cmd.Example) {
		lines = append(lines, strings.TrimSpace(line))
	}
	for _, one := range cmd.Commands() {
		lines = append(lines, examples(one)...)
	}
	return lines
}

// prepare makes the files of the examples in a new folder, which becomes the working folder: the Cluster in one, the rest of the
// pool in another, the login in a third. A kubeconfig leads to an API server that has the login, and variables have it, too.
func prepare(t *testing.T, pool, login string) {
	t.Helper()
	cluster, rest, _ := strings.Cut(pool, "---\n")
	server := clusterWith(t, map[string]string{"default/vcenter": login, "default/azure": login})
	folder := t.TempDir()
	for name, text := range map[string]string{
		"cluster.yaml": cluster, "pool.yaml": rest, "old.yaml": rest, "secret.yaml": login, "kubeconfig": server,
	} {
		expect.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	t.Chdir(folder)
	t.Setenv("KUBECONFIG", filepath.Join(folder, "kubeconfig"))
	for key, variable := range map[string]string{
		"server": "VSPHERE_SERVER", "username": "VSPHERE_USERNAME", "password": "VSPHERE_PASSWORD",
		"thumbprint": "VSPHERE_TLS_THUMBPRINT_SHA256",
	} {
		t.Setenv(variable, valueOf(login, key))
	}
}

// valueOf is the value of a key in a Secret of these tests.
func valueOf(secret, key string) string {
	_, value, _ := strings.Cut(secret, "\n  "+key+": \"")
	value, _, _ = strings.Cut(value, "\"\n")
	return value
}
