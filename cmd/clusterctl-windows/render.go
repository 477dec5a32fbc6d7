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
	readable, err := readablePlan(m, showSecrets)
	if err != nil {
		return nil, err
	}
	about := "the plan, secrets masked"
	if showSecrets {
		about = "the plan, secrets in clear"
	}
	return []file{
		{"userdata", "what cloudbase-init runs, including the bootstrap token", m.userData},
		{"metadata", "the computer's name", names},
		{"node.json", about, readable},
	}, nil
}

func readablePlan(m *machine, showSecrets bool) ([]byte, error) {
	if m.plan == nil {
		return nil, nil
	}
	data := m.planJSON
	if !showSecrets {
		var err error
		if data, err = maskJSON(data, m.plan.Redact); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
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
