package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settingsSpec has every setting of Windows, containerd and the user's own files and scripts, each with a valid value.
const settingsSpec = `custom: {files: [{path: 'C:\etc\app.conf', content: a, access: Administrators}],
	  preJoin: [{name: pre, type: Cmd, content: a, timeoutSeconds: 60}], postJoin: [{name: post, content: a, timeoutSeconds: 60}],
	  everyBoot: [{name: boot, type: Cmd, content: a, timeoutSeconds: 60}]},
	  containerd: {registries: [{host: docker.io, mirrors: [{url: 'https://mirror.example.com'}],
	  caFrom: {secret: {name: a, key: a}}, credentialsRef: {name: a}}],
	  pauseImage: registry.example.com/pause:1, prepullImages: [registry.example.com/app:1],
	  hyperVIsolation: Enabled, dropIns: [{name: a, content: a}]},
	  windows: {proxy: {http: 'http://proxy:3128', https: 'http://proxy:3128', noProxy: [.example.com],
	  credentialsRef: {name: a}}, trustedCertificates: [{name: a,
	  content: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}], timeZone: UTC, ntpServers: [time.example.com],
	  users: [{name: ops, role: User, sshAuthorizedKeys: [ssh-ed25519 AAAA ops]}], features: [Containers],
	  defenderExclusions: {folders: ['C:\data'], processes: [app.exe]}, csiProxy: {path: 'C:\k\csi-proxy.exe'},
	  pageFile: {policy: Fixed, sizeMiB: 8192}, dataDrive: {letter: D, format: IfEmpty},
	  gmsaPlugin: {classID: 11111111-2222-3333-4444-555555555555},
	  domain: {name: corp.example.com, organizationalUnit: 'OU=Nodes,DC=corp', credentialsRef: {name: a}}}`

// source is a ContentSource of the kind that is in the field's name.
func source(field string) map[string]any {
	if strings.Contains(field, "configMap") {
		return map[string]any{"configMap": map[string]any{"name": "a", "key": "a"}}
	}
	return map[string]any{"secret": map[string]any{"name": "a", "key": "a"}}
}

