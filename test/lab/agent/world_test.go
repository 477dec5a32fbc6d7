package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// vector is one case of bootstrap/plan/vectors: what a plan does to a machine.
type vector struct {
	Name   string          `json:"name"`
	Reason string          `json:"reason"`
	World  world           `json:"world"`
	Plan   json.RawMessage `json:"plan"`
	Expect expectation     `json:"expect"`
}

// world is the machine of a vector, as its README describes it.
type world struct {
	Files            map[string]string           `json:"files"`
	ACL              map[string]string           `json:"acl"`
	Links            map[string]string           `json:"links"`
	Registry         map[string]map[string]any   `json:"registry"`
	Services         map[string]*windows.Service `json:"services"`
	Facts            map[string]string           `json:"facts"`
	Commands         []*command                  `json:"commands"`
	TLS              map[string]any              `json:"tls"`
	Pipes            []string                    `json:"pipes"`
	Adapters         []worldAdapter              `json:"adapters"`
	Addresses        []worldAddress              `json:"addresses"`
	Routes           []worldRoute                `json:"routes"`
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
	Clocks           map[string]worldClock       `json:"clocks"`
	Starts           int                         `json:"starts"`
	Stale            []map[string]any            `json:"stale"`
}

// worldClock is by how many seconds the machine's clock is ahead of a server's, until a second of the clock from which on it is
// right.
type worldClock struct {
	Ahead int `json:"ahead"`
	Until int `json:"until"`
}

type worldAdapter struct {
	Index   int    `json:"index"`
	MAC     string `json:"mac"`
	Name    string `json:"name"`
	Virtual bool   `json:"virtual"`
	Hidden  bool   `json:"hidden"`
	DHCP    *bool  `json:"dhcp"`
	MTU     int    `json:"mtu"`
}

type worldAddress struct {
	Index   int    `json:"index"`
	Address string `json:"address"`
	Origin  string `json:"origin"`
	After   int    `json:"after"`
}

type worldRoute struct {
	Index  int    `json:"index"`
	To     string `json:"to"`
	Via    string `json:"via"`
	Metric int    `json:"metric"`
}

