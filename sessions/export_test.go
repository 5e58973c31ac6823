package sessions

import (
	"bytes"
	"os"
)

var (
	// DirName returns the name of a session directory.
	DirName = dirName
	// Lock locks a session file.
	Lock = lock
)

// NewArtifacts returns the artifacts in a directory.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir, fs: diskFS{}} }

// DecodeBothWays decodes a line twice: in one pass, and envelope first, as for lines that other programs write. It reports false if
// the line is not a valid message.
func DecodeBothWays(text []byte) (fast, other Entry, ok bool) {
	d := &decoder{
		blob:   func(string) ([]byte, error) { return nil, os.ErrNotExist },
		notice: func(string, ...any) {},
	}
	if !bytes.HasPrefix(text, messageStart) {
		return nil, nil, false
	}
	fast, err := d.line(line{text: text})
	other, otherErr := d.line(line{text: append([]byte("{ "), text[1:]...)})
	_, unknown := fast.(Unknown)
	return fast, other, err == nil && otherErr == nil && !unknown
}
