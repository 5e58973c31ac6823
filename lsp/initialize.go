package lsp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// clientCapabilities are the capabilities of this client. They do not include snippets, and lazily resolved edits only for code
// actions: no user fills them in.
//
//go:embed capabilities.json
var clientCapabilities []byte

// initialize prepares a new process: it sends initialize, initialized, the settings, and the open documents of the previous
// process. It sends nothing else before the response to initialize.
func (ps *process) initialize(ctx context.Context) error {
	s := ps.server
	s.mu.Lock()
	ps.folders = slices.Clone(s.folders)
	s.mu.Unlock()
	folders := workspaceFolders(append([]string{s.opts.Root}, ps.folders...))
	params := initializeParams{
		ClientInfo: clientInfo{"gjc", s.opts.Version}, RootPath: s.opts.Root, RootURI: uriOf(s.opts.Root),
		Capabilities: jsonx.Raw(clientCapabilities), InitOptions: s.opts.Spec.InitOptions, WorkspaceFolders: folders, Trace: "off",
	}
	if !ps.apart {
		params.ProcessID = new(os.Getpid())
	}
	if jsonx.IsNull(params.InitOptions) {
		params.InitOptions = nil
	}
	var result jsonx.Raw
	if err := ps.conn.Call(ctx, "initialize", params, &result); err != nil {
		return err
	}
	if err := ps.setFeatures(result); err != nil {
		return err
	}
	if err := ps.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	if settings := s.opts.Spec.settings(); !jsonx.IsNull(settings) {
		if err := ps.conn.Notify(ctx, "workspace/didChangeConfiguration", settingsChange{settings}); err != nil {
			return err
		}
	}
	if s.docs.hasOpen() {
		ps.awaitConfigured(ctx)
	}
	return s.docs.reopen(ctx, ps)
}

// setFeatures decodes the answer to initialize.
func (ps *process) setFeatures(result jsonx.Raw) error {
	caps := jsonx.Lookup(result, "capabilities")
	if caps.Kind() != '{' {
		return errors.New("its answer to initialize has no capabilities")
	}
	ps.caps = capabilities{raw: caps}
	if info := jsonx.Lookup(result, "serverInfo"); info.Kind() == '{' {
		ps.info = text.TruncateBytes(strings.TrimSpace(stringOf(jsonx.Lookup(info, "name"))+" "+versionOf(stringOf(jsonx.Lookup(info, "version")))), 100)
	}
	switch e := Encoding(stringOf(jsonx.Lookup(caps, "positionEncoding"))); e {
	case UTF8, UTF16, UTF32:
		ps.encoding = e
	case "":
	default:
		ps.server.logf("[gjc] the server chose the position encoding %q, which was not offered; using UTF-16", text.TruncateBytes(string(e), 100))
		ps.server.notice(fmt.Sprintf("The language server %s uses a position encoding that gjc does not support; its positions may be wrong.", ps.server.Name()), string(e))
	}
	ps.sync = parseSyncOptions(jsonx.Lookup(caps, "textDocumentSync"))
	return nil
}

// versionOf returns a server's version for display. gopls sends its whole build information as JSON.
func versionOf(version string) string {
	raw := jsonx.Raw(version)
	if raw.Kind() != '{' || !jsonx.Valid(raw) {
		return version
	}
	for _, v := range []jsonx.Raw{jsonx.Lookup(raw, "Version"), jsonx.Lookup(jsonx.Lookup(raw, "Main"), "Version")} {
		if stringOf(v) != "" {
			return stringOf(v)
		}
	}
	return ""
}

// configureWait is the time for which reopening documents waits for the server to request its configuration. Some servers forget documents
// that they received before that.
const configureWait = 200 * time.Millisecond

func (ps *process) awaitConfigured(ctx context.Context) {
	t := time.NewTimer(configureWait)
	defer t.Stop()
	select {
	case <-ps.config.answered:
	case <-t.C:
	case <-ps.conn.Closing():
	case <-ctx.Done():
	}
}

func workspaceFolders(dirs []string) []workspaceFolder {
	list := make([]workspaceFolder, 0, len(dirs))
	for _, dir := range dirs {
		list = append(list, workspaceFolder{URI: uriOf(dir), Name: filepath.Base(dir)})
	}
	return list
}

// settings returns the settings, null for none.
func (s *Spec) settings() jsonx.Raw {
	if jsonx.IsNull(s.Settings) {
		return jsonx.Raw("null")
	}
	return s.Settings
}

// usesSettings reports whether the server reads its settings while it runs.
func (ps *process) usesSettings() bool {
	return ps.config.requested.Load() || ps.registry.has("workspace/didChangeConfiguration") || !jsonx.IsNull(ps.server.opts.Spec.Settings)
}

func (ps *process) isRustAnalyzer() bool {
	return strings.HasPrefix(ps.info, "rust-analyzer") || ps.server.Name() == "rust-analyzer"
}

// uriOf returns the URI of a path on this machine.
func uriOf(path string) string { return FileURI(path, runtime.GOOS) }

// pathOf returns the path of a file URI, or "".
func pathOf(uri string) string {
	path, err := FilePath(uri, runtime.GOOS)
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}

// pathKey returns a path for comparisons.
func pathKey(path string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// text returns the value of a JSON string, or "".
func stringOf(raw jsonx.Raw) string {
	var s string
	if raw.Kind() != '"' || jsonx.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isOn reports whether a capability is set: to true, options or an ID.
func isOn(raw jsonx.Raw) bool {
	switch raw.Kind() {
	case 't', '{', '"', '[':
		return true
	default:
		return false
	}
}
