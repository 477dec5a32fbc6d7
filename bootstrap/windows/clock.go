package windows

import (
	"net/netip"
	"regexp"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// hostName is a name in DNS, of one label or more.
const hostName = `[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*`

var (
	windowsZone = regexp.MustCompile(`^(UTC([+-][0-9]{2})?|Russia Time Zone [0-9]{1,2}|` +
		`[A-Z][A-Za-z. -]* Standard Time( \(Mexico\))?)$`)
	timeServer = regexp.MustCompile(`^` + hostName + `$`)
	// dotted is an IPv4 address, or a wrong one.
	dotted = regexp.MustCompile(`^[\d.]+$`)
)

// clock is the time zone and the time servers.
type clock struct {
	zone    string
	servers []string
}

func readClock(in Input) (setting, error) {
	c := clock{in.Spec.TimeZone, in.Spec.NTPServers}
	if c.zone != "" && !windowsZone.MatchString(c.zone) {
		return nil, step.Invalid(windowsField+".timeZone",
			"%q is not a time zone of Windows; use one such as UTC or W. Europe Standard Time (tzutil /l)", c.zone)
	}
	for _, server := range c.servers {
		if _, err := netip.ParseAddr(server); err != nil && (!timeServer.MatchString(server) || dotted.MatchString(server)) {
			return nil, step.Invalid(windowsField+".ntpServers",
				"%q is neither a name nor an address; use one such as time.example.com", server)
		}
	}
	return c, nil
}

func (c clock) addTo(p *step.Part) {
	if c.zone != "" {
		p.Add(step.PhaseWindows, step.Tool("time-zone", step.ReasonTimeFailed, "tzutil.exe", "/s", c.zone))
	}
	if len(c.servers) == 0 {
		return
	}
	peers := strings.Join(c.servers, ",0x8 ") + ",0x8" // 0x8: asked as a client
	p.Add(step.PhaseWindows,
		&plan.ServiceState{
			Common:  plan.Common{Name: "time-service-runs", Reason: step.ReasonTimeFailed, Attempts: 3},
			Service: "w32time", State: plan.ServiceRunning,
		},
		step.Tool("time-servers", step.ReasonTimeFailed, "w32tm.exe", "/config", "/manualpeerlist:"+peers, "/syncfromflags:manual",
			"/update"),
		step.Tool("time-asked", step.ReasonTimeFailed, "w32tm.exe", "/resync", "/nowait"),
		// By the network instead of by the domain: without a domain Windows would stop it soon after it has started.
		step.Tool("time-service", step.ReasonTimeFailed, "sc.exe", "config", "w32time", "start=", "auto"),
		step.Tool("time-service-triggers", step.ReasonTimeFailed, "sc.exe", "triggerinfo", "w32time", "start/networkon",
			"stop/networkoff"))
}

// clockRisks: a domain replaces the time servers of its members.
func clockRisks(spec bootstrapv1.Windows) []string {
	if len(spec.NTPServers) == 0 || spec.Domain == (bootstrapv1.Domain{}) {
		return nil
	}
	return []string{
		windowsField + ".ntpServers: a member of a domain takes its time from the domain, which replaces the list; remove it",
	}
}
