package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// imageUser is the number of the image's user and group.
const imageUser = 65532

// The media types of the OCI image format.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type imagePlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type descriptor struct {
	MediaType string         `json:"mediaType"`
	Digest    string         `json:"digest"`
	Size      int            `json:"size"`
	Platform  *imagePlatform `json:"platform,omitempty"`
}

type imageManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type imageIndex struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageConfig struct {
	Created      string `json:"created"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []imageHistory `json:"history"`
}

type imageHistory struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// layout is an OCI layout on disk: files that are called by their digests.
type layout struct{ dir string }

// writeImage writes an OCI layout with an image for each processor that the release has for Linux. An image is made from scratch: the
// program, the certificate authorities, a user that is not root, and places where it may write.
func writeImage(r *release, certificates, dir string) error {
	authorities, err := os.ReadFile(certificates)
	if err != nil {
		return fmt.Errorf("the certificate authorities of the image: %w; install ca-certificates, or name a file with -certificates", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	l := layout{dir}
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755); err != nil {
		return err
	}
	index := imageIndex{SchemaVersion: 2, MediaType: typeIndex, Annotations: r.labels()}
	for _, t := range r.has("linux") {
		image, err := l.image(r, t, authorities)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, image)
	}
	// The layout's own index names one thing, the index of the images, so that a push of the layout pushes that.
	all, err := l.add(typeIndex, index)
	if err != nil {
		return err
	}
	top, err := jsonx.Marshal(imageIndex{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{all}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), top, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// labels returns the labels of the image.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "gjc",
		"org.opencontainers.image.description": description,
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.licenses":    "MIT",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.date.Format(time.RFC3339),
	}
}

// image adds the image for one processor.
func (l layout) image(r *release, t target, authorities []byte) (descriptor, error) {
	program, err := os.ReadFile(r.programs[t])
	if err != nil {
		return descriptor{}, err
	}
	layer, err := tarball([]file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\ngjc:x:%d:\n", imageUser)},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\ngjc:x:%d:%[1]d:gjc:/home/gjc:/sbin/nologin\n", imageUser)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities},
		{name: "home/", mode: 0o755},
		{name: "home/gjc/", mode: 0o755, owner: imageUser},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/gjc", mode: 0o755, data: program},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/gjc/", mode: 0o755},
		{name: "usr/share/doc/gjc/copyright", mode: 0o644, data: r.license},
	}, r.date)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := compressed(layer)
	if err != nil {
		return descriptor{}, err
	}
	manifest := imageManifest{SchemaVersion: 2, MediaType: typeManifest, Annotations: r.labels()}
	stored, err := l.addBytes(typeLayer, packed)
	if err != nil {
		return descriptor{}, err
	}
	manifest.Layers = []descriptor{stored}

	created := r.date.Format(time.RFC3339)
	config := imageConfig{Created: created, Architecture: t.arch, OS: t.os, History: []imageHistory{{Created: created, CreatedBy: "cmd/pack"}}}
	config.Config.User = fmt.Sprintf("%d:%[1]d", imageUser)
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/gjc", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"}
	config.Config.Entrypoint = []string{"/usr/local/bin/gjc"}
	config.Config.WorkingDir = "/home/gjc"
	config.Config.Labels = r.labels()
	config.RootFS.Type, config.RootFS.DiffIDs = "layers", []string{digest(layer)}
	if manifest.Config, err = l.add(typeConfig, config); err != nil {
		return descriptor{}, err
	}
	d, err := l.add(typeManifest, manifest)
	d.Platform = &imagePlatform{Architecture: t.arch, OS: t.os}
	return d, err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (l layout) add(mediaType string, v any) (descriptor, error) {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return l.addBytes(mediaType, data)
}

func (l layout) addBytes(mediaType string, data []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
	return d, os.WriteFile(filepath.Join(l.dir, "blobs", "sha256", d.Digest[len("sha256:"):]), data, 0o644)
}
