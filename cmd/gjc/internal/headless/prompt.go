package headless

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
)

// Limits of a prompt.
const (
	maxPromptText  = 10 << 20
	maxPromptImage = 20 << 20
)

// Input has the parts of a prompt.
type Input struct {
	// Args are words, in which "-" stands for Stdin.
	Args []string
	// Files and Images are paths.
	Files, Images []string
	Stdin         io.Reader
	// Interactive says that Stdin is a terminal, which is read only for "-".
	Interactive bool
}

// Prompt returns the prompt. It reads Stdin also if there is no other text. An error says what to give instead.
func (in *Input) Prompt() ([]acp.ContentBlock, error) {
	var words, texts []string
	flush := func() {
		if len(words) > 0 {
			texts, words = append(texts, strings.Join(words, " ")), nil
		}
	}
	stdin := false
	for _, arg := range in.Args {
		if arg != "-" {
			words = append(words, arg)
			continue
		}
		if stdin {
			return nil, errors.New("stdin can be read only once")
		}
		stdin = true
		flush()
		text, err := readText("stdin", in.Stdin)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	flush()
	for _, path := range in.Files {
		text, err := readTextFile(path)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(in.Args) == 0 && len(in.Files) == 0 {
		if in.Interactive {
			return nil, errors.New("give a prompt: gjc run \"fix the test\", or - for stdin, or -f FILE")
		}
		text, err := readText("stdin", in.Stdin)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	whole := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if whole == "" && len(in.Images) == 0 {
		return nil, errors.New("the prompt is empty")
	}
	var blocks []acp.ContentBlock
	if whole != "" {
		blocks = append(blocks, &acp.TextContent{Text: whole})
	}
	for _, path := range in.Images {
		image, err := ReadImage(path)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, image)
	}
	return blocks, nil
}

// readText reads text for a prompt; name is for errors.
func readText(name string, from io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxPromptText+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", name, err)
	case len(data) > maxPromptText:
		return "", fmt.Errorf("%s has more than %d MiB; name the file in the prompt instead, and the agent reads what it needs", name, maxPromptText>>20)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fmt.Errorf("%s is not text; name the file in the prompt instead, or use --image for a picture", name)
	}
	return strings.TrimSpace(string(data)), nil
}

func readTextFile(path string) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	return readText(path, f)
}

// openFile opens a file of the command line.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// ReadImage reads a picture for a prompt: a PNG, JPEG, GIF or WebP of at most 20 MiB.
func ReadImage(path string) (*acp.ImageContent, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxPromptImage+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(data) > maxPromptImage {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxPromptImage>>20)
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(imageTypes, kind) {
		return nil, fmt.Errorf("%s is not a PNG, JPEG, GIF or WebP picture", path)
	}
	image := &acp.ImageContent{Data: base64.StdEncoding.EncodeToString(data), MIMEType: kind}
	if abs, err := filepath.Abs(path); err == nil {
		image.URI = "file://" + filepath.ToSlash(abs)
	}
	return image, nil
}
