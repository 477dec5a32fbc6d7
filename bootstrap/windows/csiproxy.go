package windows

import (
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// program is a plain path of a program.
var program = regexp.MustCompile(`^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])*` +
	`\\[^\x00-\x1f<>:"|?*/\\~]+\.[Ee][Xx][Ee]$`)

// csiProxy is the path of a program that the image or a preJoin script has installed; empty if there is none.
type csiProxy string

func readCSIProxy(in Input) (setting, error) {
	path := in.Spec.CSIProxy.Path
	if path != "" && (!program.MatchString(path) || plan.DeviceName.MatchString(path)) {
		return nil, step.Invalid(windowsField+
			".csiProxy.path", `%q is not a program on drive C:; use a path such as C:\k\csi-proxy.exe`, path)
	}
	return csiProxy(path), nil
}

func (c csiProxy) folders() []step.Folder {
	if c == "" {
		return nil
	}
	folder := string(c[:strings.LastIndexByte(string(c), '\\')])
	return []step.Folder{
		{Name: "csi-proxy-folder", Path: folder, Access: plan.AccessAdmin, Whole: true},
		{Name: "csi-proxy-logs", Path: step.CSIProxyLogs, Access: plan.AccessGuarded, Whole: true},
	}
}

func (c csiProxy) addTo(p *step.Part) {
	path := string(c)
	if path == "" {
		return
	}
	common := func(name string) plan.Common {
		return plan.Common{Name: name, Reason: step.ReasonCSIProxyFailed, TimeoutSeconds: 60}
	}
	p.Add(step.PhaseKubelet,
		&plan.WaitFor{
			Common: common("csi-proxy-program"), For: plan.ForFile, Target: plan.Text(path), Say: plan.Text(path + " does not exist"),
		},
		&plan.Service{
			Common: common("csi-proxy-service"), Service: "csiproxy",
			Command: plan.Texts(path, "-windows-service", "-log_file="+step.CSIProxyLogs+`\csi-proxy.log`, "-logtostderr=false"),
			Start:   plan.StartAuto,
		})
	p.Add(step.PhaseKubelet, step.Restarts("csiproxy", step.ReasonCSIProxyFailed)...)
	p.Add(step.PhaseKubelet,
		&plan.ServiceState{Common: common("csi-proxy-running"), Service: "csiproxy", State: plan.ServiceRunning})
}
