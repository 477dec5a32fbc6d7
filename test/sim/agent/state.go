package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// head is what can be read even of a plan that is not understood: whose it is, where to report, what to hide and erase.
type head struct {
	Version         json.RawMessage
	Machine         plan.Machine
	DeadlineSeconds int
	Report          []plan.Channel
	Redact          []string
	Erase           []plan.Value
	Ended           bool
	Logs            *plan.CollectLogs
	EveryBoot       json.RawMessage
	Background      json.RawMessage
}

func readHead(text []byte) head {
	var fields map[string]json.RawMessage
	read := head{Version: json.RawMessage("null")}
	if !plan.Readable(text) || json.Unmarshal(text, &fields) != nil {
		return read
	}
	for name, into := range map[string]any{
		"machine": &read.Machine, "deadlineSeconds": &read.DeadlineSeconds, "report": &read.Report, "redact": &read.Redact,
		"erase": &read.Erase, "logs": &read.Logs, "ended": &read.Ended,
	} {
		if field := fields[name]; field != nil {
			_ = json.Unmarshal(field, into) // Decode tells what is wrong; this takes what can be read
		}
	}
	if fields["version"] != nil {
		read.Version = fields["version"]
	}
	read.EveryBoot, read.Background = fields["everyBoot"], fields["background"]
	return read
}

// keepsEveryBoot says that there is at least one phase for later boots.
func (h head) keepsEveryBoot() bool { return hasPhase(h.EveryBoot) }

func hasPhase(phases json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(phases, &list) == nil && len(list) > 0
}

// kept is the plan after the bootstrap.
type kept struct {
	Version         json.RawMessage `json:"version"`
	Machine         plan.Machine    `json:"machine"`
	Report          []plan.Channel  `json:"report"`
	Erase           []plan.Value    `json:"erase"`
	Phases          []string        `json:"phases"`
	Ended           bool            `json:"ended"`
	DeadlineSeconds int             `json:"deadlineSeconds,omitempty"`
	EveryBoot       json.RawMessage `json:"everyBoot,omitempty"`
	Background      json.RawMessage `json:"background,omitempty"`
}

// state is state.json: how far the bootstrap is, so that another life of the agent can go on.
type state struct {
	Version      int               `json:"version"`
	UID          string            `json:"uid"`
	State        plan.State        `json:"state"`
	Reason       string            `json:"reason"`
	Message      string            `json:"message"`
	ExitCode     int               `json:"exitCode"`
	LastLines    []string          `json:"lastLines"`
	Warnings     []string          `json:"warnings"`
	Phase        int               `json:"phase"`
	Phases       int               `json:"phases"`
	PhaseName    string            `json:"phaseName"`
	Step         int               `json:"step"`
	StepName     string            `json:"stepName"`
	Attempts     int               `json:"attempts"` // failed ones of the step
	Tries        int               `json:"tries"`    // begun ones, those that were cut short included
	Reboots      int               `json:"reboots"`
	Elapsed      int               `json:"elapsed"`
	PhaseElapsed int               `json:"phaseElapsed"`
	Durations    map[string]int    `json:"durations"`
	Facts        map[string]string `json:"facts"`
	SMBIOS       string            `json:"smbios"`
	Machine      map[string]string `json:"machine"` // what Windows told last of the machine
	Boot         *plan.ReportBoot  `json:"boot,omitempty"`
}

func (s *state) over() bool { return s.State == plan.StateSucceeded || s.State == plan.StateFailed }

// forBoot is a copy in which everyBoot counts from its beginning.
func (s *state) forBoot(phases int, boot *plan.ReportBoot) *state {
	other := *s
	other.Phase, other.Step, other.Attempts, other.Tries, other.PhaseElapsed = 0, 0, 0, 0, 0
	other.Phases, other.Durations, other.Boot = phases, map[string]int{}, boot
	other.Facts, other.Warnings = maps.Clone(s.Facts), slices.Clone(s.Warnings)
	return &other
}

// readState takes the state of this plan, or begins. What cannot be read is not missing. How a bootstrap has ended was in the
// state: to begin again with the emptied plan would tell of a success.
func (r *run) readState() (*state, error) {
	uid := r.head.Machine.UID
	text, err := r.machine.ReadFile(Root + `\state.json`)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	found := newState("")
	if err == nil && json.Unmarshal(text, found) == nil && found.UID == uid {
		return found, nil
	}
	if r.head.Ended {
		return nil, errors.New("the plan has been carried out, and its state is lost")
	}
	return newState(uid), nil
}

func newState(uid string) *state {
	return &state{
		Version: 1, UID: uid, State: plan.StateRunning, LastLines: []string{}, Warnings: []string{},
		Durations: map[string]int{}, Facts: map[string]string{}, Machine: map[string]string{},
	}
}

// save writes the state of the bootstrap; everyBoot writes only its result.
func (r *run) save() error {
	if r.boot != nil {
		return nil
	}
	r.state.Elapsed = r.elapsed()
	return r.write()
}

func (r *run) write() error {
	text, err := json.Marshal(r.state)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return r.machine.Keep(Root+`\state.json`, text)
}

// elapsed counts the time that the agent has run, by a clock that nothing can set.
func (r *run) elapsed() int {
	return r.startElapsed + int(r.machine.Clock.Now().Sub(r.started)/time.Second)
}

func (r *run) deadline() int { return orElse(r.head.DeadlineSeconds, 1800) }

func (r *run) checkDeadline() error {
	if !r.works() || r.elapsed() < r.deadline() {
		return nil
	}
	message := fmt.Sprintf("the deadline of %d s has passed", r.deadline())
	return &failure{reason: "BootstrapTimeout", message: message, final: true}
}

func (r *run) stamp() string { return r.machine.Clock.Now().UTC().Format("20060102T150405Z") }

// findFacts asks the machine, which may not answer right after a boot, and adds what steps have found.
func (r *run) findFacts(ctx context.Context) error {
	for try := 1; ; try++ {
		err := r.aside(ctx, 60, func() error {
			facts, err := r.machine.Facts()
			if err == nil {
				r.facts, r.state.Machine = facts, maps.Clone(facts)
			}
			return err
		})
		if err == nil {
			maps.Copy(r.facts, r.state.Facts)
			return nil
		}
		if try == 5 {
			return &failure{reason: "FactsUnavailable", message: "facts: " + err.Error(), final: true}
		}
		if err := r.machine.Clock.Sleep(ctx, 5*time.Second); err != nil {
			return err
		}
	}
}

func (r *run) setFact(name, value string) {
	r.facts[name] = value
	r.state.Facts[name] = value
}

// otherMachine says that the disk was copied: the plan is not meant for this machine, and the loader will bring the right one. It
// logs that once in a life of the agent.
func (r *run) otherMachine() bool {
	if !r.copied && r.state.SMBIOS != r.facts[plan.FactSMBIOS] {
		r.copied = true
		r.log("the disk of another machine")
	}
	return r.copied
}
