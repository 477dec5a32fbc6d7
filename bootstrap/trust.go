package bootstrap

import (
	"encoding/pem"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const certificatesDirectory = ownDirectory + `\certificates`

// trust is the certificates of CAs, each in PEM by the name of its step.
type trust []trusted

type trusted struct {
	name string
	pem  []byte
}

func readTrust(in windowsInput) (setting, error) {
	var all trust
	seen := map[string]bool{}
	for i, wanted := range in.spec.TrustedCertificates {
		field := fmt.Sprintf("%s.trustedCertificates[%d]", windowsField, i)
		if !scriptName.MatchString(wanted.Name) || seen[wanted.Name] {
			return nil, invalid(field, "name %q is none, or is there twice; write small letters, digits and dashes, 40 at most", wanted.Name)
		}
		seen[wanted.Name] = true
		read, err := in.sources.of(field, wanted.Content, wanted.ContentFrom)
		if err != nil {
			return nil, err
		}
		certificates, err := readCertificates(field, read.bytes, "PEM")
		if err != nil {
			return nil, err
		}
		for j, certificate := range certificates {
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
			all = append(all, trusted{fmt.Sprintf("%s-%d", wanted.Name, j+1), text})
		}
	}
	return all, nil
}

// addTo puts CAs where Windows, and every Go program on it, looks. certutil takes one certificate of a file.
func (t trust) addTo(p *part) {
	for _, one := range t {
		path := certificatesDirectory + `\` + one.name + ".crt"
		p.add(phaseWindows, privateFile("certificate-"+one.name, ReasonTrustFailed, path, one.pem), &plan.Run{
			Common: plan.Common{Name: "trust-" + one.name, Reason: ReasonTrustFailed, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts("certutil.exe", "-f", "-addstore", "Root", path),
		})
	}
}
