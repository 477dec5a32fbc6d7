package step

import "github.com/capwin/cluster-api-provider-windows/bootstrap/plan"

// Restarts let Windows restart a service 10, 30 and then 60 s after it has failed, also when it has only ended with an error.
func Restarts(service, reason string) []plan.Step {
	sc := func(name string, arguments ...string) plan.Step {
		return &plan.Run{
			Common: plan.Common{Name: service + name, Reason: reason, Attempts: 3, TimeoutSeconds: 60},
			Argv:   plan.Texts(append([]string{"sc.exe"}, arguments...)...),
		}
	}
	return []plan.Step{
		sc("-restarts", "failure", service, "reset=", "900", "actions=", "restart/10000/restart/30000/restart/60000"),
		sc("-restarts-after-errors", "failureflag", service, "1"),
	}
}
