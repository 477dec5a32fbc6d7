package windows

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Who may do what with a file, as NTFS decides it: owners, lists of access in SDDL, and what folders hand down to what is made
// in them. learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format,
// /windows/win32/fileio/file-access-rights-constants, /windows/win32/secauthz/ace-inheritance-rules.

// What the agent sets. AdminOnly gives SYSTEM and Administrators all, and all others nothing. Users read what is Guarded, and
// make nothing in it. Inherited leaves what the folder hands down.
const (
	AdminOnly     = "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
	AdminOnlyFile = "O:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
	Guarded       = "O:BAD:PAI(A;OICIIO;GA;;;CO)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;CIIO;DCLC;;;BU)"
	Inherited     = "O:BAD:AI"
)

// ofWindows are the folders that Windows itself protects, or leaves open, as a fresh Windows Server has them (icacls): users may
// make folders in C:\ and files below those, files and folders below ProgramData, and files that others cannot see in
// Windows\Temp.
var ofWindows = map[string]string{
	`c:`:                     Guarded + "(A;CI;LC;;;BU)",
	`c:\windows`:             AdminOnly + "(A;OICI;0x1200a9;;;BU)",
	`c:\windows\temp`:        AdminOnly + "(A;CI;0x100026;;;BU)(A;OICIIO;GA;;;CO)",
	`c:\program files`:       AdminOnly + "(A;OICI;0x1200a9;;;BU)",
	`c:\program files (x86)`: AdminOnly + "(A;OICI;0x1200a9;;;BU)",
	`c:\programdata`:         AdminOnly + "(A;OICI;0x1200a9;;;BU)(A;CI;DCLCRPCR;;;BU)(A;OICIIO;GA;;;CO)",
	`c:\users`:               AdminOnly + "(A;OICI;0x1200a9;;;BU)",
}

// Rights of files and folders.
const (
	rightRead        = 0x1
	rightWrite       = 0x2 // in a folder: make a file
	rightMakeFolder  = 0x4
	rightDeleteChild = 0x40
	rightDelete      = 0x10000
	rightAll         = 0x1f01ff
)

// users are the groups in which every local user is.
var users = []string{"BU", "S-1-5-32-545", "AU", "WD"}

// entry is one line of a list of access: who, what, and what becomes of it below.
type entry struct {
	who                           string
	rights                        uint64
	files, folders, onlyInherited bool
}

// descriptor is the owner and the list of one file or folder.
type descriptor struct {
	owner     string
	protected bool
	entries   []entry
}

// readSDDL reads the part of the language that is used here: an owner, and entries that allow.
func readSDDL(text string) descriptor {
	owner, list, _ := strings.Cut(strings.TrimPrefix(text, "O:"), "D:")
	flags, entries, _ := strings.Cut(list, "(")
	d := descriptor{owner: owner, protected: strings.Contains(flags, "P")}
	for one := range strings.SplitSeq(strings.TrimSuffix(entries, ")"), ")(") {
		fields := strings.Split(one, ";")
		if len(fields) != 6 {
			continue
		}
		d.entries = append(d.entries, entry{
			who: fields[5], rights: rightsOf(fields[2]), files: strings.Contains(fields[1], "OI"),
			folders: strings.Contains(fields[1], "CI"), onlyInherited: strings.Contains(fields[1], "IO"),
		})
	}
	return d
}

var rightNames = map[string]uint64{
	"FA": rightAll, "GA": rightAll, "FR": 0x120089, "FX": 0x1200a0, "FW": 0x120116, "DC": rightWrite, "LC": rightMakeFolder,
	"RP": 0x10, "CR": 0x100, "SD": rightDelete,
}

func rightsOf(text string) uint64 {
	if number, ok := strings.CutPrefix(text, "0x"); ok {
		rights, err := strconv.ParseUint(number, 16, 32)
		if err != nil {
			panic(fmt.Sprintf("the rights %q are not a number", text))
		}
		return rights
	}
	var rights uint64
	for name := range slices.Chunk([]byte(text), 2) {
		rights |= rightNames[string(name)]
	}
	return rights
}

// handedDown is what a file or folder gets from the folder above it.
func (d descriptor) handedDown(folder bool, owner string) []entry {
	var down []entry
	for _, one := range d.entries {
		if !one.files && (!folder || !one.folders) {
			continue
		}
		one.onlyInherited = folder && !one.folders // an entry for files passes through folders
		if one.who == "CO" {
			own := one
			own.who = owner
			down = append(down, own)
			one.onlyInherited = true
		}
		down = append(down, one)
	}
	return down
}

// descriptorOf is what counts for a path: its own list, and what is handed down to it. mu is held.
func (m *Machine) descriptorOf(path string) descriptor {
	key := m.realKey(path)
	text := m.state.ACLs[key]
	if text == "" {
		text = ofWindows[key]
	}
	if text == "" {
		text = Inherited
	}
	d := readSDDL(text)
	cut := strings.LastIndexByte(key, '\\')
	if d.protected || cut < 0 {
		return d
	}
	d.entries = append(d.entries, m.descriptorOf(key[:cut]).handedDown(m.isFolder(key), d.owner)...)
	return d
}

func (m *Machine) isFolder(path string) bool {
	host, err := m.HostPath(path + `\`)
	if err != nil {
		return false
	}
	found, err := os.Stat(host)
	return err == nil && found.IsDir()
}

// realKey is the path in small letters to which the links on its way lead.
func (m *Machine) realKey(path string) string {
	key := strings.TrimRight(strings.ToLower(strings.ReplaceAll(path, "/", `\`)), `\`)
	for range 8 {
		changed := false
		for link, target := range m.state.Links {
			if key == link || strings.HasPrefix(key, link+`\`) {
				key, changed = strings.ToLower(target)+key[len(link):], true
			}
		}
		if !changed {
			break
		}
	}
	return key
}

// ownKey is the path of a file or link itself: links count in the folders above it.
func (m *Machine) ownKey(path string) string {
	key := strings.ToLower(strings.ReplaceAll(path, "/", `\`))
	cut := max(strings.LastIndexByte(key, '\\'), 0)
	return m.realKey(key[:cut]) + key[cut:]
}

// UserMay says whether any local user may write, replace or remove a file, or make something in a folder.
func (m *Machine) UserMay(sid, path string, rights uint64) bool {
	return held(m, func() bool { return m.may(sid, path, rights) })
}

// may: an owner may grant themselves all that they lack.
func (m *Machine) may(sid, path string, rights uint64) bool {
	d := m.descriptorOf(path)
	if d.owner == sid || slices.Contains(users, d.owner) {
		return true
	}
	var have uint64
	for _, one := range d.entries {
		if !one.onlyInherited && (one.who == sid || slices.Contains(users, one.who)) {
			have |= one.rights
		}
	}
	return have&rights == rights
}
