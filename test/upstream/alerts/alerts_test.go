// Package alerts runs the rules of config/monitoring on series of our own, with the engine that promtool and Prometheus have. It
// is a module of its own, so that the product's has no part of Prometheus' server.
package alerts

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

const rulesFile = "../../../config/monitoring/rules.yaml"

// story is what there was for a while, one value a minute from minute 0, and the alerts that fire at a minute, each as its name,
// its labels beside the severity, and its summary.
type story struct {
	series string
	minute int
	want   []string
}

// Both managers run. Stories that are about them replace these.
const managers = `
	capwin_build_info{controllers="infrastructure"} 1x600
	capwin_build_info{controllers="bootstrap"} 1x600`

const (
	infrastructureDown = "CapwinManagerDown{manager=infrastructure}: The infrastructure manager of Cluster API Provider Windows " +
		"does not run, or Prometheus cannot read its metrics."
	bootstrapDown = "CapwinManagerDown{manager=bootstrap}: The bootstrap manager of Cluster API Provider Windows does not run, " +
		"or Prometheus cannot read its metrics."
	unreachable = "CapwinAccountUnreachable{account=ns/vc, cloud=vsphere}: The vsphere account ns/vc gets no answer."
	notSynced   = "CapwinAccountNotSynced{account=ns/vc, cloud=vsphere}: The vsphere account ns/vc answers, but does " +
		"not tell of changes."
	refused = "CapwinSessionsRefused{cloud=vsphere}: A vsphere server answers, but opens no session for an account."
)

// counter is a series that begins at 0, as one does that was seen before, and grows so much a minute.
func counter(series, each string) string { return "\n\t" + series + " 0+" + each + "x600" }

func calls(method, outcome, each string) string {
	const series = `capwin_cloud_call_duration_seconds_count{cloud="vsphere",method=%q,outcome=%q}`
	return counter(fmt.Sprintf(series, method, outcome), each)
}

func inAzure(series string) string { return strings.ReplaceAll(series, "vsphere", "azure") }

// logins are the calls that open sessions, as values.
func logins(outcome, values string) string {
	const series = "\n\tcapwin_cloud_call_duration_seconds_count{cloud=\"vsphere\",method=\"Login\",outcome=%q} %s"
	return fmt.Sprintf(series, outcome, values)
}

func account(metric, values string) string {
	return fmt.Sprintf("\n\tcapwin_cloud_account_%s{cloud=\"vsphere\",account=\"ns/vc\"} %s", metric, values)
}

// created are VMs that took 10 and 40 minutes, so many of each a minute.
func created(fast, slow int) string {
	var all string
	for bound, each := range map[string]int{"300": 0, "900": fast, "1800": fast, "3600": fast + slow, "+Inf": fast + slow} {
		all += counter(fmt.Sprintf(`capwin_vm_creation_duration_seconds_bucket{cloud="vsphere",le=%q}`, bound), fmt.Sprint(each))
	}
	return all
}

func notReady(reason string, from int) string {
	return fmt.Sprintf("\n\tcapwin_machine_not_ready_seconds{reason=%q} %d+60x600", reason, from*60)
}

