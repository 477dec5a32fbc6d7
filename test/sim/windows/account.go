package windows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Account is a local user who is no administrator, at work on the machine.
type Account struct {
	machine *Machine
	// SID is the user's.
	SID string
}

// As lets a user act.
func (m *Machine) As(sid string) *Account { return &Account{machine: m, SID: sid} }

// ErrDenied is Windows' answer to what a user may not do.
var ErrDenied = errors.New("Access is denied")

// Read reads a file.
func (a *Account) Read(path string) ([]byte, error) {
	if !a.may(path, rightRead) {
		return nil, a.denied(path)
	}
	return a.machine.ReadFile(path)
}

// Write changes a file, or makes it: then it is the user's own.
func (a *Account) Write(path, text string) error {
	if a.machine.exists(path) {
		if !a.may(path, rightWrite) {
			return a.denied(path)
		}
		return a.machine.Put(path, []byte(text))
	}
	if !a.may(parent(path), rightWrite) {
		return a.denied(path)
	}
	if err := a.machine.Put(path, []byte(text)); err != nil {
		return err
	}
	return a.own(path)
}

// MakeDirectory makes one folder, which is the user's own.
func (a *Account) MakeDirectory(path string) error {
	if a.machine.exists(path) || !a.may(parent(path), rightMakeFolder) {
		return a.denied(path)
	}
	host, err := a.machine.HostPath(path)
	if err != nil {
		return err
	}
	if err := os.Mkdir(host, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return a.own(path)
}

// Link makes a junction, which needs no privilege: mklink /J.
func (a *Account) Link(path, target string) error {
	if a.machine.exists(path) || !a.may(parent(path), rightMakeFolder) {
		return a.denied(path)
	}
	if err := a.machine.Link(path, target); err != nil {
		return err
	}
	return a.own(path)
}

// Remove removes a file, or a folder with all in it.
func (a *Account) Remove(path string) error {
	if !a.may(path, rightDelete) && !a.may(parent(path), rightDeleteChild) {
		return a.denied(path)
	}
	return a.machine.erase(path)
}

// Replace removes what is there and writes a file of the user's own.
func (a *Account) Replace(path, text string) error {
	if err := a.Remove(path); err != nil {
		return err
	}
	return a.Write(path, text)
}

// Hold opens a file that nobody else may open meanwhile, and makes it if it is not there.
func (a *Account) Hold(path string) (release func(), err error) {
	if !a.machine.exists(path) {
		if err := a.Write(path, ""); err != nil {
			return nil, err
		}
	}
	if !a.may(path, rightRead) {
		return nil, a.denied(path)
	}
	release, mine := a.machine.Lock(path)
	if !mine {
		return nil, a.denied(path)
	}
	return release, nil
}

func (a *Account) may(path string, rights uint64) bool { return a.machine.UserMay(a.SID, path, rights) }

func (a *Account) denied(path string) error { return fmt.Errorf("%s: %w", path, ErrDenied) }

// own: what a user makes is theirs, and has what the folder hands down.
func (a *Account) own(path string) error {
	return held(a.machine, func() error {
		a.machine.state.ACLs[a.machine.ownKey(path)] = "O:" + a.SID + "D:AI"
		return a.machine.save()
	})
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '\\')] }

func (m *Machine) exists(name string) bool {
	return m.FileExists(name) || m.DirectoryExists(name) || m.IsLink(name)
}

// Link makes a folder that is a link to another.
func (m *Machine) Link(name, target string) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	to, err := m.HostPath(target)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(host), 0o700); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	if err := os.Symlink(to, host); err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	return held(m, func() error {
		m.state.Links[m.ownKey(name)] = target
		return m.save()
	})
}

// IsLink says that a path is a link, wherever it leads.
func (m *Machine) IsLink(name string) bool {
	host, err := m.HostPath(name)
	if err != nil {
		return false
	}
	found, err := os.Lstat(host)
	return err == nil && found.Mode()&os.ModeSymlink != 0
}

// erase removes a path and what the machine knows of it and below it. A link goes, not what it leads to.
func (m *Machine) erase(name string) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(host); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return held(m, func() error { return m.forget(name) })
}

// forget is for names that are free again; mu is held.
func (m *Machine) forget(name string) error {
	lower := m.ownKey(name)
	for _, known := range []map[string]string{m.state.ACLs, m.state.Links} {
		for path := range known {
			if path == lower || strings.HasPrefix(path, lower+`\`) {
				delete(known, path)
			}
		}
	}
	return m.save()
}
