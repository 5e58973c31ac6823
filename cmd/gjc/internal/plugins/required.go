package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// requiredFile is the file that lists the plugins which a project requires.
const requiredFile = ".gjc/plugins.yml"

// maxRequired bounds the plugins that one project requires.
const maxRequired = 50

// Requirement is a plugin that a project requires.
type Requirement struct {
	// Source is as in [location], with an absolute directory.
	Source string
	// Market is the source of the marketplace that Source names; empty if the user must have added it.
	Market string
	// Commit is the only commit that will do, in hex; empty for any.
	Commit string

	root string
}

// String describes the requirement for the user.
func (r *Requirement) String() string {
	s := r.Source
	if r.Market != "" {
		s += " from " + r.Market
	}
	if r.Commit != "" {
		s += " at commit " + r.Commit
	}
	return s
}

// Required has the plugins that a project requires.
type Required struct {
	Plugins []Requirement
	// Disabled are the names of plugins that sessions in the project do not use.
	Disabled []string
	// Subject must be trusted before they are installed; nil for a file that requires none.
	Subject *trust.Subject
	// Problems say what is wrong in the file.
	Problems []string

	// The user's answer is for data, under a name.
	name string
	data []byte
}

// ReadRequired reads the files of a project: gjc's own, and Claude Code's settings. Those that do not exist, or say nothing about plugins,
// are left out.
func ReadRequired(root string) (all []*Required) {
	if r := readOwn(root); r != nil {
		all = append(all, r)
	}
	for _, name := range claudeSettings() {
		if r := readClaude(root, name); r != nil {
			all = append(all, r)
		}
	}
	var off []string
	for _, r := range all {
		off = append(off, r.Disabled...)
	}
	for _, r := range all {
		r.Plugins = slices.DeleteFunc(r.Plugins, func(one Requirement) bool {
			at, err := parseLocation(one.Source)
			return err == nil && at.Market != "" && slices.ContainsFunc(off, func(o string) bool { return strings.EqualFold(o, at.Plugin) })
		})
		r.ask(root)
	}
	return all
}

func readOwn(root string) *Required {
	f := &configfile.File{Path: filepath.Join(root, filepath.FromSlash(requiredFile)), Name: requiredFile}
	if !f.Read() {
		return nil
	}
	r := new(Required)
	if len(f.Problems) == 0 {
		if top := f.Parse("plugins"); top != nil {
			r.parse(f, top, root)
		}
	}
	r.Problems, r.name, r.data = f.Problems, requiredFile, f.Data
	return r
}

// ask sets the subject, if there are plugins to install.
func (r *Required) ask(root string) {
	if len(r.Plugins) == 0 {
		return
	}
	var runs []string
	for i := range r.Plugins {
		runs = append(runs, "installs "+r.Plugins[i].String())
	}
	r.Subject = &trust.Subject{Path: root, Files: []trust.File{trust.NewFile(r.name, r.data, runs...)}}
}

func (r *Required) parse(f *configfile.File, top *configfile.Node, root string) {
	known := []string{"plugins", "disabled", "$schema"}
	for _, m := range top.Members {
		if !slices.Contains(known, m.Name) {
			f.Problem(m.Line, "unknown field %s%s", configfile.Quote(m.Name), configfile.Suggestion(m.Name, known))
		}
	}
	if off := top.Member("disabled"); off != nil {
		if wrong := configfile.StringList.Check(off); wrong != "" {
			f.Problem(off.Line, "disabled must be %s; it is not used", wrong)
		} else {
			r.Disabled = off.Strings()
		}
	}
	list := top.Member("plugins")
	if list == nil {
		return
	}
	if list.Kind != configfile.List {
		f.Problem(list.Line, "plugins must be a list, not %s; it is not used", list.Kind)
		return
	}
	for i, n := range list.List {
		if i == maxRequired {
			f.Problem(n.Line, "more than %d plugins; the rest are ignored", maxRequired)
			return
		}
		one, err := requirement(n, root)
		if err != nil {
			f.Problem(n.Line, "%v; the plugin is not installed", err)
			continue
		}
		if !slices.ContainsFunc(r.Plugins, func(o Requirement) bool { return o.Source == one.Source }) {
			r.Plugins = append(r.Plugins, *one)
		}
	}
	for _, m := range list.List {
		for _, field := range m.Members {
			if fields := []string{"source", "marketplace", "commit"}; !slices.Contains(fields, field.Name) {
				f.Problem(field.Line, "unknown field %s%s", configfile.Quote(field.Name), configfile.Suggestion(field.Name, fields))
			}
		}
	}
}

