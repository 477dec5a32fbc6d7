package machines

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Unpack makes the files that cloudbase-init makes of user data, by their paths in Windows.
func Unpack(userData []byte) (map[string][]byte, error) {
	var config struct {
		//nolint:tagliatelle // because cloud-config calls it so
		WriteFiles []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"write_files"`
	}
	if err := yaml.Unmarshal(userData, &config); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, file := range config.WriteFiles {
		content, err := unzip(file.Content)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", file.Path, err)
		}
		files[file.Path] = content
	}
	return files, nil
}

func unzip(content string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(content) // which skips line ends
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

var drive = regexp.MustCompile(`^([A-Z]):\\`)

// HostPath is where a path of Windows is below base: C:\x is base/C/x.
func HostPath(base, path string) string {
	if !drive.MatchString(path) {
		return path
	}
	return base + "/" + path[:1] + "/" + strings.ReplaceAll(path[len(`C:\`):], `\`, "/")
}

// Put writes a file of the machine.
func Put(base, path string, content []byte) error {
	host := HostPath(base, path)
	if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
		return err
	}
	return os.WriteFile(host, content, 0o600)
}

// Stage puts the files of user data where cloudbase-init does, and tells the folder. The plan alone is changed: PowerShell on
// Linux knows no drives, so the paths of files in it lead below base.
func Stage(base string, userData []byte) (folder string, err error) {
	files, err := Unpack(userData)
	if err != nil {
		return "", err
	}
	for path, content := range files {
		if strings.HasSuffix(path, `\plan.json`) {
			if content, err = HostPaths(base, content); err != nil {
				return "", err
			}
		}
		if err := Put(base, path, content); err != nil {
			return "", err
		}
		folder = filepath.Dir(HostPath(base, path))
	}
	return folder, nil
}

// pathFields of a plan hold paths of files that the agent itself opens. What programs are given stays as it is.
var pathFields = map[string]bool{
	"path": true, "paths": true, "patterns": true, "erase": true, "creates": true, "logins": true, "target": true,
}

// treeFields hold trees that are none of the language.
var treeFields = map[string]bool{"body": true, "patch": true, "request": true, "rules": true, "environment": true}

// HostPaths is the plan with the paths of files below base.
func HostPaths(base string, planJSON []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(planJSON))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(hostPaths(base, tree, false))
}

func hostPaths(base string, node any, isPath bool) any {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if !treeFields[key] {
				node[key] = hostPaths(base, value, pathFields[key])
			}
		}
	case []any:
		for i, value := range node {
			node[i] = hostPaths(base, value, isPath)
		}
	case string:
		if isPath {
			return HostPath(base, node)
		}
	}
	return node
}