var settingsLimits = slices.Concat(
	items("spec.custom.files", 64, file),
	[]limit{
		required("spec.custom.files[].path"),
		{"spec.custom.files[].path", "minLength", `C:\a`, "", "should be at least 1 chars long"},
		longest("spec.custom.files[].path", `C:\`+long(237), `C:\`+long(238), 240),
		oneOf("spec.custom.files[].access", "Administrators", "Everybody"),
	},
	contents("spec.custom.files[]"),
	scripts("spec.custom.preJoin"),
	scripts("spec.custom.postJoin"),
	bootScripts("spec.custom.everyBoot"),
	containerdLimits, windowsLimits, domainLimits,
)

var containerdLimits = slices.Concat(
	items("spec.containerd.registries", 16, registry),
	[]limit{
		required("spec.containerd.registries[].host"), required("spec.containerd.registries[].mirrors[].url"),
		{"spec.containerd.registries[].mirrors[].url", "minLength", "http://a", "", "should be at least 1 chars long"},
		longest("spec.containerd.registries[].mirrors[].url", "http://"+long(505), "http://"+long(506), 512),
		oneOf("spec.containerd.hyperVIsolation", "Disabled", "Maybe"),
		required("spec.containerd.dropIns[].name"),
	},
	text("spec.containerd.registries[].host", 253),
	secretReference("spec.containerd.registries[].credentialsRef"),
	items("spec.containerd.registries[].mirrors", 8,
		func(key string) map[string]any { return map[string]any{"url": "https://" + key} }),
	references("spec.containerd.registries[].caFrom"),
	[]limit{
		{"spec.containerd.pauseImage", "minLength", "a.b/c", "", "should be at least 1 chars long"},
		longest("spec.containerd.pauseImage", "a.b/"+long(508), "a.b/"+long(509), 512),
	},
	texts("spec.containerd.prepullImages", 32, 512, shape{head: "a.example.com/"}),
	items("spec.containerd.dropIns", 16, script),
	text("spec.containerd.dropIns[].name", 40),
	contents("spec.containerd.dropIns[]"),
)

var windowsLimits = slices.Concat(
	[]limit{
		required("spec.windows.trustedCertificates[].name"),
		{"spec.windows.timeZone", "minLength", "UTC", "", "should be at least 1 chars long"},
		longest("spec.windows.timeZone", "A"+long(49)+" Standard Time", "A"+long(50)+" Standard Time", 64),
		required("spec.windows.users[].name"),
		oneOf("spec.windows.users[].role", "Administrator", "King"),
		required("spec.windows.users[].sshAuthorizedKeys"),
		{"spec.windows.csiProxy.path", "minLength", `C:\a.exe`, "", "should be at least 1 chars long"},
		longest("spec.windows.csiProxy.path", `C:\`+long(233)+".exe", `C:\`+long(234)+".exe", 240),
	},
	url("spec.windows.proxy.http"), url("spec.windows.proxy.https"),
	texts("spec.windows.proxy.noProxy", 64, 253, shape{}),
	items("spec.windows.trustedCertificates", 16, certificate),
	text("spec.windows.trustedCertificates[].name", 40),
	references("spec.windows.trustedCertificates[].contentFrom"),
	[]limit{
		{"spec.windows.trustedCertificates[].content", "minLength", pem, "", "should be at least 1 chars long"},
		longest("spec.windows.trustedCertificates[].content", pem+long(32768-len(pem)), pem+long(32769-len(pem)), 32768),
	},
	texts("spec.windows.ntpServers", 8, 253, shape{}),
	items("spec.windows.users", 16, func(key string) map[string]any {
		return map[string]any{"name": key, "sshAuthorizedKeys": []any{"ssh-rsa AAAA"}}
	}),
	text("spec.windows.users[].name", 20),
	[]limit{{
		"spec.windows.users[].sshAuthorizedKeys", "minItems", right, []any{}, "should have at least 1 items",
	}},
	texts("spec.windows.users[].sshAuthorizedKeys", 16, 2048, shape{head: "ssh-rsa AAAA"}),
	texts("spec.windows.features", 32, 64, shape{}),
	texts("spec.windows.defenderExclusions.folders", 32, 240, shape{head: `C:\`}),
	texts("spec.windows.defenderExclusions.processes", 32, 64, shape{tail: ".exe"}),
)

var domainLimits = slices.Concat(
	[]limit{
		{"spec.windows.domain.name", "minLength", "a.b", "", "should be at least 1 chars long"},
		longest("spec.windows.domain.name", "a."+long(251), "a."+long(252), 253),
		{"spec.windows.domain.organizationalUnit", "minLength", "OU=a,DC=b", "", "should be at least 1 chars long"},
		longest("spec.windows.domain.organizationalUnit", "OU="+long(1016)+",DC=a", "OU="+long(1017)+",DC=a", 1024),
	},
	secretReference("spec.windows.domain.credentialsRef"), secretReference("spec.windows.proxy.credentialsRef"),
	[]limit{
		{"spec.windows.gmsaPlugin.classID", "minLength", guid, "", "should be at least 1 chars long"},
		// A rule fixes the length.
		longest("spec.windows.gmsaPlugin.classID", guid, long(65), 64),
	},
)

func registry(key string) map[string]any {
	return map[string]any{"host": key, "credentialsRef": map[string]any{"name": "a"}}
}

func url(field string) []limit {
	return []limit{
		{field, "minLength", "http://a", "", "should be at least 1 chars long"},
		longest(field, "http://"+long(1017), "http://"+long(1018), 1024),
	}
}

// shape is what a text must begin and end with.
type shape struct{ head, tail string }

// texts are the limits of a list of texts.
func texts(field string, most, characters int, s shape) []limit {
	fill := characters - len(s.head) - len(s.tail)
	return append(upTo(field, most, func(i int) any { return fmt.Sprint(s.head, "a", i, s.tail) }), []limit{
		{field + "[]", "minLength", s.head + "a" + s.tail, "", "should be at least 1 chars long"},
		longest(field+"[]", s.head+long(fill)+s.tail, s.head+long(fill+1)+s.tail, characters),
	}...)
}

var settingsRules = slices.Concat(
	contentRules("spec.custom.files"), contentRules("spec.custom.preJoin"), contentRules("spec.custom.postJoin"),
	contentRules("spec.windows.trustedCertificates"), contentRules("spec.containerd.dropIns"),
	[]rule{
		sourceRule("spec.containerd.registries[].caFrom", nil, both),
		secretRule("spec.containerd.registries[].credentialsRef"), secretRule("spec.windows.domain.credentialsRef"),
		{
			at: "spec.containerd.registries[]", field: "spec.containerd.registries[0]",
			message: "set at least one of mirrors, caFrom and credentialsRef",
			accepted: edits("spec.containerd.registries[]",
				map[string]any{"host": "a", "caFrom": source("secret")}, registry("a")),
			refused: edits("spec.containerd.registries[]", map[string]any{"host": "a"}, map[string]any{
				"host": "a", "mirrors": []any{}, "caFrom": map[string]any{}, "credentialsRef": map[string]any{},
			}),
		},
		{
			at: "spec.containerd.registries[]", field: "spec.containerd.registries[0].credentialsRef",
			message: "credentials for _default would be sent to every registry; set host to the registry that they are for",
			accepted: []map[string]any{
				{"spec.containerd.registries[].host": "_default", "spec.containerd.registries[].credentialsRef": absent},
				{"spec.containerd.registries[].host": "default"},
				{"spec.containerd.registries[].host": "_default", "spec.containerd.registries[].credentialsRef": map[string]any{}},
			},
			refused: edits("spec.containerd.registries[].host", "_default"),
		},
		fullImage("spec.containerd.pauseImage"), fullImage("spec.containerd.prepullImages[]"),
		{
			at: "spec.windows.proxy", field: "spec.windows.proxy", message: "set http, https or both",
			accepted: []map[string]any{
				{"spec.windows.proxy.http": absent},
				{"spec.windows.proxy.https": absent},
				{"spec.windows.proxy": map[string]any{"noProxy": []any{}}},
			},
			refused: []map[string]any{{"spec.windows.proxy": map[string]any{"noProxy": []any{"a"}}}},
		},
	},
	keyRules("spec.containerd.registries[].caFrom.secret"), keyRules("spec.containerd.registries[].caFrom.configMap"),
	keyRules("spec.discovery.kubeconfigFrom.secret"),
	onWindows,
	[]rule{{
		at: "spec.windows.domain", field: "spec.windows.domain",
		message:  "a domain needs name and credentialsRef; set both, or leave out domain",
		accepted: edits("spec.windows.domain", map[string]any{}, map[string]any{"credentialsRef": map[string]any{}}),
		refused: []map[string]any{
			{"spec.windows.domain.name": absent},
			{"spec.windows.domain.credentialsRef": absent},
			{"spec.windows.domain.credentialsRef": map[string]any{}},
			{"spec.windows.domain": map[string]any{"organizationalUnit": "OU=a"}},
		},
	}, {
		at: "spec.custom.files[]", field: "spec.custom.files[0].access",
		message: "a file with content from a Secret is for Administrators only; remove access, or take the content from a ConfigMap",
		accepted: []map[string]any{
			{
				"spec.custom.files[].access": "Inherited", "spec.custom.files[].content": absent,
				"spec.custom.files[].contentFrom": source("configMap"),
			},
			{
				"spec.custom.files[].access": absent, "spec.custom.files[].content": absent,
				"spec.custom.files[].contentFrom": source("secret"),
			},
		},
		refused: []map[string]any{
			{
				"spec.custom.files[].access": "Inherited", "spec.custom.files[].content": absent,
				"spec.custom.files[].contentFrom": source("secret"),
			},
		},
	}},
)

// contents are the limits of content and contentFrom.
func contents(path string) []limit {
	return slices.Concat(text(path+".content", 32768), references(path+".contentFrom"))
}

// references are the limits of a ContentSource.
func references(path string) []limit {
	return slices.Concat(keyReference(path+".secret"), keyReference(path+".configMap"))
}

func scripts(path string) []limit {
	return slices.Concat(
		items(path, 16, script),
		[]limit{required(path + "[].name"), oneOf(path+"[].type", "PowerShell", "Perl")},
		text(path+"[].name", 40),
		contents(path+"[]"),
		between(path+"[].timeoutSeconds", 1, 3600),
	)
}

// bootScripts are scripts whose content is text.
func bootScripts(path string) []limit {
	return slices.Concat(
		items(path, 8, script),
		[]limit{required(path + "[].name"), required(path + "[].content"), oneOf(path+"[].type", "PowerShell", "Perl")},
		text(path+"[].name", 40), text(path+"[].content", 32768),
		between(path+"[].timeoutSeconds", 1, 3600),
	)
}

var both = map[string]any{"secret": source("secret")["secret"], "configMap": source("configMap")["configMap"]}

// contentRules are the rules of a list whose items have content or contentFrom.
func contentRules(list string) []rule {
	path, item := list+"[]", strings.ReplaceAll(list+"[]", "[]", "[0]")
	rules := []rule{
		{
			at: path, field: item, message: "set exactly one of content and contentFrom",
			accepted: []map[string]any{
				{},
				{path + ".content": absent, path + ".contentFrom": source("configMap")},
				{path + ".contentFrom": map[string]any{}},
				{path + ".contentFrom": map[string]any{"secret": map[string]any{}, "configMap": map[string]any{}}},
			},
			refused: []map[string]any{
				{path + ".content": absent},
				{path + ".contentFrom": source("configMap")},
				{path + ".content": absent, path + ".contentFrom": map[string]any{}},
			},
		},
		sourceRule(path+".contentFrom", map[string]any{path + ".content": absent}, both),
	}
	return slices.Concat(rules, keyRules(path+".contentFrom.secret"), keyRules(path+".contentFrom.configMap"))
}

// keyRules are the rules of a KeyReference.
func keyRules(path string) []rule {
	field := strings.ReplaceAll(path, "[]", "[0]")
	return []rule{
		{
			at: path, field: field, message: "set both name and key",
			accepted: []map[string]any{{}},
			refused:  edits(path, map[string]any{"name": "a"}, map[string]any{"key": "a"}),
		},
		{
			at: path + ".name", field: field + ".name",
			message: "must be the name of an object in the config's own namespace: lower-case letters, digits, '-' and '.', " +
				"such as node-files",
			accepted: edits(path+".name", goodNames...), refused: edits(path+".name", wrongNames...),
		},
		{
			at: path + ".key", field: field + ".key",
			message:  "must be a key of a Secret or ConfigMap: letters, digits, '-', '_' and '.', such as app.conf",
			accepted: edits(path+".key", "app.conf", "A_b-1", ".hidden", long(253)),
			refused:  edits(path+".key", "", "a/b", "a b", "../x", "ä"),
		},
	}
}

// secretRule is the rule of a SecretReference.
func secretRule(path string) rule {
	return rule{
		at: path + ".name", field: strings.ReplaceAll(path, "[]", "[0]") + ".name",
		message: "must be the name of a Secret in the config's own namespace: lower-case letters, digits, '-' and '.', " +
			"such as harbor",
		accepted: edits(path+".name", goodNames...), refused: edits(path+".name", wrongNames...),
	}
}

var (
	goodNames  = []any{"harbor", "my.secret-1", "1", long(253)}
	wrongNames = []any{"", "Harbor", "../../x", "a b", "-a", "a-", "a..b", "a/b"}
)

// sourceRule is the rule of a ContentSource. The edits in beside are made with each case.
func sourceRule(path string, beside, both map[string]any) rule {
	edit := func(value any) map[string]any {
		edits := map[string]any{path: value}
		maps.Copy(edits, beside)
		return edits
	}
	return rule{
		at: path, field: strings.ReplaceAll(path, "[]", "[0]"), message: "set secret or configMap, not both",
		accepted: []map[string]any{edit(source("secret")), edit(source("configMap"))},
		refused:  []map[string]any{edit(both)},
	}
}

func file(key string) map[string]any { return map[string]any{"path": `C:\` + key, "content": "a"} }

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

func certificate(key string) map[string]any { return map[string]any{"name": key, "content": pem} }

func script(key string) map[string]any { return map[string]any{"name": key, "content": "a"} }

// items are the limits of a list of type map.
func items(field string, most int, item func(key string) map[string]any) []limit {
	return upTo(field, most, func(i int) any { return item(fmt.Sprint("a", i)) })
}
