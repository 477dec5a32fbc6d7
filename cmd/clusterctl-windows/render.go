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

// file is one of those that render writes; without content it must not be there.
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

// guestFiles are made all before one is written.
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
		{"userdata", "what cloudbase-init runs, with the bootstrap token in it", m.userData},
		{"metadata", "what names the computer", names},
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

// write replaces the file, with rights of its own whatever the old one had. One of an earlier call that there is none of
// now is removed: it would pass for this machine's.
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
