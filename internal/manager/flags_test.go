package manager

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/version"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	flagsPage = "docs/flags.md"
	// asManager is a variable with which the program of these tests is a manager.
	asManager = "CAPWIN_TEST_MANAGER"
)

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		Main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func flagsOf(t *testing.T, arguments string) *managerFlags {
	t.Helper()
	fs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags := newFlags(fs)
	if err := fs.Parse(strings.Fields(arguments)); err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestFlagsAreChecked(t *testing.T) {
	if _, err := os.Stat(namespaceOfPod); err == nil {
		t.Skip("this is a Pod, which has a namespace for its lease")
	}
	t.Setenv("POD_NAMESPACE", "")
	for arguments, refused := range map[string]string{
		"": "",
		"--controllers=cloud": "--controllers=cloud is not valid; " +
			"use infrastructure, bootstrap, or both with a comma between them",
		"--bootstrap-token-ttl=1s":                "--bootstrap-token-ttl=1s is too short; use at least 1m0s",
		"--bootstrap-token-ttl=-5m":               "--bootstrap-token-ttl=-5m0s is too short; use at least 1m0s",
		"--controllers=":                          "--controllers is empty, so nothing would be reconciled; use infrastructure",
		"--namespace=team-a":                      "",
		"--namespace=Bad_NS":                      `--namespace="Bad_NS" is not the name of a namespace: a lowercase RFC 1123 label`,
		"--watch-filter=a.b_C":                    "",
		"--watch-filter=bad!!":                    `--watch-filter="bad!!" is not a valid label value: a valid label must`,
		"--sync-period=1m":                        "",
		"--sync-period=-5m":                       "--sync-period=-5m0s is too short: each object is reconciled that often",
		"--sync-period=0":                         "--sync-period=0s is too short",
		"--kube-api-qps=0":                        "--kube-api-qps=0 is not a limit; use a number above 0",
		"--kube-api-burst=-1":                     "--kube-api-burst=-1 is not a limit; use a number above 0",
		"--workload-api-qps=NaN":                  "--workload-api-qps=NaN is not a limit; use a number above 0",
		"--workload-api-burst=0":                  "--workload-api-burst=0 is not a limit; use a number above 0",
		"--windowsmachine-concurrency=0":          "--windowsmachine-concurrency=0 is not a limit; use a number above 0",
		"--windowsbootstrapconfig-concurrency=-1": "--windowsbootstrapconfig-concurrency=-1 is not a limit; use a number above 0",
		"--leader-elect-namespace=a":              "",
		"--profiler-address=":                     "",
		"--profiler-address=0":                    "",
		"--profiler-address=[::1]:1":              "",
		"--profiler-address=127.1.1.1:1":          "",
		"--leader-elect": "--leader-elect needs a namespace for its lease, and outside of a cluster there is none by itself; " +
			"set --leader-elect-namespace, or leave --leader-elect out if only one manager runs",
		"--leader-elect --leader-elect-namespace=capwin-system": "",
		"--profiler-address=localhost:6060":                     "",
		"--tenants=team:accounts=64,clusters=500":               "",
		"--tenants=team":    `--tenants: "team" does not begin with the name of a namespace and a colon`,
		"--took-over-from=": "",
		"--took-over-from=11111111-2222-3333-4444-555555555555": "",
		"--took-over-from=old-cluster": `--took-over-from="old-cluster" is not the UID of a ` +
			"management cluster",
		"--took-over-from=11111111-2222-3333-4444-55555555555A": `--took-over-from="11111111-2222-3333-4444-55555555555A" is not`,
		"--profiler-address=:6060":                              "--profiler-address=:6060 is not on the loopback interface",
		"--profiler-address=0.0.0.0:6060":                       "--profiler-address=0.0.0.0:6060 is not on the loopback interface",
		"--profiler-address=localhost":                          "--profiler-address=localhost is not on the loopback interface",
	} {
		_, err := flagsOf(t, arguments).wanted()
		if (err != nil) != (refused != "") || err != nil && !strings.HasPrefix(err.Error(), refused) {
			t.Errorf("%q: want %q, got %v", arguments, refused, err)
		}
	}
}

func TestFlagsReachTheManager(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "of-the-pod")
	options, err := flagsOf(t, "--leader-elect --profiler-address=localhost:6060").managerOptions(runtime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	if options.LeaderElectionNamespace != "of-the-pod" || options.PprofBindAddress != "localhost:6060" {
		t.Errorf("namespace %q, profiler %q", options.LeaderElectionNamespace, options.PprofBindAddress)
	}
	options, err = flagsOf(t, "--leader-elect-namespace=mine").managerOptions(runtime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	if options.LeaderElectionNamespace != "mine" || options.PprofBindAddress != "" {
		t.Errorf("namespace %q, profiler %q", options.LeaderElectionNamespace, options.PprofBindAddress)
	}
}

// TestCachesOfAProvider: a manager that renders nothing keeps no files of configs.
func TestCachesOfAProvider(t *testing.T) {
	for controllers, keeps := range map[string]bool{"infrastructure": false, "bootstrap": true, "infrastructure,bootstrap": true} {
		options := expect.Got(flagsOf(t, "--controllers="+controllers).managerOptions(runtime.NewScheme()))(t)
		config := &bootstrapv1.WindowsBootstrapConfig{}
		config.Spec.Custom.Files = []bootstrapv1.CustomFile{{Path: `C:\x`}}
		kept := expect.Got(options.Cache.DefaultTransform(config))(t).(*bootstrapv1.WindowsBootstrapConfig)
		if got := len(kept.Spec.Custom.Files) > 0; got != keeps {
			t.Errorf("%s keeps files: %t", controllers, got)
		}
	}
}

// The flags of Azure make its provider, or say which of them is wrong.
func TestFlagsOfAzure(t *testing.T) {
	file := func(name, content string) string {
		name = filepath.Join(t.TempDir(), name)
		expect.OK(t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	const at = ", resourceManagerEndpoint: https://arm.example.com, authority: https://login.example.com}]"
	own, taken := file("own", "clouds: [{name: Own"+at), file("taken", "clouds: [{name: AzureChinaCloud"+at)
	empty, broken := file("empty", ""), file("broken", "clouds: [{name: Own, endpoint: x}]")
	const guid, other = "11111111-2222-3333-4444-555555555555", "21111111-2222-3333-4444-555555555555"
	const microsoft = "AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud"
	for _, c := range []struct{ arguments, cloud, namespaces, refused string }{
		{arguments: ""},
		{arguments: "--azure-cloud=AzureChinaCloud --azure-namespaces=a,b", cloud: "AzureChinaCloud", namespaces: "a b"},
		{arguments: "--azure-clouds=" + own + " --azure-cloud=Own", cloud: "Own"},
		{arguments: "--azure-identities="},
		{arguments: `--azure-identities=""`},
		{arguments: "--azure-identities=" + guid + "=team-a," + guid + "=team-b," + other + "@AzureChinaCloud=*"},
		{arguments: "--azure-identities=*=team-a", refused: `--azure-identities: "*=team-a" would lend every identity`},
		{arguments: "--azure-identities=" + guid, refused: `--azure-identities: "` + guid + `" is not of the form CLIENTID=NAMESPACE`},
		{
			arguments: "--azure-identities=" + guid + "@Own=team-a",
			refused:   "--azure-identities: the cloud Own is not defined; use one of " + microsoft,
		},
		{arguments: "--azure-cloud=Own", refused: "--azure-cloud=Own is not defined; use one of " + microsoft},
		{
			arguments: "--azure-clouds=" + own + " --azure-cloud=own",
			refused:   "--azure-cloud=own is not defined; use one of " + microsoft + ", Own",
		},
		{arguments: "--azure-clouds=" + own + ".not", refused: "--azure-clouds: read the clouds: open " + own + ".not: no such file"},
		{arguments: "--azure-clouds=" + t.TempDir(), refused: "--azure-clouds: read the clouds: "},
		{arguments: "--azure-clouds=" + empty, refused: "--azure-clouds: clouds in " + empty + ": "},
		{arguments: "--azure-clouds=" + broken, refused: "--azure-clouds: clouds in " + broken + ": "},
		{arguments: "--azure-clouds=" + taken, refused: "--azure-clouds: clouds in " + taken + ": "},
	} {
		p, err := flagsOf(t, c.arguments).azure()
		if (err != nil) != (c.refused != "") || err != nil && !strings.HasPrefix(err.Error(), c.refused) {
			t.Errorf("%q: want %q, got %v", c.arguments, c.refused, err)
		}
		if have := strings.Join(p.Namespaces, " "); p.Cloud != c.cloud || have != c.namespaces {
			t.Errorf("%q: the cloud is %q, the namespaces are %q", c.arguments, p.Cloud, have)
		}
	}
	p := expect.Got(flagsOf(t, "--azure-clouds="+own).azure())(t)
	if known, ok := p.Book.Named("Own"); !ok || known.ResourceManager != "https://arm.example.com" {
		t.Errorf("the cloud of the file is %v", known)
	}
}

// The page lists every flag with its default.
func TestFlagsPage(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	newFlags(flags)
	want := map[string]string{}
	flags.VisitAll(func(one *pflag.Flag) {
		if !one.Hidden && !strings.HasPrefix(one.Name, "test.") { // Go's own flags of a test
			want["--"+one.Name] = strings.Trim(one.DefValue, "[]")
		}
	})
	listed := map[string]string{}
	rows := regexp.MustCompile("(?m)^\\| `(--[a-z-]+)` \\| (?:`(.*)` )?\\| \\S.* \\|$")
	for _, row := range rows.FindAllStringSubmatch(string(expect.Got(os.ReadFile("../../"+flagsPage))(t)), -1) {
		listed[row[1]] = row[2]
	}
	expect.Same(t, "flags of "+flagsPage, want, listed)
}

// The first line of a log says which version wrote it, in both formats.
func TestLogBeginsWithTheVersion(t *testing.T) {
	for flag, pattern := range map[string]string{
		"--logging-format=text": `^I\d{4} .*\] "Manager starts" version="VERSION" controllers=\["wrong"\]$`,
		"--logging-format=json": `^\{.*"msg":"Manager starts",.*"version":"VERSION","controllers":\["wrong"\]\}$`,
	} {
		manager := exec.Command(os.Args[0], flag, "--controllers=wrong") //nolint:gosec // our own program, which ends because of this
		manager.Env = append(os.Environ(), asManager+"=yes")
		printed, err := manager.CombinedOutput()
		first, _, _ := strings.Cut(string(printed), "\n")
		want := strings.ReplaceAll(pattern, "VERSION", regexp.QuoteMeta(version.Get()))
		if err == nil || !regexp.MustCompile(want).MatchString(first) {
			t.Errorf("%s: %v, want a first line like %s, got:\n%s", flag, err, want, printed)
		}
	}
}
