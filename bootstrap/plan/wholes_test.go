package plan_test

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Each half of what concerns a plan as a whole.
func TestPlansHalfByHalf(t *testing.T) {
	const negative, nameless = "-1 must be 0 to", "machine must have uid, name and node"
	for _, test := range []struct {
		want   string
		change func(*plan.Plan)
	}{
		{negative, func(p *plan.Plan) { p.DeadlineSeconds = -1 }},
		{negative, func(p *plan.Plan) { p.WaitSeconds = -1 }},
		{negative, func(p *plan.Plan) { p.MaxReboots = -1 }},
		{nameless, func(p *plan.Plan) { p.Machine.UID = "" }},
		{nameless, func(p *plan.Plan) { p.Machine.Name = "" }},
		{nameless, func(p *plan.Plan) { p.Machine.Node = "" }},
		{"7 characters", func(p *plan.Plan) { p.Redact = []string{"1234567"} }},
	} {
		p := decode(t, planOf(goodSteps["file with text"]))
		test.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	p := decode(t, planOf(goodSteps["file with text"]))
	p.Redact = []string{"12345678"}
	p.Report = []plan.Channel{{Do: "mail", Key: "k"}}
	if err := p.Validate(); err == nil || strings.Contains(err.Error(), "guestinfo has") || strings.Contains(err.Error(), "\n") {
		t.Errorf("an unknown channel has one problem: %v", err)
	}
}

// Secrets are found in lists of objects, and lists without them are no secrets.
func TestSecretsInLists(t *testing.T) {
	const secret = "0123456789"
	rule := func(remote string) plan.Step {
		return &plan.Address{
			Common: plan.Common{Name: "f"}, MAC: plan.Text("a"), Addresses: plan.Texts("10.0.0.5/24"),
			Routes: []plan.Hop{
				{To: plan.Text("10.0.0.0/8"), Via: plan.Text(remote)}, {To: plan.Text("10.1.0.0/16"), Via: plan.Text("10.0.0.3")},
			},
		}
	}
	for remote, found := range map[string]bool{"10.1.0.0/16": false, secret: true} {
		p := decode(t, planOf(goodSteps["file with text"]))
		p.Redact = []string{secret}
		p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{rule(remote)}}}
		if err := p.Validate(); found != (err != nil) {
			t.Errorf("%s: %v", remote, err)
		}
	}
}

// A report may have 16 KiB, and not a byte more.
func TestTheLargestReport(t *testing.T) {
	text := `{"version":1,"state":"Running"}`
	full := text + strings.Repeat(" ", plan.MaxReportBytes-len(text))
	expect.Got(plan.DecodeReport([]byte(full)))(t)
	if _, err := plan.DecodeReport([]byte(full + " ")); err == nil {
		t.Error("a report of a byte more is read")
	}
}
