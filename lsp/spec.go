// Package lsp implements the client side of the Language Server Protocol: language servers and their processes, positions,
// documents, diagnostics and edits. It does not depend on the agent or the editor.
package lsp

import (
	"context"
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Spec is the configuration of a language server. It must not be modified.
type Spec struct {
	// Name is the key in the configuration: "gopls".
	Name string
	// Path is the program, absolute. In Args, $PID is replaced by gjc's process ID.
	Path string
	Args []string
	// FileTypes are extensions with their dot (".go") and whole file names ("Dockerfile").
	FileTypes []string
	// RootMarkers are names or glob patterns of files and directories that mark a project's root.
	RootMarkers []string
	// LanguageIDs maps an extension or a file name to the protocol's languageId, to override the default.
	LanguageIDs map[string]string
	// InitOptions are the initializationOptions, Settings the answer to workspace/configuration. Nil for none.
	InitOptions, Settings jsonx.Raw
	// Warmup bounds the start, up to the answer to initialize. If zero, 30 s.
	Warmup time.Duration
	// Outside says that the server runs no code of a project, so that it needs no sandbox. See [WorkspaceOptions.Inside].
	Outside bool
	// Direct is the server itself if this is a client of one that other programs share; nil otherwise. A sandbox needs its own.
	Direct *Spec
	// Linter reports that the server only reports diagnostics and formats; other requests are not sent to it.
	Linter bool
}

// defaultWarmup bounds the start of a server.
const defaultWarmup = 30 * time.Second

// Candidate is a server for a file or a workspace, and its root.
type Candidate struct {
	Spec *Spec
	Root string
}

// Takes reports whether a file has one of the file types (see [Spec]). It ignores the case of extensions.
func Takes(fileTypes []string, path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc(fileTypes, func(t string) bool {
		if !strings.HasPrefix(t, ".") {
			return t == base
		}
		return len(base) >= len(t) && strings.EqualFold(base[len(base)-len(t):], t)
	})
}

// Unused is a configured server that cannot be used. Why is the reason, for the user.
type Unused struct {
	Name, Why string
	// FileTypes are those of its [Spec].
	FileTypes []string
	// Elsewhere reports that the workspace's root has no marker of the server.
	Elsewhere bool
}

// Listing lists the servers of a workspace.
type Listing struct {
	// Servers can be used. Linters come last.
	Servers []Candidate
	Unused  []Unused
	// Problems are the errors in the configuration files, each with file and line, for the user.
	Problems []string
	// Idle is the time after which an idle process is ended; zero for never.
	Idle time.Duration
}

// Catalog has the servers of one workspace. It is safe for concurrent use. Package lsp/config implements it with configuration
// files.
type Catalog interface {
	// For returns the servers for a file, linters last. It returns no error if there is none.
	For(ctx context.Context, path string) ([]Candidate, error)
	// List returns all servers.
	List(ctx context.Context) (*Listing, error)
	// Changed reports files that were created, modified or deleted. They may be configuration files or root markers.
	Changed(paths []string)
}

// languageID returns the languageId of a file: the configured one, or the default.
func (s *Spec) languageID(path string) string {
	ids := s.LanguageIDs
	base := filepath.Base(path)
	for _, key := range []string{base, filepath.Ext(base), strings.ToLower(filepath.Ext(base))} {
		if id := ids[key]; id != "" && key != "" {
			return id
		}
	}
	return languageID(path)
}

// languageID returns the protocol's languageId of a file by its name: "go", "typescriptreact". The default is the extension
// without its dot, or "plaintext" without an extension.
func languageID(path string) string {
	base := strings.ToLower(filepath.Base(path))
	ext := filepath.Ext(base)
	switch {
	case languages()[base] != "":
		return languages()[base]
	case strings.HasPrefix(base, "dockerfile."):
		return "dockerfile"
	case strings.HasSuffix(base, ".blade.php"):
		return "blade"
	case languages()["*"+ext] != "":
		return languages()["*"+ext]
	case len(ext) > 1:
		return ext[1:]
	default:
		return "plaintext"
	}
}

// languagesJSON has the patterns of the files of a language, by its languageId: an extension ("*.go") or a name. For other extensions it
// is the extension itself.
//
//go:embed languages.json
var languagesJSON []byte

// languages returns the languageId by pattern. The map must not be modified.
var languages = sync.OnceValue(func() map[string]string {
	var files map[string][]string
	if err := jsonx.Unmarshal(languagesJSON, &files); err != nil {
		panic(err) // unreachable: a test parses it
	}
	byFile := make(map[string]string)
	for id, names := range files {
		for _, name := range names {
			byFile[name] = id
		}
	}
	return byFile
})
