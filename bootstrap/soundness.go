package bootstrap

import (
	"fmt"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/windows"
)

// Limits outside of which a node warns.
const (
	windows23H2  = "25398" // Windows Server, version 23H2: the annual channel
	afterWindows = "26101"
	// hostProcessUpdate is the oldest update of Windows Server 2019 that image-builder accepts (packer/goss/goss-vars.yaml).
	hostProcessUpdate = "1817"
	// freshMonths is how long ago Windows may have had its last update: bootstraps install none, and it gets one every month.
	freshMonths = 6
)

// soundness warns of a machine that can join but that few people would want.
func soundness(now time.Time) []plan.Step {
	return append(knownWindows(), append(lastUpdate(now), windows.EnoughRoom("disk-free", "C", plan.FactDiskFreeMiB, nil))...)
}

func sound(name, reason string, condition *plan.Test) plan.Common {
	return plan.Common{Name: name, Reason: reason, Optional: true, When: condition}
}

// knownWindows warns of builds and editions that Kubernetes does not know, and updates that are too old for it.
func knownWindows() []plan.Step {
	build := func(name string, condition *plan.Test, wanted plan.Test, recommended string) plan.Step {
		wanted.Fact = plan.FactOSBuild
		return &plan.Check{
			Common: sound(name, step.ReasonWindowsNotSupported, condition), Test: wanted,
			Say: plan.Say("Windows has build ", plan.FactOSBuild, ", "+recommended),
		}
	}
	unreleased := &plan.Test{
		Fact: plan.FactOSBuild, AtLeast: plan.Text(step.Windows2022), IsNot: plan.Text(step.Windows2022),
		Below: plan.Text(step.Windows2025),
	}
	return []plan.Step{
		build("windows-2022-or-later", nil, plan.Test{AtLeast: plan.Text(step.Windows2022)},
			step.Windows2022+" (Windows Server 2022) or later is recommended"),
		build("windows-2025-or-earlier", nil, plan.Test{Below: plan.Text(afterWindows)},
			step.Windows2025+" (Windows Server 2025) or earlier is recommended"),
		build("windows-of-a-release", unreleased, plan.Test{Is: plan.Text(windows23H2)},
			"which is not a release of Windows Server; 20348 (2022), 25398 (23H2) and 26100 (2025) are"),
		&plan.Check{
			Common: sound("windows-2019-update", step.ReasonWindowsPatchLevelTooLow,
				&plan.Test{Fact: plan.FactOSBuild, Is: plan.Text(step.Windows2019)}),
			Test: plan.Test{Fact: plan.FactOSUBR, AtLeast: plan.Text(hostProcessUpdate)},
			Say: plan.Say("Windows has update 17763.", plan.FactOSUBR, ", HostProcess containers need 17763."+hostProcessUpdate+
				" or later"),
		},
		&plan.Fact{
			Common:   sound("windows-server", step.ReasonWindowsNotSupported, nil),
			Registry: &plan.RegistryText{Key: windowsVersion, ValueName: "InstallationType"}, Match: "^Server.*", Set: "windowsServer",
			Say: plan.Text("Windows does not report that it is a server; Kubernetes supports Windows Server only"),
		},
	}
}

const windowsVersion = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion`

// lastUpdate finds when Windows got its last update: every cumulative update writes a new kernel. curl shows the time of a file
// in the same words on every Windows (lib/file.c), which cmd.exe and forfiles.exe do not.
func lastUpdate(now time.Time) []plan.Step {
	kernel := plan.Texts("curl.exe", "--silent", "--head", "file:///C:/Windows/System32/ntoskrnl.exe")
	const header = `Last-Modified: [a-z]+, `
	common := func(name string, condition *plan.Test) plan.Common {
		c := sound(name, step.ReasonWindowsTooOld, condition)
		c.TimeoutSeconds, c.Attempts = 60, 2
		return c
	}
	shown := &plan.Fact{
		Common: common("windows-updated", nil), Argv: kernel, Match: header + `(\d+ [a-z]+ \d{4})`, Set: plan.FactUpdated,
		Say: plan.Text("Windows does not show when it got its last update"),
	}
	if now.IsZero() { // a plan for people, who read it at any time
		return []plan.Step{shown}
	}
	fresh := common("windows-fresh", &plan.Test{Fact: plan.FactUpdated, IsNot: plan.Text("")})
	fresh.Attempts = 0
	return []plan.Step{shown, &plan.Fact{
		Common: fresh, Argv: kernel, Match: header + `\d+ (` + strings.Join(months(now), "|") + `) `, Set: "windowsFresh",
		Say: plan.Say("Windows got its last update on ", plan.FactUpdated,
			fmt.Sprintf(", more than %d months ago; build a new image", freshMonths)),
	}}
}

// months in which an update is fresh, as "Sep 2026". One that the node gets before its bootstrap ends is so as well.
func months(now time.Time) []string {
	var names []string
	year, month, _ := now.UTC().Date()
	for ago := -1; ago <= freshMonths; ago++ {
		names = append(names, time.Date(year, month-time.Month(ago), 1, 0, 0, 0, 0, time.UTC).Format("Jan 2006"))
	}
	return names
}