var stories = map[string]story{
	"all is well": {
		managers + account("broken", "0x600") + account("synced", "1x600") + account("sessions", "1x600") +
			account("heard_timestamp_seconds", "0+60x600") + calls("Login", "ok", "1") + calls("CloneVM_Task", "ok", "3") +
			counter(`capwin_bootstrap_failures_total{reason="JoinFailed"}`, "0") + created(10, 1) +
			"\n\t" + `capwin_machines{phase="Running",reason="Running"} 50x600`,
		120, nil,
	},
	"one manager runs both": {`capwin_build_info{controllers="infrastructure,bootstrap"} 1x600`, 60, nil},
	"no manager runs":       {`other 1x600`, 11, []string{bootstrapDown, infrastructureDown}},
	"a manager is upgraded": {`capwin_build_info{controllers="bootstrap"} 1x600
	capwin_build_info{controllers="infrastructure",version="v1"} 1x20 _x5 stale
	capwin_build_info{controllers="infrastructure",version="v2"} _x29 1x600`, 29, nil},
	"a manager is gone": {`capwin_build_info{controllers="bootstrap"} 1x600
	capwin_build_info{controllers="infrastructure"} 1x20 stale`, 32, []string{infrastructureDown}},

	"an account is broken for 4 minutes": {managers + account("broken", "0x10 1x4 0x600"), 14, nil},
	"an account is broken":               {managers + account("broken", "0x10 1x600"), 17, []string{unreachable}},
	"an account that never had an answer": {
		managers + account("heard_timestamp_seconds", "0x600") + account("broken", "0x600"), 17, []string{unreachable},
	},
	"an account that is heard every 4 minutes": {
		managers + account("heard_timestamp_seconds", "0 0 0 0 240 240 240 240 480 480 480 480 720 720 720 720 960 960"),
		17, nil,
	},
	"an account that is healed": {managers + account("broken", "1x20 0x600"), 22, nil},
	"an account that polls":     {managers + account("broken", "0x600") + account("synced", "0x600"), 16, []string{notSynced}},
	"an account that begins":    {managers + account("broken", "0x600") + account("synced", "0x10 1x600"), 16, nil},
	"a broken account does not poll as well": {
		managers + account("broken", "1x600") + account("synced", "0x600"), 30, []string{unreachable},
	},

	"a wrong password": {managers + calls("Login", "denied", "0.2"), 20, []string{
		"CapwinCredentialsRejected{cloud=vsphere, method=Login}: The credentials of an account are rejected in vsphere.",
	}},
	"a client secret that has expired": {managers + inAzure(calls("Login", "denied", "0.2")), 20, []string{
		"CapwinCredentialsRejected{cloud=azure, method=Login}: The credentials of an account are rejected in azure.",
	}},
	"Entra ID gives no tokens":                {managers + inAzure(calls("Login", "transient", "1")), 20, nil},
	"a call that Azure's role does not allow": {managers + inAzure(calls("PutVM", "denied", "1")), 30, nil},
	"another certificate": {managers + calls("RetrieveServiceContent", "denied", "0.2"), 20, []string{
		"CapwinCredentialsRejected{cloud=vsphere, method=RetrieveServiceContent}: The certificate of a vsphere server is not the " +
			"one that its Secret trusts.",
	}},
	"a Secret that is missing": {
		managers + "\n\t" + `capwin_machines{phase="Pending",reason="CredentialsMissing"} 2x600`, 5, []string{
			"CapwinCredentialsRejected{reason=CredentialsMissing}: Machines wait for credentials: CredentialsMissing.",
		},
	},
	"a password that was corrected":       {managers + logins("denied", "0 1 2 2x600"), 30, nil},
	"a call that the role does not allow": {managers + calls("CloneVM_Task", "denied", "1"), 30, nil},
	"sessions are refused":                {managers + calls("Login", "transient", "1"), 20, []string{refused}},
	"a vCenter that starts":               {managers + logins("transient", "0x10 1x600"), 20, nil},
	"a server that is away":               {managers + calls("RetrieveServiceContent", "transient", "2"), 20, nil},
	"a manager that stops":                {managers + calls("Login", "canceled", "2"), 20, nil},

	"a machine waits": {managers + notReady("Provisioning", 0), 59, nil},
	"a machine waits for long": {managers + notReady("WaitingForLinuxNode", 10), 60, []string{
		"CapwinMachineNotReady{reason=WaitingForLinuxNode}: A Windows machine has not been Ready for 1h 10m 0s; the reason is " +
			"WaitingForLinuxNode.",
	}},
	"two reasons": {managers + notReady("Provisioning", 30) + notReady("CapacityExhausted", 600), 20, []string{
		"CapwinMachineNotReady{reason=CapacityExhausted}: A Windows machine has not been Ready for 10h 20m 0s; the reason is " +
			"CapacityExhausted.",
	}},
	"a machine that does not go": {managers + notReady("Deleting", 10), 60, []string{
		"CapwinMachineNotDeleted{reason=Deleting}: A Windows machine was deleted 1h 10m 0s ago and is still there.",
	}},
	"machines fail one after the other": {
		managers + counter(`capwin_bootstrap_failures_total{reason="ApiServerUnreachable"}`, "0.1"), 90, []string{
			"CapwinBootstrapsFail{reason=ApiServerUnreachable}: Windows machines fail to become nodes one after the other; the reason " +
				"is ApiServerUnreachable.",
		},
	},
	"one machine fails": {managers + "\n\t" + `capwin_bootstrap_failures_total{reason="GuestSilent"} 0x10 1x600`, 30, nil},

	"VMs are made slowly": {managers + created(1, 1), 90, []string{
		"CapwinVMCreationSlow{cloud=vsphere}: A VM in vsphere takes 54m 0s from its user data to its start.",
	}},
	"one VM of twenty is made slowly": {managers + created(19, 1), 90, nil},
	"no VM is made":                   {managers + created(0, 0), 90, nil},

	"clocks": {managers + "\n\tcapwin_clock_skew_seconds{pod=\"a\"} 2x600\n\tcapwin_clock_skew_seconds{pod=\"b\"} -90x600", 10, []string{
		"CapwinClockSkew{}: The clock of a manager differs by 1m 30s from that of the management cluster's API server.",
	}},
	"clocks that agree": {managers + "\n\tcapwin_clock_skew_seconds -9x600", 10, nil},
	"orphans": {managers + "\n\t" + `capwin_orphan_vms{cluster_name="ns/prod"} 0x5 3x600`, 25, []string{
		"CapwinOrphanVMs{cluster_name=ns/prod}: Cluster ns/prod has 3 VMs that no machine has.",
	}},
	"what VMs left": {managers + "\n\t" + `capwin_orphan_resources{cluster_name="ns/prod"} 0x5 3x600`, 25, []string{
		"CapwinOrphanResources{cluster_name=ns/prod}: Cluster ns/prod has 3 disks, network interfaces or public IP addresses that " +
			"no machine has.",
	}},
	"pods that land": {
		managers + "\n\t" + `capwin_placement_findings{cluster_name="ns/prod",problem="PodsLand"} 0x5 3x600`, 25, []string{
			"CapwinPlacementFindings{cluster_name=ns/prod, problem=PodsLand}: Cluster ns/prod has 3 findings about where its pods go; " +
				"the problem is PodsLand.",
		},
	},
	"policies that an API server does not have": {
		managers + "\n\t" + `capwin_placement_findings{cluster_name="ns/prod",problem="PoliciesIncomplete"} 1x600`, 90, nil,
	},
	"pods that land no more": {
		managers + "\n\t" + `capwin_placement_findings{cluster_name="ns/prod",problem="PodsLand"} 1x10 stale`, 25, nil,
	},
	"a disk that is removed":    {managers + "\n\t" + `capwin_orphan_resources{cluster_name="ns/prod"} 1x10 stale`, 25, nil},
	"an orphan that is removed": {managers + "\n\t" + `capwin_orphan_vms{cluster_name="ns/prod"} 1x10 stale`, 25, nil},
}

