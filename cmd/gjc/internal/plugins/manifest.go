package plugins

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
)

// The files that describe a plugin. The first that exists counts.
const (
	ownManifest    = ".gjc-plugin.yml"
	claudeManifest = ".claude-plugin/plugin.json"
)

// manifest describes a plugin.
type manifest struct {
	name, version, description string
	// file is the path of the manifest; empty for none.
	file  string
	paths map[userfiles.Kind][]string
	hooks []userfiles.PluginFile
	// servers have the member mcpServers, whether the file has it or not.
	servers []userfiles.PluginFile
	// notes say what of the plugin is not used.
	notes []string
}

// part is a member of the manifest that names files, with the places that are used without it.
type part struct {
	member   string
	kind     userfiles.Kind
	defaults []string
}

func parts() []part {
	return []part{
		{"commands", userfiles.Commands, []string{"commands"}},
		{"skills", userfiles.Skills, []string{"skills"}},
		{"agents", userfiles.Agents, []string{"agents"}},
		{"tools", userfiles.Tools, []string{"tools"}},
	}
}

// unusedMembers are parts of Claude Code's plugins that gjc does not have, with their default places.
func unusedMembers() []part {
	return []part{
		{member: "outputStyles", defaults: []string{"output-styles"}},
		{member: "lspServers", defaults: []string{".lsp.json"}},
		{member: "monitors", defaults: []string{"monitors"}},
		{member: "themes", defaults: []string{"themes"}},
		{member: "channels"},
		{member: "settings", defaults: []string{"settings.json"}},
		{member: "userConfig"},
		{member: "dependencies"},
	}
}

// informative are the members that change nothing.
func informative() []string {
	return []string{"$schema", "author", "homepage", "repository", "license", "keywords", "category", "tags", "displayName", "source", "strict", "defaultEnabled", "relevance"}
}

