package plan

import (
	"encoding/json"
	"fmt"
)

// MaxReportBytes is the most that an interpreter sends.
const MaxReportBytes = 16 << 10

// State is how far a bootstrap is.
type State string

// The states of a bootstrap, and of what runs at every boot (running, succeeded or failed).
const (
	StateRunning   State = "running"
	StateRebooting State = "rebooting"
	StateSucceeded State = "succeeded"
	StateFailed    State = "failed"
)

// Report is what a node tells of its bootstrap. It comes from a guest: a hint to show, never a fact to act upon.
type Report struct {
	Version int    `json:"version"`
	UID     string `json:"uid"`
	State   State  `json:"state"`
	// Reason and Message of a failure.
	Reason  string `json:"reason"`
	Message string `json:"message"`

	Phase ReportPhase `json:"phase"`
	Step  string      `json:"step"`
	// ExitCode of the program that failed.
	ExitCode int `json:"exitCode"`
	Reboots  int `json:"reboots"`
	// Elapsed seconds, down time not counted.
	Elapsed int `json:"elapsed"`
	// LastLines of the program that failed: at most 20 of 200 characters.
	LastLines []string `json:"lastLines"`
	Warnings  []string `json:"warnings"`
	// Durations of the phases that are over, in seconds.
	Durations map[string]int `json:"durations"`
	Facts     ReportFacts    `json:"facts"`
	// At is the node's clock: 20060102T150405Z.
	At string `json:"at"`
	// Boot is the result of what runs at every boot.
	Boot *ReportBoot `json:"boot,omitempty"`
}

// ReportPhase is where the node is: phase Index of Of, counted from 1.
type ReportPhase struct {
	Index int    `json:"index"`
	Of    int    `json:"of"`
	Name  string `json:"name"`
}

// ReportFacts is what the node is.
type ReportFacts struct {
	// OS is build and revision: 20348.2700.
	OS        string `json:"os"`
	MemoryMiB string `json:"memoryMiB"`
	CPUs      string `json:"cpus"`
}

// ReportBoot is the result of the last everyBoot.
type ReportBoot struct {
	State   State  `json:"state"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	At      string `json:"at"`
}

// DecodeReport reads a report. Fields that it does not know are left out: the node may be newer than we are.
func DecodeReport(data []byte) (*Report, error) {
	if len(data) > MaxReportBytes {
		return nil, fmt.Errorf("report has %d bytes, more than %d", len(data), MaxReportBytes)
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
