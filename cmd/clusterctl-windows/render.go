package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a file that render writes. If it has no content, an old file of this name is removed.
type file struct {
	name, about string
	content     []byte
}

func render(m *machine, o options, s streams) error {
	files, err := guestFiles(m, o.showSecrets)
	if err != nil {
		return err
	}
	if files[0].content == nil {
		fmt.Fprintln(s.err, "note: userdata and node.json are not written, because their secrets cannot be masked; use --show-secrets")
	}
	if err := writeAll(o.folder, files); err != nil {
		return err
	}
	for _, one := range files {
		if one.content != nil {
			fmt.Fprintf(s.out, "%s: %d bytes, %s\n", filepath.Join(o.folder, one.name), len(one.content), one.about)
		}
	}
	return nil
}

// guestFiles returns all files before any of them is written, so that an error leaves the folder unchanged.
func guestFiles(m *machine, showSecrets bool) ([]file, error) {
	view, aboutPlan, aboutData := m.shown, "the plan, secrets masked",
		fmt.Sprintf("secrets masked; with them, about %d KiB", (len(m.guest.userData)+1023)/1024)
	if showSecrets {
		view, aboutPlan, aboutData = m.guest, "the plan, secrets in clear", "what cloudbase-init runs, secrets in clear"
	}
	readable, err := readablePlan(view)
	if err != nil {
		return nil, err
	}
	return []file{
		{"userdata", aboutData, view.userData},
		{"metadata", "the computer's name", metadata(m)},
		{"node.json", aboutPlan, readable},
	}, nil
}

func readablePlan(g guest) ([]byte, error) {
	if g.plan == nil {
		return nil, nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, g.planJSON, "", "  "); err != nil {
		return nil, fmt.Errorf("indent plan: %w", err)
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// writeAll replaces all files or none: it writes them next to the old ones, and renames them when all are there.
func writeAll(folder string, files []file) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("%w; name a folder, or one that can be made, with -o", err)
	}
	for _, one := range files {
		if err := one.checkPlace(folder); err != nil {
			return err
		}
	}
	beside, err := os.MkdirTemp(folder, ".render-*") // 0700
	if err != nil {
		return err
	}
	err = stage(beside, files)
	if err == nil {
		err = publish(beside, folder, files)
	}
	return errors.Join(err, os.RemoveAll(beside))
}

// checkPlace refuses what a file cannot replace.
func (f file) checkPlace(folder string) error {
	path := filepath.Join(folder, f.name)
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; remove it, or use another folder with -o. Nothing was written", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func stage(beside string, files []file) error {
	for _, one := range files {
		if one.content == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(beside, one.name), one.content, 0o600); err != nil {
			return fmt.Errorf("%w. Nothing was replaced", err)
		}
	}
	return nil
}

// publish replaces the files, and does not keep the permissions of the old ones. A file without content is from an earlier call
// and not about this machine.
func publish(beside, folder string, files []file) error {
	for _, one := range files {
		path := filepath.Join(folder, one.name)
		if one.content != nil {
			if err := os.Rename(filepath.Join(beside, one.name), path); err != nil {
				return err
			}
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
