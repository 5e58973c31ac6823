package hooks

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
	"strconv"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/internal/trust"
)

// shownCommand formats a command so that the boundaries of its words are visible.
func shownCommand(words []string) string {
	shown := make([]string, len(words))
	for i, word := range words {
		if shown[i] = word; word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsGraphic(r) || strings.ContainsRune(" \t\"'`$&|;<>()*?[]#~\\", r) }) {
			shown[i] = strconv.Quote(word)
		}
	}
	return strings.Join(shown, " ")
}

// program returns the path of the hook's program: an absolute path, one relative to the root or the agent directory, or
// a name on PATH.
func (h *Hook) program(r Runner) (string, error) {
	name := h.Command[0]
	switch {
	case filepath.IsAbs(name):
		return name, nil
	case strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator):
		return filepath.Join(h.Dir, filepath.FromSlash(name)), nil
	default:
		return r.LookPath(name)
	}
}

// words returns the words of a command and the parts of them that could be paths: after "=", and in a command line for
// a shell.
func (h *Hook) words() []string {
	words := slices.Clone(h.Command)
	for _, word := range h.Command {
		words = append(words, strings.FieldsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("=;&|()<>{}\"'`,:", r) })...)
	}
	return words
}

// scripts adds to a subject the files of the root that commands name: the program, or a script for an interpreter. Trust covers the
// files that run, so the user is asked again if they change. Hooks whose files cannot be read are omitted.
func (s *Set) scripts(sub *trust.Subject, root string, hooks []*Hook) []*Hook {
	seen := make(map[string]bool)
	return slices.DeleteFunc(hooks, func(h *Hook) bool {
		for _, word := range h.words() {
			path := word
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, filepath.FromSlash(word))
			}
			rel, err := filepath.Rel(root, path)
			if err != nil || !filepath.IsLocal(rel) || rel == "." || seen[rel] {
				continue
			}
			info, err := os.Stat(path) // follow symlinks, because their targets run
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			seen[rel] = true
			name := filepath.ToSlash(rel)
			if slices.ContainsFunc(sub.Files, func(f trust.File) bool { return f.Name == name }) {
				continue
			}
			sum, err := sumOf(path)
			if err != nil {
				s.Problems = append(s.Problems, fmt.Sprintf("%s: %v; the hook is ignored", h.At, err))
				return true
			}
			sub.Files = append(sub.Files, trust.File{Name: name, Sum: sum})
		}
		return false
	})
}

// maxScript is the maximum size of a workspace's program, in bytes.
const maxScript = 16 << 20

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
