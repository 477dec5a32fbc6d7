package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"testing/fstest"
	"time"

	"sigs.k8s.io/yaml"
)

// packed is when all files of our archives were changed, so that the same chart is the same bytes.
var packed = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Repository makes the files of a repository from the sources of charts: an archive of each, and the index that names them by
// their digests, as `helm package` and `helm repo index` do.
func Repository(charts ...fs.FS) (fs.FS, error) {
	files, entries := fstest.MapFS{}, map[string][]any{}
	for _, chart := range charts {
		entry, err := metadata(chart)
		if err != nil {
			return nil, err
		}
		name, _ := entry["name"].(string)
		version, _ := entry["version"].(string)
		if name == "" || version == "" {
			return nil, fmt.Errorf("read Chart.yaml: it has no name or no version: %v", entry)
		}
		archive, err := pack(name, chart)
		if err != nil {
			return nil, fmt.Errorf("pack chart %s: %w", name, err)
		}
		digest := sha256.Sum256(archive)
		file := name + "-" + version + ".tgz"
		entry = maps.Clone(entry)
		entry["urls"], entry["digest"], entry["created"] = []any{file}, hex.EncodeToString(digest[:]), packed.Format(time.RFC3339)
		entries[name] = append(entries[name], entry)
		files[file] = &fstest.MapFile{Data: archive, ModTime: packed}
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries, "generated": packed.Format(time.RFC3339)})
	if err != nil {
		return nil, fmt.Errorf("write index: %w", err)
	}
	files["index.yaml"] = &fstest.MapFile{Data: index, ModTime: packed}
	return files, nil
}

func metadata(chart fs.FS) (entry map[string]any, err error) {
	text, err := fs.ReadFile(chart, "Chart.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &entry)
	}
	if err != nil {
		return nil, fmt.Errorf("read Chart.yaml: %w", err)
	}
	return entry, nil
}

// pack puts the files of a chart below a folder of its name.
func pack(name string, chart fs.FS) ([]byte, error) {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	err := fs.WalkDir(chart, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(chart, file)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(name, file), Mode: 0o644, Size: int64(len(content)), ModTime: packed}
		if err := files.WriteHeader(header); err != nil {
			return err
		}
		_, err = files.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
