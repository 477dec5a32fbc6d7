package step

import "github.com/capwin/cluster-api-provider-windows/bootstrap/plan"

// Restarts let Windows restart a service 10, 30 and then 60 s after it has failed, also when it has only ended with an error.
func Restarts(service, reason string) []plan.Step {
	return []plan.Step{
		Tool(service+"-restarts", reason, "sc.exe", "failure", service, "reset=", "900",
			"actions=", "restart/10000/restart/30000/restart/60000"),
		Tool(service+"-restarts-after-errors", reason, "sc.exe", "failureflag", service, "1"),
	}
}

// Tool runs a program of Windows that sets something.
func Tool(name, reason string, argv ...string) *plan.Run {
	return &plan.Run{
		Common: plan.Common{Name: name, Reason: reason, TimeoutSeconds: 60, Attempts: 3}, Argv: plan.Texts(argv...),
	}
}

// ServiceState starts, stops or restarts a service.
func ServiceState(name, reason, service, state string) *plan.ServiceState {
	return &plan.ServiceState{
		Common: plan.Common{Name: name, Reason: reason, TimeoutSeconds: 120, Attempts: 3}, Service: service, State: state,
	}
}
