package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// capabilities are the capabilities of a server as it sent them.
type capabilities struct{ raw jsonx.Raw }

// at returns the capability at a path of names separated by dots, or nil.
func (c capabilities) at(path string) jsonx.Raw {
	raw := c.raw
	for name := range strings.SplitSeq(path, ".") {
		if raw = jsonx.Lookup(raw, name); raw == nil {
			return nil
		}
	}
	return raw
}

// provider says how a server announces that it supports a method.
type provider struct {
	// capability is the path of its static capability.
	capability string
	// registered is the method used in registrations, if it differs.
	registered string
	// option is the member of the options that must also be set.
	option string
}

const (
	prepareCalls = "textDocument/prepareCallHierarchy"
	prepareTypes = "textDocument/prepareTypeHierarchy"
)

// providers holds the providers whose names cannot be derived from the method's. It is never modified.
var providers = map[string]provider{
	"textDocument/formatting":           {capability: "documentFormattingProvider"},
	"textDocument/rangeFormatting":      {capability: "documentRangeFormattingProvider"},
	"textDocument/onTypeFormatting":     {capability: "documentOnTypeFormattingProvider"},
	"textDocument/prepareRename":        {"renameProvider", "textDocument/rename", "prepareProvider"},
	"textDocument/documentColor":        {capability: "colorProvider"},
	"textDocument/didSave":              {capability: "textDocumentSync.save"},
	"textDocument/semanticTokens/full":  {"semanticTokensProvider", "textDocument/semanticTokens", "full"},
	"textDocument/semanticTokens/range": {"semanticTokensProvider", "textDocument/semanticTokens", "range"},
	"workspace/diagnostic":              {"diagnosticProvider", "textDocument/diagnostic", "workspaceDiagnostics"},
	"workspace/symbol":                  {capability: "workspaceSymbolProvider"},
	"workspaceSymbol/resolve":           {"workspaceSymbolProvider", "workspace/symbol", "resolveProvider"},
	"workspace/executeCommand":          {capability: "executeCommandProvider"},
	"callHierarchy/incomingCalls":       {"callHierarchyProvider", prepareCalls, ""},
	"callHierarchy/outgoingCalls":       {"callHierarchyProvider", prepareCalls, ""},
	prepareCalls:                        {capability: "callHierarchyProvider"},
	"typeHierarchy/supertypes":          {"typeHierarchyProvider", prepareTypes, ""},
	"typeHierarchy/subtypes":            {"typeHierarchyProvider", prepareTypes, ""},
	prepareTypes:                        {capability: "typeHierarchyProvider"},
}

// providerOf returns the provider of a method. An unknown method has no static capability.
func providerOf(method string) provider {
	if p, ok := providers[method]; ok {
		return p
	}
	scope, name, _ := strings.Cut(method, "/")
	operation, isFiles := strings.CutSuffix(name, "Files")
	switch {
	case scope == "workspace" && isFiles: // "workspace/willCreateFiles"
		return provider{capability: "workspace.fileOperations." + operation}
	case name == "resolve": // "codeAction/resolve"
		return provider{scope + "Provider", "textDocument/" + scope, "resolveProvider"}
	case scope == "textDocument": // "textDocument/hover"
		return provider{capability: name + "Provider"}
	default:
		return provider{}
	}
}

// registration is a capability that a server registered with client/registerCapability.
type registration struct {
	method  string
	options jsonx.Raw
	// watchers is set for workspace/didChangeWatchedFiles.
	watchers []watcher
}

const (
	// maxRegistrations bounds the registrations of a server, maxWatchers the globs of one of them, and maxRegistered their
	// total size in bytes.
	maxRegistrations = 2000
	maxWatchers      = 2000
	maxRegistered    = 16 << 20
)

// registry has the registrations of a process.
type registry struct {
	mu   sync.Mutex // guards the fields below
	byID map[string]*registration
	size int
}

func (r *registration) size(id string) int { return len(id) + len(r.method) + len(r.options) }

