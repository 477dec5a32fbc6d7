package windows

import (
	_ "embed" // for the script
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/scripts"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const comClasses = `HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\`

const gmsaScriptFile = step.OwnDirectory + `\gmsa-plugin.ps1`

// gmsaScript is the same for all plug-ins; the class is in its environment.
//
//go:embed gmsaplugin.ps1
var gmsaScript string

var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// gmsaPlugin is the class ID of a plug-in in braces; empty if there is none.
type gmsaPlugin string

func readGMSAPlugin(in Input) (setting, error) {
	id := in.Spec.GMSAPlugin.ClassID
	switch {
	case id == "":
		return gmsaPlugin(""), nil
	case !guid.MatchString(id):
		return nil, step.Invalid(windowsField+
			".gmsaPlugin.classID",
			"%q is not a class ID; use one such as CCC2A336-D7F3-4818-A213-272B7924213E, without braces", id)
	}
	return gmsaPlugin("{" + strings.ToUpper(id) + "}"), nil
}

// addTo lets Container Credential Guard call a plug-in. The script lists the plug-in in a key that belongs to TrustedInstaller,
// in which SYSTEM may not write without taking it, unless its installer has done so already (image-builder,
// ansible/windows/roles/gmsa, does the same). How its class is registered with COM differs from plug-in to plug-in and is left
// to their installers.
func (g gmsaPlugin) addTo(p *step.Part) {
	class := string(g)
	if class == "" {
		return
	}
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: step.ReasonGMSAPluginFailed, Attempts: 3}
	}
	p.Add(step.PhaseKubelet,
		&plan.Fact{
			Common:   common("gmsa-plugin-installed"),
			Registry: &plan.RegistryText{Key: comClasses + class + `\InprocServer32`}, Match: ".+", Set: "gmsaPlugin",
			Say: plan.Text("the gMSA plug-in " + class + " is not installed"),
		},
		step.PrivateFile("gmsa-plugin-script", step.ReasonGMSAPluginFailed, gmsaScriptFile, []byte(scripts.Bare(gmsaScript))),
		step.Script(common("gmsa-plugin"), gmsaScriptFile,
			plan.Program{Environment: map[string]plan.Value{"CAPWIN_CLASS": plan.Text(class)}}))
}
