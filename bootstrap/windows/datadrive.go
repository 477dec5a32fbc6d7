package windows

import (
	_ "embed" // for the script
	"regexp"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const driveScriptFile = step.OwnDirectory + `\data-drive.ps1`

// driveScript is the same for all machines; the letter is in its environment.
//
//go:embed datadrive.ps1
var driveScript string

var driveLetter = regexp.MustCompile(`^[D-Z]$`)

// dataDrive is the drive beside C:; it has no letter if there is none.
type dataDrive struct {
	letter bootstrapv1.DriveLetter
	// made: an empty disk may become it.
	made bool
}

func readDataDrive(in Input) (setting, error) {
	const field = windowsField + ".dataDrive"
	wanted := in.Spec.DataDrive
	switch {
	case wanted == bootstrapv1.DataDrive{}:
		return dataDrive{}, nil
	case !driveLetter.MatchString(string(wanted.Letter)):
		return nil, step.Invalid(field+".letter", "%q is not the letter of another drive than C:; use D to Z", wanted.Letter)
	}
	made, err := step.Choose(field+".format", wanted.Format, false, formats)
	return dataDrive{wanted.Letter, made}, err
}

// formats report whether the drive may be made.
var formats = map[bootstrapv1.DataDriveFormat]bool{bootstrapv1.DataDriveNever: false, bootstrapv1.DataDriveIfEmpty: true}

// dataFolder is that of containerd on the data drive.
func dataFolder(drive bootstrapv1.DriveLetter) string {
	if drive == "" {
		return ""
	}
	return string(drive) + `:\containerd`
}

// ContainerdRoot is where containerd keeps images and containers on the data drive; empty if there is none.
func ContainerdRoot(drive bootstrapv1.DataDrive) string {
	if folder := dataFolder(drive.Letter); folder != "" {
		return folder + `\root`
	}
	return ""
}

// addTo comes before all that uses the drive. The script keeps the id of its disk in the bootstrap's own folder, which each
// bootstrap makes anew: an image may have been made of a node. Windows lets users make folders on it, so containerd's belongs
// to administrators before it is used, as containerd itself would make it (CreateTopLevelDirectories of its
// cmd/containerd/server/server.go).
func (d dataDrive) addTo(p *step.Part) {
	if d.letter == "" {
		return
	}
	pause, environment := 15, map[string]plan.Value{"CAPWIN_DRIVE": plan.Text(string(d.letter))}
	if d.made {
		environment["CAPWIN_FORMAT"] = plan.Text(string(bootstrapv1.DataDriveIfEmpty))
	}
	p.Add(step.PhaseWindows,
		step.PrivateFile("data-drive-script", step.ReasonDataDriveFailed, driveScriptFile, []byte(scripts.Bare(driveScript))),
		step.Script(plan.Common{
			Name: "data-drive", Reason: step.ReasonDataDriveFailed, TimeoutSeconds: 300, Attempts: 3, DelaySeconds: &pause,
		}, driveScriptFile, plan.Program{Environment: environment}),
		step.Directory("data-folder", dataFolder(d.letter), plan.AccessAdmin))
	p.Add(step.PhaseWindows, d.spaceWarning()...)
}

// spaceWarning warns of a drive that soon is full. The script, which finds the drive this time, reports what is free on it.
func (d dataDrive) spaceWarning() []plan.Step {
	const free = "dataDriveFreeMiB"
	letter := string(d.letter)
	return []plan.Step{
		&plan.Fact{
			Common: plan.Common{
				Name: "data-drive-size", Reason: step.ReasonMachineTooSmall, Optional: true, TimeoutSeconds: 60, Attempts: 2,
			},
			Argv: plan.Texts(step.PowerShell, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", driveScriptFile,
				letter),
			Match: `free (\d+) MiB`, Set: free,
			Say: plan.Text("Windows does not show how much is free on drive " + letter + ":"),
		},
		EnoughRoom("data-drive-free", letter, free, &plan.Test{Fact: free, IsNot: plan.Text("")}),
	}
}

// fullDiskMiB are 100 GB: images of Windows and their layers are large, and the kubelet evicts at 10 to 15 percent.
const fullDiskMiB = "95367"

// EnoughRoom warns of a drive with less space, which the fact free has measured.
func EnoughRoom(name, letter, free string, condition *plan.Test) plan.Step {
	return &plan.Check{
		Common: plan.Common{Name: name, Reason: step.ReasonMachineTooSmall, Optional: true, When: condition},
		Test:   plan.Test{Fact: free, AtLeast: plan.Text(fullDiskMiB)},
		Say:    plan.Say("disk "+letter+": has ", free, " MiB free, "+fullDiskMiB+" MiB (100 GB) or more are recommended"),
	}
}