func (r *registry) add(id, method string, options jsonx.Raw) error {
	reg := &registration{method: method, options: options.Clone()}
	if method == "workspace/didChangeWatchedFiles" {
		var err error
		if reg.watchers, err = newWatchers(options); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = make(map[string]*registration)
	}
	if r.byID[id] == nil && len(r.byID) >= maxRegistrations {
		return fmt.Errorf("too many registrations (limit %d)", maxRegistrations)
	}
	size := r.size + reg.size(id)
	if old := r.byID[id]; old != nil {
		size -= old.size(id)
	}
	if size > maxRegistered {
		return fmt.Errorf("the registrations are too large (limit %d bytes)", maxRegistered)
	}
	r.byID[id], r.size = reg, size
	return nil
}

func (r *registry) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.byID[id]; old != nil {
		r.size -= old.size(id)
		delete(r.byID, id)
	}
}

// of returns the registrations of a method, sorted by ID.
func (r *registry) of(method string) []*registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make(map[string]*registration)
	for id, reg := range r.byID {
		if reg.method == method {
			found[id] = reg
		}
	}
	return sorted(found)
}

func (r *registry) has(method string) bool { return len(r.of(method)) > 0 }

// providers returns the capability options and the registrations by which the server supports a method for a file. It returns none
// if the server does not support the method. path is empty for workspace methods.
func (ps *process) providers(method, path string) []jsonx.Raw {
	p := providerOf(method)
	var list []jsonx.Raw
	add := func(options jsonx.Raw) {
		if p.option != "" && !isOn(jsonx.Lookup(options, p.option)) {
			return
		}
		if path != "" && !ps.selects(options, path) {
			return
		}
		list = append(list, options)
	}
	if p.capability != "" {
		if options := ps.caps.at(p.capability); isOn(options) {
			add(options)
		}
	}
	registered := method
	if p.registered != "" {
		registered = p.registered
	}
	for _, reg := range ps.registry.of(registered) {
		add(reg.options)
	}
	return list
}

// selects reports whether options apply to a file, by their documentSelector or their file operation filters.
func (ps *process) selects(options jsonx.Raw, path string) bool {
	if filters := jsonx.Lookup(options, "filters"); filters.Kind() == '[' {
		return anyItem(filters, func(f jsonx.Raw) bool { return matchesFileOperation(f, path) })
	}
	selector := jsonx.Lookup(options, "documentSelector")
	if selector.Kind() != '[' {
		return true // all files of the server
	}
	return anyItem(selector, func(f jsonx.Raw) bool { return ps.matchesFilter(f, path) })
}

// matchesFilter reports whether a document filter matches a file.
func (ps *process) matchesFilter(filter jsonx.Raw, path string) bool {
	if filter.Kind() == '"' {
		return stringOf(filter) == ps.server.opts.Spec.languageID(path)
	}
	if filter.Kind() != '{' || jsonx.Lookup(filter, "notebook") != nil {
		return false
	}
	if language := stringOf(jsonx.Lookup(filter, "language")); language != "" && language != "*" && language != ps.server.opts.Spec.languageID(path) {
		return false
	}
	if scheme := stringOf(jsonx.Lookup(filter, "scheme")); scheme != "" && scheme != "*" && scheme != "file" {
		return false
	}
	if pattern := jsonx.Lookup(filter, "pattern"); !jsonx.IsNull(pattern) {
		w, ok := newWatcher(pattern)
		return ok && w.matches(path, ps.server.roots())
	}
	return true
}

// matchesFileOperation reports whether a FileOperationFilter matches a file or directory.
func matchesFileOperation(filter jsonx.Raw, path string) bool {
	if scheme := stringOf(jsonx.Lookup(filter, "scheme")); scheme != "" && scheme != "file" {
		return false
	}
	pattern := jsonx.Lookup(filter, "pattern")
	if kind := stringOf(jsonx.Lookup(pattern, "matches")); kind != "" {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() != (kind == "folder") {
			return false
		}
	}
	glob, path := stringOf(jsonx.Lookup(pattern, "glob")), filepath.ToSlash(path)
	if isOn(jsonx.Lookup(jsonx.Lookup(pattern, "options"), "ignoreCase")) {
		glob, path = strings.ToLower(glob), strings.ToLower(path)
	}
	ok, err := doublestar.Match(glob, path)
	return err == nil && ok
}

// anyItem reports whether fn is true for an item of a JSON array.
func anyItem(array jsonx.Raw, fn func(jsonx.Raw) bool) bool {
	var items []jsonx.Raw
	if jsonx.Unmarshal(array, &items) != nil {
		return false
	}
	return slices.ContainsFunc(items, fn)
}