func TestAlerts(t *testing.T) {
	file := groupsOf(t)
	fired := map[string]bool{}
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			got := firing(t, file, c)
			for _, alert := range got {
				fired[alert[:strings.IndexByte(alert, '{')]] = true
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("alerts at minute %d (-want +got):\n%s", c.minute, diff)
			}
		})
	}
	for _, rule := range load(t, file, nil) {
		if !fired[rule.Name()] {
			t.Errorf("no story lets %s fire", rule.Name())
		}
	}
}

// groupsOf writes the part of the PrometheusRule that Prometheus Operator gives to Prometheus.
func groupsOf(t *testing.T) string {
	t.Helper()
	var resource struct {
		Spec any `json:"spec"`
	}
	content, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &struct {
		APIVersion, Kind string
		Metadata         any
		Spec             *any
	}{Spec: &resource.Spec}); err != nil {
		t.Fatal(err)
	}
	groups, err := yaml.Marshal(resource.Spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, groups, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// load returns the alerting rules, which ask the engine of a suite.
func load(t *testing.T, file string, suite *promqltest.LazyLoader) []*rules.AlertingRule {
	t.Helper()
	options := &rules.ManagerOptions{
		Context: context.Background(), Logger: promslog.NewNopLogger(), Parser: parser.NewParser(parser.Options{}),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	}
	if suite != nil {
		options.QueryFunc, options.Appendable = rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), suite.Storage()
	}
	groups, errs := rules.NewManager(options).LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var all []*rules.AlertingRule
	for _, group := range groups {
		for _, rule := range group.Rules() {
			alert := rule.(*rules.AlertingRule)
			alert.SetRestored(true)
			all = append(all, alert)
		}
	}
	return all
}

// firing runs the rules once a minute and returns what fires at the minute of the story.
func firing(t *testing.T, file string, c story) []string {
	t.Helper()
	suite, err := promqltest.NewLazyLoader("load 1m\n\t"+strings.TrimLeft(c.series, "\n\t"), promqltest.LazyLoaderOpts{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = suite.Close() }()
	all := load(t, file, suite)
	query := rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage())
	for minute := range c.minute + 1 {
		at := time.Unix(0, 0).Add(time.Duration(minute) * time.Minute)
		suite.WithSamplesTill(at, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range all {
				if _, err := rule.Eval(suite.Context(), 0, at, query, &url.URL{}, 0); err != nil {
					t.Fatalf("%s at minute %d: %v", rule.Name(), minute, err)
				}
			}
		})
	}
	return shown(all)
}

func shown(all []*rules.AlertingRule) []string {
	var found []string
	for _, rule := range all {
		for _, alert := range rule.ActiveAlerts() {
			if alert.State != rules.StateFiring {
				continue
			}
			told := strings.ReplaceAll(alert.Labels.MatchLabels(false, labels.AlertName, "severity").String(), `"`, "")
			found = append(found, fmt.Sprintf("%s%s: %s", rule.Name(), told, alert.Annotations.Get("summary")))
		}
	}
	slices.Sort(found)
	return found
}
