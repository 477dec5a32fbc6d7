package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The media types of the image specification, version 1.1.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// programPath is where the Deployment expects the manager.
const programPath = "/manager"

// user is the one of the Deployment, for those who run the image without it.
const user = "65532:65532"

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

func (p platform) name() string { return p.OS + "/" + p.Architecture }

// descriptor points at a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// imageConfig leaves out when it was created: that would make other bytes each time.
type imageConfig struct {
	platform
	Config struct {
		User       string
		Entrypoint []string
		WorkingDir string
		Labels     map[string]string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// layout is a folder as the image specification describes it.
type layout struct{ dir string }

func newLayout(dir string) (*layout, error) {
	// Blobs of an earlier build would stay without anything that names them.
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o750); err != nil {
		return nil, err
	}
	return &layout{dir: dir}, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o600)
}

// addImage makes an image of a program alone.
func (l *layout) addImage(p platform, program []byte, annotations map[string]string) (descriptor, error) {
	files, err := archive(program)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := pack(files)
	if err != nil {
		return descriptor{}, err
	}
	layer, err := l.add(layerType, packed)
	if err != nil {
		return descriptor{}, err
	}
	config := imageConfig{platform: p}
	config.Config.User, config.Config.Entrypoint, config.Config.WorkingDir = user, []string{programPath}, "/"
	config.Config.Labels = annotations
	config.RootFS.Type, config.RootFS.DiffIDs = "layers", []string{digest(files)}
	configured, err := l.addJSON(configType, config)
	if err != nil {
		return descriptor{}, err
	}
	image, err := l.addJSON(manifestType, manifest{
		SchemaVersion: 2, MediaType: manifestType, Config: configured, Layers: []descriptor{layer}, Annotations: annotations,
	})
	image.Platform = &p
	return image, err
}

// close writes the index of all platforms and returns its digest, which is the image's.
func (l *layout) close(images []descriptor, version string, annotations map[string]string) (string, error) {
	all, err := l.addJSON(indexType, index{SchemaVersion: 2, MediaType: indexType, Manifests: images, Annotations: annotations})
	if err != nil {
		return "", err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": version}
	content, err := json.Marshal(index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{all}})
	if err != nil {
		return "", err
	}
	return all.Digest, os.WriteFile(filepath.Join(l.dir, "index.json"), content, 0o600)
}

func (l *layout) addJSON(mediaType string, object any) (descriptor, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return descriptor{}, err
	}
	return l.add(mediaType, content)
}

func (l *layout) add(mediaType string, content []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
	file := filepath.Join(l.dir, "blobs", "sha256", d.Digest[len("sha256:"):])
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return descriptor{}, fmt.Errorf("write blob: %w", err)
	}
	return d, nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// archive is a file system with one program that belongs to root, without a time.
func archive(program []byte) ([]byte, error) {
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: programPath[1:], Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(program); err != nil {
		return nil, err
	}
	return files.Bytes(), writer.Close()
}

func pack(files []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(files); err != nil {
		return nil, err
	}
	err := writer.Close()
	return packed.Bytes(), err
}
