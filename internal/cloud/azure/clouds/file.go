package clouds

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const (
	maxFile   = 1 << 20
	maxClouds = 64
)

// Load reads the file with the manager's own clouds. Without a file the book has the public clouds.
func Load(file string) (Book, error) {
	if file == "" {
		return Book{}, nil
	}
	content, err := read(file)
	if err != nil {
		return Book{}, fmt.Errorf("read the clouds: %w", err)
	}
	book, err := parse(content)
	if err != nil {
		return Book{}, fmt.Errorf("clouds in %s: %w", file, err)
	}
	return book, nil
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d KiB", file, maxFile>>10)
	}
	return content, err
}

var names = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,62}$`)

// parse reads YAML or JSON: {clouds: [{name, resourceManagerEndpoint, authority, ...}]}.
func parse(content []byte) (Book, error) {
	var read struct {
		Clouds []Cloud `json:"clouds"`
	}
	if err := strictly(content, &read); err != nil {
		return Book{}, err
	}
	if n := len(read.Clouds); n == 0 || n > maxClouds {
		return Book{}, fmt.Errorf("clouds: there are %d, but there must be 1 to %d", n, maxClouds)
	}
	var book Book
	for i, c := range read.Clouds {
		key := fmt.Sprintf("clouds[%d]", i)
		if !names.MatchString(c.Name) {
			return Book{}, fmt.Errorf("%s.name: this must be letters, digits and dashes, at most 63, and begin with a letter", key)
		}
		taken := func(name string) bool { return strings.EqualFold(name, c.Name) }
		if slices.ContainsFunc(book.Names(), taken) {
			return Book{}, fmt.Errorf("%s.name: there is already a cloud %s: use another name", key, c.Name)
		}
		checked, err := c.check()
		if err != nil {
			return Book{}, fmt.Errorf("%s.%w", key, err)
		}
		book.added = append(book.added, checked)
	}
	return book, nil
}

// strictly refuses unknown keys, keys in another case, and keys that stand twice.
func strictly(content []byte, target any) error {
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(text, target)
	return errors.Join(append(unknown, err)...)
}
