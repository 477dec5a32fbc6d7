package windows

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Keys that more than one part of Windows uses.
const (
	ServicesKey = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services`
	ControlKey  = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control`
	VersionKey  = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`
)

// RegistryKey is the values of one key.
type RegistryKey map[string]RegistryValue

// RegistryValue is a typed value: Text for String and ExpandString, Number for DWord and QWord, List for MultiString.
type RegistryValue struct {
	Type   string   `json:"type"`
	Text   string   `json:"text,omitempty"`
	Number int64    `json:"number,omitempty"`
	List   []string `json:"list,omitempty"`
}

// Text is a plain string.
func Text(text string) RegistryValue { return RegistryValue{Type: "String", Text: text} }

// DWord is a number of 32 bits.
func DWord(number int64) RegistryValue { return RegistryValue{Type: "DWord", Number: number} }

// MultiString is a list of strings.
func MultiString(list ...string) RegistryValue { return RegistryValue{Type: "MultiString", List: list} }

// isVariable says whether a value among the machine's variables is one: docs/plan.md, registry.
func (v RegistryValue) isVariable() bool { return v.Type == "String" || v.Type == "ExpandString" }

// Equal compares type and value.
func (v RegistryValue) Equal(other RegistryValue) bool {
	if len(v.List) == 0 && len(other.List) == 0 {
		v.List, other.List = nil, nil
	}
	return reflect.DeepEqual(v, other)
}

// String is how an effect shows the value.
func (v RegistryValue) String() string {
	switch v.Type {
	case "MultiString":
		return strings.Join(v.List, "|")
	case "DWord", "QWord":
		return fmt.Sprint(v.Number)
	}
	return v.Text
}

// ReadRegistry reads one value; ok is false when there is none.
func (m *Machine) ReadRegistry(key, name string) (value RegistryValue, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Read-Registry"); err != nil {
		return RegistryValue{}, false, err
	}
	value, ok = m.state.value(key, name)
	return value, ok, nil
}

// RegistryText is a value as text: numbers in digits, variables of an ExpandString as they were written; the texts of a list have
// line feeds in between. One that is not there is empty.
func (m *Machine) RegistryText(key, name string) (string, error) {
	value, _, err := m.ReadRegistry(key, name)
	switch value.Type {
	case "MultiString":
		return strings.Join(value.List, "\n"), err
	case "":
		return "", err
	}
	return value.String(), err
}

// WriteRegistry writes one value, and makes the key if it is missing.
func (m *Machine) WriteRegistry(key, name string, value RegistryValue) error {
	return m.through("Write-Registry", func() error {
		if !strings.HasPrefix(strings.ToUpper(key), `HKEY_LOCAL_MACHINE\`) && !strings.HasPrefix(strings.ToUpper(key), `HKEY_USERS\`) {
			return fmt.Errorf("registry key name must start with a valid base key name: %s", key)
		}
		if slices.ContainsFunc(m.Locked, func(locked string) bool { return within(key, locked) }) {
			return errors.New("requested registry access is not allowed")
		}
		m.state.SetValue(key, name, value)
		return m.changed("registry.set %s %s %s %s", key, name, value.Type, value)
	})
}

// HasRegistryKey says whether a key is there.
func (m *Machine) HasRegistryKey(key string) (bool, error) {
	return ask(m, "Test-RegistryKey", func() (bool, error) {
		_, ok := m.state.key(key)
		return ok, nil
	})
}

// ClearRegistry removes a key and what is below it.
func (m *Machine) ClearRegistry(key string) error {
	return m.through("Clear-RegistryKey", func() error {
		maps.DeleteFunc(m.state.Registry, func(name string, _ RegistryKey) bool { return within(name, key) })
		return m.changed("registry.clear %s", key)
	})
}

// within says whether a key is another one, or below it.
func within(key, other string) bool {
	return strings.EqualFold(key, other) || strings.HasPrefix(strings.ToLower(key), strings.ToLower(other)+`\`)
}

// MarkBoot makes the volatile key that is gone after the next boot.
func (m *Machine) MarkBoot() error {
	return m.through("Write-BootMarker", func() error {
		m.volatile.bootMarker = true
		return nil
	})
}

// BootMarked says whether the machine has not been started since MarkBoot.
func (m *Machine) BootMarked() (bool, error) {
	return ask(m, "Test-BootMarker", func() (bool, error) { return m.volatile.bootMarker, nil })
}

// SetValue sets a value as the maker of an image would.
func (s *State) SetValue(key, name string, value RegistryValue) {
	s.fill()
	key, _ = s.key(key)
	if s.Registry[key] == nil {
		s.Registry[key] = RegistryKey{}
	}
	maps.DeleteFunc(s.Registry[key], func(have string, _ RegistryValue) bool { return strings.EqualFold(have, name) })
	s.Registry[key][name] = value
}

func (s *State) value(key, name string) (RegistryValue, bool) {
	key, _ = s.key(key)
	for have, value := range s.Registry[key] {
		if strings.EqualFold(have, name) {
			return value, true
		}
	}
	return RegistryValue{}, false
}

// key is the key as it was first written.
func (s *State) key(key string) (string, bool) {
	for have := range s.Registry {
		if strings.EqualFold(have, key) {
			return have, true
		}
	}
	return key, false
}
