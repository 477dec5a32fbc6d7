package windows

import (
	_ "embed" // for the script
	"regexp"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
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
	format bootstrapv1.DataDriveFormat
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
	format, err := step.Choose(field+".format", wanted.Format, bootstrapv1.DataDriveNever, formats)
	return dataDrive{wanted.Letter, format}, err
}

var formats = map[bootstrapv1.DataDriveFormat]bootstrapv1.DataDriveFormat{
	bootstrapv1.DataDriveNever: bootstrapv1.DataDriveNever, bootstrapv1.DataDriveIfEmpty: bootstrapv1.DataDriveIfEmpty,
}

// dataFolder is that of containerd on the data drive.
func dataFolder(drive bootstrapv1.DataDrive) string {
	if drive.Letter == "" {
		return ""
	}
	return string(drive.Letter) + `:\containerd`
}

// ContainerdRoot is where containerd keeps images and containers on the data drive; empty if there is none.
func ContainerdRoot(drive bootstrapv1.DataDrive) string {
	if folder := dataFolder(drive); folder != "" {
		return folder + `\root`
	}
	return ""
}

// addTo comes before all that uses the drive. Windows lets users make folders on it, so containerd's belongs to administrators
// before it is used, as containerd itself would make it (CreateTopLevelDirectories of its cmd/containerd/server/server.go).
func (d dataDrive) addTo(p *step.Part) {
	if d.letter == "" {
		return
	}
	pause, environment := 15, map[string]plan.Value{"CAPWIN_DRIVE": plan.Text(string(d.letter))}
	if d.format == bootstrapv1.DataDriveIfEmpty {
		environment["CAPWIN_FORMAT"] = plan.Text(string(d.format))
	}
	p.Add(step.PhaseWindows,
		step.PrivateFile("data-drive-script", step.ReasonDataDriveFailed, driveScriptFile, []byte(driveScript)),
		&plan.Script{
			Common: plan.Common{
				Name: "data-drive", Reason: step.ReasonDataDriveFailed, TimeoutSeconds: 300, Attempts: 3, DelaySeconds: &pause,
			},
			Path: plan.Text(driveScriptFile), Program: plan.Program{Environment: environment},
		},
		step.Directory("data-folder", dataFolder(bootstrapv1.DataDrive{Letter: d.letter}), plan.AccessAdmin))
}
