package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
)

// bill is a software bill of materials as CycloneDX 1.6 has it.
type bill struct {
	Format       string `json:"bomFormat"`
	SpecVersion  string `json:"specVersion"`
	SerialNumber string `json:"serialNumber"`
	Version      int    `json:"version"`
	Metadata     struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// modulesOf lists what Go has put down in a program when it built it: Go itself and every module with its hash in go.sum.
func modulesOf(program io.ReaderAt, version string) ([]byte, error) {
	info, err := buildinfo.Read(program)
	if err != nil {
		return nil, err
	}
	sum, err := checksum(program)
	if err != nil {
		return nil, err
	}
	list := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	list.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(sum)).URN() // the same program has the same list
	list.Metadata.Component = golang("application", info.Main.Path, version)
	list.Metadata.Component.Hashes = []hash{{"SHA-256", sum}}
	list.Components = []component{golang("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		library, err := libraryOf(module)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", module.Path, err)
		}
		list.Components = append(list.Components, library)
	}
	return json.MarshalIndent(list, "", "  ")
}

func libraryOf(module *debug.Module) (component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	packed, ok := strings.CutPrefix(module.Sum, "h1:")
	sum, err := base64.StdEncoding.DecodeString(packed)
	if !ok || err != nil || len(sum) != sha256.Size {
		return component{}, fmt.Errorf("no hash in go.sum, but %q", module.Sum)
	}
	library := golang("library", module.Path, module.Version)
	library.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return library, nil
}

func golang(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

func checksum(content io.ReaderAt) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(content, 0, 1<<62)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
