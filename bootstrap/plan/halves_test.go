package plan_test

import (
	"strings"
	"testing"
)

// reboot is a step of few words, for what all steps have.
func reboot(fields string) string { return do("reboot", `"if":"always",`+fields) }

// stepHalves are rules of steps, half by half: what is refused, and the nearest to it that is taken.
var stepHalves = []struct{ refused, taken, want string }{
	{
		do("address", `"mac":"a","addresses":["b"],"mtu":575`), do("address", `"mac":"a","addresses":["b"],"mtu":576`),
		"mtu 575 must be 576 to 9198",
	},
	{
		do("address", `"mac":"a","addresses":["b"],"mtu":9199`), do("address", `"mac":"a","addresses":["b"],"mtu":9198`),
		"mtu 9199 must be 576 to 9198",
	},
	{
		do("address", `"mac":"a","addresses":["b"],"gateways":["a","b","c"]`),
		do("address", `"mac":"a","addresses":["b"],"gateways":["a","b"]`), "one per family",
	},
	{
		do("address", `"mac":"a","addresses":["b"],"routes":[{"to":null,"via":"a"}]`),
		do("address", `"mac":"a","addresses":["b"],"routes":[{"to":"b","via":"a"}]`), "routes[0] must have to and via",
	},
	{do("hnsCleanup", `"networks":[],"endpoints":[]`), do("hnsCleanup", `"networks":[],"endpoints":["e"]`), "nothing to clean up"},
	{do("remove", `"paths":[],"patterns":[]`), do("remove", `"patterns":["C:\\a*"]`), "nothing to remove"},
	{do("remove", `"patterns":[]`), do("remove", `"paths":["C:\\a"]`), "nothing to remove"},
	{do("defenderExclusions", `"folders":[]`), do("defenderExclusions", `"processes":["a.exe"]`), "nothing to exclude"},

	{do("directory", `"path":"C:\\a","whole":true`), do("directory", `"path":"C:\\a"`), "whole needs access admin or guarded"},
	{
		do("directory", `"path":"C:\\a","whole":true,"access":"inherit"`),
		do("directory", `"path":"C:\\a","whole":true,"access":"guarded"`), "whole needs access admin or guarded",
	},
	{
		do("file", `"path":"C:\\a","text":"a","content":"YQ=="`),
		do("file", `"path":"C:\\a","content":"YQ=="`), "content is given twice",
	},
	{
		do("file", `"path":"C:\\a","secret":true,"text":["a",{"fact":"cpus"}]`), do("file", `"path":"C:\\a","secret":true,"text":"a"`),
		"secret goes with a text without facts",
	},
	{do("file", `"path":"C:\\nul"`), do("file", `"path":"C:\\null"`), "names a device of Windows"},
	{do("file", `"path":"C:\\a\\COM9.txt"`), do("file", `"path":"C:\\a\\COM0.txt"`), "names a device of Windows"},
	{do("remove", `"patterns":["C:\\aux\\*"]`), do("remove", `"patterns":["C:\\a\\*"]`), "names a device of Windows"},
	{
		do("collectLogs", `"path":"C:\\a","maxMiB":-1`), do("collectLogs", `"path":"C:\\a","maxMiB":0`), "maxMiB -1 must be 0 to 1024",
	},

	{
		reboot(`"when":{"fact":"osbuild","is":"1"}`),
		reboot(`"when":{"fact":"osBuild","is":"1"}`),
		"fact 'osbuild' is not known",
	},
	{
		reboot(`"when":{"fact":"cpu","below":"1"}`),
		reboot(`"when":{"fact":"cpus","below":"1"}`),
		"fact 'cpu' is not known",
	},
	{
		reboot(`"when":{"fact":"osUBR","isNot":""}`),
		reboot(`"when":{"fact":"osUbr","isNot":""}`),
		"fact 'osUBR' is not known",
	},
	{
		do("check", `"fact":"memory","is":"1","say":[{"fact":"memory"}]`),
		do("check", `"fact":"smbios","is":"","say":[{"fact":"smbios"}]`),
		"fact 'memory' is not known",
	},
	{
		do("check", `"fact":"managementIP","atLeast":"1","say":[{"fact":"managementIP"}]`),
		do("check", `"fact":"diskFreeMiB","atLeast":"1","say":[{"fact":"diskFreeMiB"}]`), "fact 'managementIP' is not known",
	},
	{reboot(`"when":{"fact":"cpus"}`), reboot(`"when":{"fact":"cpus","atLeast":"1"}`), "must be compared"},
	{
		reboot(`"when":{"fact":"cpus","isNot":[{"fact":"x"}]}`), reboot(`"when":{"fact":"cpus","isNot":[{"fact":"cpus"}]}`),
		"fact 'x' is not known",
	},
	{
		reboot(`"when":{"fact":"cpus","atLeast":[{"fact":"x"}]}`),
		reboot(`"when":{"fact":"cpus","is":""}`),
		"fact 'x' is not known",
	},
	{
		reboot(`"when":{"fact":"cpus","below":[{"fact":"x"}]}`),
		reboot(`"when":{"fact":"cpus","is":""}`),
		"fact 'x' is not known",
	},
	{reboot(`"timeoutSeconds":-1`), reboot(`"timeoutSeconds":0`), "timeoutSeconds -1 must be 0 to 604800"},
	{reboot(`"attempts":-1`), reboot(`"attempts":0`), "attempts -1 must be 0 to 100"},
	{reboot(`"delaySeconds":-1`), reboot(`"delaySeconds":0`), "delaySeconds -1 must be 0 to 604800"},

	{
		do("run", `"argv":["a.exe"],"quiet":true,"diagnose":[{"match":"a","reason":"A","message":"m"}]`),
		do("run", `"argv":["a.exe"],"quiet":true`), "because of quiet",
	},
	{do("run", `"argv":["a.com"]`), do("run", `"argv":["a.exe"]`), "must be an absolute path"},
	{do("run", `"argv":["C:\\a.com"]`), do("run", `"argv":["C:\\a.EXE"]`), "must end in .exe"},
	{do("run", `"argv":["a.exe"],"undo":[]`), do("run", `"argv":["a.exe"],"undo":["b.exe"]`), "undo is empty"},
	{
		do("waitFor", `"for":"https","host":"h","port":65536,"say":"s"`),
		do("waitFor", `"for":"https","host":"h","port":65535,"say":"s"`),
		"65535",
	},
	{
		do("waitFor", `"for":"https","host":"h","port":0,"say":"s"`),
		do("waitFor", `"for":"https","host":"h","port":1,"say":"s"`),
		"65535",
	},
	{
		do("waitFor", `"for":"pipe","target":"x","host":"h","say":"s"`),
		do("waitFor", `"for":"pipe","target":"x","say":"s"`),
		"host belongs to",
	},
	{
		do("waitFor", `"for":"pipe","target":"x","port":"1","say":"s"`),
		do("waitFor", `"for":"pipe","target":"x","say":"s"`),
		"port belongs to",
	},
	{
		do("waitFor", `"for":"pipe","target":"x","path":"/","say":"s"`), do("waitFor", `"for":"pipe","target":"x","say":"s"`),
		"path, ca and insecure belong to https",
	},
	{
		do("waitFor", `"for":"pipe","target":"x","ca":"AAAA","say":"s"`), do("waitFor", `"for":"pipe","target":"x","say":"s"`),
		"path, ca and insecure belong to https",
	},
	{
		do("waitFor", `"for":"clock","host":"h","port":1,"withinSeconds":1,"insecure":true,"say":"s"`),
		do("waitFor", `"for":"clock","host":"h","port":1,"withinSeconds":1,"say":"s"`),
		"path, ca and insecure belong to https",
	},
	{registry(`"type":"DWord","value":"2147483648"`), registry(`"type":"DWord","value":"2147483647"`), "must be a number"},
	{registry(`"type":"DWord","value":"-2147483649"`), registry(`"type":"DWord","value":"-2147483648"`), "must be a number"},
	{
		registry(`"type":"QWord","value":"-9223372036854775809"`),
		registry(`"type":"QWord","value":"-9223372036854775808"`),
		"must be a number",
	},
	{
		do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":{"Fact":"cpus"}}`),
		do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":{"fact":"cpus"}}`), "must be the only name of its object, and its " +
			"value a text",
	},
	{
		do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":{"fact":"cpus","d":1}}`),
		do("hnsNetwork", `"request":{"Name":"a","Type":"b","c":{"d":1}}`), "must be the only name of its object, and its value a text",
	},
	{
		do("localUser", `"user":"abcdefghijklmnopqrstu"`),
		do("localUser", `"user":"abcdefghijklmnopqrst"`), "is not a name that Windows takes",
	},
}

func TestStepsHalfByHalf(t *testing.T) {
	for _, half := range stepHalves {
		if err := decode(t, planOf(half.refused)).Validate(); err == nil || !strings.Contains(err.Error(), half.want) {
			t.Errorf("%s: %v, want %s", half.refused, err, half.want)
		}
		if err := decode(t, planOf(half.taken)).Validate(); err != nil {
			t.Errorf("%s: %v", half.taken, err)
		}
	}
}