// readManifest reads the description of the plugin in a directory. entry is the plugin's entry in a marketplace; nil for none. fallback
// is the name of a plugin that does not name itself.
func readManifest(dir string, entry *configfile.Node, fallback string) (*manifest, error) {
	m := &manifest{paths: make(map[userfiles.Kind][]string)}
	top, err := m.load(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range []*configfile.Node{top, entry} {
		m.name = cmp.Or(m.name, n.TextOf("name"))
		m.version = cmp.Or(m.version, n.TextOf("version"))
		m.description = cmp.Or(m.description, n.TextOf("description"))
	}
	if m.name = cmp.Or(m.name, fallback); !validName(m.name) {
		return nil, fmt.Errorf("%q cannot be the name of a plugin; names have up to 64 letters, digits, - and _", trust.Printable(m.name))
	}
	for _, p := range parts() {
		m.part(dir, &p, top, entry)
	}
	m.readHooks(dir, top, entry)
	m.readServers(dir, top, entry)
	m.others(dir, top, entry)
	return m, nil
}

// load parses the manifest; nil for none.
func (m *manifest) load(dir string) (*configfile.Node, error) {
	for _, name := range []string{ownManifest, claudeManifest} {
		data, err := readIn(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		m.file = name
		parse := configfile.ParseYAML
		if path.Ext(name) == ".json" {
			parse = configfile.ParseJSON
		}
		top, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if top == nil || top.Kind != configfile.Object {
			return nil, fmt.Errorf("%s must be an object with a name", name)
		}
		return top, nil
	}
	return &configfile.Node{Kind: configfile.Object}, nil
}

// readIn reads a small file of a plugin. It does not follow links out of the plugin, and does not block.
func readIn(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, configfile.ErrNotFile
	}
	const most = 1 << 20
	data, err := configfile.ReadCapped(root.FS(), name, most)
	if err == nil && len(data) > most {
		err = errors.New("it is larger than 1 MB")
	}
	if err != nil {
		return nil, err
	}
	text, _, ok := text.Decode(data)
	if !ok {
		return nil, errors.New("it is neither UTF-8 nor UTF-16 text")
	}
	return []byte(text), nil
}

// exists reports whether a path is in the plugin.
func exists(dir, name string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	_, err = root.Stat(filepath.FromSlash(name))
	return err == nil
}

func (m *manifest) note(format string, args ...any) {
	m.notes = append(m.notes, trust.Printable(fmt.Sprintf(format, args...)))
}

// named returns the paths that a member names.
func (m *manifest) named(dir, member string, n *configfile.Node) (paths []string) {
	if n == nil || n.Kind == configfile.Null {
		return nil
	}
	list := n.Strings()
	if n.Kind == configfile.Text {
		list = []string{n.Text}
	} else if n.Kind != configfile.List || len(list) != len(n.List) {
		m.note("%s must be a path or a list of paths; it is not used", member)
		return nil
	}
	for _, name := range list {
		clean := path.Clean(strings.ReplaceAll(name, "${CLAUDE_PLUGIN_ROOT}", "."))
		switch {
		case !fs.ValidPath(clean) || strings.Contains(clean, `\`):
			m.note("%s: %s is not a path in the plugin; it is not used", member, configfile.Quote(name))
		case !exists(dir, clean):
			m.note("%s: %s does not exist", member, configfile.Quote(name))
		default:
			paths = append(paths, clean)
		}
	}
	return paths
}

// part sets the paths of a kind: the default places, and what the manifest or the entry names. A plugin without a manifest has only
// what its entry names, if that names any: several plugins of one marketplace often share a directory.
func (m *manifest) part(dir string, p *part, top, entry *configfile.Node) {
	own := m.named(dir, p.member, top.Member(p.member))
	listed := m.named(dir, p.member, member(entry, p.member))
	var all []string
	if m.file != "" || !m.listsAny(entry) {
		for _, name := range p.defaults {
			if exists(dir, name) {
				all = append(all, name)
			}
		}
	}
	for _, name := range slices.Concat(own, listed) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) > 0 {
		m.paths[p.kind] = all
	}
}

// listsAny reports whether an entry of a marketplace names any of the plugin's parts.
func (m *manifest) listsAny(entry *configfile.Node) bool {
	names := []string{"hooks", "mcpServers"}
	for _, p := range parts() {
		names = append(names, p.member)
	}
	return slices.ContainsFunc(names, func(name string) bool { return member(entry, name) != nil })
}

func member(n *configfile.Node, name string) *configfile.Node {
	if n == nil {
		return nil
	}
	return n.Member(name)
}

// readHooks reads the hooks: hooks/hooks.json, hooks.yml, and what the member hooks names or holds.
func (m *manifest) readHooks(dir string, top, entry *configfile.Node) {
	m.hooks = m.files(dir, "hooks", []string{"hooks/hooks.json", "hooks.yml", "hooks.yaml"}, top, entry, func(n *configfile.Node) []byte {
		return []byte(`{"hooks":` + string(n.JSON()) + `}`)
	})
}

// readServers reads the MCP servers: .mcp.json, and what the member mcpServers names or holds.
func (m *manifest) readServers(dir string, top, entry *configfile.Node) {
	wrapped := func(n *configfile.Node) []byte { return []byte(`{"mcpServers":` + string(n.JSON()) + `}`) }
	m.servers = m.files(dir, "mcpServers", []string{".mcp.json", "mcp.json"}, top, entry, wrapped)
	for i := range m.servers {
		f := &m.servers[i]
		if n, err := configfile.ParseJSONC(f.Data); err == nil && n != nil && n.Kind == configfile.Object && n.Member("mcpServers") == nil {
			f.Data = wrapped(n)
		}
	}
}

// files reads the files of a part. inline returns the text for a part that is in the manifest itself.
func (m *manifest) files(dir, name string, defaults []string, top, entry *configfile.Node, inline func(*configfile.Node) []byte) (all []userfiles.PluginFile) {
	var paths []string
	if m.file != "" || !m.listsAny(entry) {
		for _, d := range defaults {
			if exists(dir, d) {
				paths = append(paths, d)
			}
		}
	}
	for _, n := range []*configfile.Node{top, entry} {
		switch value := member(n, name); {
		case value == nil:
		case value.Kind == configfile.Object:
			all = append(all, userfiles.PluginFile{Name: cmp.Or(m.file, "marketplace.json"), Data: inline(value)})
		default:
			named := m.named(dir, name, value)
			paths = append(paths, named...)
		}
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		data, err := readIn(dir, p)
		if err != nil {
			m.note("%s cannot be read: %v", p, err)
			continue
		}
		all = append(all, userfiles.PluginFile{Name: p, Data: data})
	}
	return all
}

// others notes the parts that gjc does not use, and members that it does not know.
func (m *manifest) others(dir string, top, entry *configfile.Node) {
	known := append(informative(), "name", "version", "description", "hooks", "mcpServers")
	for _, p := range parts() {
		known = append(known, p.member)
	}
	for _, p := range unusedMembers() {
		known = append(known, p.member)
		there := top.Member(p.member) != nil || member(entry, p.member) != nil
		there = there || slices.ContainsFunc(p.defaults, func(name string) bool { return m.file != "" && exists(dir, name) })
		if there {
			m.note("gjc does not use %s of plugins", p.member)
		}
	}
	for _, f := range top.Members {
		if !slices.Contains(known, f.Name) {
			m.note("%s:%d: unknown field %s%s", m.file, f.Line, configfile.Quote(f.Name), configfile.Suggestion(f.Name, known))
		}
	}
}
