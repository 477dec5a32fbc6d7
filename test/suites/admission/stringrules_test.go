package admission

import (
	"fmt"
	"slices"
	"strings"
)

// stringRules are the rules that say what a text of a WindowsBootstrapConfig is.
var stringRules = slices.Concat(containerdStrings, windowsStrings, programStrings, []rule{scriptTime, delayedStart})

// says is the rule of a field with good and bad values.
func says(field, message string, good, bad []any) rule {
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]"), message: message,
		accepted: edits(field, good...), refused: edits(field, bad...),
	}
}

// shortName is the rule of names that are part of a file's name, with an example.
func shortName(field, example string) rule {
	return says(field,
		"must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as "+example,
		[]any{"a-1", "1"}, []any{"A", "a b", "a_b", "-a", "a-", "a.b", "a\n"})
}

// path is the rule of paths, with an example.
func path(field, example string) rule {
	return says(field,
		"must be a full path on drive C: with backslashes, such as "+example+
			`, without wildcards, "..", short names such as PROGRA~1, names that end in a dot or blank, and devices such as NUL`,
		[]any{`c:\Program Files (x86)\.app\a.b`, `C:\a`},
		[]any{
			`C:/a.txt`, `D:\x`, `/etc/a`, `\a`, `C:a`, `C:\`, `C:\a\`, `C:\a\..\b`, `C:\a.\b`, `C:\a `, `C:\a*`, `C:\a\\b`,
			`C:\PROGRA~1\containerd`, `C:\a:stream`, `\\server\share`, `\\?\C:\a`, "C:\\a\n", "C:\\a\x00", `"C:\a"`, `%TEMP%\a`,
			`C:\NUL`, `C:\con.txt\a`, `C:\a\Com² .b`, `C:\conout$`,
		})
}

// text without a NUL, which ends a text for some programs.
func plain(field string) rule {
	return says(field, "must not have NUL characters; put binary content in a Secret or ConfigMap and use contentFrom",
		[]any{"a\r\n\tb"}, []any{"a\x00b"})
}

var containerdStrings = []rule{
	shortName("spec.containerd.dropIns[].name", "limits"), plain("spec.containerd.dropIns[].content"),
	says("spec.containerd.registries[].host",
		"must be a registry as in image names, without scheme and path, such as docker.io or registry.example.com:5000; "+
			"_default stands for all others",
		[]any{"a.example.com:5000", "10.0.0.5", "localhost"},
		[]any{
			"https://a", "a/b", "A.example.com", "a:port", "a:0", "a:65536", "a.example.com.", "a..b", "*.example.com", "a ", "default_",
		}),
	says("spec.containerd.registries[].mirrors[].url",
		"must be http:// or https:// with a host, and port and path if needed, such as https://mirror.example.com, without user, "+
			"query, and slash at the end; for a user, list the host in registries with credentialsRef",
		[]any{"https://a.example.com/v2/hub", "http://10.0.0.5:5000"},
		[]any{
			"ftp://a", "a.example.com", "https://a/", "https://user:pw@a", "https://a?b", "HTTPS://a", "https://a:65536", "https://",
			" https://a", "https://a/b c",
		}),
}

var windowsStrings = slices.Concat(
	[]rule{
		shortName("spec.windows.trustedCertificates[].name", "company"),
		says("spec.windows.trustedCertificates[].content",
			"must be certificates in PEM and nothing secret: each begins with the line -----BEGIN CERTIFICATE----- and ends with the "+
				"line -----END CERTIFICATE-----, both without indentation",
			[]any{"company\n" + pem + pem, strings.ReplaceAll(pem, "\n", "\r\n")},
			[]any{
				"a", "  " + strings.ReplaceAll(pem, "\n", "\n  "), strings.ReplaceAll(pem, "\n", " "),
				strings.ReplaceAll(pem, "CERTIFICATE", "PRIVATE KEY"), pem + strings.ReplaceAll(pem, "CERTIFICATE", "RSA PRIVATE KEY"),
				strings.SplitAfter(pem, "AAAA")[0],
			}),
		says("spec.windows.timeZone",
			"must be Windows' name of a time zone, such as W. Europe Standard Time for Europe/Berlin; tzutil /l lists them",
			[]any{"W. Europe Standard Time", "UTC-11", "Russia Time Zone 3", "Central Standard Time (Mexico)"},
			[]any{"Europe/Berlin", "CET", "utc", "UTC+1", "GMT+1", "W. Europe Standard Time ", "(UTC+01:00) Amsterdam, Berlin"}),
		says("spec.windows.ntpServers[]",
			"must be a host name or an IP address, such as time.example.com, without scheme, port and flags",
			[]any{"time.example.com", "10.0.0.2", "fd00::2", "dc1"},
			[]any{"a b", "ntp://a", "a:123", "10.0.0.256", "[fd00::2]", "time.example.com,0x8", "fe80::1%eth0", "-a", "a..b"}),
		says("spec.windows.users[].name",
			"must be letters, digits, dashes and underscores, such as ops, without a domain",
			[]any{"a_B-1"}, []any{"a b", `CORP\ops`, "ops@example.com", "-a", "a.b", "jürgen"}),
		says("spec.windows.users[].sshAuthorizedKeys[]",
			"must be a public key on one line, as in id_ed25519.pub and without options, such as ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 "+
				"ops@example.com",
			[]any{"ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 AAAA== a b"},
			[]any{
				"hello", "-----BEGIN OPENSSH PRIVATE KEY-----", "ssh-dss AAAA", "AAAA", "ssh-ed25519  AAAA", "ssh-ed25519 AAAA\n",
				`from="10.0.0.0/8" ssh-ed25519 AAAA`, "~/.ssh/id_ed25519.pub",
			}),
		says("spec.windows.features[]",
			"must be a feature by its name in Get-WindowsFeature, such as Containers or Web-Server",
			[]any{"Web-Server"}, []any{"a b", "Web Server (IIS)", "a_b", "-a", "a-"}),
		path("spec.windows.defenderExclusions.folders[]", `C:\data`),
		says("spec.windows.defenderExclusions.processes[]",
			"must be the file name of a program without its folder, such as app.exe",
			[]any{"a-b_c.1.exe"}, []any{"a.com", `C:\a.exe`, "app", "*.exe", "app.exe "}),
		says("spec.windows.csiProxy.path",
			`must be the full path of a program on drive C: with backslashes, such as C:\k\csi-proxy.exe, without wildcards, "..", `+
				"short names such as PROGRA~1, and devices such as NUL",
			[]any{`c:\csi-proxy.exe`, `C:\Program Files\csi.EXE`},
			[]any{`C:\csi-proxy`, "C:/k/csi-proxy.exe", `D:\csi-proxy.exe`, "csi-proxy.exe", `C:\k\..\csi-proxy.exe`, `C:\aux\a.exe`}),
		says("spec.windows.gmsaPlugin.classID",
			"must be the ID of a COM class without braces, such as CCC2A336-D7F3-4818-A213-272B7924213E",
			[]any{guid}, []any{"{" + guid + "}", guid[1:], strings.ReplaceAll(guid, "-", "")}),
		says("spec.windows.domain.name",
			"must be the name of the domain in DNS, such as corp.example.com, not its short name",
			[]any{"corp.example.com"}, []any{"CORP", "corp.example.com.", "ldap://corp.example.com", `corp.example.com\a`, "a..b"}),
		says("spec.windows.domain.organizationalUnit",
			"must be the full distinguished name of an organizational unit, such as OU=Nodes,DC=corp,DC=example,DC=com",
			[]any{"OU=Nodes,DC=a", "ou=a b,cn=c,dc=d,dc=e", `OU=a\, b,DC=c`},
			[]any{
				"Nodes", "OU=Nodes", "DC=corp,DC=com", "corp.example.com/Nodes", "OU=Nodes ,DC=a", "OU=,DC=a", "OU=a,DC=b ",
				"OU=a\n,DC=b",
			}),
		says("spec.windows.proxy.noProxy[]",
			"must be a host, a domain such as .example.com, an IP address, or a CIDR with no bits set after the prefix, "+
				"such as 10.0.0.0/8",
			[]any{"a", ".local", "a.b:80", "10.0.0.1", "fd00::1", "10.0.0.0/8", "fd00::/8"},
			[]any{"a,b", "a b", "https://a", "10.0.0.1/8", "10.0.0.256", "10.0.0.0/33", "[fd00::1]", "a:65536", "a/b", ".", "<local>"}),
		says("spec.windows.proxy.noProxy[]", "programs do not agree on what * means here; write .local instead of *.local",
			[]any{".local"}, []any{"*.local", "*", "10.*"}),
	},
	proxyURL("spec.windows.proxy.http"), proxyURL("spec.windows.proxy.https"),
	[]rule{secretRule("spec.windows.proxy.credentialsRef")},
)

// proxyURL has the rules of a proxy.
func proxyURL(field string) []rule {
	return []rule{
		says(field, "use scheme, host and port only, such as http://proxy.example.com:3128",
			[]any{"http://a", "https://a:443/", "http://[fd00::1]:3128", "http://10.0.0.1:65535", "http://a_b"},
			[]any{
				"http://a/b", "http://:3128", "http://a:port", "http://[fd00::1", "http://a%zz", "proxy:3128", "socks5://a:1080",
				"http://a:65536", "http://a b", "http://a?b", "http://a#b", " http://a",
			}),
		says(field, "user and password do not belong in a URL, where everybody who can read the config sees them; "+
			"write credentialsRef and remove them here",
			[]any{"http://a"}, []any{"http://user:password@a:3128", "http://user@a", "user:password@a", "http://user@"}),
	}
}

var programStrings = []rule{
	shortName("spec.network.firewall[].name", "metrics"),
	says("spec.kubelet.extraArgs[].name",
		"must be the name of a flag without dashes in front and without its value, such as vmodule",
		[]any{"node-ip", "v"}, []any{"--v", "-v", "v=4", "v ", "nodeIP", "node_ip", "node-"}),
	says("spec.kubelet.extraArgs[].value",
		"must be printable ASCII without double quotes, percent signs, which Windows would replace, and blanks at its ends",
		[]any{"", "4", `C:\Program Files\a`}, []any{`C:\"a"`, `"4"`, "4\n", " 4", "4 ", "ü", "a\u0085b", "a\u00a0b", `C:\%OS%\a`}),
	says("spec.kubelet.featureGates[].name",
		"must be the name of a feature gate as Kubernetes writes it, such as NodeLogQuery",
		[]any{"NodeLogQuery"}, []any{"nodeLogQuery", "NodeLogQuery=true", "Node Log", "--feature-gates"}),
	path("spec.kubelet.log.directory", `C:\logs\kubelet`),
	says("spec.kubelet.log.directory",
		"must be printable ASCII without percent signs, because the path is an argument of the kubelet's service; "+
			`use a name such as C:\logs\kubelet`,
		[]any{`C:\Kubernetes Logs\kubelet`}, []any{`C:\Protokolle für alle`, "C:\\a\u00a0b", "C:\\a\u2028b", `C:\%OS%\logs`}),
	path("spec.custom.files[].path", `C:\etc\app.conf`), plain("spec.custom.files[].content"),
	shortName("spec.custom.preJoin[].name", "drivers"), plain("spec.custom.preJoin[].content"),
	shortName("spec.custom.postJoin[].name", "drivers"), plain("spec.custom.postJoin[].content"),
	shortName("spec.custom.everyBoot[].name", "drivers"), plain("spec.custom.everyBoot[].content"),
}

var scriptTime = rule{
	at: "spec", field: "spec.custom",
	message: "the timeoutSeconds of all scripts (default 300) must add up to less than bootstrapDeadlineSeconds " +
		"(default 1800); lower them, or raise it",
	accepted: []map[string]any{
		{"spec.custom": absent, "spec.bootstrapDeadlineSeconds": int64(300)},
		{"spec.custom": map[string]any{"files": []any{file("a")}}, "spec.bootstrapDeadlineSeconds": int64(300)},
		timed(900, slow("a", 400), slow("b", 499)), timed(900, slow("a", 0), slow("b", 0)), timed(0, slow("a", 1799)),
	},
	refused: []map[string]any{
		timed(900, slow("a", 3600)), timed(900, slow("a", 400), slow("b", 500)), timed(600, slow("a", 0), slow("b", 0)),
		timed(0, slow("a", 1800)),
	},
}

// delayedStart: the full object has everyBoot scripts.
var delayedStart = rule{
	at: "spec", field: "spec.kubelet.start",
	message: "start: AutomaticDelayed has no effect with custom.everyBoot, after whose scripts the bootstrap starts the kubelet; " +
		"remove one of the two",
	accepted: []map[string]any{
		{"spec.kubelet.start": "Automatic"},
		{"spec.kubelet.start": absent},
		{"spec.kubelet": absent},
		{"spec.kubelet.start": "AutomaticDelayed", "spec.custom": absent},
		{"spec.kubelet.start": "AutomaticDelayed", "spec.custom.everyBoot": absent},
		{"spec.kubelet.start": "AutomaticDelayed", "spec.custom.everyBoot": []any{}},
	},
	refused: []map[string]any{{"spec.kubelet.start": "AutomaticDelayed"}},
}

// timed scripts are all before the join but the last, and have a deadline; 0 leaves it out.
func timed(deadlineSeconds int64, scripts ...any) map[string]any {
	last := len(scripts) - 1
	all := map[string]any{"spec.custom": map[string]any{"preJoin": scripts[:last], "postJoin": scripts[last:]}}
	if last == 0 {
		all["spec.custom"] = map[string]any{"postJoin": scripts}
	}
	all["spec.bootstrapDeadlineSeconds"] = any(absent)
	if deadlineSeconds > 0 {
		all["spec.bootstrapDeadlineSeconds"] = deadlineSeconds
	}
	return all
}

// slow is a script with a time-out; 0 leaves it out.
func slow(name string, seconds int64) any {
	made := script(fmt.Sprint("slow-", name))
	if seconds > 0 {
		made["timeoutSeconds"] = seconds
	}
	return made
}
