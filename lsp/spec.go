package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Spec is a language server as it is configured: which program, how to start it, and what for.
type Spec struct {
	// Name is the key in the configuration: "gopls".
	Name string
	// Path is the program, absolute. In Args the token $PID stands for the process id of gjc.
	Path string
	Args []string
	// FileTypes are extensions with their dot (".go") and names of whole files ("Dockerfile").
	FileTypes []string
	// RootMarkers are names or glob patterns of files and directories that mark a project's root.
	RootMarkers []string
	// LanguageIDs maps an extension or a file's name to the protocol's languageId where that of [LanguageID] is wrong.
	LanguageIDs map[string]string
	// InitOptions goes with initialize; Settings answers workspace/configuration. Nil for none.
	InitOptions, Settings jsonx.Raw
	// Warmup bounds the start, up to the answer to initialize. If zero, [DefaultWarmup].
	Warmup time.Duration
	// Linter servers tell problems and format; they are asked for nothing else.
	Linter bool
}

// DefaultWarmup is how long a server may take to answer initialize.
const DefaultWarmup = 30 * time.Second

// Candidate is a server for a file or a workspace, and the directory to run it in.
type Candidate struct {
	Spec *Spec
	Root string
}

// Takes reports whether one of the file types (see [Spec]) is that of a file. Extensions are the same in any case.
func Takes(fileTypes []string, path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc(fileTypes, func(t string) bool {
		if !strings.HasPrefix(t, ".") {
			return t == base
		}
		return len(base) >= len(t) && strings.EqualFold(base[len(base)-len(t):], t)
	})
}

// Unused is a server that is configured and can not be used, with the reason in words for the user.
type Unused struct {
	Name, Why string
	// FileTypes are those of its [Spec].
	FileTypes []string
	// Elsewhere says that the workspace has nothing of its kind, as far as its root tells, so that nobody misses it.
	Elsewhere bool
}

// Listing is what a [Catalog] knows of a workspace.
type Listing struct {
	// Servers are those that can be used, the ones that know types before the linters.
	Servers []Candidate
	Unused  []Unused
	// Problems are faults of the configuration files, each with file and line, in words for the user.
	Problems []string
	// Idle is after how long an unused server is ended; zero for never.
	Idle time.Duration
}

// Catalog knows which servers there are for one workspace. It is safe for concurrent use. Package lsp/config has the one
// that reads configuration files.
type Catalog interface {
	// For returns the servers for a file, the ones that know types before the linters; none is no error.
	For(ctx context.Context, path string) ([]Candidate, error)
	// List tells all of it.
	List(ctx context.Context) (*Listing, error)
	// Changed says that files were made, changed or removed: configuration and root markers may be among them.
	Changed(paths []string)
}
