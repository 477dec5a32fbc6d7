package session

import (
	"fmt"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// otherCA is a certificate that no test server has.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBQTCB6aADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMTBW90aGVyMCAX
DTcwMDEwMTAwMDAwMFoYDzIwOTYxMDAyMDcwNjQwWjAQMQ4wDAYDVQQDEwVvdGhl
cjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIuvpveNUxukjyUufqzymFYVSLCH
PtbDNN6Y/YmKsRbsuLNRk73x8gfMzUGtcjdiYiYmfQO1RrPEyMmvUSktG5WjMjAw
MA8GA1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFHMEq2fUxLuwIFvVKs7iB0KlRuYs
MAoGCCqGSM49BAMCA0cAMEQCIHjRVwyhkfxX6dU4Dody8meJih2C/MV7m7JrmRWn
3t4KAiAdl7GSmLvazK2haejvr6tvHWE8rDhzZi470soK6mmJqg==
-----END CERTIFICATE-----
`

func TestOpen(t *testing.T) {
	good := func() map[string][]byte {
		return map[string][]byte{
			"server": []byte("vcenter.example.com:8443\n"), "username": []byte("u"), "password": []byte("topsecret\n"),
			"ca.crt": []byte(otherCA),
		}
	}
	for name, change := range map[string]func(map[string][]byte){
		"no server":            func(c map[string][]byte) { delete(c, "server") },
		"no username":          func(c map[string][]byte) { delete(c, "username") },
		"empty password":       func(c map[string][]byte) { c["password"] = []byte("\n") },
		"neither":              func(c map[string][]byte) { delete(c, "ca.crt") },
		"both":                 func(c map[string][]byte) { c["thumbprint"] = []byte(strings.Repeat("00", 32)) },
		"http":                 func(c map[string][]byte) { c["server"] = []byte("http://vcenter.example.com") },
		"a URL":                func(c map[string][]byte) { c["server"] = []byte("https://vcenter.example.com/sdk") },
		"a user in the server": func(c map[string][]byte) { c["server"] = []byte("u:p@vcenter.example.com") },
		"a path":               func(c map[string][]byte) { c["server"] = []byte("vcenter.example.com/sdk") },
		"a port alone":         func(c map[string][]byte) { c["server"] = []byte(":443") },
		"no PEM":               func(c map[string][]byte) { c["ca.crt"] = []byte("MIIB") },
		"SHA-1": func(c map[string][]byte) {
			delete(c, "ca.crt")
			c["thumbprint"] = []byte(strings.Repeat("00", 20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			credentials := good()
			change(credentials)
			_, err := Open(credentials)
			cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsMissingReason)
			if err != nil && strings.Contains(err.Error(), "topsecret") {
				t.Errorf("the message tells the password: %s", err)
			}
		})
	}
	s, err := Open(good())
	expect.OK(t, err)
	if text := fmt.Sprintf("%v %+v %#v", s.endpoint, s.endpoint, s.endpoint); strings.Contains(text, "topsecret") {
		t.Errorf("the endpoint prints the password: %s", text)
	}
	if s.endpoint.server != "vcenter.example.com:8443" {
		t.Errorf("server = %q", s.endpoint.server)
	}
}
