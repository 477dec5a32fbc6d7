package report

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var findings = []cloud.Finding{
	{Check: "connection", Result: cloud.CheckOK, Text: "vcenter.example.com"},
	{Check: "privileges on folder", Result: cloud.CheckFailed, Text: "the account lacks VirtualMachine.Interact.PowerOn on " +
		"\"windows\": give it the role of docs/vcenter.md"},
	{Check: "privileges on Folder", Result: cloud.CheckSkipped, Text: "the folder is not known"},
}

const asTable = `CHECK                 RESULT   WHAT WAS FOUND, AND WHAT TO DO
connection            ok       vcenter.example.com
privileges on folder  failed   the account lacks VirtualMachine.Interact.PowerOn on "windows": give it the role
                               of docs/vcenter.md
privileges on Folder  skipped  the folder is not known
`

const asYAML = `apiVersion: windows.cluster.x-k8s.io/v1alpha1
items:
- apiVersion: windows.cluster.x-k8s.io/v1alpha1
  check: connection
  kind: Finding
  message: vcenter.example.com
  metadata:
    name: connection
  result: ok
- apiVersion: windows.cluster.x-k8s.io/v1alpha1
  check: privileges on folder
  kind: Finding
  message: 'the account lacks VirtualMachine.Interact.PowerOn on "windows": give it
    the role of docs/vcenter.md'
  metadata:
    name: privileges-on-folder
  result: failed
- apiVersion: windows.cluster.x-k8s.io/v1alpha1
  check: privileges on Folder
  kind: Finding
  message: the folder is not known
  metadata:
    name: privileges-on-folder-2
  result: skipped
kind: FindingList
metadata: {}
`

func TestFormats(t *testing.T) {
	list := NewList(findings)
	var table, yaml bytes.Buffer
	expect.OK(t, WriteTable(&table, list))
	expect.Same(t, "table", asTable, table.String())
	expect.OK(t, (&printers.YAMLPrinter{}).PrintObj(list, &yaml))
	expect.Same(t, "YAML", asYAML, yaml.String())
}

func TestFailed(t *testing.T) {
	if !NewList(findings).Failed() || NewList(findings[:1]).Failed() || NewList(findings[2:]).Failed() {
		t.Error("a list has failed if a finding has, and not if a check was skipped")
	}
}

// TestEmpty: a program that reads JSON gets a list, too, if there is nothing in it.
func TestEmpty(t *testing.T) {
	var out bytes.Buffer
	expect.OK(t, (&printers.JSONPrinter{}).PrintObj(NewList(nil), &out))
	if !bytes.Contains(out.Bytes(), []byte(`"items": []`)) {
		t.Errorf("got %s", out.String())
	}
}

// TestCopies: printers may change their copy.
func TestCopies(t *testing.T) {
	list := NewList(findings)
	copied := list.DeepCopyObject().(*FindingList)
	copied.Items[0].Name = "changed"
	one := list.Items[1].DeepCopyObject().(*Finding)
	one.Labels = map[string]string{"a": "b"}
	expect.Same(t, "list", NewList(findings), list)
	for _, object := range []runtime.Object{list, &list.Items[0]} {
		if object.GetObjectKind().GroupVersionKind().Empty() {
			t.Errorf("%T has no kind", object)
		}
	}
}

func TestNames(t *testing.T) {
	for check, want := range map[string]string{
		"image.template": "image.template", "quota for Standard_D4s_v5": "quota-for-standard-d4s-v5", "VMware Tools": "vmware-tools",
		"provider Microsoft.Compute": "provider-microsoft.compute", "disk (0)": "disk-0", ".": "",
	} {
		if got := nameOf(check); got != want {
			t.Errorf("%q becomes %q, want %q", check, got, want)
		}
	}
}

// TestCommandsOfHostileClusters: what a terminal obeys is in no command.
func TestCommandsOfHostileClusters(t *testing.T) {
	var one Entry
	for purpose, command := range map[string]string{
		"a": "kubectl \x1b[2J", "b": "", "c": strings.Repeat("x", maxCommand+1), "d": "kubectl get nodes", "e": "kubectl\nrm",
	} {
		one.Commands = append(one.Commands, Command{Purpose: purpose, Run: command})
	}
	expect.Same(t, "commands", []Command{{Purpose: "d", Run: "kubectl get nodes"}}, FromEntries([]Entry{one}).Items[0].Commands)
}