// command is a scripted program; the first that matches counts.
type command struct {
	Argv    []string          `json:"argv"`
	Exit    int               `json:"exit"`
	Out     string            `json:"out"`
	Err     string            `json:"err"`
	Seconds int               `json:"seconds"`
	Times   *int              `json:"times"`
	Hangs   bool              `json:"hangs"`
	Writes  map[string]string `json:"writes"`
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stage is a world in which a plan runs.
type stage struct {
	t       *testing.T
	world   *world
	machine *windows.Machine
	clock   *windows.VirtualClock
	effects []string
	// onEffect is told all effects, those of the agent's own files included.
	onEffect func(effect string)
	// heard is told errors of the agent's process; nil: there must be none.
	heard func(error)
}

func newStage(t *testing.T, v *vector) *stage {
	t.Helper()
	machine := expect.Got(windows.New(t.TempDir()))(t)
	s := &stage{t: t, world: &v.World, machine: machine, clock: windows.NewVirtualClock(epoch)}
	machine.Clock, machine.Network, machine.PaperServices = s.clock, s, true
	machine.Hardware = v.World.hardware(t)
	machine.ManagementIP = v.World.ManagementIP
	machine.FeatureFaults = windows.FeatureFaults{
		NeedsReboot: v.World.FeatureReboot, NeverDone: v.World.FeatureNeverDone, Fails: v.World.FeatureFails,
	}
	machine.Intercept, machine.OnEffect = s.scripted, s.effect
	expect.OK(t, machine.Setup(v.World.furnish))
	s.fill(v)
	return s
}

func (s *stage) fill(v *vector) {
	s.t.Helper()
	for path, text := range v.World.Files {
		s.put(path, text)
	}
	for path, target := range v.World.Links {
		expect.OK(s.t, s.machine.Link(path, target))
	}
	for _, pipe := range v.World.Pipes {
		s.machine.OpenPipe(pipe)
	}
	s.machine.Throw(v.World.Throws, *cmp.Or(v.World.ThrowTimes, new(-1)))
	s.machine.Hang(v.World.Hangs)
	s.put(Root+`\plan.json`, string(v.Plan))
}

func (s *stage) put(path, text string) {
	s.t.Helper()
	expect.OK(s.t, s.machine.Put(path, []byte(text)))
}

func (w *world) hardware(t *testing.T) windows.Hardware {
	t.Helper()
	facts := map[string]string{
		"osBuild": "20348", "memoryMiB": "8192", "cpus": "4", "diskFreeMiB": "50000", "smbios": "SMBIOS-1", "computerName": "WIN-1",
	}
	for name, value := range w.Facts {
		if facts[name] == "" {
			t.Fatalf("a world has no fact %s", name)
		}
		facts[name] = value
	}
	number := func(name string) int64 {
		return expect.Got(strconv.ParseInt(facts[name], 10, 64))(t)
	}
	return windows.Hardware{
		SMBIOS: facts["smbios"], OSBuild: facts["osBuild"], CPUs: int(number("cpus")),
		MemoryMiB: number("memoryMiB"), DiskFreeMiB: number("diskFreeMiB"),
	}
}

// furnish sets what the world says of Windows.
func (w *world) furnish(s *windows.State) {
	s.ComputerName = cmp.Or(w.Facts["computerName"], "WIN-1")
	for key, values := range w.Registry {
		for name, value := range values {
			s.SetValue(key, name, registryValue(value))
		}
	}
	s.Services, s.Features, s.Firewall, s.HNS = w.Services, w.Features, w.Firewall, w.HNS
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

func (w *world) furnishNetwork(s *windows.State) {
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

// scripted is the world's program for a call, or nil.
func (s *stage) scripted(call *windows.Call) windows.Program {
	for _, one := range s.world.Commands {
		matches := len(call.Argv) >= len(one.Argv) && slices.Equal(call.Argv[:len(one.Argv)], one.Argv)
		if one.Times != nil && *one.Times == 0 || !matches {
			continue
		}
		if one.Times != nil {
			*one.Times--
		}
		return one.run
	}
	return nil
}

func (c *command) run(ctx context.Context, call *windows.Call) int {
	for path, text := range c.Writes {
		if err := call.Machine.Put(path, []byte(text)); err != nil {
			return call.Fail("%v", err)
		}
	}
	if c.Argv[0] == "shutdown.exe" && c.Exit != 5 {
		call.Machine.AskReboot() // another has asked for it
	}
	_, _ = fmt.Fprint(call.Stdout, c.Out)
	_, _ = fmt.Fprint(call.Stderr, c.Err)
	seconds := c.Seconds
	if c.Hangs {
		seconds = 1 << 30
	}
	if err := call.Machine.Clock.Sleep(ctx, time.Duration(seconds)*time.Second); err != nil {
		return -1
	}
	return c.Exit
}

// HTTPS is part of windows.Network.
func (s *stage) HTTPS(_ context.Context, server windows.Server) (bool, string) {
	return s.answers(s.world.TLS[fmt.Sprintf("%s:%d", server.Host, server.Port)]), ""
}

// Date is part of windows.Network: the machine's own date is right here, the server's is ahead or behind.
func (s *stage) Date(_ context.Context, server windows.Server) time.Time {
	clock, known := s.world.Clocks[fmt.Sprintf("%s:%d", server.Host, server.Port)]
	if !known || !server.Insecure {
		return time.Time{}
	}
	if clock.Until > 0 && s.clock.Now().Sub(epoch) >= time.Duration(clock.Until)*time.Second {
		clock.Ahead = 0
	}
	// Half a second more: the machine looks at its own date a moment later, and the whole seconds stay what they are.
	more := 500 * time.Millisecond
	if clock.Ahead < 0 {
		more = -more
	}
	return s.machine.Time().Add(-time.Duration(clock.Ahead)*time.Second - more)
}

// answers: true, false, or the second of the clock from which on it does.
func (s *stage) answers(value any) bool {
	if from, ok := value.(float64); ok {
		return s.clock.Now().Sub(epoch) >= time.Duration(from)*time.Second
	}
	yes, _ := value.(bool)
	return yes
}

// Web is part of windows.Network.
func (s *stage) Web(_ context.Context, method, url string, _ []byte) ([]byte, error) {
	if method == "POST" && strings.HasSuffix(url, "/provisioning/health") {
		return nil, nil
	}
	return nil, errors.New("no such page")
}
