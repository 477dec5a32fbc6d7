package plan

// Service makes a Windows service, or changes an existing one in place, no matter what made it. It stops and replaces a wrapper
// (nssm), and starts or stops nothing else.
//
// Already so: command line, start and dependencies in the registry are equal.
type Service struct {
	Common
	// Service is the name of the service.
	Service string `json:"service"`
	// Command is the program and its arguments.
	Command []Value `json:"command"`
	// Start is auto when empty.
	Start Start `json:"start,omitempty"`
	// DependsOn are the services that Windows starts before it. All other dependencies are removed.
	DependsOn []Value `json:"dependsOn,omitempty"`
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

// ServiceState starts, stops or restarts a service and waits until that has happened. Services that depend on it stop before it
// stops; after a restart those that ran run again. TimeoutSeconds is 60 when 0, for each service. It fails where there is no such
// service.
//
// Already so: the service has the state. A restart always stops and starts it.
type ServiceState struct {
	Common
	// Service is the name of the service.
	Service string `json:"service"`
	// State is running, stopped or restarted.
	State string `json:"state"`
}

// The states of ServiceState.
const (
	ServiceRunning   = "running"
	ServiceStopped   = "stopped"
	ServiceRestarted = "restarted"
)

// Feature installs Windows features. If they need a reboot, it reboots and checks again. TimeoutSeconds is 1800 when 0.
//
// Already so: the state is Installed. For InstallPending only the reboot is missing.
type Feature struct {
	Common
	// Features by the names that Get-WindowsFeature shows.
	Features []Value `json:"features"`
}

// Reboot restarts the machine; the next step runs after it.
//
// Already so: no reboot is pending, where If is pending.
type Reboot struct {
	Common
	// If is always, or pending: only when Windows needs a reboot.
	If string `json:"if"`
}

// The conditions of Reboot.
const (
	RebootPending = "pending"
	RebootAlways  = "always"
)

// LocalUser makes a user with a random password that is not kept; the user logs in by SSH key.
// TimeoutSeconds is 300 when 0.
//
// Already so: the user, its memberships and its file of keys with access exist; each is compared on its own.
type LocalUser struct {
	Common
	// User is the name of the user.
	User string `json:"user"`
	// Groups by SID, because Windows translates their names.
	Groups []Value `json:"groups,omitempty"`
	// SSHKeys are all keys of the user, in ASCII. When it is empty, the keys of the user stay.
	SSHKeys []Value `json:"sshKeys,omitempty"`
}

// DefenderExclusions excludes folders and programs from Microsoft Defender. It fails where there is no Defender: make it
// optional. TimeoutSeconds is 300 when 0.
//
// Already so: they are listed. Case does not matter.
type DefenderExclusions struct {
	Common
	// Folders with everything in them.
	Folders []Value `json:"folders,omitempty"`
	// Processes by the path or name of their program. What they open is not scanned.
	Processes []Value `json:"processes,omitempty"`
}

func (s *Service) check(c *checker) {
	c.service("service", s.Service)
	c.argv("command", s.Command)
	c.oneOf("start", string(s.Start), "", string(StartAuto), string(StartDelayedAuto), string(StartDemand), string(StartDisabled))
	c.values("dependsOn", s.DependsOn)
}

func (s *ServiceState) check(c *checker) {
	c.service("service", s.Service)
	c.oneOf("state", s.State, ServiceRunning, ServiceStopped, ServiceRestarted)
}

func (s *Feature) check(c *checker) { c.list("features", s.Features) }

func (s *Reboot) check(c *checker) { c.oneOf("if", s.If, RebootPending, RebootAlways) }

func (s *LocalUser) check(c *checker) {
	c.must(userName.MatchString(s.User), "user", "%q is not a name that Windows takes for a user", s.User)
	c.values("groups", s.Groups)
	c.values("sshKeys", s.SSHKeys)
	for _, key := range s.SSHKeys {
		c.must(printable.MatchString(key.sample()), "sshKeys", "%q must be printable ASCII, and not empty", key)
	}
}

func (s *DefenderExclusions) check(c *checker) {
	c.must(len(s.Folders)+len(s.Processes) > 0, "folders", "is empty, and processes too: there is nothing to exclude")
	for _, folder := range s.Folders {
		c.path("folders", folder)
	}
	c.values("processes", s.Processes)
}
