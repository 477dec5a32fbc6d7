package clouds

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime" // fills the SDK's own table
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/google/go-cmp/cmp"
)

const good = `
clouds:
- name: AzureStackCloud
  resourceManagerEndpoint: https://Management.Example.com:8443/
  authority: https://login.example.com:443/
  storageSuffix: core.example.com
  computeAPIVersion: "2024-11-01"
`

// TestPublicClouds compares the table with that of Azure's SDK.
func TestPublicClouds(t *testing.T) {
	for name, want := range map[string]azcloud.Configuration{
		"": azcloud.AzurePublic, Public: azcloud.AzurePublic, USGovernment: azcloud.AzureGovernment, China: azcloud.AzureChina,
	} {
		got, ok := (Book{}).Named(name)
		if diff := cmp.Diff(want, got.Configuration()); !ok || diff != "" {
			t.Errorf("%q: %v\n%s", name, ok, diff)
		}
		if got.Chosen() || got.StorageSuffix == "" || (name != "" && got.String() != name) {
			t.Errorf("%q: %#v", name, got)
		}
	}
	for _, name := range []string{"azurepubliccloud", "AzureGermanCloud", "AzureStackCloud"} {
		if c, ok := (Book{}).Named(name); ok {
			t.Errorf("%s is %v", name, c)
		}
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Cloud{
		Name: "AzureStackCloud", ResourceManager: "https://management.example.com:8443", Authority: "https://login.example.com/",
		Audience: "https://management.example.com:8443", StorageSuffix: "core.example.com", ComputeAPIVersion: "2024-11-01",
	}
	got, ok := book.Named("AzureStackCloud")
	if !ok || got != want || got.Chosen() {
		t.Errorf("%v, %#v", ok, got)
	}
	if diff := cmp.Diff([]string{"management.example.com:8443", "login.example.com"}, got.Hosts()); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(book.Names(), []string{Public, USGovernment, China, "AzureStackCloud"}) {
		t.Error(book.Names())
	}
	if book, err := Load(""); err != nil || len(book.Names()) != 3 {
		t.Errorf("no file: %v, %v", book, err)
	}
	json := `{"clouds": [{"name": "x", "resourceManagerEndpoint": "https://a.test", "authority": "https://b.test"}]}`
	if _, err := parse([]byte(json)); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

// TestWrongFiles: each error names the file and the key.
func TestWrongFiles(t *testing.T) {
	with := func(is, other string) string { return strings.Replace(good, is, other, 1) }
	for _, test := range []struct{ name, content, says string }{
		{"nothing", "", "clouds: there are 0"},
		{"not YAML", "clouds: [", "clouds in "},
		{"an unknown key", good + "  region: x\n", "region"},
		{"a key in another case", with("authority", "Authority"), "Authority"},
		{"a key twice", good + "  authority: https://other.example.com\n", "authority"},
		{"a key beside clouds", good + "default: x\n", "default"},
		{"no name", with("AzureStackCloud", `""`), "clouds[0].name: "},
		{"a name that climbs", with("AzureStackCloud", "../x"), "clouds[0].name: "},
		{"a public name", with("AzureStackCloud", Public), "there is already a cloud AzurePublicCloud"},
		{"a public name in small letters", with("AzureStackCloud", "azurechinacloud"), "there is already a cloud"},
		{"a name twice", good + strings.TrimPrefix(good, "\nclouds:\n"), "clouds[1].name: "},
		{
			"a public address", with("Management.Example.com:8443", "management.azure.com:443"),
			"clouds[0].resourceManagerEndpoint: this is the address of AzurePublicCloud",
		},
		{"no authority", with("authority: https://login.example.com:443/", ""), "clouds[0].authority: "},
		{"no endpoint", with("resourceManagerEndpoint: https://Management.Example.com:8443/", ""), "resourceManagerEndpoint: "},
		{"a certificate", good + "  caBundle: x\n", "clouds[0].caBundle: "},
		{"an audience", good + "  audience: nobody\n", "clouds[0].audience: "},
		{"a suffix without a dot", with("core.example.com", "com"), "clouds[0].storageSuffix: "},
		{"a version", with("2024-11-01", "latest"), "clouds[0].computeAPIVersion: "},
		{"Azure Stack Hub", with("2024-11-01", "2020-06-01"), "leaves disks and network adapters behind"},
		{"too large", strings.Repeat("#", maxFile+1), "larger than"},
	} {
		file := filepath.Join(t.TempDir(), "clouds.yaml")
		if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		book, err := Load(file)
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), file) || len(book.added) > 0 {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "missing.yaml")); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://arm.test": true, "https://arm.test/": true, "https://arm.test:8443": true, "https://[::1]:8443": true,
		"HTTPS://ARM.test": true, "https://127.0.0.1:1": true,
		"": false, "arm.test": false, "http://arm.test": false, "ftp://arm.test": false, "https://": false, "https:///x": false,
		"https://user@arm.test": false, "https://user:pass@arm.test": false, "https://@arm.test": false,
		"https://arm.test/path": false, "https://arm.test//": false, "https://arm.test/..": false, "https://arm.test/%2e%2e": false,
		"https://arm.test?x": false, "https://arm.test?": false, "https://arm.test#x": false, "https:arm.test": false,
		"https://arm.test\\@evil.test": false, "https://arm.test:": false, "https://arm.test:0": false, "https://arm.test:65536": false,
		"https://arm..test": false, "https://-arm.test": false, "https://arm.test ": false, " https://arm.test": false,
		"https://arm.test\r\nX: y": false, "https://ärm.test": false, "https://arm_test": false, "https://[fe80::1%25en0]": false,
		"https://" + strings.Repeat("a", 300): false,
	} {
		if got, err := origin("key", address); (err == nil) != ok {
			t.Errorf("%q: %q, %v", address, got, err)
		}
	}
}

