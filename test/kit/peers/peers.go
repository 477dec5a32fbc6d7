// Package peers finds programs of others that tests run in place of our stand-ins: the managers of the peers whose modules the Go
// proxy does not have. REAL names a folder with them. Without it the stand-ins play them, and the end of make verify says so.
package peers

import (
	"os"
	"path/filepath"
	"testing"
)

// The programs, and the versions that our stand-ins play.
const (
	CAPV       = "capv"            // the manager of Cluster API Provider vSphere, in CAPVVersion
	CAPVYAML   = "capv.yaml"       // its components: kinds, roles, webhooks and Deployment
	Operator   = "tigera-operator" // Calico's operator, in OperatorVersion, which installs Calico v3.32.1
	AzureCCM   = "azure-ccm"       // the cloud controller manager of cloud-provider-azure 7b31c76
	AzureNodes = "azure-cnm"       // its cloud node manager
)

// CAPVVersion and OperatorVersion are those which the stand-ins play, too.
const (
	CAPVVersion     = "v1.16.1"
	OperatorVersion = "v1.42.4"
)

// Program returns the path of a program, or "" where REAL names no folder. A folder without it fails the test: who sets REAL
// wants the programs to run.
func Program(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv("REAL")
	if folder == "" {
		return ""
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("REAL is %s, and it has no %s: unset REAL, or add the program: %v", folder, name, err)
	}
	return path
}
