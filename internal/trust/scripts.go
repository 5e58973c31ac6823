package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// maxScript is the maximum size of a workspace's program, in bytes.
const maxScript = 16 << 20

// AddScripts adds to a subject the files of its directory that a command names: the program, or a script for an interpreter. Trust
// covers the files that run, so the user is asked again if they change. Relative words are below the subject's directory.
func (s *Subject) AddScripts(command []string) error {
	for _, word := range pathWords(command) {
		path := word
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Path, filepath.FromSlash(word))
		}
		rel, err := filepath.Rel(s.Path, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			continue
		}
		info, err := os.Stat(path) // follow symlinks, because their targets run
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := filepath.ToSlash(rel)
		if slices.ContainsFunc(s.Files, func(f File) bool { return f.Name == name }) {
			continue
		}
		sum, err := sumOf(path)
		if err != nil {
			return err
		}
		s.Files = append(s.Files, File{Name: name, Sum: sum})
	}
	return nil
}

// pathWords returns the words of a command and the parts of them that could be paths: after "=", and in a command line for a shell.
func pathWords(command []string) []string {
	words := slices.Clone(command)
	for _, word := range command {
		words = append(words, strings.FieldsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=;&|()<>{}\"'`,:", r) })...)
	}
	return words
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return "", fmt.Errorf("%s cannot be read: %w", filepath.Base(path), err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxScript+1))
	if err != nil {
		return "", err
	}
	if n > maxScript {
		return "", fmt.Errorf("%s is too large", filepath.Base(path))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
