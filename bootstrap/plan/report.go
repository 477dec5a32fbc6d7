package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Mark begins the one line that a guest tells Azure's host agent of its failed bootstrap: UID, phase, step, reason, exit code and
// message follow, with bars between them.
const Mark = "capwin1|"

// MaxReportBytes bounds a report.
const MaxReportBytes = 16 << 10

// State is how far a bootstrap is.
type State string

// The states of a bootstrap. What runs at every boot is never rebooting.
const (
	StateRunning   State = "Running"
	StateRebooting State = "Rebooting"
	StateSucceeded State = "Succeeded"
	StateFailed    State = "Failed"
)

// Report is what a node reports of its bootstrap, in ASCII and at most 16 KiB. A guest wrote it: show it as a hint, and never
// act on it as a fact.
type Report struct {
	// Version of the language: 1.
	Version int `json:"version"`
	// UID of the machine whose plan this is.
	UID string `json:"uid"`
	// State of the bootstrap.
	State State `json:"state"`
	// Reason of a failure.
	Reason string `json:"reason"`
	// Message of a failure, at most 1000 characters.
	Message string `json:"message"`

	// Phase is where the node is.
	Phase ReportPhase `json:"phase"`
	// Step that is running, or that has failed.
	Step string `json:"step"`
	// ExitCode of the program that failed.
	ExitCode int `json:"exitCode"`
	// Reboots that steps asked for.
	Reboots int `json:"reboots"`
	// Elapsed seconds, down time not counted.
	Elapsed int `json:"elapsed"`
	// LastLines of the program that failed: at most 20 of 200 characters.
	LastLines []string `json:"lastLines"`
	// Warnings, each once: at most 20 of 300 characters.
	Warnings []string `json:"warnings"`
	// Durations of the phases that have ended, in seconds.
	Durations map[string]int `json:"durations"`
	// Facts of the machine.
	Facts ReportFacts `json:"facts"`
	// At is the node's clock: 20060102T150405Z.
	At string `json:"at"`
	// Boot is the result of what runs at every boot, and a failure of what runs in the background.
	Boot *ReportBoot `json:"boot,omitempty"`
}

// ReportPhase is where the node is: phase Index of Of, counted from 1.
type ReportPhase struct {
	// Index of the phase, from 1.
	Index int `json:"index"`
	// Of is the number of phases.
	Of int `json:"of"`
	// Name of the phase.
	Name string `json:"name"`
}

// ReportFacts is what the node is.
type ReportFacts struct {
	// OS is build and revision: 20348.2700.
	OS string `json:"os"`
	// MemoryMiB of the machine.
	MemoryMiB string `json:"memoryMiB"`
	// CPUs are logical processors.
	CPUs string `json:"cpus"`
	// Updated is the day of the last update, 18 Sep 2026; empty until a step has found it.
	Updated string `json:"updated"`
}

// ReportBoot is the result of the last start: of everyBoot and of what has failed for long in the background.
type ReportBoot struct {
	// State of the start, which is never rebooting.
	State State `json:"state"`
	// Reason of a failure.
	Reason string `json:"reason"`
	// Message of a failure, with the name of its step.
	Message string `json:"message"`
	// At is the node's clock.
	At string `json:"at"`
}

// DecodeReport reads a report. It ignores unknown fields, because the node may be newer than we are.
func DecodeReport(data []byte) (*Report, error) {
	if len(data) > MaxReportBytes {
		return nil, fmt.Errorf("report has %d bytes, more than %d", len(data), MaxReportBytes)
	}
	if marked, ok := strings.CutPrefix(string(data), Mark); ok {
		return decodeMarked(marked)
	}
	var report Report
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if report.Version != Version {
		return nil, fmt.Errorf("report version %d is not %d", report.Version, Version)
	}
	switch report.State {
	case StateRunning, StateRebooting, StateSucceeded, StateFailed:
		return &report, nil
	}
	return nil, fmt.Errorf("report state %q is not known", report.State)
}

// decodeMarked reads what follows a Mark. The message may have bars and end early.
func decodeMarked(text string) (*Report, error) {
	parts := strings.SplitN(text, "|", 6)
	if len(parts) < 6 {
		return nil, fmt.Errorf("report has %d parts behind its mark, want 6", len(parts))
	}
	exitCode, err := strconv.Atoi(parts[4])
	if err != nil {
		return nil, fmt.Errorf("read exit code of report: %w", err)
	}
	return &Report{
		Version: Version, UID: parts[0], State: StateFailed, Phase: ReportPhase{Name: parts[1]}, Step: parts[2], Reason: parts[3],
		ExitCode: exitCode, Message: parts[5],
	}, nil
}
