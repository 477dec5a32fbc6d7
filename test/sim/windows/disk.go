package windows

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

var absolute = regexp.MustCompile(`^[A-Za-z]:\\`)

// HostPath is where a file of the machine lies on this host. Upper and lower case are the same, as on Windows.
func (m *Machine) HostPath(name string) (string, error) {
	clean := strings.ReplaceAll(name, "/", `\`)
	if !absolute.MatchString(clean) {
		return "", fmt.Errorf("the path %q is not absolute", name)
	}
	host := filepath.Join(m.dir, strings.ToUpper(clean[:1]))
	for part := range strings.SplitSeq(clean[3:], `\`) {
		if part == "" || part == "." {
			continue
		}
		if part == ".." || strings.ContainsAny(part, `<>:"|?*`) {
			return "", fmt.Errorf("the filename, directory name, or volume label syntax of %q is incorrect", name)
		}
		host = filepath.Join(host, sameCase(host, part))
	}
	return host, nil
}

// sameCase is the name of the entry of folder that Windows would take for part.
func sameCase(folder, part string) string {
	if _, err := os.Lstat(filepath.Join(folder, part)); err == nil {
		return part
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return part
	}
	for _, entry := range entries {
		if Same(entry.Name(), part) {
			return entry.Name()
		}
	}
	return part
}

// ReadFile reads a file of the machine.
func (m *Machine) ReadFile(name string) ([]byte, error) {
	host, err := m.HostPath(name)
	if err != nil {
		return nil, err
	}
	m.disk.RLock()
	content, err := os.ReadFile(host)
	m.disk.RUnlock()
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", name, os.ErrNotExist)
	}
	return content, err
}

// FileExists is true for files, not for folders.
func (m *Machine) FileExists(name string) bool {
	host, err := m.HostPath(name)
	if err != nil {
		return false
	}
	m.disk.RLock()
	defer m.disk.RUnlock()
	found, err := os.Stat(host)
	return err == nil && !found.IsDir()
}

// DirectoryExists is true for folders.
func (m *Machine) DirectoryExists(name string) bool {
	host, err := m.HostPath(name)
	if err != nil {
		return false
	}
	found, err := os.Stat(host)
	return err == nil && found.IsDir()
}

