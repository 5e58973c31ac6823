package lsp

import (
	"context"
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
const clientCapabilities = `{
"general": {
	"positionEncodings": ["utf-8", "utf-16", "utf-32"],
	"staleRequestSupport": {"cancel": true, "retryOnContentModified": []}
},
"workspace": {
	"applyEdit": true,
	"workspaceEdit": {
		"documentChanges": true,
		"resourceOperations": ["create", "rename", "delete"],
		"failureHandling": "textOnlyTransactional",
		"normalizesLineEndings": false,
		"changeAnnotationSupport": {"groupsOnLabel": false}
	},
	"didChangeConfiguration": {"dynamicRegistration": true},
	"didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
	"symbol": {
		"dynamicRegistration": true,
		"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]},
		"tagSupport": {"valueSet": [1]}
	},
	"executeCommand": {"dynamicRegistration": true},
	"workspaceFolders": true,
	"configuration": true,
	"semanticTokens": {"refreshSupport": true},
	"codeLens": {"refreshSupport": true},
	"inlayHint": {"refreshSupport": true},
	"inlineValue": {"refreshSupport": true},
	"foldingRange": {"refreshSupport": true},
	"diagnostics": {"refreshSupport": true},
	"fileOperations": {
		"dynamicRegistration": true,
		"willCreate": true, "didCreate": true, "willRename": true, "didRename": true, "willDelete": true, "didDelete": true
	}
},
"textDocument": {
	"synchronization": {"dynamicRegistration": false, "willSave": false, "willSaveWaitUntil": false, "didSave": true},
	"publishDiagnostics": {
		"relatedInformation": true, "versionSupport": true, "tagSupport": {"valueSet": [1, 2]},
		"codeDescriptionSupport": true, "dataSupport": true
	},
	"diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": true, "relatedInformation": true,
		"tagSupport": {"valueSet": [1, 2]}, "codeDescriptionSupport": true, "dataSupport": true},
	"hover": {"dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"]},
	"signatureHelp": {
		"dynamicRegistration": true, "contextSupport": true,
		"signatureInformation": {"documentationFormat": ["markdown", "plaintext"], "activeParameterSupport": true,
			"parameterInformation": {"labelOffsetSupport": true}}
	},
	"declaration": {"dynamicRegistration": true, "linkSupport": true},
	"definition": {"dynamicRegistration": true, "linkSupport": true},
	"typeDefinition": {"dynamicRegistration": true, "linkSupport": true},
	"implementation": {"dynamicRegistration": true, "linkSupport": true},
	"references": {"dynamicRegistration": true},
	"documentHighlight": {"dynamicRegistration": true},
	"documentSymbol": {
		"dynamicRegistration": true, "hierarchicalDocumentSymbolSupport": true, "labelSupport": true,
		"symbolKind": {"valueSet": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26]},
		"tagSupport": {"valueSet": [1]}
	},
	"codeAction": {
		"dynamicRegistration": true, "isPreferredSupport": true, "disabledSupport": true, "dataSupport": true,
		"honorsChangeAnnotations": false, "resolveSupport": {"properties": ["edit"]},
		"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "refactor.extract",
			"refactor.inline", "refactor.move", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"]}}
	},
	"formatting": {"dynamicRegistration": true},
	"rangeFormatting": {"dynamicRegistration": true},
	"rename": {"dynamicRegistration": true, "prepareSupport": true, "prepareSupportDefaultBehavior": 1, "honorsChangeAnnotations": false},
	"foldingRange": {"dynamicRegistration": true, "rangeLimit": 5000, "lineFoldingOnly": true,
		"foldingRangeKind": {"valueSet": ["comment", "imports", "region"]}, "foldingRange": {"collapsedText": true}},
	"callHierarchy": {"dynamicRegistration": true},
	"typeHierarchy": {"dynamicRegistration": true},
	"inlayHint": {"dynamicRegistration": true, "resolveSupport": {"properties": ["tooltip", "label.tooltip"]}}
},
"window": {
	"workDoneProgress": true,
	"showMessage": {"messageActionItem": {"additionalPropertiesSupport": false}},
	"showDocument": {"support": true}
},
"experimental": {"serverStatusNotification": true}
}`

// initialize makes a new process ready: it sends initialize, initialized, the settings, and the open documents of the previous
// process. Nothing else is sent before the answer to initialize.
func (ps *process) initialize(ctx context.Context) error {
	s := ps.server
	s.mu.Lock()
	ps.folders = slices.Clone(s.folders)
	s.mu.Unlock()
	folders := workspaceFolders(append([]string{s.opts.Root}, ps.folders...))
	params := initializeParams{
		ProcessID: os.Getpid(), ClientInfo: clientInfo{"gjc", s.opts.Version}, RootPath: s.opts.Root, RootURI: uriOf(s.opts.Root),
		Capabilities: jsonx.Raw(clientCapabilities), InitOptions: s.opts.Spec.InitOptions, WorkspaceFolders: folders, Trace: "off",
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

// configureWait is how long reopened documents wait for the server to request its configuration. Some servers forget documents
// that they received before.
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
