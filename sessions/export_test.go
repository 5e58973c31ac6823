package sessions

import (
	"os"

	"github.com/gajae-code/gjc/internal/jsonx"
)

var (
	// DirName is the name of a session directory.
	DirName = dirName
	// Lock locks a session file.
	Lock = lock
)

// NewArtifacts returns the artifacts in a directory.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir, fs: diskFS{}} }

// DecodeBothWays decodes a line as the fast way does and as the lenient one does. It reports false for one that the
// fast way does not take.
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
