package plan

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the language that this package speaks.
const Version = 1

// Plan is all that a node has to do.
type Plan struct {
	// Version of the language: 1.
	Version int `json:"version"`
	// Machine is the machine of this plan.
	Machine Machine `json:"machine"`

	// DeadlineSeconds bounds the whole bootstrap, without the time of reboots; 1800 when 0. Like all seconds of a plan, they are
	// at most a week: 604800.
	DeadlineSeconds int `json:"deadlineSeconds,omitempty"`
	// WaitSeconds is how long the loader waits, over all boots, for a first result before it lets cloudbase-init go on; 60 when 0.
	WaitSeconds int `json:"waitSeconds,omitempty"`
	// Hold keeps the loader waiting after a failure and while Windows restarts: only success ends its wait early.
	Hold bool `json:"hold,omitempty"`
	// MaxReboots that steps may ask for, at most 100; 5 when 0.
	MaxReboots int `json:"maxReboots,omitempty"`

	// Report lists the channels by which the node reports its progress. A channel that fails adds a line to the log.
	Report []Channel `json:"report"`
	// Redact lists secrets, which never appear in a report, a log or a message.
	Redact []string `json:"redact,omitempty"`
	// Erase lists what is deleted when the bootstrap ends, in success or failure. The last segment may have wildcards.
	Erase []Value `json:"erase,omitempty"`
	// Logs are collected when the bootstrap fails.
	Logs *CollectLogs `json:"logs,omitempty"`

	// Phases in their order.
	Phases []Phase `json:"phases"`
	// EveryBoot runs at each start of the machine after a success. It stays on the disk in clear and must hold no secret.
	EveryBoot []Phase `json:"everyBoot,omitempty"`
	// Background runs behind the bootstrap and behind EveryBoot: each step is tried without end until it is done, and nothing waits
	// for it. It needs EveryBoot, stays on the disk in clear as that does, and must hold no secret.
	Background []Phase `json:"background,omitempty"`
	// Ended is true once the interpreter has emptied this plan: without its state, nothing of it is carried out again.
	Ended bool `json:"ended,omitempty"`
}

// Machine is the machine of this plan.
type Machine struct {
	// Namespace of the Machine, which is the owner of the WindowsMachine.
	Namespace string `json:"namespace"`
	// Name of the Machine.
	Name string `json:"name"`
	// UID of the Machine, in printable ASCII, as it stands in each report. A state on the disk that has another UID belongs to
	// another bootstrap and is not used.
	UID string `json:"uid"`
	// Node is the name of the node, which is the computer's.
	Node string `json:"node"`
	// Cluster to which the node belongs.
	Cluster string `json:"cluster"`
}

// Phase is a part of the bootstrap by which the node reports its progress.
type Phase struct {
	// Name of the phase, as the report shows it.
	Name string `json:"name"`
	// Steps in their order.
	Steps []Step `json:"steps"`
}

// ChannelKind is a way to send a report.
type ChannelKind string

// The channels: VMware's guestinfo variables, Azure's host agent (failures only), a serial port, an object of an API server.
const (
	ChannelGuestInfo ChannelKind = "guestinfo"
	ChannelAzure     ChannelKind = "azure"
	ChannelConsole   ChannelKind = "console"
	ChannelReplace   ChannelKind = "replace"
)

// Channel is one way to send a report, and where to.
type Channel struct {
	// Do is the kind of channel.
	Do ChannelKind `json:"do"`
	// Program of guestinfo: the tool that sets the variable.
	Program Value `json:"program,omitempty"`
	// Key of guestinfo: the variable.
	Key string `json:"key,omitempty"`
	// URL of azure: the host agent, to which only a failure is posted.
	URL string `json:"url,omitempty"`
	// Port of console: a serial port; empty means standard output.
	Port string `json:"port,omitempty"`
	// Argv of replace: a program that writes an object, and its arguments. The fact object is the file with the object, the fact
	// login the file to log in with.
	Argv []Value `json:"argv,omitempty"`
	// Logins of replace: those that are there are tried in their order until the program succeeds.
	Logins []Value `json:"logins,omitempty"`
	// Body of replace: the whole object. The fact report is the report.
	Body Tree `json:"body,omitempty"`
	// Erase of replace lists logins that are deleted after the last report. The last segment may have wildcards.
	Erase []Value `json:"erase,omitempty"`
}

// Encode writes the plan as JSON. Equal plans give equal bytes.
func (p *Plan) Encode() ([]byte, error) {
	copied := *p
	if copied.Phases == nil {
		copied.Phases = []Phase{} // a list also where it is empty: interpreters refuse null
	}
	data, err := json.Marshal(copied)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return data, nil
}

// String hides the plan: it holds the join token.
func (Plan) String() string { return "[hidden]" }

// GoString hides the plan.
func (Plan) GoString() string { return "[hidden]" }

// MarshalLog hides the plan.
func (Plan) MarshalLog() any { return "[hidden]" }
