package agent

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// dumpWith is what containerd prints of the image's settings, with these of the CNI.
func dumpWith(w *world, cni string) {
	dump := programOf(w, containerdPath, "config", "dump")
	head, _, _ := strings.Cut(dump.Out, "[plugins.'io.containerd.cri.v1.runtime'.cni]")
	dump.Out = head + cni
}

// The folders of the CNI are those into which we write, however containerd prints them. Its own defaults are others.
func TestContainerdReadsTheFoldersOfTheCNI(t *testing.T) {
	t.Parallel()
	const (
		ownConf  = `Program Files\containerd\cni\conf`
		defaults = "  bin_dirs = ['C:\\Program Files\\containerd\\cni\\bin']\n  conf_dir = 'C:\\Program Files\\containerd\\cni\\conf'\n"
		ofOld    = "    bin_dir = \"C:\\\\Program Files\\\\containerd\\\\cni\\\\bin\"\n    conf_dir = \"C:\\\\etc\\\\cni\\\\net.d\"\n"
		programs = "containerd does not read the programs of a CNI from C:\\opt\\cni\\bin"
		folder   = "containerd does not read the configuration of a CNI from C:\\etc\\cni\\net.d"
	)
	for name, test := range map[string]struct{ cni, want string }{
		"1.7":             {"    bin_dir = \"C:\\\\opt\\\\cni\\\\bin\"\n    conf_dir = \"C:\\\\etc\\\\cni\\\\net.d\"\n", ""},
		"slashes":         {"  bin_dir = ''\n  bin_dirs = ['D:/x', 'c:/opt/cni/bin/']\n  conf_dir = 'c:/etc/cni/net.d/'\n", ""},
		"migrated":        {"  bin_dir = 'C:/opt/cni/bin'\n" + strings.Replace(defaults, ownConf, `etc\cni\net.d`, 1), ""},
		"defaults":        {defaults, folder},
		"only the folder": {ofOld, programs},
		"a folder below":  {"  bin_dirs = ['C:\\opt\\cni\\bin']\n  conf_dir = 'C:\\etc\\cni\\net.d\\mine'\n", folder},
	} {
		v := networkWorld(mustRead(t, "network-azure-l2bridge-azurecni"))
		dumpWith(&v.World, test.cni)
		report := lived(t, v).end()
		switch {
		case test.want == "" && (report.State != plan.StateSucceeded || len(report.Warnings) > 0):
			t.Errorf("%s: %s at %s: %s %q", name, report.State, report.Step, report.Message, report.Warnings)
		case test.want != "" && (report.Reason != "ContainerdConfigIgnored" || !strings.HasPrefix(report.Message, test.want)):
			t.Errorf("%s: %q %s, want %s", name, report.Reason, report.Message, test.want)
		}
	}
	// A CNI that brings its own files may be told of other folders.
	v := networkWorld(mustRead(t, "network-none"))
	dumpWith(&v.World, defaults)
	report := lived(t, v).end()
	if warned := strings.Join(report.Warnings, "\n"); report.State != plan.StateSucceeded ||
		!strings.Contains(warned, folder) || !strings.Contains(warned, programs) {
		t.Errorf("a CNI of the user: %s at %s: %s %q", report.State, report.Step, report.Message, report.Warnings)
	}
}
