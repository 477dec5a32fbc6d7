package main

import (
	"fmt"
	"path/filepath"

	"github.com/capwin/cluster-api-provider-windows/internal/plugin/objects"
	"github.com/capwin/cluster-api-provider-windows/internal/plugin/preview"
)

func render(found *objects.Set, o options, s streams) error {
	m, err := gather(found, o, s)
	if err != nil {
		return err
	}
	files, err := m.Files(o.showSecrets)
	if err != nil {
		return err
	}
	if files[0].Content == nil {
		fmt.Fprintln(s.err, "note: userdata and node.json are not written, because their secrets cannot be masked; use --show-secrets")
	}
	if err := preview.Write(o.folder, files); err != nil {
		return err
	}
	for _, one := range files {
		if one.Content != nil {
			fmt.Fprintf(s.out, "%s: %d bytes, %s\n", filepath.Join(o.folder, one.Name), len(one.Content), one.About)
		}
	}
	return nil
}
