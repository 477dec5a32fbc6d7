package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// What concerns the plan as a whole.
func TestBadPlans(t *testing.T) {
	good := func() *plan.Plan { return decode(t, planOf(goodSteps["file with text"])) }
	secret := "abcdef.0123456789abcdef"
	file := func(text plan.Value, content []byte) plan.Step {
		return &plan.File{Common: plan.Common{Name: "f"}, Path: plan.Text(`C:\a`), Text: text, Content: content}
	}
	everyBoot := func(p *plan.Plan, step plan.Step) {
		p.Redact = []string{secret}
		p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{step}}}
	}
	for _, test := range []struct {
		name, want string
		change     func(*plan.Plan)
	}{
		{"version", "version 2 is not 1", func(p *plan.Plan) { p.Version = 2 }},
		{"of no machine", "machine must have uid, name and node", func(p *plan.Plan) { p.Machine.UID = "" }},
		{"negative deadline", "must not be negative", func(p *plan.Plan) { p.DeadlineSeconds = -1 }},
		{"short secret", "redact has a text of 3 characters", func(p *plan.Plan) { p.Redact = []string{"abc"} }},
		{"erase all", `erase "C:\\*\\a" must be a plain path`, func(p *plan.Plan) { p.Erase = plan.Texts(`C:\*\a`) }},
		{"logs", "logs: path", func(p *plan.Plan) { p.Logs = &plan.CollectLogs{} }},
		{"phase without name", `name "" must be letters`, func(p *plan.Plan) { p.Phases[0].Name = "" }},
		{"phase twice", `phase main: name "main" is there twice`, func(p *plan.Plan) { p.Phases = append(p.Phases, p.Phases[0]) }},
		{"step twice", `phase main, step s: name "s" is there twice`, func(p *plan.Plan) {
			p.Phases[0].Steps = append(p.Phases[0].Steps, p.Phases[0].Steps[0])
		}},
		{"odd channel", "channel 'mail' is unknown", func(p *plan.Plan) { p.Report = []plan.Channel{{Do: "mail"}} }},
		{"guestinfo without key", "guestinfo has program and key", func(p *plan.Plan) {
			p.Report = []plan.Channel{{Do: plan.ChannelGuestInfo, Program: plan.Text("rpctool.exe")}}
		}},
		{"azure with port", "azure has url", func(p *plan.Plan) {
			p.Report = []plan.Channel{{Do: plan.ChannelAzure, URL: "http://a", Port: "COM2"}}
		}},
		{"channel program", "report.program", func(p *plan.Plan) {
			p.Report = []plan.Channel{{Do: plan.ChannelGuestInfo, Program: plan.Text("rpctool"), Key: "k"}}
		}},
		{
			"secret at every boot", "holds a value of redact",
			func(p *plan.Plan) { everyBoot(p, file(plan.Text("token: "+secret), nil)) },
		},
		{"secret in base64", "holds a value of redact", func(p *plan.Plan) { everyBoot(p, file(nil, []byte("token: "+secret))) }},
		{"secret in two parts", "holds a value of redact", func(p *plan.Plan) {
			everyBoot(p, file(plan.Parts(plan.Text(secret[:9]), plan.Text(secret[9:])), nil))
		}},
		{"secret as a name", "holds a value of redact", func(p *plan.Plan) {
			everyBoot(p, &plan.Environment{Common: plan.Common{Name: "e"}, Variables: map[string]plan.Value{secret: plan.Text("")}})
		}},
		{
			"bad step at every boot", "phase boot, step r: if",
			func(p *plan.Plan) { everyBoot(p, &plan.Reboot{Common: plan.Common{Name: "r"}}) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := good()
			test.change(p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			} else if strings.Contains(err.Error(), secret) && test.name != "secret as a name" {
				t.Errorf("%q tells the secret", err)
			}
		})
	}
}

func TestGoodPlans(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		change       func(*plan.Plan)
	}{
		{"all channels", "a node may use several", func(p *plan.Plan) {
			p.Report = []plan.Channel{
				{Do: plan.ChannelGuestInfo, Program: plan.Text(`C:\Program Files\VMware\rpctool.exe`), Key: "k"},
				{Do: plan.ChannelAzure, URL: "http://168.63.129.16"},
				{Do: plan.ChannelConsole, Port: "COM2"},
				{Do: plan.ChannelConsole},
			}
		}},
		{"secret in a phase", "the plan is emptied when the bootstrap is over", func(p *plan.Plan) {
			p.Redact = []string{"0123456789"}
			p.Phases[0].Steps[0].(*plan.File).Text = plan.Text("0123456789")
			p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{&plan.SendReport{Common: plan.Common{Name: "r"}}}}}
		}},
		{"fact of an earlier step", "steps find facts", func(p *plan.Plan) {
			found := &plan.Fact{
				Common: plan.Common{Name: "find"}, Argv: plan.Texts("a.exe"), Match: "a", Set: "found", Say: plan.Text("it is lost"),
			}
			p.Phases = append([]plan.Phase{{Name: "first", Steps: []plan.Step{found}}}, p.Phases...)
			p.Phases[1].Steps[0].(*plan.File).Text = plan.FromFact("found")
		}},
		{"address of an HNS network", "it is a fact from then on, at every boot too", func(p *plan.Plan) {
			network := &plan.HNSNetwork{
				Common: plan.Common{Name: "n"}, Request: plan.Tree{"Name": "a", "Type": "b", "c": plan.FactLeaf("cpus")},
			}
			wait := &plan.WaitFor{
				Common: plan.Common{Name: "w"}, For: plan.ForAddress, Target: plan.FromFact(plan.FactManagementIP),
				Say: plan.Parts(plan.Text("Windows does not accept "), plan.FromFact(plan.FactManagementIP)),
			}
			p.Phases = []plan.Phase{{Name: "first", Steps: []plan.Step{network}}}
			p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{wait}}}
		}},
		{"nothing to do", "an emptied plan", func(p *plan.Plan) { p.Phases = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := decode(t, planOf(goodSteps["file with text"]))
			test.change(p)
			if err := p.Validate(); err != nil {
				t.Errorf("%v, though %s", err, test.reason)
			}
		})
	}
}

// All that is wrong must be told at once.
func TestValidateTellsAll(t *testing.T) {
	err := decode(t, planOf(`{"do":"reboot","name":"a","if":"x"}`, `{"do":"reboot","name":"b","if":"y"}`)).Validate()
	got := fmt.Sprint(err)
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "step a") || !strings.Contains(got, "step b") {
		t.Errorf("%q", got)
	}
}
