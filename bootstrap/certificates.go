package bootstrap

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const certificatesDirectory = ownDirectory + `\certificates`

// trust puts CAs where Windows, and every Go program on it, looks. certutil takes one certificate of a file.
func (p *part) trust(n *node) error {
	seen := map[string]bool{}
	for i, trusted := range n.spec.Windows.TrustedCertificates {
		field := fmt.Sprintf("%s.trustedCertificates[%d]", windowsField, i)
		if !scriptName.MatchString(trusted.Name) || seen[trusted.Name] {
			return invalid(field, "name %q is none, or is there twice; write small letters, digits and dashes, 40 at most", trusted.Name)
		}
		seen[trusted.Name] = true
		read, err := n.read(field, trusted.Content, trusted.ContentFrom)
		if err != nil {
			return err
		}
		blocks, err := readCertificates(field, read.bytes)
		if err != nil {
			return err
		}
		for j, block := range blocks {
			name := fmt.Sprintf("%s-%d", trusted.Name, j+1)
			path := certificatesDirectory + `\` + name + ".crt"
			file := fileStep("certificate-"+name, ReasonTrustFailed, path, block)
			file.Access = plan.AccessAdmin
			p.add(phaseWindows, file, &plan.Run{
				Common: plan.Common{Name: "trust-" + name, Reason: ReasonTrustFailed, TimeoutSeconds: 60, Attempts: 3},
				Argv:   plan.Texts("certutil.exe", "-f", "-addstore", "Root", path),
			})
		}
	}
	return nil
}

// readCertificates gives each certificate as PEM of its own.
func readCertificates(field string, data []byte) ([][]byte, error) {
	var found [][]byte
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, invalid(field, "it holds a %s; write certificates only", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, invalid(field, "it holds a certificate that can not be read (%v); write PEM", err)
		}
		found = append(found, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
	}
	if len(found) == 0 {
		return nil, invalid(field, "it holds no certificate; write PEM")
	}
	return found, nil
}
