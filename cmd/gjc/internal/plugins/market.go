package plugins

import (
	"fmt"
	"path"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// marketFile is the path of a marketplace's list below its top.
const (
	marketDir  = ".claude-plugin"
	marketFile = "marketplace.json"
)

// market is the list of plugins of a marketplace.
type market struct {
	name    string
	plugins []*configfile.Node
	// root precedes relative sources that do not begin with "./".
	root string
}

// parseMarket parses a marketplace.json.
func parseMarket(data []byte) (*market, error) {
	top, err := configfile.ParseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", marketFile, err)
	}
	if top == nil || top.Kind != configfile.Object || top.Member("plugins") == nil || top.Member("plugins").Kind != configfile.List {
		return nil, fmt.Errorf("%s must be an object with a name and a list of plugins", marketFile)
	}
	m := &market{name: top.TextOf("name")}
	if !validName(m.name) {
		return nil, fmt.Errorf("%s: %s cannot be the name of a marketplace", marketFile, configfile.Quote(m.name))
	}
	if about := top.Member("metadata"); about != nil {
		m.root = about.TextOf("pluginRoot")
	}
	for _, p := range top.Member("plugins").List {
		if p.Kind == configfile.Object {
			m.plugins = append(m.plugins, p)
		}
	}
	return m, nil
}

// find returns the entry of a plugin.
func (m *market) find(name string) (*configfile.Node, error) {
	var names []string
	for _, p := range m.plugins {
		if p.TextOf("name") == name {
			return p, nil
		}
		names = append(names, trust.Printable(p.TextOf("name")))
	}
	return nil, fmt.Errorf("the marketplace %s has no plugin %s; it has %s", m.name, trust.Printable(name), strings.Join(configfile.Shorten(names, 30), ", "))
}

// sourceOf returns where the plugin of an entry comes from. A relative source is below the marketplace's own source.
func (m *market) sourceOf(entry *configfile.Node, of *location) (*location, error) {
	bad := func(format string, args ...any) (*location, error) {
		return nil, fmt.Errorf("%s: the source of %s: %s", marketFile, trust.Printable(entry.TextOf("name")), fmt.Sprintf(format, args...))
	}
	n := entry.Member("source")
	switch {
	case n == nil:
		return bad("it has none")
	case n.Kind == configfile.Text:
		at := n.Text
		if !strings.HasPrefix(at, "./") && at != "." {
			at = path.Join(m.root, at)
		}
		spec := *of
		spec.Subdir = path.Join(of.Subdir, at)
		if strings.HasPrefix(path.Clean(at), "..") || path.IsAbs(at) {
			return bad("%s is not in the marketplace", configfile.Quote(n.Text))
		}
		return check(&location{Dir: spec.Dir, URL: spec.URL, Ref: spec.Ref, Subdir: spec.Subdir}, bad)
	case n.Kind != configfile.Object:
		return bad("it must be a path or an object")
	}
	return objectLocation(n, bad)
}

// objectLocation returns the location in an object of a marketplace, or of Claude Code's settings.
func objectLocation(n *configfile.Node, bad badFunc) (*location, error) {
	if n.Kind != configfile.Object {
		return bad("it must be an object, not %s", n.Kind)
	}
	spec := new(location)
	switch kind := n.TextOf("source"); kind {
	case "github":
		spec.URL = n.TextOf("repo")
	case "url", "git":
		spec.URL = n.TextOf("url")
	case "git-subdir":
		spec.URL, spec.Subdir = n.TextOf("url"), n.TextOf("path")
	default:
		return bad("gjc does not install from %s; it installs from directories and git repositories", configfile.Quote(kind))
	}
	if !strings.Contains(spec.URL, "://") && !isSCP(spec.URL) { // owner/repository
		owner, repo, _ := strings.Cut(spec.URL, "/")
		if !validName(owner) || !validName(repo) {
			return bad("%s is not a repository", configfile.Quote(spec.URL))
		}
		spec.URL = "https://github.com/" + owner + "/" + repo
	}
	if spec.Ref = n.TextOf("sha"); spec.Ref == "" {
		spec.Ref = n.TextOf("ref")
	}
	return check(spec, bad)
}
