package guest

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

const (
	containerdConfig = `C:\Program Files\containerd\config.toml`
	// newestConfig is the version of its configuration that containerd 2.3 prints.
	newestConfig = 4
)

// cniTable has the folders of the CNI.
const cniTable = "plugins.'io.containerd.cri.v1.runtime'.cni"

// imageConfig is config.toml as image-builder writes it (ansible/windows/roles/runtimes/templates/config.toml), as far as it is
// played.
const imageConfig = `version = 3
root = 'C:\ProgramData\containerd\root'
state = 'C:\ProgramData\containerd\state'
imports = ['C:\Program Files\containerd\conf.d\*.toml']

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '` + imagePause + `'
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['C:\opt\cni\bin']
conf_dir = 'C:\etc\cni\net.d'
`

// settings of containerd are values as they are written, by table and key. The keys outside of tables have the table "".
type settings map[string]map[string]string

// loadSettings reads config.toml and what it imports; the last file with a key wins, as in LoadConfigWithPlugins of containerd
// 2.3.2 (cmd/containerd/server/config/config.go).
func loadSettings(machine *windows.Machine) (settings, error) {
	all, pending, root := settings{}, []string{containerdConfig}, 0
	for at := 0; at < len(pending); at++ {
		text, err := machine.ReadFile(pending[at])
		if err != nil {
			return nil, err
		}
		one, err := readSettings(string(text))
		if err != nil {
			return nil, fmt.Errorf("failed to load TOML from %s: %w", pending[at], err)
		}
		version, _ := strconv.Atoi(one[""]["version"])
		if root = cmp.Or(root, version); version > root {
			return nil, fmt.Errorf("drop-in config version %d higher than root config version %d", version, root)
		}
		for table, values := range one {
			if all[table] == nil {
				all[table] = map[string]string{}
			}
			maps.Copy(all[table], values)
		}
		for _, pattern := range quoted.FindAllStringSubmatch(one[""]["imports"], -1) {
			found, err := machine.Match(pattern[1])
			if err != nil {
				return nil, err
			}
			pending = append(pending, found...)
		}
	}
	return all, nil
}

var quoted = regexp.MustCompile(`'([^']*)'`)

// readSettings reads TOML whose values have a line each.
func readSettings(text string) (settings, error) {
	all, table := settings{"": {}}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, pair := strings.Cut(line, " = ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			table = line[1 : len(line)-1]
			all[table] = map[string]string{}
		case pair:
			all[table][key] = value
		default:
			return nil, fmt.Errorf("%q is not a line of TOML that the lab knows", line)
		}
	}
	return all, nil
}

// dump is what `containerd config dump` prints. The folder conf.d stands in its imports whether config.toml has it or not.
func (s settings) dump() string {
	s[""]["version"] = strconv.Itoa(newestConfig)
	if _, set := s[cniTable]; !set {
		s[cniTable] = map[string]string{}
	}
	// The defaults on Windows (containerd 04d0bebd, internal/cri/config/config_windows.go).
	for key, value := range map[string]string{
		"conf_dir": `'C:\Program Files\containerd\cni\conf'`, "bin_dirs": `['C:\Program Files\containerd\cni\bin']`,
	} {
		s[cniTable][key] = cmp.Or(s[cniTable][key], value)
	}
	s[""]["imports"] = `['C:\Program Files\containerd\conf.d\*.toml']`
	var text strings.Builder
	for _, table := range slices.Sorted(maps.Keys(s)) {
		if table != "" {
			fmt.Fprintf(&text, "\n  [%s]\n", table)
		}
		for _, key := range slices.Sorted(maps.Keys(s[table])) {
			fmt.Fprintf(&text, "    %s = %s\n", key, s[table][key])
		}
	}
	return text.String()
}
