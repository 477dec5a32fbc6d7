package windows

import (
	"encoding/pem"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const certificatesDirectory = step.OwnDirectory + `\certificates`

// trust has certificates of CAs in PEM, each under the name of its step.
type trust []trusted

type trusted struct {
	name string
	pem  []byte
}

func readTrust(in Input) (setting, error) {
	var list trust
	seen := map[string]bool{}
	for i, wanted := range in.Spec.TrustedCertificates {
		field := fmt.Sprintf("%s.trustedCertificates[%d]", windowsField, i)
		if err := step.CheckName(field, wanted.Name, seen); err != nil {
			return nil, err
		}
		read, err := in.Sources.Content(field, wanted.Content, wanted.ContentFrom)
		if err != nil {
			return nil, err
		}
		certificates, err := step.Certificates(field, read.Bytes, "PEM")
		if err != nil {
			return nil, err
		}
		for j, certificate := range certificates {
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
			list = append(list, trusted{fmt.Sprintf("%s-%d", wanted.Name, j+1), text})
		}
	}
	return list, nil
}

// addTo adds the CAs to the store of Windows, which every Go program on it uses too. certutil reads one certificate
// per file.
func (t trust) addTo(p *step.Part) {
	for _, cert := range t {
		path := certificatesDirectory + `\` + cert.name + ".crt"
		p.Add(step.PhaseWindows, step.PrivateFile("certificate-"+cert.name, step.ReasonTrustFailed, path, cert.pem),
			step.Tool("trust-"+cert.name, step.ReasonTrustFailed, "certutil.exe", "-f", "-addstore", "Root", path))
	}
}
