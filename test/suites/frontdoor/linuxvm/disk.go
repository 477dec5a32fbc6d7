package linuxvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// disk is the folder that stands for the disk of a VM.
type disk struct {
	root string
	// programs is a folder with the real kubeadm.
	programs string
}

// absent are programs of a Linux image that this machine must not run: they would change it.
var absent = []string{"hostnamectl", "systemctl", "sysctl", "modprobe", "swapoff"}

// roots are the folders of the image that user data name.
var roots = []string{"/etc/", "/run/", "/var/", "/root/", "/opt/"}

// lay writes the files of user data. Scripts find each other below the root.
func (d disk) lay(files []file) error {
	tools := filepath.Join(d.root, "bin")
	err := os.MkdirAll(tools, 0o755)
	for _, name := range absent {
		err = errors.Join(err, os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"), 0o755))
	}
	for _, one := range files {
		path := d.path(one.Path)
		content := one.Content
		if strings.HasPrefix(content, "#!") {
			content = d.below(content)
		}
		if one.Append {
			before, _ := os.ReadFile(path) // there may be none
			content = string(before) + content
		}
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755))
	}
	if err != nil {
		return fmt.Errorf("write files of user data: %w", err)
	}
	return os.MkdirAll(d.path("/etc/kubernetes/manifests"), 0o755)
}

func (d disk) path(of string) string { return filepath.Join(d.root, filepath.FromSlash(of)) }

func (d disk) read(path string) ([]byte, error) { return os.ReadFile(d.path(path)) }

// below is a script in which the folders of the image are below the root.
func (d disk) below(script string) string {
	replaced := make([]string, 0, 2*len(roots))
	for _, folder := range roots {
		replaced = append(replaced, folder, d.root+folder)
	}
	// What is searched for and written in files of the image stays as it is there.
	var lines []string
	for line := range strings.Lines(script) {
		if strings.Contains(line, "sed ") {
			start := strings.LastIndex(line, " ") + 1
			line = line[:start] + strings.NewReplacer(replaced...).Replace(line[start:])
		} else if !strings.HasPrefix(line, "#!") {
			line = strings.NewReplacer(replaced...).Replace(line)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// run runs a command of user data.
func (d disk) run(ctx context.Context, command string) error {
	shell := exec.CommandContext(ctx, "bash", "-c", d.below(command))
	shell.Dir, shell.Env = d.root, []string{"HOME=" + d.root, "PATH=" + d.path("/bin") + ":" + d.programs + ":/usr/bin:/bin"}
	if output, err := shell.CombinedOutput(); err != nil {
		return fmt.Errorf("run %q: %w\n%s", command, err, output)
	}
	return nil
}
