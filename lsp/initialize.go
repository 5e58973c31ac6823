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

// clientCapabilities is what this client can do. Snippets and lazily resolved edits other than a code action's are not
// among it: nobody is there to fill them in.
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

// initialize brings a new process up to where it can be used: initialize, initialized, its settings, and the documents
// that the process before it had. Nothing else is sent before the answer to initialize.
func (l *life) initialize(ctx context.Context) error {
	s := l.server
	s.mu.Lock()
	l.folders = slices.Clone(s.folders)
	s.mu.Unlock()
	folders := l.workspaceFolders(append([]string{s.opts.Root}, l.folders...))
	params := initializeParams{
		ProcessID: os.Getpid(), ClientInfo: clientInfo{"gjc", s.opts.Version}, RootPath: s.opts.Root, RootURI: uriOf(s.opts.Root),
		Capabilities: jsonx.Raw(clientCapabilities), InitOptions: s.opts.Spec.InitOptions, WorkspaceFolders: folders, Trace: "off",
	}
	if jsonx.IsNull(params.InitOptions) {
		params.InitOptions = nil
	}
	var result jsonx.Raw
	if err := l.conn.Call(ctx, "initialize", params, &result); err != nil {
		return err
	}
	if err := l.introduce(result); err != nil {
		return err
	}
	if err := l.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	if settings := s.settings(); !jsonx.IsNull(settings) {
		if err := l.conn.Notify(ctx, "workspace/didChangeConfiguration", settingsChange{settings}); err != nil {
			return err
		}
	}
	if s.docs.waiting() {
		l.awaitConfigured(ctx)
	}
	return s.docs.reopen(ctx, l)
}

// introduce takes note of the answer to initialize.
func (l *life) introduce(result jsonx.Raw) error {
	caps := jsonx.Lookup(result, "capabilities")
	if caps.Kind() != '{' {
		return errors.New("its answer to initialize has no capabilities")
	}
	l.caps = capabilities{raw: caps}
	if info := jsonx.Lookup(result, "serverInfo"); info.Kind() == '{' {
		l.info = text.TruncateBytes(strings.TrimSpace(stringOf(jsonx.Lookup(info, "name"))+" "+versionOf(stringOf(jsonx.Lookup(info, "version")))), 100)
	}
	switch e := Encoding(stringOf(jsonx.Lookup(caps, "positionEncoding"))); e {
	case UTF8, UTF16, UTF32:
		l.encoding = e
	case "":
	default:
		l.server.logf("[gjc] it wants the position encoding %q, which was not offered; UTF-16 is taken", text.TruncateBytes(string(e), 100))
		l.server.notice(fmt.Sprintf("The language server %s wants a position encoding that gjc does not know; its positions may be wrong.", l.server.Name()), string(e))
	}
	l.sync = newSyncOptions(jsonx.Lookup(caps, "textDocumentSync"))
	return nil
}

// versionOf is a server's version for people. That of gopls is the JSON of its whole build information.
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

// workspaceFolders are directories as the protocol has them.
// configureWait is how long documents wait for a server to ask for its configuration. Some forget what they are given
// before they have that.
const configureWait = 200 * time.Millisecond

func (l *life) awaitConfigured(ctx context.Context) {
	t := time.NewTimer(configureWait)
	defer t.Stop()
	select {
	case <-l.configured:
	case <-t.C:
	case <-l.conn.Closing():
	case <-ctx.Done():
	}
}

func (l *life) workspaceFolders(dirs []string) []workspaceFolder {
	list := make([]workspaceFolder, 0, len(dirs))
	for _, dir := range dirs {
		list = append(list, workspaceFolder{URI: uriOf(dir), Name: filepath.Base(dir)})
	}
	return list
}

// settings are those of the configuration, null for none.
func (s *Server) settings() jsonx.Raw {
	if jsonx.IsNull(s.opts.Spec.Settings) {
		return jsonx.Raw("null")
	}
	return s.opts.Spec.Settings
}

// caresForSettings reports whether the server looks at its settings while it runs.
func (l *life) caresForSettings() bool {
	return l.asked.Load() || l.registry.has("workspace/didChangeConfiguration") || !jsonx.IsNull(l.server.opts.Spec.Settings)
}

func (l *life) isRustAnalyzer() bool {
	return strings.HasPrefix(l.info, "rust-analyzer") || l.server.Name() == "rust-analyzer"
}

// uriOf is the URI of a path of this machine.
func uriOf(path string) string { return FileURI(path, runtime.GOOS) }

// pathOf is the path that a server means with a URI, empty where it is none of a file.
func pathOf(uri string) string {
	path, err := FilePath(uri, runtime.GOOS)
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}

// pathKey is a path for comparison.
func pathKey(path string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// text is a JSON string's value, empty for what is none.
func stringOf(raw jsonx.Raw) string {
	var s string
	if raw.Kind() != '"' || jsonx.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isOn reports whether a capability is there: true, options, or an id.
func isOn(raw jsonx.Raw) bool {
	switch raw.Kind() {
	case 't', '{', '"', '[':
		return true
	default:
		return false
	}
}
