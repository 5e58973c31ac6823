package sessions

import (
	"os"

	"github.com/gajae-code/gjc/internal/jsonx"
)

var (
	// DirName returns the name of a session directory.
	DirName = dirName
	// Lock locks a session file.
	Lock = lock
)

// NewArtifacts returns the artifacts in a directory.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir, fs: diskFS{}} }

// DecodeBothWays decodes a line with the fast decoder and with the lenient one. It reports false if the fast one does
// not accept the line.
func DecodeBothWays(text []byte) (fast, lenient Entry, ok bool) {
	d := &decoder{
		blob:   func(string) ([]byte, error) { return nil, os.ErrNotExist },
		notice: func(string, ...any) {},
	}
	fast, ok = d.plainMessage(text)
	var v envelope
	if !ok || jsonx.Unmarshal(text, &v) != nil {
		return fast, nil, ok
	}
	return fast, d.entry(&v, text), ok
}
