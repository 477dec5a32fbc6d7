package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Folder is where containerd looks for the configuration of a CNI, Programs where it looks for the plug-ins.
const (
	Folder   = `C:\etc\cni\net.d`
	Programs = `C:\opt\cni\bin`
)

// config is the configuration of a network, of the first file of the folder.
type config struct {
	Name, CNIVersion string
	plugins          []plugin
}

type plugin struct {
	Type string
	text json.RawMessage
}

// NotReady is what containerd says as long as it has no configuration of a CNI, and the kubelet repeats; empty if it has one. Why
// a file does not load is in its log alone. It does not look for the programs (containerd/go-cni 3dbce1d, the same in v1.1.12:
// cni.go, Status), but for a configuration of version 1.1.0 or later, of which it calls each plug-in (containernetworking/cni
// v1.3.1, libcni/api.go, GetStatusNetworkList).
func NotReady(m *windows.Machine) string {
	loaded, err := load(m)
	if err != nil {
		err = errNotInitialized
	} else {
		err = loaded.status(m)
	}
	if err == nil {
		return ""
	}
	return "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: " + err.Error()
}

var errNotInitialized = errors.New("cni plugin not initialized")

// load reads the first configuration by name, and no other one (go-cni 3dbce1d, opts.go, loadFromConfDir).
func load(m *windows.Machine) (*config, error) {
	found, err := m.Match(Folder + `\*`)
	if err != nil {
		found = nil // there is no folder
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		return !slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(name))
	})
	slices.Sort(found)
	if len(found) == 0 {
		return nil, fmt.Errorf("no network config found in %s", Folder)
	}
	read := parse
	if path.Ext(found[0]) == ".conflist" {
		read = parseList
	}
	text, err := m.ReadFile(found[0])
	if err == nil {
		var loaded *config
		if loaded, err = read(text); err == nil {
			return loaded, nil
		}
	}
	return nil, fmt.Errorf("failed to load CNI config file %s: %w", windows.Base(found[0]), err)
}

// parse reads a file with one plug-in (containernetworking/cni v1.3.1, libcni/conf.go, ConfFromBytes).
func parse(text []byte) (*config, error) {
	loaded, one := &config{}, plugin{text: text}
	if err := errors.Join(json.Unmarshal(text, loaded), json.Unmarshal(text, &one)); err != nil {
		return nil, fmt.Errorf("error parsing configuration: %w", err)
	}
	if one.Type == "" {
		return nil, errors.New("error parsing configuration: missing 'type'")
	}
	loaded.plugins = []plugin{one}
	return loaded, nil
}

// parseList reads a file with a list of plug-ins (the same file, ConfListFromBytes).
func parseList(text []byte) (*config, error) {
	list := struct {
		Name, CNIVersion string
		Plugins          []json.RawMessage
	}{}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("error parsing configuration list: %w", err)
	}
	switch {
	case list.Name == "":
		return nil, errors.New("error parsing configuration list: no name")
	case len(list.Plugins) == 0:
		return nil, errors.New("error parsing configuration list: no plugins in list")
	}
	loaded := &config{Name: list.Name, CNIVersion: list.CNIVersion}
	for i, text := range list.Plugins {
		one, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse plugin config %d: %w", i, err)
		}
		loaded.plugins = append(loaded.plugins, one.plugins...)
	}
	return loaded, nil
}

func (c *config) status(m *windows.Machine) error {
	is, err := version.ParseSemantic(c.CNIVersion)
	if err == nil && is.AtLeast(version.MustParseSemantic("1.1.0")) {
		return c.findPlugins(m)
	}
	return nil
}

func (c *config) findPlugins(m *windows.Machine) error {
	for _, one := range c.plugins {
		if err := findPlugin(m, one.Type); err != nil {
			return err
		}
	}
	return nil
}

func findPlugin(m *windows.Machine, kind string) error {
	if !m.FileExists(Programs + `\` + kind + ".exe") {
		return fmt.Errorf("failed to find plugin %q in path [%s]", kind, Programs)
	}
	return nil
}

// Del takes the network of a pod back.
func Del(m *windows.Machine, pod string) error {
	endpoints, err := m.HNSCall("GET", "/endpoints", "")
	for _, endpoint := range endpoints {
		name := fmt.Sprint(endpoint["Name"])
		if !strings.HasPrefix(name, pod+"_") || err != nil {
			continue
		}
		network := strings.TrimPrefix(name, pod+"_")
		_, err = m.HNSCall("DELETE", fmt.Sprintf("/endpoints/%v", endpoint["ID"]), "")
		if kept := leases(network) + `\` + fmt.Sprint(endpoint["IPAddress"]); m.FileExists(kept) {
			err = errors.Join(err, m.Remove(kept))
		}
	}
	return err
}