// requirement parses an element of the list: a source, or an object.
func requirement(n *configfile.Node, root string) (*Requirement, error) {
	r := &Requirement{Source: n.Text, root: root}
	switch n.Kind {
	case configfile.Text:
	case configfile.Object:
		r.Source, r.Market, r.Commit = n.TextOf("source"), n.TextOf("marketplace"), n.TextOf("commit")
		for _, name := range []string{"source", "marketplace", "commit"} {
			if m := n.Member(name); m != nil && m.Kind != configfile.Text {
				return nil, fmt.Errorf("%s must be a string, not %s", name, m.Kind)
			}
		}
	default:
		return nil, fmt.Errorf("it must be a source or an object, not %s", n.Kind)
	}
	spec, err := below(r.Source, root)
	if err != nil {
		return nil, err
	}
	r.Source = spec.String()
	if r.Market != "" {
		of, err := below(r.Market, root)
		switch {
		case err != nil:
			return nil, fmt.Errorf("marketplace: %w", err)
		case spec.Market == "":
			return nil, errors.New("marketplace is for a source of the form NAME@MARKETPLACE")
		case of.Market != "":
			return nil, fmt.Errorf("marketplace: %w", errLocation)
		}
		r.Market = of.String()
	}
	if r.Commit != "" && spec.Dir != "" {
		return nil, errors.New("commit is for a repository, and the source is a directory")
	}
	if r.Commit != "" && (len(r.Commit) != 40 && len(r.Commit) != 64 || !isHex(r.Commit)) {
		return nil, errors.New("commit must be a whole one, of 40 or 64 hexadecimal digits")
	}
	return r, nil
}

// below parses a source that a project names. Its directories are in the project: another one means something else on every machine.
func below(text, root string) (*location, error) {
	spec, err := parseLocation(text)
	if err != nil {
		return nil, err
	}
	if spec.Dir == "" {
		return spec, nil
	}
	at := filepath.FromSlash(spec.Dir)
	if !filepath.IsLocal(at) {
		return nil, fmt.Errorf("%s is not a directory in the project", configfile.Quote(spec.Dir))
	}
	spec.resolve(root, "")
	return spec, nil
}

// met returns the plugin of the list that meets a requirement; nil for none.
func (r *Requirement) met(l *lockFile) *Entry {
	for i := range l.Plugins {
		if e := &l.Plugins[i]; e.Source == r.Source || e.Link != "" && e.Link == r.Source {
			return e
		}
	}
	return nil
}

// Missing returns the requirements that no installed plugin meets.
func (s *Store) Missing(required []*Required) (all []Requirement, err error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, r := range required {
		for _, one := range r.Plugins {
			if one.met(l) == nil {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// InstallRequired installs a plugin for the projects that require it. Nothing in it runs.
func (s *Store) InstallRequired(ctx context.Context, r *Requirement) (*Entry, *About, error) {
	at := *s
	at.Base, at.Home = r.root, ""
	if r.Market != "" {
		if _, _, err := at.AddMarket(ctx, r.Market); err != nil {
			return nil, nil, err
		}
	}
	c, err := at.prepareNew(ctx, r.Source, r.Commit)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if r.Commit != "" && !strings.EqualFold(r.Commit, c.Entry.Commit) {
		return nil, nil, fmt.Errorf("it has the commit %s now, and the project requires %s", c.Entry.Commit, r.Commit)
	}
	c.Entry.Required = true
	if err := c.Apply(ctx); err != nil {
		return nil, nil, err
	}
	return &c.Entry, c.About, nil
}

// RequiredSchema returns the schema of the file with the plugins that a project requires.
func RequiredSchema() configfile.JSONSchema {
	text := func(about string) configfile.JSONSchema { return configfile.OfKind(configfile.Text).About(about) }
	source := "./DIRECTORY in the project, URL[#REF[:SUBDIRECTORY]], OWNER/REPOSITORY[@REF] or NAME@MARKETPLACE"
	one := configfile.AnyOf(text(source), configfile.Fields(map[string]configfile.JSONSchema{
		"source": text(source), "marketplace": text("the source of the marketplace, to add it if it is not known"),
		"commit": text("the only commit that will do, in hexadecimal digits"),
	}, "source"))
	return configfile.Fields(map[string]configfile.JSONSchema{
		"$schema":  text("the address of this schema, for editors"),
		"plugins":  configfile.ListOf(one).About("the plugins that the project requires"),
		"disabled": configfile.ListOf(configfile.OfKind(configfile.Text)).About("the names of plugins that sessions in the project do not use"),
	})
}

// ManifestSchema returns the schema of a plugin's description.
func ManifestSchema() configfile.JSONSchema {
	text := func(about string) configfile.JSONSchema { return configfile.OfKind(configfile.Text).About(about) }
	fields := map[string]configfile.JSONSchema{
		"name": text("letters, digits, - and _; by default the directory's name"), "version": text("shown to the user"), "description": text("shown to the user"),
	}
	paths := func(about string) configfile.JSONSchema {
		return configfile.AnyOf(configfile.OfKind(configfile.Text), configfile.ListOf(configfile.OfKind(configfile.Text))).About(about)
	}
	for _, p := range parts() {
		fields[p.member] = paths("files or directories, in addition to " + strings.Join(p.defaults, " and "))
	}
	for _, name := range []string{"hooks", "mcpServers"} {
		fields[name] = configfile.AnyOf(configfile.OfKind(configfile.Text), configfile.ListOf(configfile.OfKind(configfile.Text)), configfile.OfKind(configfile.Object)).
			About("files, or the content of one")
	}
	for _, name := range informative() {
		fields[name] = configfile.JSONSchema{}.About("for other readers; it changes nothing")
	}
	return configfile.Fields(fields)
}
