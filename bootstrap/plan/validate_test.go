package plan_test

import (
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// goodSteps has each kind at least once, with every field that it has.
var goodSteps = map[string]string{
	"file with text":    do("file", `"path":"C:\\k\\a.txt","text":["cpus=",{"fact":"cpus"}],"access":"admin"`),
	"file with content": do("file", `"path":["C:\\k\\",{"fact":"computerName"},".txt"],"content":"AP8=","access":"inherit"`),
	"empty file":        do("file", `"path":"C:\\k\\a.txt","text":""`),
	"all of a step": reboot(`"reason":"NoReport","timeoutSeconds":5,"attempts":2,"delaySeconds":0,"optional":true,` +
		`"when":{"fact":"osBuild","atLeast":"17763","below":["2",{"fact":"cpus"}]}`),
	"directory":       do("directory", `"path":"C:\\run","access":"admin"`),
	"remove":          do("remove", `"paths":["C:\\a b\\c"],"patterns":["C:\\a\\*.tm?"]`),
	"registry string": registry(`"valueName":"v","value":["a",{"fact":"osBuild"}]`),
	"registry list":   registry(`"type":"MultiString","value":["a",["b",{"fact":"cpus"}]]`),
	"registry number": registry(`"type":"DWord","value":"-2147483648"`),
	"registry long":   registry(`"type":"QWord","value":"9223372036854775807"`),
	"registry fact":   registry(`"type":"DWord","value":[{"fact":"cpus"}]`),
	"service": do("service", `"service":"kubelet","command":["C:\\k\\kubelet.exe","--a=b c"],`+
		`"start":"delayed-auto","dependsOn":["containerd"]`),
	"serviceState": do("serviceState", `"service":"kubelet","state":"restarted"`),
	"run": do("run", `"argv":["C:\\k\\kubeadm.exe","join"],"okExitCodes":[0,1],"rebootExitCodes":[3010],"environment":{"A":"b"},`+
		`"directory":"C:\\k","diagnose":[{"match":"a|b","reason":"AB","message":"m"}],"creates":"C:\\f","undo":["shutdown.exe","/a"]`),
	"waitFor its host": do("waitFor", `"for":"https","host":[{"fact":"computerName"}],"port":"6443",`+
		`"say":"the API server does not answer"`),
	"waitFor https": do("waitFor", `"for":"https","host":"h","port":"443","path":"/readyz","ca":"AAAA","say":"h is another one"`),
	"waitFor no CA": do("waitFor", `"for":"https","host":"h","port":"443","insecure":true,"say":"h does not answer"`),
	"waitFor clock": do("waitFor",
		`"for":"clock","host":"h","port":"443","withinSeconds":300,"say":["wrong by ",{"fact":"clockOffset"}]`),
	"waitFor file": do("waitFor", `"for":"file","target":"C:\\f","say":"C:\\f is missing"`),
	"waitFor pipe": do("waitFor", `"for":"pipe","target":"containerd-containerd","say":"containerd does not answer"`),
	"waitFor address": do("waitFor", `"for":"address","target":"10.0.0.5",`+
		`"say":["build ",{"fact":"osBuild"}," does not take 10.0.0.5"]`),
	"check": do("check", `"fact":"memoryMiB","atLeast":"4096",`+
		`"say":["Windows sees ",{"fact":"memoryMiB"}," MiB on ",{"fact":"cpus"}," CPUs"]`),
	"fact of the registry": do("fact",
		`"registry":{"key":"HKEY_LOCAL_MACHINE\\SOFTWARE\\a","valueName":"v"},"match":".+","set":"v","say":"no v"`),
	"fact": do("fact", `"argv":["C:\\k\\kubeadm.exe","version"],"match":"v([0-9.]+)",`+
		`"set":"kubeadm","say":"kubeadm does not tell its version"`),
	"feature":            do("feature", `"features":["Containers"]`),
	"reboot":             do("reboot", `"if":"pending"`),
	"localUser":          do("localUser", `"user":"ops","groups":["S-1-5-32-544"],"sshKeys":["ssh-ed25519 AAAA"]`),
	"defenderExclusions": do("defenderExclusions", `"folders":["C:\\ProgramData\\containerd"],"processes":["containerd.exe"]`),
	"adapter":            do("adapter", `"mac":"00:50:56:00:00:01","rename":"node"`),
	"adapter kept":       do("adapter", `"set":"adapter"`),
	"address": do("address", `"mac":"00:50:56:00:00:01","addresses":["10.0.0.5/24"],"gateways":["10.0.0.1"],`+
		`"dns":["10.0.0.2"],"routes":[{"to":"10.1.0.0/16","via":"10.0.0.3"}],"mtu":1450`),
	"route": do("route", `"destinations":["169.254.169.254/32"]`),
	"hnsNetwork": do("hnsNetwork", `"request":{"Name":"External","Type":"L2Bridge","Adapter":{"fact":"computerName"},`+
		`"Subnets":[{"AddressPrefix":"192.168.255.0/30"}]}`),
	"hnsNetwork waited for": do("hnsNetwork", `"request":{"Name":"Calico"},"wait":true`),
	"hnsEndpoint":           do("hnsEndpoint", `"endpoint":"VIP","set":"vip"`),
	"hnsCleanup":            do("hnsCleanup", `"networks":["Calico*"],"endpoints":["*_ep"],"keep":["nat"]`),
	"reservations": do("reservations", `"path":"C:\\p.yaml","access":"admin","patch":{"a":null,"b":[1,true]},`+
		`"rules":[{"set":"c.d","fact":"cpus","rows":[{"below":"8","value":"1"},{"value":{"e":2}}]}]`),
	"collectLogs": do("collectLogs", `"path":"C:\\l.zip","patterns":["C:\\var\\log\\*"],"events":["System"],"maxMiB":5`),
}

func TestGoodSteps(t *testing.T) {
	kinds := map[plan.Kind]bool{}
	for name, text := range goodSteps {
		t.Run(name, func(t *testing.T) {
			first := decode(t, planOf(text))
			kinds[plan.KindOf(first.Phases[0].Steps[0])] = true
			expect.Fine(t, first.Validate())
			encoded := expect.Got(first.Encode())(t)
			expect.Same(t, "the plan after a round trip", first, decode(t, string(encoded)))
			expect.Same(t, "the JSON of the plan", normal(t, []byte(planOf(text))), normal(t, encoded))
		})
	}
	if all := len(plan.Kinds()); len(kinds) != all {
		t.Errorf("%d of %d kinds have a good step: %v", len(kinds), all, kinds)
	}
}

// What an interpreter would find out too late, step by step.
func TestBadSteps(t *testing.T) {
	const later, onlyLast = "fact 'later' is not known here", "must be given in every row but the last"
	service := func(fields string) string { return do("service", `"service":"a","command":["C:\\a.exe"],`+fields) }
	address := func(fields string) string { return do("address", `"mac":"a","addresses":["a"],`+fields) }
	check := func(say string) string { return do("check", `"fact":"cpus","is":"1","say":`+say) }
	for _, test := range []struct{ name, step, want string }{
		{"no name", `{"do":"reboot","if":"always"}`, `name "" must be letters`},
		{"name of two lines", `{"do":"reboot","if":"always","name":"a\nb"}`, "must be letters"},
		{"reason of two words", reboot(`"reason":"Not good"`), `reason "Not good" must be a name`},
		{"negative time", reboot(`"timeoutSeconds":-1`), "timeoutSeconds -1 must be 0 to 604800"},
		{"negative attempts", reboot(`"attempts":-1`), "attempts -1 must be 0 to 100"},
		{"negative delay", reboot(`"delaySeconds":-1`), "delaySeconds -1 must be 0 to 604800"},
		{"when of nothing", reboot(`"when":{"fact":"","is":"a"}`), "when.fact is missing"},
		{"when without a question", reboot(`"when":{"fact":"cpus"}`), "when.fact must be compared"},
		{"when by unknown fact", reboot(`"when":{"fact":"cpus","is":[{"fact":"later"}]}`), later},
		{"relative path", do("file", `"path":"k\\a"`), "path \"k\\\\a\" must be an absolute path"},
		{"no path", do("file", `"path":null`), "must be an absolute path"},
		{"slashes", do("file", `"path":"C:/k/a"`), "must be an absolute path"},
		{"slash inside", do("file", `"path":"C:\\k/a"`), "must be a plain path"},
		{"dots", do("file", `"path":"C:\\k\\..\\Windows\\a"`), "must be a plain path"},
		{"dots at the end", do("directory", `"path":"C:\\k\\.."`), "must be a plain path"},
		{"empty segment", do("file", `"path":"C:\\k\\\\a"`), "must be a plain path"},
		{"stream", do("file", `"path":"C:\\k\\a:b"`), "must be a plain path"},
		{"stream in the root", do("file", `"path":"C:\\a:b"`), "must be a plain path"},
		{"dot at the end", do("file", `"path":"C:\\k\\a."`), "must be a plain path"},
		{"blank at the end", do("file", `"path":"C:\\k \\a"`), "must be a plain path"},
		{"wildcard in a path", do("file", `"path":"C:\\k\\*"`), "must be a plain path"},
		{"newline in a path", do("file", `"path":"C:\\k\n"`), "must be a plain path"},
		{"share", do("file", `"path":"\\\\host\\c$\\a"`), "must be an absolute path"},
		{"access", do("file", `"path":"C:\\a","access":"public"`), `access "public" must be one of admin, inherit`},
		{"guarded file", do("file", `"path":"C:\\a","access":"guarded"`), `access "guarded" must be one of admin, inherit`},
		{
			"guarded reservations",
			do("reservations", `"path":"C:\\a","access":"guarded","rules":[{"set":"a","fact":"cpus","rows":[{"value":1}]}]`),
			`access "guarded" must be one of admin, inherit`,
		},
		{"content twice", do("file", `"path":"C:\\a","text":"a","content":"YQ=="`), "content is given twice"},
		{"fact of nothing", do("fact", `"match":"a","set":"b","say":"c"`), "argv or registry must be given, and not both"},
		{
			"fact of both", do("fact", `"argv":["a.exe"],"registry":{"key":"HKEY_LOCAL_MACHINE\\a"},"match":"a","set":"b","say":"c"`),
			"argv or registry must be given, and not both",
		},
		{
			"fact of another hive", do("fact", `"registry":{"key":"HKLM\\a"},"match":"a","set":"b","say":"c"`),
			`registry.key "HKLM\\a" must begin with HKEY_LOCAL_MACHINE`,
		},
		{"fact that no step sets", do("file", `"path":"C:\\a","text":[{"fact":"later"}]`), "text " + later},
		{"NUL", do("file", `"path":"C:\\a","text":"a\u0000"`), "text holds a NUL"},
		{"directory access", do("directory", `"path":"C:\\a","access":"x"`), "must be one of"},
		{"nothing to remove", do("remove", ""), "there is nothing to remove"},
		{"remove outside", do("remove", `"paths":["a"]`), "must be an absolute path"},
		{"wildcard in a folder", do("remove", `"patterns":["C:\\*\\a"]`), "must be a plain path"},
		{"other hive", do("registry", `"key":"HKEY_USERS\\a","value":"a"`), "must begin with HKEY_LOCAL_MACHINE"},
		{"registry type", registry(`"value":"a","type":"Binary"`), `type "Binary" must be one of`},
		{"registry word", registry(`"value":"one","type":"DWord"`), `"one" must be a number`},
		{"registry large", registry(`"value":"4294967296","type":"DWord"`), "must be a number"},
		{"registry larger", registry(`"value":"9223372036854775808","type":"QWord"`), "must be a number"},
		{"registry null", registry(`"value":null`), "must be one value"},
		{"odd variable", do("run", `"argv":["a.exe"],"environment":{"A=B":"c"}`), `"A=B" is not a valid name of a variable`},
		{"service name", do("service", `"service":"a b","command":["C:\\a.exe"]`), `"a b" is not a valid name of a service`},
		{"no command", do("service", `"service":"a","command":[]`), "command is empty"},
		{"relative command", do("service", `"service":"a","command":["bin\\a.exe"]`), "must be an absolute path"},
		{"no program", do("service", `"service":"a","command":["C:\\a.bat"]`), "must end in .exe"},
		{"start", service(`"start":"boot"`), `start "boot" must be one of`},
		{"state", do("serviceState", `"service":"a","state":"paused"`), `state "paused" must be one of running, stopped, restarted`},
		{"state of nothing", do("serviceState", `"service":"","state":"running"`), `"" is not a valid name of a service`},
		{"empty argv", do("run", `"argv":[]`), "argv is empty"},
		{"null in argv", do("run", `"argv":["a.exe",null]`), "argv has a null"},
		{"run directory", do("run", `"argv":["a.exe"],"directory":"k"`), "directory"},
		{"run creates", do("run", `"argv":["a.exe"],"creates":"k"`), "creates"},
		{"run undo", do("run", `"argv":["a.exe"],"undo":["k"]`), "undo"},
		{"broken expression", diagnose(`"match":"(","reason":"A","message":"m"`), "diagnose.match"},
		{"expression of one language", diagnose(`"match":"(?i)a","reason":"A","message":"m"`), "diagnose.match"},
		{"diagnosis without reason", diagnose(`"match":"a","reason":"","message":"m"`), "diagnose.reason"},
		{"diagnosis without message", diagnose(`"match":"a","reason":"A","message":""`), "diagnose.message is missing"},
		{"fact name", do("fact", `"argv":["a.exe"],"match":"a","set":"A b"`), `"A b" is not a valid name of a fact`},
		{"fact without match", do("fact", `"argv":["a.exe"],"match":"","set":"a"`), "match"},
		{"check without question", do("check", `"fact":"cpus"`), "fact must be compared"},
		{"check without a sentence", do("check", `"fact":"cpus","is":"1"`), "say is missing: the sentence about the failure"},
		{"check of an empty sentence", check(`[""]`), "say is missing"},
		{"wait without a sentence", do("waitFor", `"for":"pipe","target":"x"`), "say is missing"},
		{"fact without a sentence", do("fact", `"argv":["a.exe"],"match":"a","set":"b"`), "say is missing"},
		{"check that hides what it found", check(`"no"`), `say must contain what was measured: {"fact": "cpus"}`},
		{"check that tells another fact", check(`["it has ",{"fact":"later"}]`), "say " + later},
		{"wait that tells a fact", do("waitFor", `"for":"pipe","target":"x","say":[{"fact":"later"}]`), "say " + later},
		{"fact that tells itself", do("fact", `"argv":["a.exe"],"match":"a","set":"later","say":[{"fact":"later"}]`), "say " + later},
		{"NUL in a sentence", check(`"a\u0000"`), "say holds a NUL"},
		{"wait for the moon", do("waitFor", `"for":"moon","target":"x"`), `for "moon" must be one of`},
		{"https without host", do("waitFor", `"for":"https","port":"1"`), "host belongs to https and clock"},
		{"https without port", do("waitFor", `"for":"https","host":"h"`), "port belongs to https and clock"},
		{"clock without a bound", do("waitFor", `"for":"clock","host":"h","port":"1","say":"s"`), "withinSeconds belongs to clock"},
		{
			"https with a bound", do("waitFor", `"for":"https","host":"h","port":"1","withinSeconds":1,"say":"s"`),
			"withinSeconds belongs to clock",
		},
		{"always in the bootstrap", reboot(`"always":true`), "always belongs to steps of everyBoot"},
		{"https with target", do("waitFor", `"for":"https","host":"h","port":"1","target":"x"`), "target belongs to all but"},
		{"clock with path", do("waitFor", `"for":"clock","host":"h","port":"1","path":"/"`), "path, ca and insecure belong to https"},
		{"file without target", do("waitFor", `"for":"file"`), "target"},
		{"file anywhere", do("waitFor", `"for":"file","target":"f"`), "must be an absolute path"},
		{"port by name", do("waitFor", `"for":"https","host":"h","port":"https"`), `"https" must be a number from 1 to 65535`},
		{"port 0", do("waitFor", `"for":"https","host":"h","port":0`), `"0" must be a number from 1 to 65535`},
		{"CA and none", do("waitFor", `"for":"https","host":"h","port":"1","ca":"AAAA","insecure":true`), "insecure contradicts ca"},
		{"no features", do("feature", `"features":[]`), "features is empty"},
		{"reboot sometimes", do("reboot", `"if":"maybe"`), `if "maybe" must be one of pending, always`},
		{"user name", do("localUser", `"user":"a/b"`), "is not a name that Windows takes"},
		{"long user name", do("localUser", `"user":"abcdefghijklmnopqrstu"`), "is not a name that Windows takes"},
		{"no exclusions", do("defenderExclusions", ""), "there is nothing to exclude"},
		{"excluded folder", do("defenderExclusions", `"folders":["k"]`), "must be an absolute path"},
		{"adapter left alone", do("adapter", `"mac":"a"`), "rename and set exclude each other, and one must be there"},
		{"adapter both ways", do("adapter", `"rename":"node","set":"adapter"`), "rename and set exclude each other"},
		{"odd fact of an adapter", do("adapter", `"set":"Adapter"`), "is not a valid name of a fact"},
		{"no MAC", do("address", `"mac":null,"addresses":["10.0.0.5/24"]`), "mac is missing"},
		{"no addresses", do("address", `"mac":"a","addresses":[]`), "addresses is empty"},
		{"three gateways", address(`"gateways":["a","b","c"]`), "gateways must be one per family"},
		{"half a route", address(`"routes":[{"to":"a","via":null}]`), "routes[0] must have to and via"},
		{"tiny MTU", address(`"mtu":100`), "mtu 100 must be 576"},
		{"no destinations", do("route", `"destinations":[]`), "destinations is empty"},
		{"network without name", do("hnsNetwork", `"request":{"Type":"L2Bridge"}`), "request.Name is missing"},
		{"network without type", do("hnsNetwork", `"request":{"Name":"a"}`), "request.Type is missing"},
		{"fact in a tree", do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":[{"d":{"fact":"later"}}]}`), "request.c.d " + later},
		{"endpoint without a fact", do("hnsEndpoint", `"endpoint":"a","set":""`), "set"},
		{"endpoint without name", do("hnsEndpoint", `"endpoint":null,"set":"vip"`), "endpoint is missing"},
		{"nothing to clean", do("hnsCleanup", `"networks":[]`), "there is nothing to clean up"},
		{"no reservation rules", do("reservations", `"path":"C:\\a","rules":[]`), "a step of kind file"},
		{"reservation of nothing", reserve(`"set":"","fact":"cpus","rows":[{"value":1}]`), "rules.set is missing"},
		{"reservation by unknown fact", reserve(`"set":"a","fact":"later","rows":[{"value":1}]`), later},
		{"reservation without rows", reserve(`"set":"a","fact":"cpus","rows":[]`), "rules.rows is empty"},
		{"reservation without value", reserve(`"set":"a","fact":"cpus","rows":[{"value":null}]`), "rules.rows.value is missing"},
		{"row that hides others", reserve(`"set":"a","fact":"cpus","rows":[{"value":1},{"value":2}]`), onlyLast},
		{"no row for the largest", reserve(`"set":"a","fact":"cpus","rows":[{"below":"8","value":1}]`), onlyLast},
		{"negative logs", do("collectLogs", `"path":"C:\\a","maxMiB":-1`), "maxMiB -1 must be 0 to 1024"},
		{"log without name", do("collectLogs", `"path":"C:\\a","events":[""]`), `events "" is not a valid name`},
		{"logs anywhere", do("collectLogs", `"path":"C:\\a","patterns":["*"]`), "patterns"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := decode(t, planOf(test.step)).Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if !strings.HasPrefix(err.Error(), "phase main, step ") {
				t.Errorf("%q does not say where", err)
			}
		})
	}
}

// What concerns the plan as a whole.
func TestBadPlans(t *testing.T) {
	good := func() *plan.Plan { return decode(t, planOf(goodSteps["file with text"])) }
	const secret, told = "abcdef.0123456789abcdef", "holds a value of redact"
	file := func(text plan.Value, content []byte) plan.Step {
		return &plan.File{Common: plan.Common{Name: "f"}, Path: plan.Text(`C:\a`), Text: text, Content: content}
	}
	everyBoot := func(step plan.Step) func(*plan.Plan) {
		return func(p *plan.Plan) {
			p.Redact = []string{secret}
			p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{step}}}
		}
	}
	channel := func(c plan.Channel) func(*plan.Plan) { return func(p *plan.Plan) { p.Report = []plan.Channel{c} } }
	noKey := plan.Channel{Do: plan.ChannelGuestInfo, Program: plan.Text("rpctool.exe")}
	noProgram := plan.Channel{Do: plan.ChannelGuestInfo, Program: plan.Text("rpctool"), Key: "k"}
	inTwo := plan.Parts(plan.Text(secret[:9]), plan.Text(secret[9:]))
	asName := &plan.Run{Common: plan.Common{Name: "e"}, Argv: plan.Texts("a.exe")}
	asName.Environment = map[string]plan.Value{secret: plan.Text("")}
	for _, test := range []struct {
		name, want string
		change     func(*plan.Plan)
	}{
		{"version", "version 2 is not 1", func(p *plan.Plan) { p.Version = 2 }},
		{"of no machine", "machine must have uid, name and node", func(p *plan.Plan) { p.Machine.UID = "" }},
		{
			"uid with a sign of Kelvin", `machine.uid "u\u212a" must be printable ASCII, because each report shows it as it is`,
			func(p *plan.Plan) { p.Machine.UID = "u\u212a" },
		},
		{"uid of two lines", `machine.uid "a\nb" must be printable ASCII`, func(p *plan.Plan) { p.Machine.UID = "a\nb" }},
		{"negative deadline", "-1 must be 0 to", func(p *plan.Plan) { p.DeadlineSeconds = -1 }},
		{"short secret", "redact has a text of 3 characters", func(p *plan.Plan) { p.Redact = []string{"abc"} }},
		{"erase all", `erase "C:\\*\\a" must be a plain path`, func(p *plan.Plan) { p.Erase = plan.Texts(`C:\*\a`) }},
		{"logs", "logs: path", func(p *plan.Plan) { p.Logs = &plan.CollectLogs{} }},
		{"phase without name", `name "" must be letters`, func(p *plan.Plan) { p.Phases[0].Name = "" }},
		{"phase twice", `phase main: name "main" is used twice`, func(p *plan.Plan) { p.Phases = append(p.Phases, p.Phases[0]) }},
		{"step twice", `phase main, step s: name "s" is used twice`, func(p *plan.Plan) {
			p.Phases[0].Steps = append(p.Phases[0].Steps, p.Phases[0].Steps[0])
		}},
		{"odd channel", "channel 'mail' is unknown", channel(plan.Channel{Do: "mail"})},
		{"guestinfo without key", "guestinfo has program and key", channel(noKey)},
		{"azure with port", "azure has url", channel(plan.Channel{Do: plan.ChannelAzure, URL: "http://a", Port: "COM2"})},
		{"channel program", "report.program", channel(noProgram)},
		{"secret at every boot", told, everyBoot(file(plan.Text("token: "+secret), nil))},
		{"secret in base64", told, everyBoot(file(nil, []byte("token: "+secret)))},
		{"secret in two parts", told, everyBoot(file(inTwo, nil))},
		{"secret as a name", told, everyBoot(asName)},
		{"bad step at every boot", "phase boot, step r: if", everyBoot(&plan.Reboot{Common: plan.Common{Name: "r"}})},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := good()
			test.change(p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			} else if strings.Contains(err.Error(), secret) && test.name != "secret as a name" {
				t.Errorf("%q tells the secret", err)
			}
		})
	}
}