// WriteFile makes a file anew, under a name that nobody can know before, and renames it: what was there leaves neither its owner
// nor its access. An empty sddl inherits.
func (m *Machine) WriteFile(name string, content []byte, sddl string) error {
	return m.through("Save-File", func() error {
		if err := errors.Join(m.unheld(name), m.makeAbove(name)); err != nil {
			return err
		}
		if strings.HasSuffix(name, `\`) { // the new file is beside what it cannot replace
			if sddl != "" {
				m.tell("acl %s %s", name, sddl)
			}
			return errors.Join(m.makeAbove(name+"new"), fmt.Errorf("write %s: is a directory", name))
		}
		if err := m.anew(name, sddl); err != nil {
			return err
		}
		if err := m.Put(name, content); err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		m.tell("file %s %s %d", name, hex.EncodeToString(sum[:])[:12], len(content))
		return nil
	})
}

func (m *Machine) anew(name, sddl string) error {
	if sddl != "" {
		if err := m.enter("New-OwnFile"); err != nil {
			return err
		}
	}
	if err := m.forget(name); err != nil || sddl == "" {
		return err
	}
	m.state.ACLs[m.ownKey(name)] = sddl
	return m.changed("acl %s %s", name, sddl)
}

// Put writes a file without an effect: for programs, which are effects themselves, and for images.
func (m *Machine) Put(name string, content []byte) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(host), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	m.disk.Lock()
	defer m.disk.Unlock()
	if err := replace(host, content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// replace removes the old file first: a file system of the host that is asked to replace one in place waits for its disk.
func replace(host string, content []byte) error {
	if err := os.Remove(host); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(host, content, 0o600)
}

// Keep writes a file of the agent's own: an effect that does not matter to others.
func (m *Machine) Keep(name string, content []byte) error {
	return m.through("keep", func() error {
		if err := m.Put(name, content); err != nil {
			return err
		}
		m.tell("keep %s", name)
		return nil
	})
}

// Append adds to a file, without an effect: it is a log.
func (m *Machine) Append(name string, content []byte) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(host), 0o700); err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	file, err := os.OpenFile(host, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// MakeAbove makes the folders above a file or folder, without an effect. They stay when the rest fails.
func (m *Machine) MakeAbove(name string) error {
	return held(m, func() error { return m.makeAbove(name) })
}

func (m *Machine) makeAbove(name string) error {
	host, err := m.HostPath(name)
	if err == nil {
		err = m.onDrive(name)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(host), 0o700)
	}
	return err
}

// MakeDirectory makes a folder that is not there.
func (m *Machine) MakeDirectory(name string) error { return m.MakeOwnDirectory(name, "") }

// MakeOwnDirectory makes a folder that is not there, with owner and access from the first moment. An empty sddl inherits.
func (m *Machine) MakeOwnDirectory(name, sddl string) error {
	return m.through("Add-Folder", func() error {
		if m.DirectoryExists(name) {
			return nil
		}
		if err := m.onDrive(name); err != nil {
			return err
		}
		host, err := m.HostPath(name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(host, 0o700); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		m.tell("directory %s", name)
		if sddl == "" {
			return nil
		}
		m.state.ACLs[m.realKey(name)] = sddl
		return m.changed("acl %s %s", name, sddl)
	})
}

// Remove removes a file, or a folder with all in it.
func (m *Machine) Remove(name string) error {
	return m.through("Clear-Path", func() error {
		if !m.exists(name) {
			return nil
		}
		host, err := m.HostPath(name)
		if err := errors.Join(err, m.unheld(name)); err != nil {
			return err
		}
		if err := os.RemoveAll(host); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		if err := m.forget(name); err != nil {
			return err
		}
		m.tell("remove %s", name)
		return nil
	})
}

// unheld fails for a file that somebody has locked, and for a folder with one: Windows neither replaces nor deletes it.
func (m *Machine) unheld(name string) error {
	for held := range m.locks {
		if within(held, name) {
			return fmt.Errorf("the process cannot access the file '%s' because it is being used by another process", held)
		}
	}
	return nil
}

// Discard removes a file without an effect, as Put has made it.
func (m *Machine) Discard(name string) error {
	host, err := m.HostPath(name)
	if err != nil {
		return err
	}
	m.disk.Lock()
	defer m.disk.Unlock()
	return os.Remove(host)
}

// Protect sets owner and access of a file or folder, if they are others.
func (m *Machine) Protect(name, sddl string) error {
	return held(m, func() error {
		have, err := m.access(name)
		if err != nil || have == sddl {
			return err
		}
		if err := m.enter("Set-Acl"); err != nil {
			return err
		}
		m.state.ACLs[m.realKey(name)] = sddl
		return m.changed("acl %s %s", name, sddl)
	})
}

// Access is the SDDL of a file or folder, without what its folder hands down.
func (m *Machine) Access(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.access(name)
}

func (m *Machine) access(name string) (string, error) {
	if err := m.enter("Get-Acl"); err != nil {
		return "", err
	}
	if !m.exists(name) {
		return "", fmt.Errorf("cannot find path '%s' because it does not exist", name)
	}
	return cmp.Or(m.state.ACLs[m.realKey(name)], Inherited), nil
}

// Match lists what fits a pattern, sorted. Wildcards count in the last segment only.
func (m *Machine) Match(pattern string) ([]string, error) {
	cut := strings.LastIndexAny(pattern, `\/`)
	if cut < 0 {
		return nil, fmt.Errorf("the pattern %q is not absolute", pattern)
	}
	folder, mask := pattern[:cut], pattern[cut+1:]
	host, err := m.HostPath(folder + `\`)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(host)
	if err != nil {
		return nil, nil //nolint:nilerr // because a folder that is not there holds nothing that fits
	}
	var found []string
	for _, entry := range entries {
		if Like(entry.Name(), mask) {
			found = append(found, folder+`\`+entry.Name())
		}
	}
	sort.Strings(found)
	return found, nil
}

// Base is the last segment of a path.
func Base(name string) string { return name[strings.LastIndexAny(name, `\/`)+1:] }
