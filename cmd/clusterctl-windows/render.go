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
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return err
	}
	for _, one := range files {
		if err := one.write(o.folder); err != nil {
			return err
		}
		if one.content != nil {
			fmt.Fprintf(s.out, "%s: %d bytes, %s\n", filepath.Join(o.folder, one.name), len(one.content), one.about)
		}
	}
	return nil
}

// guestFiles returns all files before any of them is written, so that an error leaves the folder unchanged.
func guestFiles(m *machine, showSecrets bool) ([]file, error) {
	names, err := metadata(m)
	if err != nil {
		return nil, err
	}
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
		{"metadata", "the computer's name", names},
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

// write replaces the file, and does not keep the permissions of the old one. Without content it removes the file, which is
// from an earlier call and not about this machine.
func (f file) write(folder string) error {
	path := filepath.Join(folder, f.name)
	if f.content == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	next, err := os.CreateTemp(folder, "."+f.name+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = next.Write(f.content)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
