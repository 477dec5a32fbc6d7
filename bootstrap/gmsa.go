package bootstrap

import (
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	comClasses = `HKLM\SOFTWARE\Classes\CLSID\`
	ccgClasses = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\`
)

// gmsaPlugin lets Container Credential Guard call a plug-in, which only Windows' own key says. How the class itself gets
// into COM differs from plug-in to plug-in, and their installers do it. Many also list it with Container Credential Guard, whose
// key belongs to TrustedInstaller: what is listed is left alone.
func (p *part) gmsaPlugin(n *node) error {
	id := n.spec.Windows.GMSAPlugin.ClassID
	if id == "" {
		return nil
	}
	if !guid.MatchString(id) {
		return invalid(windowsField+".gmsaPlugin.classID", "%q is no CLSID; write one such as CCC2A336-D7F3-4818-A213-272B7924213E, without braces", id)
	}
	class := "{" + strings.ToUpper(id) + "}"
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: ReasonGMSAPluginFailed, Attempts: 3}
	}
	const listed = "gmsaPluginListed"
	write := common("gmsa-plugin")
	write.When = &plan.Test{Fact: listed, IsNot: plan.Text(class)}
	p.add(phaseKubelet,
		&plan.Fact{
			Common: common("gmsa-plugin-installed"), Argv: plan.Texts("reg.exe", "query", comClasses+class+`\InprocServer32`, "/ve"),
			Match: `REG_[A-Z_]*SZ\s+([^(\s].*\S)`, Set: "gmsaPlugin", // a value that is not set is shown in parentheses
		},
		&plan.Fact{
			Common: common("gmsa-plugin-listed"), Argv: plan.Texts("reg.exe", "query", strings.TrimSuffix(ccgClasses, `\`)),
			Match: `(` + regexp.QuoteMeta(class) + `|$)`, Set: listed,
		},
		&plan.Registry{Common: write, Key: ccgClasses + class, Value: plan.Text("")},
	)
	return nil
}