func TestGoodPlans(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		change       func(*plan.Plan)
	}{
		{"all channels", "a node may use several", func(p *plan.Plan) {
			p.Report = []plan.Channel{
				{Do: plan.ChannelGuestInfo, Program: plan.Text(`C:\Program Files\VMware\rpctool.exe`), Key: "k"},
				{Do: plan.ChannelAzure, URL: "http://168.63.129.16"},
				{Do: plan.ChannelConsole, Port: "COM2"},
				{Do: plan.ChannelConsole},
			}
		}},
		{"secret in a phase", "the plan is emptied when the bootstrap is over", func(p *plan.Plan) {
			p.Redact = []string{"0123456789"}
			p.Phases[0].Steps[0].(*plan.File).Text = plan.Text("0123456789")
			p.EveryBoot = decode(t, planOf(reboot(`"optional":true`))).Phases
		}},
		{"fact of an earlier step", "steps find facts", func(p *plan.Plan) {
			find := do("fact", `"argv":["a.exe"],"match":"a","set":"found","say":"it is lost"`)
			p.Phases = append([]plan.Phase{{Name: "first", Steps: decode(t, planOf(find)).Phases[0].Steps}}, p.Phases...)
			p.Phases[1].Steps[0].(*plan.File).Text = plan.FromFact("found")
		}},
		{"address of an HNS network", "it is a fact from then on, at every boot too", func(p *plan.Plan) {
			network := do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":{"fact":"cpus"}}`)
			wait := &plan.WaitFor{
				Common: plan.Common{Name: "w"}, For: plan.ForAddress, Target: plan.FromFact(plan.FactManagementIP),
				Say: plan.Parts(plan.Text("Windows does not accept "), plan.FromFact(plan.FactManagementIP)),
			}
			p.Phases = decode(t, planOf(network)).Phases
			p.EveryBoot = []plan.Phase{{Name: "boot", Steps: []plan.Step{wait}}}
		}},
		{"nothing to do", "an emptied plan", func(p *plan.Plan) { p.Phases = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := decode(t, planOf(goodSteps["file with text"]))
			test.change(p)
			if err := p.Validate(); err != nil {
				t.Errorf("%v, though %s", err, test.reason)
			}
		})
	}
}

// All that is wrong must be told at once.
func TestValidateTellsAll(t *testing.T) {
	err := decode(t, planOf(`{"do":"reboot","name":"a","if":"x"}`, `{"do":"reboot","name":"b","if":"y"}`)).Validate()
	expect.Says(t, "two steps", err, "step a")
	expect.Says(t, "two steps", err, "step b")
	if got := err.Error(); strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}
