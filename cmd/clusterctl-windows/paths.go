package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions are those of the files that kubectl reads in a folder: FileExtensions in k8s.io/cli-runtime/pkg/resource/builder.go.
var extensions = []string{".json", ".yaml", ".yml"}

// pathsOf are the files that values of -f name, as kubectl reads them: a file with any extension, a pattern that the shell has
// not replaced, and of a folder the files with one of the extensions, sorted, without those of its subfolders.
func pathsOf(named []string) (paths []string, err error) {
	for _, path := range named {
		files, err := expanded(path)
		if err != nil {
			return nil, err
		}
		paths = append(paths, files...)
	}
	return paths, nil
}

func expanded(named string) ([]string, error) {
	switch {
	case named == "-":
		return []string{named}, nil
	case strings.HasPrefix(named, "http://") || strings.HasPrefix(named, "https://"):
		return nil, fmt.Errorf("%s is a URL, and this program reads files only; write: curl -sSfL %s | ... -f -", named, named)
	}
	info, err := os.Stat(named)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return matching(named)
	case err == nil && info.IsDir():
		return filesIn(named)
	}
	return []string{named}, nil // opening it returns what is wrong
}

// matching are the files of a pattern. If there is none, the pattern is the name of a file that is missing.
func matching(pattern string) ([]string, error) {
	matches, err := filepath.Glob(pattern)
	if err != nil || len(matches) == 0 {
		return []string{pattern}, nil //nolint:nilerr // because what is no pattern is a name
	}
	return pathsOf(matches)
}

func filesIn(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains(extensions, filepath.Ext(entry.Name())) {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file in the folder %s ends with %s; subfolders are not read, name each with its own -f",
			folder, strings.Join(extensions, ", "))
	}
	return paths, nil
}

// manyFiles is a hint about an argument that is probably a file: where a shell replaces the pattern of -f *.yaml, only the first
// file is the flag's. kubectl refuses the others, too.
func manyFiles(argument string) string {
	if !slices.Contains(extensions, filepath.Ext(argument)) {
		return ""
	}
	return "; -f takes one file: repeat it, name the folder (-f DIR), or quote the pattern (-f '*.yaml')"
}
