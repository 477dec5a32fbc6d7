package armsim

import (
	"encoding/json"
	"os"
)

// WriteFile describes the cloud by a name in a file, as the manager's flag --azure-clouds reads it.
func (c *Cloud) WriteFile(file, name string) error {
	text, err := json.Marshal(map[string]any{"clouds": []map[string]string{{
		"name": name, "resourceManagerEndpoint": c.Endpoint(), "authority": c.Endpoint(), "caBundle": string(c.CA()),
	}}})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
