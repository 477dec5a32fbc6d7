package plan

// Environment sets variables of services, or of the machine when it names none.
type Environment struct {
	Common
	Variables map[string]Value `json:"variables"`
	Services  []string         `json:"services,omitempty"`
}

// Service makes a Windows service, or brings one in line in place, whatever made it.
type Service struct {
	Common
	Service string `json:"service"`
	// Command is the program and its arguments.
	Command []Value `json:"command"`
	// Start is auto when empty.
	Start     Start   `json:"start,omitempty"`
	DependsOn []Value `json:"dependsOn,omitempty"`
	// RestartSeconds to wait before the first, second and later restarts after a failure.
	RestartSeconds []int `json:"restartSeconds,omitempty"`
}

// Start is when a service starts.
type Start string

// The ways a service starts.
const (
	StartAuto        Start = "auto"
	StartDelayedAuto Start = "delayed-auto"
	StartDemand      Start = "demand"
	StartDisabled    Start = "disabled"
)

// ServiceState starts, stops or restarts a service and sees to it that it worked.
type ServiceState struct {
	Common
	Service string `json:"service"`
	State   string `json:"state"`
}

// The states of ServiceState.
const (
	ServiceRunning   = "running"
	ServiceStopped   = "stopped"
	ServiceRestarted = "restarted"
)

// Firewall opens ports from outside.
type Firewall struct {
	Common
	Rules []FirewallRule `json:"rules"`
}

// FirewallRule lets remote addresses reach ports; any address when it names none.
type FirewallRule struct {
	Name     string  `json:"name"`
	Protocol string  `json:"protocol"`
	Ports    []Value `json:"ports"`
	Remote   []Value `json:"remote,omitempty"`
}

// Feature installs Windows features, with a reboot where they want one.
type Feature struct {
	Common
	Features []Value `json:"features"`
}

// Reboot restarts the machine.
type Reboot struct {
	Common
	// If is always, or pending: only when Windows or an earlier step wants it.
	If string `json:"if"`
}

// The conditions of Reboot.
const (
	RebootPending = "pending"
	RebootAlways  = "always"
)

// Time sets the time zone and the servers that tell the time.
type Time struct {
	Common
	Zone string  `json:"zone,omitempty"`
	NTP  []Value `json:"ntp,omitempty"`
}

// LocalUser makes a user whose password nobody knows; entry is by SSH key.
type LocalUser struct {
	Common
	User string `json:"user"`
	// Groups by SID, since their names are translated.
	Groups  []Value `json:"groups,omitempty"`
	SSHKeys []Value `json:"sshKeys,omitempty"`
}

// PageFile sets the size of the page file; 0 lets Windows manage it. A change makes a reboot pending.
type PageFile struct {
	Common
	SizeMiB Value `json:"sizeMiB"`
}

// DefenderExclusions are left alone by the virus scanner.
type DefenderExclusions struct {
	Common
	Folders   []Value `json:"folders,omitempty"`
	Processes []Value `json:"processes,omitempty"`
}

// Kind is "environment".
func (*Environment) Kind() Kind { return "environment" }

// Kind is "service".
func (*Service) Kind() Kind { return "service" }

// Kind is "serviceState".
func (*ServiceState) Kind() Kind { return "serviceState" }

// Kind is "firewall".
func (*Firewall) Kind() Kind { return "firewall" }

// Kind is "feature".
func (*Feature) Kind() Kind { return "feature" }

// Kind is "reboot".
func (*Reboot) Kind() Kind { return "reboot" }

// Kind is "time".
func (*Time) Kind() Kind { return "time" }

// Kind is "localUser".
func (*LocalUser) Kind() Kind { return "localUser" }

// Kind is "pageFile".
func (*PageFile) Kind() Kind { return "pageFile" }

// Kind is "defenderExclusions".
func (*DefenderExclusions) Kind() Kind { return "defenderExclusions" }

func (s *Environment) check(c *checker) {
	c.must(len(s.Variables) > 0, "variables", "is empty")
	c.variables("variables", s.Variables)
	for _, service := range s.Services {
		c.service("services", service)
	}
}

func (s *Service) check(c *checker) {
	c.service("service", s.Service)
	c.argv("command", s.Command)
	c.oneOf("start", string(s.Start), "", string(StartAuto), string(StartDelayedAuto), string(StartDemand), string(StartDisabled))
	for _, other := range s.DependsOn {
		c.value("dependsOn", other)
	}
	for _, seconds := range s.RestartSeconds {
		c.must(seconds >= 0, "restartSeconds", "must not be negative")
	}
}

func (s *ServiceState) check(c *checker) {
	c.service("service", s.Service)
	c.oneOf("state", s.State, ServiceRunning, ServiceStopped, ServiceRestarted)
}

func (s *Firewall) check(c *checker) {
	c.must(len(s.Rules) > 0, "rules", "is empty")
	for _, rule := range s.Rules {
		c.must(rule.Name != "", "rules.name", "is missing")
		c.oneOf("rules.protocol", rule.Protocol, "TCP", "UDP")
		c.list("rules.ports", rule.Ports)
		for _, remote := range rule.Remote {
			c.value("rules.remote", remote)
		}
	}
}

func (s *Feature) check(c *checker) { c.list("features", s.Features) }

func (s *Reboot) check(c *checker) { c.oneOf("if", s.If, RebootPending, RebootAlways) }

func (s *Time) check(c *checker) {
	c.must(s.Zone != "" || len(s.NTP) > 0, "zone", "is missing, and ntp too: there is nothing to set")
	for _, server := range s.NTP {
		c.value("ntp", server)
	}
}

func (s *LocalUser) check(c *checker) {
	c.must(userName.MatchString(s.User), "user", "%q is no name that Windows takes for a user", s.User)
	for _, sid := range s.Groups {
		c.value("groups", sid)
	}
	for _, key := range s.SSHKeys {
		c.value("sshKeys", key)
	}
}

func (s *PageFile) check(c *checker) { c.number("sizeMiB", s.SizeMiB, 0, 1<<24) }

func (s *DefenderExclusions) check(c *checker) {
	c.must(len(s.Folders)+len(s.Processes) > 0, "folders", "is empty, and processes too: there is nothing to exclude")
	for _, folder := range s.Folders {
		c.path("folders", folder)
	}
	for _, process := range s.Processes {
		c.value("processes", process)
	}
}
