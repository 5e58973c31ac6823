package code

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit/edits"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// maxPayloadPaths and maxPayloadHosts bound the number of files and hosts that the parameters of one request name.
const (
	maxPayloadPaths = 500
	maxPayloadHosts = 10
)

// payloadEffects returns the effects of a raw request on the files and hosts that its parameters name: a server reads and connects itself.
// A method that may change files may change those.
func payloadEffects(ctx context.Context, c *lspCall, method string) ([]approval.Effect, error) {
	if c.in.Payload == "" {
		return nil, nil
	}
	if !jsonx.Valid([]byte(c.in.Payload)) {
		return nil, payloadError(c.in.Payload)
	}
	var params any
	if err := jsonx.Unmarshal([]byte(c.in.Payload), &params); err != nil {
		return nil, fmt.Errorf("Error: invalid JSON in payload: %w", err)
	}
	p := payload{absolute: c.call.Workspace.Absolute, paths: make(map[string]bool), hosts: make(map[string]bool)}
	if err := p.value("", params); err != nil {
		return nil, err
	}
	if len(p.paths) > maxPayloadPaths {
		return nil, fmt.Errorf("%w for lsp: the payload names more than %d files; make several requests", agent.ErrBadInput, maxPayloadPaths)
	}
	if len(p.hosts) > maxPayloadHosts {
		return nil, fmt.Errorf("%w for lsp: the payload names more than %d hosts; make several requests", agent.ErrBadInput, maxPayloadHosts)
	}
	changes := !readsOnly(method) || method == "textDocument/rename"
	var read, edit []string
	for _, path := range slices.Sorted(maps.Keys(p.paths)) {
		// Permission to change a directory would cover the protected files in it. The method's own effect covers the others.
		if kind, err := edits.FileKind(ctx, c.call, path); changes && (err != nil || kind != lsp.Directory) {
			edit = append(edit, path)
		} else {
			read = append(read, path)
		}
	}
	var effects []approval.Effect
	if len(read) > 0 {
		effects = append(effects, approval.Effect{Action: approval.ActionRead, Paths: read, Title: payloadTitle(c, method, read)})
	}
	if len(edit) > 0 {
		effects = append(effects, approval.Effect{Action: approval.ActionEdit, Paths: edit, Title: payloadTitle(c, method, edit)})
	}
	for _, host := range slices.Sorted(maps.Keys(p.hosts)) {
		effects = append(effects, approval.Effect{Action: approval.ActionNetwork, Host: host, Title: "LSP request " + method + ", which may fetch from " + host})
	}
	return effects, nil
}

// maxTitlePaths bounds the number of files in the title of a question.
const maxTitlePaths = 3

func payloadTitle(c *lspCall, method string, paths []string) string {
	var names []string
	for _, path := range paths[:min(len(paths), maxTitlePaths)] {
		names = append(names, c.name(path))
	}
	title := "LSP request " + method + " for " + strings.Join(names, ", ")
	if more := len(paths) - maxTitlePaths; more > 0 {
		title += fmt.Sprintf(" and %d more", more)
	}
	return title
}

// payload collects the files and hosts that the parameters of a request name. Servers parse URIs differently; where readings differ, it
// collects each of them.
type payload struct {
	// absolute does not map /tmp: servers run outside the boundary.
	absolute func(path string) string
	paths    map[string]bool
	hosts    map[string]bool
	depth    int // of JSON in strings
}

// value collects the files of the value of a member, which is empty for the parameters themselves. The elements of an array belong to the
// array's member.
func (p *payload) value(member string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := p.text("", name); err != nil { // the changes of an edit are keyed by URIs
				return err
			}
			if err := p.value(name, v[name]); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := p.value(member, element); err != nil {
				return err
			}
		}
	case string:
		return p.text(member, v)
	}
	return nil
}

// maxNested bounds JSON in strings in JSON.
const maxNested = 5

func (p *payload) text(member, s string) error {
	if head := strings.TrimSpace(s); p.depth < maxNested && (strings.HasPrefix(head, "{") || strings.HasPrefix(head, "[")) {
		var nested any
		if jsonx.Unmarshal([]byte(head), &nested) == nil {
			p.depth++
			defer func() { p.depth-- }()
			return p.value(member, nested)
		}
	}
	// Browsers' rules for URLs, which servers in JavaScript follow, ignore these characters.
	uri := strings.TrimFunc(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s), func(r rune) bool { return r <= ' ' })
	scheme, rest, ok := cutScheme(uri)
	for nested := rest; ok && !fetched(scheme); { // jar:file:/a.jar!/b
		inner, after, more := cutScheme(nested)
		if !more {
			break
		}
		if nested = after; fetched(inner) {
			scheme, rest = inner, after
		}
	}
	switch {
	case ok && scheme == "file":
		if isText(member) && !strings.HasPrefix(rest, "/") {
			return nil
		}
		return p.fileURI(uri, rest)
	case ok && fetched(scheme):
		if !isText(member) {
			return p.webURI(uri, rest)
		}
	case ok && !isText(member):
		p.otherURI(rest)
	case strings.ContainsAny(s, "\n\x00") || s == "":
	case namesFiles(member) || filepath.IsAbs(s) && !isText(member):
		p.add(s)
	}
	return nil
}