func TestChoose(t *testing.T) {
	chosen, err := Choose(Cloud{Name: Public, ResourceManager: "https://arm.test", Authority: "https://login.test"})
	if err != nil || !chosen.Chosen() || chosen.String() != "https://arm.test" || chosen.Name != "" {
		t.Errorf("%v, %#v", err, chosen)
	}
	if _, err := Choose(Cloud{ResourceManager: "http://arm.test"}); err == nil {
		t.Error("an address without TLS")
	}
	other := chosen
	other.Audience = "https://other.test"
	if other.Text() == chosen.Text() {
		t.Error("two clouds, one text")
	}
}

func TestStores(t *testing.T) {
	azure, _ := (Book{}).Named(Public)
	lab := Cloud{StorageSuffix: "127.0.0.1:8443"}
	for _, test := range []struct {
		of      Cloud
		address string
		want    bool
	}{
		{azure, "https://logs.blob.core.windows.net/x?sig=y", true},
		{azure, "https://md-1.z1.blob.storage.azure.net/x", true},
		{azure, "http://logs.blob.core.windows.net/x", false},
		{azure, "https://logs.blob.core.windows.net:8443/x", false},
		{azure, "https://user@logs.blob.core.windows.net/x", false},
		{azure, "https://logs.blob.core.windows.net.evil.test/x", false},
		{azure, "https://evilcore.windows.net/x", false},
		{azure, "https://evil.test/?core.windows.net", false},
		{azure, "://", false},
		{lab, "https://127.0.0.1:8443/bootdiagnostics/x", true},
		{lab, "https://md-1.z1.blob.storage.azure.net/x", false},
		{Cloud{}, "https://logs.blob.core.windows.net/x", false},
	} {
		if got := test.of.Stores(test.address); got != test.want {
			t.Errorf("%s in %v: %v", test.address, test.of, got)
		}
	}
}
