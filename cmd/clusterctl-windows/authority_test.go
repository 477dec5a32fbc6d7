package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// expiredCA is the Secret of a CA that ended in 2001.
const expiredCA = `---
apiVersion: v1
kind: Secret
metadata: {name: blue-ca, namespace: team-a}
stringData:
  tls.crt: |
    -----BEGIN CERTIFICATE-----
    MIIBSzCB86ADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA29sZDAeFw0w
    MDAxMDEwMDAwMDBaFw0wMTAxMDEwMDAwMDBaMA4xDDAKBgNVBAMTA29sZDBZMBMG
    ByqGSM49AgEGCCqGSM49AwEHA0IABFRpJfHcD4TaghD8a2IvxV/vBa6qrDbo6/1q
    HglRERDUovTmu8XBNNECm9qKSUnzYlvO7xcsIayzcnESnF1GZVWjQjBAMA4GA1Ud
    DwEB/wQEAwICBDAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQC5Wfv8j3cf983
    YicE9Oly0vlAcTAKBggqhkjOPQQDAgNHADBEAiBIq629OcjQM5lGlE54sM7bruyD
    0mgvX2CLasWoQmbkMgIgfGJoWW1fZxMkzCppIelEjrBENFGMpRXCkkkJcOsSP5Y=
    -----END CERTIFICATE-----
`

// What a guest got is shown without the cluster's CA, and not compared.
func TestStoredPlanWithoutTheCA(t *testing.T) {
	before, after, _ := strings.Cut(withSecret(t, ofController(t)), "apiVersion: v1\nkind: Secret\nmetadata:\n  name: blue-ca\n")
	_, after, _ = strings.Cut(after, "---\n")
	objects := before + "# the CA is not there\n---\n" + after
	got := call(t, objects, "plan", "-f", "-", "--machine", machineName)
	want := "note: showing what the guest got, from Secret team-a/" + machineName +
		"; without the Secret team-a/blue-ca it is not compared with what this release would render\n"
	if got.Code != exitDone || got.Err != want {
		t.Errorf("got %d\n%s, want\n%s", got.Code, got.Err, want)
	}
}

// Nothing is replaced where not all files can be.
func TestFolderInTheWay(t *testing.T) {
	for _, name := range []string{"userdata", "metadata", "node.json"} {
		folder := t.TempDir()
		rendered(t, folder, readText(t, gitFile), "--machine", "m")
		path := filepath.Join(folder, name)
		expect.OK(t, os.Remove(path))
		expect.OK(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
		before := contents(t, folder)
		got := call(t, readText(t, machineFile), "render", "-f", "-", "--machine", machineName, "-o", folder)
		want := path + " is a folder; remove it, or use another folder with -o. Nothing was written\n"
		if got.Code != exitRefused || got.Out != "" || got.Err != want {
			t.Errorf("got %+v, want %s", got, want)
		}
		expect.Same(t, "files with the folder "+name+" in the way", before, contents(t, folder))
	}
}

// contents returns the names and texts of what is in a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, entry := range expect.Got(os.ReadDir(folder))(t) {
		text := "a folder"
		if !entry.IsDir() {
			text = readText(t, filepath.Join(folder, entry.Name()))
		}
		all[entry.Name()] = text
	}
	return all
}

func TestFileInPlaceOfTheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	expect.OK(t, os.WriteFile(file, []byte("kept"), 0o600))
	got := call(t, readText(t, machineFile), "render", "-f", "-", "--machine", machineName, "-o", file)
	if got.Code != exitRefused || !strings.HasSuffix(got.Err, "; name a folder, or one that can be made, with -o\n") {
		t.Errorf("got %+v", got)
	}
	expect.Same(t, "the file", "kept", readText(t, file))
}
