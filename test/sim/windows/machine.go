// Package windows plays a Windows machine in a folder of this host. What Windows keeps on its disk is in <dir>/C, what it
// keeps elsewhere (registry, services, network, users, ...) is in a few JSON files beside it, so that a person can look.
//
// A door is what Windows offers to a program: a command, a cmdlet or a call, named as on Windows. Every door may be made to fail
// (Faults), and each change of the machine is told to OnEffect in one line, in the words of bootstrap/plan/vectors/README.md.
package windows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Machine is one Windows machine. Set its fields before the first use.
type Machine struct {
	// Clock is the machine's own: a real one in the lab, a virtual one where time is part of the case.
	Clock Clock
	// Network answers for everything outside of the machine.
	Network Network
	// Hardware is what the firmware tells.
	Hardware Hardware
	// Intercept is asked first for the program of a call; nil goes on to the disk.
	Intercept func(call *Call) Program
	// OnEffect is told every change, in order. It must not call the machine.
	OnEffect func(effect string)
	// OnSerial is the other end of the serial ports; nil is none.
	OnSerial func(port string, text []byte)
	// OnDoor is told every door before it does anything. It must not call the machine.
	OnDoor func(door string)
	// PaperServices change their state, but no program runs behind them.
	PaperServices bool
	// FeatureFaults say how the installation of Windows features goes wrong.
	FeatureFaults FeatureFaults
	// Locked are keys of the registry that cannot be written, nor what is below them.
	Locked []string
	// ManagementIP is what HNS gives to new networks.
	ManagementIP string
	// PolicyTakes is how long a program takes to give HNS one policy of a network.
	PolicyTakes time.Duration

	dir string
	mu  sync.Mutex
	// ahead is how wrong the date is.
	ahead time.Duration
	// disk keeps readers away from a file that is just replaced.
	disk     sync.RWMutex
	state    State
	volatile volatile
	programs map[string]Program
	throws   map[string]string
	// throwTimes bounds how often doors throw; negative has no end.
	throwTimes int
	// hangs are doors that never answer, and how often.
	hangs  map[string]int
	starts chan startRequest
	output *eventLog
	locks  map[string]bool
	// saved is what the files of the state hold.
	saved map[string][]byte
}

// Hardware is what a hypervisor gives a machine.
type Hardware struct {
	SMBIOS      string
	CPUs        int
	MemoryMiB   int64
	DiskFreeMiB int64
	OSBuild     string
}

// State is what survives a reboot. Case zero is a machine on which nothing was ever set.
type State struct {
	ComputerName string `json:"computerName"`
	Domain       string `json:"domain,omitempty"`
	// DomainBoot is the boot at which the machine has joined it.
	DomainBoot int               `json:"domainBoot,omitempty"`
	Boots      int               `json:"boots"`
	TimeZone   string            `json:"timeZone"`
	Features   map[string]string `json:"features"`
	Firewall   map[string]string `json:"firewall"`
	// FirewallOff: no rule is asked.
	FirewallOff bool             `json:"firewallOff,omitempty"`
	Users       map[string]*User `json:"users"`
	Defender    *Defender        `json:"defender"`
	Adapters    []Adapter        `json:"adapters"`
	Addresses   []Address        `json:"addresses"`
	Routes      []Route          `json:"routes"`
	DNS         map[int][]string `json:"dns"`
	HNS         []map[string]any `json:"hns"`
	// Disks are those beside that of Windows, Volumes the file systems of drives beside C:, by letter.
	Disks   []Disk            `json:"disks,omitempty"`
	Volumes map[string]string `json:"volumes,omitempty"`
	// VolumesMiB is what is free on each; those that are not listed are large.
	VolumesMiB map[string]int `json:"volumesMiB,omitempty"`
	// ACLs are the owners and access of paths in small letters, where they are not Inherited. Links are junctions.
	ACLs         map[string]string    `json:"acls"`
	Links        map[string]string    `json:"links,omitempty"`
	Tasks        map[string]bool      `json:"tasks"`
	DynamicPorts map[string]PortRange `json:"dynamicPorts"`
	// ExcludedPorts are those that Windows gives to nobody who asks for any port.
	ExcludedPorts map[string][]PortRange `json:"excludedPorts,omitempty"`
	NextID        int                    `json:"nextID"`
	Registry      map[string]RegistryKey `json:"-"`
	Services      map[string]*Service    `json:"-"`
}

// volatile is what a reboot takes away.
type volatile struct {
	bootMarker bool
	reboot     chan struct{}
	rebooting  bool
	pipes      map[string]bool
	pages      map[string]func() string
	running    map[string]context.CancelFunc
}

// New plays a machine in dir, with what an earlier New has left there.
func New(dir string) (*Machine, error) {
	m := &Machine{
		Clock: RealClock{}, Network: RealNetwork{}, dir: dir, throwTimes: -1,
		programs: map[string]Program{}, locks: map[string]bool{}, saved: map[string][]byte{}, starts: make(chan startRequest),
	}
	m.volatile = newVolatile()
	if err := os.MkdirAll(filepath.Join(dir, "C"), 0o700); err != nil {
		return nil, fmt.Errorf("create the disk: %w", err)
	}
	if err := m.load(); err != nil {
		return nil, err
	}
	m.output = &eventLog{path: filepath.Join(dir, "effects.log")}
	m.installTools()
	return m, nil
}