// fetched reports whether what a URI with a scheme names can be read as a file or from a host.
func fetched(scheme string) bool { return scheme == "file" || scheme == "http" || scheme == "https" }

// cutScheme cuts the scheme, in lower case, from a URI. The drive of a path on Windows is none.
func cutScheme(uri string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 || strings.ContainsFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	}) {
		return "", uri, false
	}
	return strings.ToLower(scheme), rest, true
}

// namesFiles reports whether a member names files, also by relative paths.
func namesFiles(member string) bool {
	member = strings.TrimSuffix(strings.ToLower(member), "s")
	return slices.ContainsFunc([]string{"path", "filename", "uri", "file"}, func(name string) bool { return strings.HasSuffix(member, name) })
}

// isText reports whether a member of the protocol contains text for people or programs, which may look like a path.
func isText(member string) bool {
	switch member {
	case "text", "newText", "insertText", "textEditText", "filterText", "sortText", "query", "label", "detail", "message", "newName", "name", "title", "value", "documentation":
		return true
	default:
		return false
	}
}

// fileURI collects the readings of a file URI. rest is what follows the scheme.
func (p *payload) fileURI(uri, rest string) error {
	bad := func(why string) error {
		return fmt.Errorf("%w for lsp: the URI %q in the payload is malformed: %s; write file:///absolute/path", agent.ErrBadInput, uri, why)
	}
	rest = strings.ReplaceAll(rest, `\`, "/") // as browsers' rules say
	path, host := rest, ""
	if after, hasHost := strings.CutPrefix(rest, "//"); hasHost {
		at := strings.IndexByte(after, '/')
		if at < 0 {
			return bad("it has no path")
		}
		host, path = after[:at], after[at:]
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("its path is not absolute")
	case host != "" && !strings.EqualFold(host, "localhost") && runtime.GOOS != "windows":
		return bad(fmt.Sprintf("it is on the host %q", host))
	}
	// A server that does not know of fragments and queries takes them for a part of the name.
	readings := []string{path}
	for _, end := range []string{"#", "?", "!/"} {
		for _, reading := range slices.Clone(readings) {
			if before, _, ok := strings.Cut(reading, end); ok && before != "" {
				readings = append(readings, before)
			}
		}
	}
	for i, reading := range readings {
		name, err := url.PathUnescape(reading)
		if err != nil {
			if i > 0 {
				continue // a part of the whole, which cut an escape
			}
			return bad(err.Error())
		}
		if strings.ContainsRune(name, 0) {
			return bad("it contains a NUL byte")
		}
		if runtime.GOOS == "windows" {
			if name, err = pathOf((&url.URL{Scheme: "file", Host: host, Path: name}).String()); err != nil {
				return bad(err.Error())
			}
		}
		p.add(name)
	}
	return nil
}

// webURI collects the host of a URI of the web. Browsers' rules do not need the slashes before it.
func (p *payload) webURI(uri, rest string) error {
	at, err := url.Parse("https://" + strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/"))
	if err != nil || at.Hostname() == "" {
		return fmt.Errorf("%w for lsp: the URI %q in the payload is malformed; write https://host/path", agent.ErrBadInput, uri)
	}
	p.hosts[strings.ToLower(at.Hostname())] = true
	return nil
}

// otherURI collects the file of a URI with another scheme: "untitled:/a", "zipfile:///a.zip::b".
func (p *payload) otherURI(rest string) {
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return // it is on another host, or in a name space of the server
		}
		rest = after
	}
	if name, err := url.PathUnescape(rest); err == nil && strings.HasPrefix(name, "/") && !strings.ContainsRune(name, 0) {
		p.add(name)
		for _, end := range []string{"#", "?", "!/", "::"} {
			if before, _, ok := strings.Cut(name, end); ok && before != "" {
				p.add(before)
			}
		}
	}
}

func (p *payload) add(path string) { p.paths[p.absolute(path)] = true }
