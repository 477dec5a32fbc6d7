// Package vectors reads the cases of bootstrap/plan/vectors and plays their worlds on the simulated Windows, for any interpreter
// of plans that lives on such a machine.
package vectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Vector is one case of bootstrap/plan/vectors: what a plan does to a machine.
type Vector struct {
	Name   string          `json:"name"`
	Reason string          `json:"reason"`
	World  World           `json:"world"`
	Plan   json.RawMessage `json:"plan"`
	Expect Expectation     `json:"expect"`
}

// World is the machine of a vector, as its README describes it.
type World struct {
	Files            map[string]string           `json:"files"`
	ACL              map[string]string           `json:"acl"`
	Links            map[string]string           `json:"links"`
	Registry         map[string]map[string]any   `json:"registry"`
	Services         map[string]*windows.Service `json:"services"`
	Facts            map[string]string           `json:"facts"`
	Commands         []*Command                  `json:"commands"`
	TLS              map[string]any              `json:"tls"`
	Pipes            []string                    `json:"pipes"`
	Adapters         []Adapter                   `json:"adapters"`
	Addresses        []Address                   `json:"addresses"`
	Routes           []Route                     `json:"routes"`
	DNS              []string                    `json:"dns"`
	HNS              []map[string]any            `json:"hns"`
	ManagementIP     string                      `json:"managementIP"`
	Features         map[string]string           `json:"features"`
	FeatureReboot    bool                        `json:"featureReboot"`
	FeatureNeverDone bool                        `json:"featureNeverDone"`
	FeatureFails     bool                        `json:"featureFails"`
	Firewall         map[string]string           `json:"firewall"`
	Defender         *windows.Defender           `json:"defender"`
	Users            map[string][]string         `json:"users"`
	Throws           map[string]string           `json:"throws"`
	ThrowTimes       *int                        `json:"throwTimes"`
	Hangs            map[string]int              `json:"hangs"`
	Clocks           map[string]Clock            `json:"clocks"`
	Starts           int                         `json:"starts"`
	Stale            []map[string]any            `json:"stale"`
}

// Clock is by how many seconds the machine's clock is ahead of a server's, until a second of the clock from which on it is
// right.
type Clock struct {
	Ahead int `json:"ahead"`
	Until int `json:"until"`
}

// Adapter is a network adapter.
type Adapter struct {
	Index   int    `json:"index"`
	MAC     string `json:"mac"`
	Name    string `json:"name"`
	Virtual bool   `json:"virtual"`
	Hidden  bool   `json:"hidden"`
	DHCP    *bool  `json:"dhcp"`
	MTU     int    `json:"mtu"`
}

// Address is one that an adapter has.
type Address struct {
	Index   int    `json:"index"`
	Address string `json:"address"`
	Origin  string `json:"origin"`
	After   int    `json:"after"`
}

// Route is one that an interface has.
type Route struct {
	Index  int    `json:"index"`
	To     string `json:"to"`
	Via    string `json:"via"`
	Metric int    `json:"metric"`
}

// Command is a scripted program; the first that matches counts.
type Command struct {
	Argv    []string          `json:"argv"`
	Exit    int               `json:"exit"`
	Out     string            `json:"out"`
	Err     string            `json:"err"`
	Seconds int               `json:"seconds"`
	Times   *int              `json:"times"`
	Hangs   bool              `json:"hangs"`
	Writes  map[string]string `json:"writes"`
}

func (w *World) hardware() (windows.Hardware, error) {
	facts := map[string]string{
		"osBuild": "20348", "memoryMiB": "8192", "cpus": "4", "diskFreeMiB": "50000", "smbios": "SMBIOS-1", "computerName": "WIN-1",
	}
	for name, value := range w.Facts {
		if facts[name] == "" {
			return windows.Hardware{}, fmt.Errorf("a world has no fact %s", name)
		}
		facts[name] = value
	}
	numbers := map[string]int64{}
	for _, name := range []string{"cpus", "memoryMiB", "diskFreeMiB"} {
		number, err := strconv.ParseInt(facts[name], 10, 64)
		if err != nil {
			return windows.Hardware{}, fmt.Errorf("the fact %s of a world: %w", name, err)
		}
		numbers[name] = number
	}
	return windows.Hardware{
		SMBIOS: facts["smbios"], OSBuild: facts["osBuild"], CPUs: int(numbers["cpus"]),
		MemoryMiB: numbers["memoryMiB"], DiskFreeMiB: numbers["diskFreeMiB"],
	}, nil
}

// furnish sets what the world says of Windows.
func (w *World) furnish(s *windows.State) {
	s.ComputerName = cmp.Or(w.Facts["computerName"], "WIN-1")
	s.Registry = map[string]windows.RegistryKey{}
	for key, values := range w.Registry {
		s.Registry[key] = windows.RegistryKey{} // a key may be all that there is
		for name, value := range values {
			s.SetValue(key, name, registryValue(value))
		}
	}
	s.Services, s.Features, s.Firewall, s.HNS = w.Services, w.Features, w.Firewall, w.HNS
	for _, item := range s.HNS {
		if after, late := item["after"].(float64); late {
			item["since"] = epoch.Add(time.Duration(after) * time.Second).Format(time.RFC3339)
		}
	}
	s.Defender = cmp.Or(w.Defender, &windows.Defender{})
	s.Users = map[string]*windows.User{}
	for name, groups := range w.Users {
		s.Users[name] = &windows.User{SID: "S-1-5-21-1-2-3-1001", Groups: groups}
	}
	for path, sddl := range w.ACL {
		s.ACLs[strings.ToLower(path)] = sddl
	}
	w.furnishNetwork(s)
}

func (w *World) furnishNetwork(s *windows.State) {
	s.DNS = map[int][]string{}
	for _, a := range w.Adapters {
		s.Adapters = append(s.Adapters, windows.Adapter{
			Index: a.Index, MAC: a.MAC, Name: a.Name, Virtual: a.Virtual, Hidden: a.Hidden,
			DHCP: a.DHCP == nil || *a.DHCP, MTU: cmp.Or(a.MTU, 1500),
			DHCP6: a.DHCP == nil || *a.DHCP, MTU6: cmp.Or(a.MTU, 1500),
		})
		s.DNS[a.Index] = w.DNS
	}
	for _, a := range w.Addresses {
		s.Addresses = append(s.Addresses, windows.Address{
			Index: a.Index, Address: a.Address, Origin: cmp.Or(a.Origin, "Manual"),
			Preferred: epoch.Add(time.Duration(a.After) * time.Second),
		})
	}
	for _, r := range w.Routes {
		s.Routes = append(s.Routes, windows.Route{Index: r.Index, To: r.To, Via: r.Via, Cost: r.Metric + 10})
	}
}

func registryValue(value any) windows.RegistryValue {
	switch value := value.(type) {
	case string:
		return windows.Text(value)
	case float64:
		return windows.DWord(int64(value))
	case []any:
		list := make([]string, 0, len(value))
		for _, item := range value {
			list = append(list, fmt.Sprint(item))
		}
		return windows.MultiString(list...)
	}
	panic(fmt.Sprintf("a world has no registry value %v", value))
}
