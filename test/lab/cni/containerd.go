package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// Folder is where containerd looks for the configuration of a CNI, Programs where it looks for the plug-ins.
const (
	Folder   = `C:\etc\cni\net.d`
	Programs = `C:\opt\cni\bin`
)

// config is the configuration of a network, of the first file of the folder.
type config struct {
	Name    string
	plugins []plugin
}

type plugin struct {
	Type string
	text json.RawMessage
}

// NotReady is what containerd says as long as it cannot call a CNI, and the kubelet repeats; empty if it can. The first file by
// name counts, as in containerd/go-cni v1.1.12, opts.go (loadFromConfDir).
func NotReady(m *windows.Machine) string {
	_, err := load(m)
	if err == nil {
		return ""
	}
	return "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: " + err.Error()
}

var errNotInitialized = errors.New("cni plugin not initialized")

// load reads the configuration, and finds the programs of its plug-ins.
func load(m *windows.Machine) (*config, error) {
	found, err := m.Match(Folder + `\*`)
	if err != nil {
		return nil, errNotInitialized // there is no folder
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		return !slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(name))
	})
	slices.Sort(found)
	if len(found) == 0 {
		return nil, errNotInitialized
	}
	loaded, err := parse(m, found[0])
	if err != nil {
		return nil, fmt.Errorf("cni plugin not initialized: cni config load failed: %s: %w", windows.Base(found[0]), err)
	}
	for _, one := range loaded.plugins {
		if err := findPlugin(m, one.Type); err != nil {
			return nil, fmt.Errorf("cni plugin not initialized: %w", err)
		}
	}
	return loaded, nil
}

func parse(m *windows.Machine, file string) (*config, error) {
	text, err := m.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct {
		Name    string
		Type    string
		Plugins []json.RawMessage
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if len(list.Plugins) == 0 {
		list.Plugins = []json.RawMessage{text}
	}
	loaded := &config{Name: list.Name}
	for _, text := range list.Plugins {
		one := plugin{text: text}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, err
		}
		if one.Type == "" {
			return nil, errors.New("network config 'type' is missing")
		}
		loaded.plugins = append(loaded.plugins, one)
	}
	return loaded, nil
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
