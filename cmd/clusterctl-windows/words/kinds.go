package words

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

func sayFile(s *plan.File) string {
	if s.Secret {
		// Its size would be that of the placeholders.
		return fmt.Sprintf("writes %s, with secrets%s", s.Path, access(plan.Access(s.Access)))
	}
	size := len(s.Content)
	if s.Text != nil {
		size = len(s.Text.String())
	}
	return fmt.Sprintf("writes %s, %d bytes%s", s.Path, size, access(plan.Access(s.Access)))
}

func sayDirectory(s *plan.Directory) string {
	content := ""
	if s.Whole {
		content = ", with all that is in it"
	}
	return "creates the folder " + s.Path.String() + access(s.Access) + content
}

func access(a plan.Access) string {
	switch a {
	case plan.AccessAdmin:
		return ", for SYSTEM and Administrators only"
	case plan.AccessGuarded:
		return ", in which Users may read but create nothing"
	}
	return ""
}

func sayRemove(s *plan.Remove) string {
	return "deletes " + values(append(append([]plan.Value{}, s.Paths...), s.Patterns...))
}

func sayReservations(s *plan.Reservations) string {
	var set []string
	for _, rule := range s.Rules {
		set = append(set, fmt.Sprintf("%s computed from <%s>", rule.Set, rule.Fact))
	}
	return fmt.Sprintf("writes %s%s, with %s", s.Path, access(plan.Access(s.Access)), strings.Join(set, ", "))
}

// defaultLogs is the limit in MiB for a step that sets none.
const defaultLogs = 10

func sayCollectLogs(s *plan.CollectLogs) string {
	return fmt.Sprintf("collects at most %d MiB of logs in %s, without secrets%s%s", cmp.Or(s.MaxMiB, defaultLogs), s.Path,
		clause(": ", values(s.Patterns)), clause("; events of ", strings.Join(s.Events, ", ")))
}

func sayRegistry(s *plan.Registry) string {
	name := cmp.Or(s.ValueName, "(default)")
	value := quoted(s.Value)
	if s.Type == plan.RegistryMultiString {
		value = values(s.Values)
	}
	return fmt.Sprintf("sets the registry value %s of %s to the %s %s", name, s.Key, cmp.Or(s.Type, plan.RegistryString), value)
}

func sayService(s *plan.Service) string {
	settings := string(cmp.Or(s.Start, plan.StartAuto)) + clause(", after ", values(s.DependsOn))
	return fmt.Sprintf("creates or changes the Windows service %s (start %s) to run %s", s.Service, settings, commandLine(s.Command))
}

var states = map[string]string{
	plan.ServiceRunning:   "starts the service %s if it does not run",
	plan.ServiceStopped:   "stops the service %s if it runs",
	plan.ServiceRestarted: "restarts the service %s",
}

func sayServiceState(s *plan.ServiceState) string {
	words, ok := states[s.State]
	if !ok {
		words = "sets the service %s to " + s.State
	}
	return fmt.Sprintf(words, s.Service)
}

func sayFeature(s *plan.Feature) string {
	return "installs the Windows features " + values(s.Features) + ", and reboots if they need it"
}

func sayReboot(s *plan.Reboot) string {
	if s.If == plan.RebootPending {
		return "reboots if Windows needs it"
	}
	return "reboots"
}

// sayLocalUser counts the keys, which are long; node.json has them in full.
func sayLocalUser(s *plan.LocalUser) string {
	keys := "SSH keys"
	if len(s.SSHKeys) == 1 {
		keys = "SSH key"
	}
	return fmt.Sprintf("creates the user %s with a random password%s, and with %d %s", s.User,
		clause(", in the groups ", values(s.Groups)), len(s.SSHKeys), keys)
}

func sayDefenderExclusions(s *plan.DefenderExclusions) string {
	return "excludes from Defender " + bothLists("the folders ", s.Folders, "the processes ", s.Processes)
}

// bothLists names two lists, or the one of them that is not empty.
func bothLists(first string, ofFirst []plan.Value, second string, ofSecond []plan.Value) string {
	named := clause(first, values(ofFirst))
	if len(ofFirst) > 0 && len(ofSecond) > 0 {
		named += " and "
	}
	return named + clause(second, values(ofSecond))
}

func sayAdapter(s *plan.Adapter) string {
	adapter := "the machine's only adapter, or that of the default route"
	if s.MAC != nil {
		adapter = "the adapter " + s.MAC.String()
	}
	if s.Set != "" {
		return "stores the name of " + adapter + " as <" + s.Set + ">"
	}
	return "renames " + adapter + " to " + s.Rename.String()
}

func sayAddress(s *plan.Address) string {
	var hops []string
	for _, hop := range s.Routes {
		hops = append(hops, fmt.Sprintf("%s via %s", hop.To, hop.Via))
	}
	mtu := ""
	if s.MTU != 0 {
		mtu = strconv.Itoa(s.MTU)
	}
	return fmt.Sprintf("gives the adapter %s the addresses %s", s.MAC, values(s.Addresses)) +
		clause(", gateways ", values(s.Gateways)) + clause(", DNS ", values(s.DNS)) +
		clause(", routes to ", strings.Join(hops, ", ")) + clause(", MTU ", mtu)
}

func sayRoute(s *plan.Route) string {
	return "routes " + values(s.Destinations) + " to the gateway of the default route"
}

func sayHNSNetwork(s *plan.HNSNetwork) string {
	if s.Wait {
		return fmt.Sprintf("waits for the HNS network %v, and stores its address as <%s>",
			leaf(s.Request["Name"]), plan.FactManagementIP)
	}
	return fmt.Sprintf("creates the HNS network %v of type %v if it does not exist, and stores its address as <%s>",
		leaf(s.Request["Name"]), leaf(s.Request["Type"]), plan.FactManagementIP)
}

func sayHNSEndpoint(s *plan.HNSEndpoint) string {
	return fmt.Sprintf("stores the address of the HNS endpoint %s as <%s>", s.Endpoint, s.Set)
}

// leaf shows a leaf of a tree; a fact is shown as in a Value.
func leaf(node any) any {
	if fact, ok := node.(map[string]any); ok && len(fact) == 1 && fact["fact"] != nil {
		return fmt.Sprintf("<%v>", fact["fact"])
	}
	return node
}

func sayHNSCleanup(s *plan.HNSCleanup) string {
	return "deletes " + bothLists("the HNS networks ", s.Networks, "the HNS endpoints ", s.Endpoints) +
		clause(", but keeps ", values(s.Keep))
}
