package vectors

import "github.com/capwin/cluster-api-provider-windows/bootstrap/plan"

// Expectation is what a vector says of the end.
type Expectation struct {
	State      string            `json:"state"`
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	ExitCode   int               `json:"exitCode"`
	Reboots    int               `json:"reboots"`
	Phase      plan.ReportPhase  `json:"phase"`
	Step       string            `json:"step"`
	Elapsed    int               `json:"elapsed"`
	LastLines  []string          `json:"lastLines"`
	Warnings   []string          `json:"warnings"`
	Sentinel   bool              `json:"sentinel"`
	Effects    []string          `json:"effects"`
	Facts      map[string]string `json:"facts"`
	Durations  map[string]int    `json:"durations"`
	Boot       *plan.ReportBoot  `json:"boot"`
	JSON       map[string]any    `json:"json"`
	Gone       []string          `json:"gone"`
	Exists     []string          `json:"exists"`
	KeepsSteps bool              `json:"keepsSteps"`

	ReportFacts *plan.ReportFacts `json:"reportFacts"`
}
