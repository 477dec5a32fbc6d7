package preview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces all files or none: it writes them next to the old ones, and renames them when all are there.
func Write(folder string, files []File) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("%w; name a folder, or one that can be made, with -o", err)
	}
	for _, file := range files {
		if err := file.checkPlace(folder); err != nil {
			return err
		}
	}
	staging, err := os.MkdirTemp(folder, ".render-*") // 0700
	if err != nil {
		return err
	}
	err = stage(staging, files)
	if err == nil {
		err = publish(staging, folder, files)
	}
	return errors.Join(err, os.RemoveAll(staging))
}

// checkPlace refuses what a file cannot replace.
func (f File) checkPlace(folder string) error {
	path := filepath.Join(folder, f.Name)
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; remove it, or use another folder with -o. Nothing was written", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func stage(staging string, files []File) error {
	for _, file := range files {
		if file.Content == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(staging, file.Name), file.Content, 0o600); err != nil {
			return fmt.Errorf("%w. Nothing was replaced", err)
		}
	}
	return nil
}

// publish replaces the files, and does not keep the permissions of the old ones. A file without content is from an earlier call
// and not about this machine.
func publish(staging, folder string, files []File) error {
	for _, file := range files {
		path := filepath.Join(folder, file.Name)
		if file.Content != nil {
			if err := os.Rename(filepath.Join(staging, file.Name), path); err != nil {
				return err
			}
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
