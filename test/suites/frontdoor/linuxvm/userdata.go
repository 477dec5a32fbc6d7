package linuxvm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// userData is what Cluster API's kubeadm bootstrap provider writes for cloud-init (bootstrap/kubeadm, internal/cloudinit).
type userData struct {
	files    []file
	commands []string
}

type file struct {
	Path, Content, Encoding, Permissions string
	Append                               bool
}

const jinja = "## template: jinja\n"

var expressions = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// read does what cloud-init does with user data in a VM of this name: it fills in the template and decodes the files.
func read(text []byte, hostname string) (*userData, error) {
	if bytes.HasPrefix(text, []byte(jinja)) {
		var err error
		if text, err = fillIn(text, hostname); err != nil {
			return nil, err
		}
	}
	if !bytes.Contains(text, []byte("#cloud-config\n")) {
		return nil, fmt.Errorf("the user data are no #cloud-config")
	}
	var config struct {
		Files    []file   `json:"write_files"`
		Commands []string `json:"runcmd"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("read user data: %w", err)
	}
	for i := range config.Files {
		if err := config.Files[i].decode(); err != nil {
			return nil, fmt.Errorf("read file %s of the user data: %w", config.Files[i].Path, err)
		}
	}
	return &userData{files: config.Files, commands: config.Commands}, nil
}

// fillIn knows the names by which a VM finds its own name; all others are an error, as they are for cloud-init.
func fillIn(text []byte, hostname string) ([]byte, error) {
	var unknown error
	filled := expressions.ReplaceAllFunc(text, func(found []byte) []byte {
		name := string(expressions.FindSubmatch(found)[1])
		switch plain := strings.NewReplacer(`["`, ".", `['`, ".", `"]`, "", `']`, "").Replace(name); plain {
		case "ds.meta_data.hostname", "ds.meta_data.local_hostname", "local_hostname", "v1.local_hostname":
			return []byte(hostname)
		}
		unknown = fmt.Errorf("the user data ask for %s, which a VM does not know", name)
		return found
	})
	return filled, unknown
}

func (f *file) decode() error {
	packed := strings.Contains(f.Encoding, "gz")
	if strings.Contains(f.Encoding, "b64") || strings.Contains(f.Encoding, "base64") {
		plain, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return err
		}
		f.Content = string(plain)
	}
	if !packed {
		return nil
	}
	unpacked, err := gzip.NewReader(strings.NewReader(f.Content))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(unpacked)
	f.Content = string(plain)
	return err
}