// Setup changes the state as the maker of an image would: without an effect.
func (m *Machine) Setup(change func(s *State)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.state)
	m.state.fill()
	return m.save()
}

// restartDue is a volatile key of Windows' servicing.
const restartDue = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending`

// Boot starts the machine once more: what is volatile is gone, pending features are installed.
func (m *Machine) Boot() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.volatile = newVolatile()
	m.state.Boots++
	m.remove(func(item map[string]any) bool { return item["Flags"] == float64(onlyUntilReboot) })
	for name, state := range m.state.Features {
		if state == "InstallPending" && !m.FeatureFaults.NeverDone {
			m.state.Features[name] = "Installed"
		}
	}
	if key, due := m.state.key(restartDue); due {
		delete(m.state.Registry, key)
	}
	if !m.PaperServices {
		for _, service := range m.state.Services {
			service.State = Stopped
		}
	}
	return m.save()
}

// Boots is how often the machine was started.
func (m *Machine) Boots() int { return held(m, func() int { return m.state.Boots }) }

// Throw makes doors fail with a message, at most times (negative: always).
func (m *Machine) Throw(doors map[string]string, times int) {
	m.throws, m.throwTimes = doors, times
}

// ErrHangs is told by a door that would never answer: who has called it must not go on, but for what it does aside.
var ErrHangs = errors.New("the call never comes back")

// Hang makes doors never answer, each so many times.
func (m *Machine) Hang(doors map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hangs = maps.Clone(doors)
}

// through does what a door does that only succeeds or fails.
func (m *Machine) through(door string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(door); err != nil {
		return err
	}
	return do()
}

// ask does what a door does that tells something.
func ask[V any](m *Machine, door string, look func() (V, error)) (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter(door); err != nil {
		var none V
		return none, err
	}
	return look()
}

// held looks at what others change meanwhile. It is no door.
func held[V any](m *Machine, look func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return look()
}

// enter is called first by every door, with mu held.
func (m *Machine) enter(door string) error {
	if m.OnDoor != nil {
		m.OnDoor(door)
	}
	if m.hangs[door] > 0 {
		m.hangs[door]--
		return ErrHangs
	}
	message, throws := m.throws[door]
	if !throws || m.throwTimes == 0 {
		return nil
	}
	m.throwTimes--
	return errors.New(door + ": " + message)
}

// changed records an effect and keeps the state; mu is held.
func (m *Machine) changed(format string, args ...any) error {
	if err := m.save(); err != nil {
		return err
	}
	m.tell(format, args...)
	return nil
}

// tell records an effect that leaves the state alone; mu is held.
func (m *Machine) tell(format string, args ...any) {
	effect := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	m.output.add(m.Clock.Now(), effect)
	if m.OnEffect != nil {
		m.OnEffect(effect)
	}
}

func newVolatile() volatile {
	return volatile{
		reboot: make(chan struct{}), pipes: map[string]bool{}, pages: map[string]func() string{},
		running: map[string]context.CancelFunc{},
	}
}

func (s *State) fill() {
	fillMap(&s.Features)
	fillMap(&s.Firewall)
	fillMap(&s.Users)
	fillMap(&s.DNS)
	fillMap(&s.ACLs)
	fillMap(&s.Links)
	fillMap(&s.Tasks)
	fillMap(&s.DynamicPorts)
	fillMap(&s.Registry)
	fillMap(&s.Services)
}

func fillMap[K comparable, V any](m *map[K]V) {
	if *m == nil {
		*m = map[K]V{}
	}
}

func (m *Machine) load() error {
	for name, into := range m.parts() {
		text, err := os.ReadFile(filepath.Join(m.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
	}
	m.state.fill()
	return nil
}

func (m *Machine) save() error {
	for name, part := range m.parts() {
		text, err := json.MarshalIndent(part, "", "  ")
		if err != nil {
			return fmt.Errorf("save %s: %w", name, err)
		}
		if bytes.Equal(m.saved[name], text) {
			continue
		}
		if err := replace(filepath.Join(m.dir, name), text); err != nil {
			return fmt.Errorf("save %s: %w", name, err)
		}
		m.saved[name] = text
	}
	return nil
}

func (m *Machine) parts() map[string]any {
	return map[string]any{"machine.json": &m.state, "registry.json": &m.state.Registry, "services.json": &m.state.Services}
}

// eventLog is the list of effects that a person can read.
type eventLog struct{ path string }

func (l *eventLog) add(at time.Time, line string) {
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // a log for people; the effect itself has happened and is told to OnEffect
	}
	defer func() { _ = file.Close() }()
	_, _ = fmt.Fprintf(file, "%s %s\n", at.UTC().Format(time.RFC3339), line)
}

// Lock opens a file that no other may open meanwhile; mine is false while another has it open.
func (m *Machine) Lock(name string) (release func(), mine bool) {
	name = strings.ToLower(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[name] {
		return nil, false
	}
	m.locks[name] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locks, name)
	}, true
}
