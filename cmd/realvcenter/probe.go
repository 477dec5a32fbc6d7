package main

import (
	_ "embed"
	"fmt"

	"github.com/google/uuid"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

//go:embed probe.ps1
var probeScript string

//go:embed after.ps1
var afterScript string

// Where the guest's answers are.
const (
	probeKey = "guestinfo.capwin.probe"
	filesKey = "guestinfo.capwin.files"
)

const (
	probeFolder = `C:\run\capwin-probe`
	rpcTool     = `C:\Program Files\VMware\VMware Tools\rpctool.exe`
)

// probePlan is the user data of the VM: a plan for the product's own agent that joins no cluster. It asks Windows, makes a
// vSwitch, and asks again at each start. The canary is a secret of the plan.
func probePlan(run, canary string) ([]byte, error) {
	file := func(name, text string, secret bool) plan.Step {
		return &plan.File{
			Common: plan.Common{Name: name}, Path: plan.Text(probeFolder + `\` + name), Text: plan.Text(text), Access: plan.FileAdmin,
			Secret: secret,
		}
	}
	script := func(name string, seconds int) plan.Step {
		common := plan.Common{Name: "run-" + name, TimeoutSeconds: seconds, Optional: true}
		return step.Script(common, probeFolder+`\`+name, plan.Program{})
	}
	p := &plan.Plan{
		Version: plan.Version, DeadlineSeconds: 1800, Redact: []string{canary},
		Machine: plan.Machine{
			Namespace: "realvcenter", Name: nameOf(run, forAll), Node: nameOf(run, forAll), Cluster: "none",
			UID: uuid.NewSHA1(uuid.Nil, []byte(run)).String(),
		},
		Report: []plan.Channel{{Do: plan.ChannelGuestInfo, Program: plan.Text(rpcTool), Key: bootstrap.GuestInfoReportKey}},
		Phases: []plan.Phase{
			{Name: "probe", Steps: []plan.Step{
				&plan.Directory{Common: plan.Common{Name: "folder"}, Path: plan.Text(probeFolder), Access: plan.AccessAdmin},
				file("canary.txt", canary, true), file("probe.ps1", probeScript, false), file("after.ps1", afterScript, false),
				script("probe.ps1", 600),
			}},
			{Name: "network", Steps: []plan.Step{&plan.HNSNetwork{
				Common: plan.Common{Name: "vswitch", Optional: true},
				Request: plan.Tree{"Name": "External", "Type": "L2Bridge", "Subnets": []any{
					map[string]any{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"},
				}},
			}}},
		},
		EveryBoot: []plan.Phase{{Name: "boot", Steps: []plan.Step{script("after.ps1", 120)}}},
	}
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if _, err := plan.Decode(text); err != nil {
		return nil, fmt.Errorf("the plan of this program is not valid: %w", err)
	}
	return scripts.UserData(text), nil
}
