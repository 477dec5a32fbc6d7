package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const root = "../.."

func TestRepository(t *testing.T) {
	problems := expect.Got(check(root))(t)
	for _, problem := range problems {
		t.Error(problem)
	}
}

// A check that never finds anything is quiet, too: each rule must find what is put into a clean script.
func TestRulesFind(t *testing.T) {
	language := expect.Got(readLanguage(root))(t)
	long := "function Get-Long {\n" + strings.Repeat("    1\n", 39) + "}\n"
	for _, test := range []struct{ name, text, want string }{
		{"clean", "function Get-One { 1 }\n\nfunction Get-Two {\n    'two'\n}\n", ""},
		{"carriage return", "'a'\r\n", "the character U+000D is not plain ASCII"},
		{"tab", "\t'a'\n", "the character U+0009"},
		{"letter", "'\u00fc'\n", "the character U+00FC"},
		{"byte order mark", "\ufeff'a'\n", "the character U+FEFF"},
		{"long line", strings.Repeat("x", 151) + "\n", "151 characters in a line"},
		{"long function", long, "Get-Long has 41 lines"},
		{"function without end", "function Get-Open {\n    1\n", "Get-Open does not end"},
		{"phase", "if ($phase -eq 'container-runtime') { }\n", `"container-runtime"`},
		{"phase of an English word", "'prepare'\n", `"prepare"`},
		{"reason", "Exit-Step $text 'TokenRejected'\n", `"tokenrejected"`},
		{"network mode", "'L2Bridge'\n", `"l2bridge"`},
		{"CNI", "# as Flannel wants it\n", `"flannel"`},
		{"cloud", "$vsphere = 1\n", `"vsphere"`},
		{"program", "& 'kubeadm.exe'\n", `"kubeadm"`},
		{"service", "Get-Service kubelet\n", `"kubelet"`},
		{"variable", "$env:NO_PROXY\n", `"no_proxy"`},
		{"field of a patch", "$patch['systemReserved']\n", `"systemreserved"`},
		{"path of a plan", "'C:\\k\\kubeadm.exe'\n", `the path C:\k\kubeadm.exe`},
		{"any other path", "'D:\\data'\n", `the path D:\data`},
		{"version", "'v1.36'\n", "v1.36, which looks like a version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			one := script{"x.ps1", test.text}
			problems := slices.Concat(plain(one), functions(one), language.words(one))
			if test.want == "" {
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("%q, want %q", problems, test.want)
			}
		})
	}
}

func TestWholeFind(t *testing.T) {
	bare := "#cloud-config\n"
	for _, test := range []struct {
		name string
		got  []string
		want string
	}{
		{"pin", pinned(script{"bootstrap/windows/domainjoin.ps1", "exit 0\n"}), "pinned is"},
		{"lines", sizes(mostLines+1, 1), fmt.Sprintf("%d lines", mostLines+1)},
		{"bytes", sizes(1, mostBytes+1), "29001 bytes"},
		{"first line", formats("# a comment\n"), "does not begin with #cloud-config"},
		{"place of a blob", formats(bare + "@@HASH@@"), "nothing was put in"},
		{"MIME", formats(bare + "Content-Type: multipart/mixed"), "MIME"},
		{"data as code", words("Invoke-Expression $x"), "data as code"},
		{"exception without use", (&language{}).unused(), `"imagepath"`},
	} {
		if !strings.Contains(fmt.Sprint(test.got), test.want) {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
	for _, fine := range [][]string{sizes(mostLines, mostBytes), formats(bare), words(bare), pinned(script{"other", ""})} {
		if len(fine) > 0 {
			t.Error(fine)
		}
	}
}
