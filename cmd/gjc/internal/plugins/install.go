package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// Change is an installation or an update that waits for the user's yes. The caller must call Close.
type Change struct {
	Entry Entry
	// About describes the new content.
	About *About
	// Old is the plugin that is replaced; nil for none.
	Old *Entry
	// Files lists the files that differ: "+ name", "- name" and "~ name".
	Files []string
	// Programs lists the programs that differ, in the same form.
	Programs []string

	store *Store
	temp  string
	tree  string
}

// Same reports whether an update would change nothing.
func (c *Change) Same() bool {
	return c.Old != nil && c.Old.SHA256 == c.Entry.SHA256 && c.Old.Commit == c.Entry.Commit && string(c.Old.Listed) == string(c.Entry.Listed)
}

// Close removes what was fetched, unless it was applied.
func (c *Change) Close() { _ = os.RemoveAll(c.temp) } // best effort: a leftover is swept later

// Prepare fetches and checks a plugin. Nothing that is installed changes.
func (s *Store) Prepare(ctx context.Context, text string) (*Change, error) {
	return s.prepareNew(ctx, text, "")
}

// prepareNew fetches and checks a plugin, at one commit of its repository unless that is empty.
func (s *Store) prepareNew(ctx context.Context, text, commit string) (*Change, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	c, err := s.prepare(ctx, l, want{source: text, commit: commit})
	if err != nil {
		return nil, err
	}
	if old := l.find(c.Entry.Name); old != nil {
		c.Close()
		if old.Required && old.Source == c.Entry.Source {
			return nil, fmt.Errorf(`the plugin %s is installed for projects that require it; "gjc plugin enable %s" lets all sessions use it`, old.Name, old.Name)
		}
		return nil, fmt.Errorf(`the plugin %s is installed from %s; use "gjc plugin update %s", or remove it first`, old.Name, trust.Printable(old.Source), old.Name)
	}
	return c, nil
}

// PrepareUpdate fetches an installed plugin again.
func (s *Store) PrepareUpdate(ctx context.Context, name string) (*Change, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	old, err := l.known(name)
	if err != nil {
		return nil, err
	}
	if old.Link != "" {
		return nil, fmt.Errorf("the plugin %s is linked; its directory %s is used as it is", old.Name, trust.Printable(old.Link))
	}
	c, err := s.prepare(ctx, l, want{source: old.Source, name: old.Name})
	if err != nil {
		return nil, err
	}
	c.Old, c.Entry.Enabled, c.Entry.Required = old, old.Enabled, old.Required
	if err := c.compare(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// compare describes how the new content differs from the old one. A damaged old one differs by all its files.
func (c *Change) compare(ctx context.Context) error {
	after, err := read(c.tree)
	if err != nil {
		return err
	}
	before, err := read(c.store.dir(c.Old))
	var programs []string
	if err != nil {
		before = &content{}
	} else if about, err := inspect(ctx, c.store.dir(c.Old), c.Old); err == nil {
		programs = about.Programs
	}
	c.Files = changes(before, after)
	for _, p := range c.About.Programs {
		if !slices.Contains(programs, p) {
			c.Programs = append(c.Programs, "+ "+p)
		}
	}
	for _, p := range programs {
		if !slices.Contains(c.About.Programs, p) {
			c.Programs = append(c.Programs, "- "+p)
		}
	}
	return nil
}

// want describes what is fetched.
type want struct {
	source string
	// name is that which the plugin must have; empty for any.
	name string
	// commit is that of the repository which source names; empty for the one to which source refers.
	commit string
}

// prepare fetches a source into a temporary directory.
func (s *Store) prepare(ctx context.Context, l *lockFile, w want) (_ *Change, err error) {
	spec, err := parseLocation(w.source)
	if err != nil {
		return nil, err
	}
	spec.resolve(s.Base, s.Home)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	s.step("temp")
	temp, err := os.MkdirTemp(s.Dir, tempPrefix)
	if err != nil {
		return nil, err
	}
	c := &Change{store: s, temp: temp, tree: filepath.Join(temp, "tree")}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	c.Entry = Entry{Source: spec.String(), Enabled: true, Installed: time.Now().UTC().Truncate(time.Second)}
	s.step("fetch")
	if w.commit != "" && spec.URL != "" {
		spec.Ref = w.commit
	}
	name := w.name
	if spec.Market != "" {
		err = s.fromMarket(ctx, l, spec, c)
		name = spec.Plugin
	} else {
		if name == "" {
			name = nameOf(spec)
		}
		err = s.get(ctx, spec, c)
	}
	if err != nil {
		return nil, err
	}
	s.step("check")
	found, err := read(c.tree)
	if err != nil {
		return nil, err
	}
	c.Entry.Name, c.Entry.SHA256 = name, found.sum
	if c.About, err = inspect(ctx, c.tree, &c.Entry); err != nil {
		return nil, err
	}
	if c.About.empty() {
		return nil, errors.New("it holds no command, skill, agent, hook, tool or MCP server that gjc could use; it is not installed")
	}
	if w.name != "" && c.About.Name != w.name {
		return nil, fmt.Errorf("%s is the plugin %s now; remove %s and install the other one", trust.Printable(c.Entry.Source), c.About.Name, w.name)
	}
	c.Entry.Name, c.Entry.Version = c.About.Name, c.About.Version
	c.Entry.Path = contentPath(c.Entry.Name, c.Entry.SHA256)
	return c, nil
}

// get writes the files of a source to the tree of a change.
func (s *Store) get(ctx context.Context, spec *location, c *Change) error {
	src, err := s.open(ctx, spec, filepath.Join(c.temp, "plugin"))
	if err != nil {
		return err
	}
	c.Entry.Commit = src.commit()
	return src.tree(ctx, spec.Subdir, c.tree)
}

// open fetches a source, if it is in a repository.
func (s *Store) open(ctx context.Context, spec *location, dir string) (source, error) {
	if spec.Dir != "" {
		return localSource{spec.Dir}, nil
	}
	return s.Git.fetch(ctx, spec, dir)
}

// fromMarket writes the files of a plugin of a marketplace to the tree of a change.
func (s *Store) fromMarket(ctx context.Context, l *lockFile, spec *location, c *Change) error {
	i := slices.IndexFunc(l.Marketplaces, func(m Market) bool { return m.Name == spec.Market })
	if i < 0 {
		return fmt.Errorf(`there is not a marketplace %s; add it with "gjc plugin marketplace add SOURCE"`, trust.Printable(spec.Market))
	}
	of, err := parseLocation(l.Marketplaces[i].Source)
	if err != nil {
		return err
	}
	src, m, err := s.market(ctx, of, c.temp)
	if err != nil {
		return err
	}
	entry, err := m.find(spec.Plugin)
	if err != nil {
		return err
	}
	c.Entry.Listed = entry.JSON()
	from, err := m.sourceOf(entry, of)
	if err != nil {
		return err
	}
	c.Entry.From = from.String()
	if entry.Member("source").Kind != configfile.Text {
		return s.get(ctx, from, c)
	}
	c.Entry.Commit = src.commit()
	return src.tree(ctx, from.Subdir, c.tree)
}

// market fetches a marketplace and reads its list.
func (s *Store) market(ctx context.Context, spec *location, temp string) (source, *market, error) {
	src, err := s.open(ctx, spec, filepath.Join(temp, "market"))
	if err != nil {
		return nil, nil, err
	}
	to := filepath.Join(temp, "list")
	if err := src.tree(ctx, path.Join(spec.Subdir, marketDir), to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s is not a marketplace: it has no %s/%s", trust.Printable(spec.String()), marketDir, marketFile)
		}
		return nil, nil, err
	}
	data, err := readIn(to, marketFile)
	if err != nil {
		return nil, nil, fmt.Errorf("%s/%s cannot be read: %w", marketDir, marketFile, err)
	}
	m, err := parseMarket(data)
	return src, m, err
}

// AddMarket adds a marketplace and returns its name and the names of its plugins.
func (s *Store) AddMarket(ctx context.Context, text string) (name string, names []string, err error) {
	spec, err := parseLocation(text)
	if err != nil {
		return "", nil, err
	}
	if spec.Market != "" {
		return "", nil, fmt.Errorf("a marketplace is a directory or a repository: %w", errLocation)
	}
	spec.resolve(s.Base, s.Home)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", nil, err
	}
	temp, err := os.MkdirTemp(s.Dir, tempPrefix)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // best effort: a leftover is swept later
	_, m, err := s.market(ctx, spec, temp)
	if err != nil {
		return "", nil, err
	}
	for _, p := range m.plugins {
		names = append(names, p.TextOf("name"))
	}
	return m.name, names, s.change(ctx, func(l *lockFile) error {
		for _, o := range l.Marketplaces {
			if o.Name == m.name && o.Source != spec.String() {
				return fmt.Errorf("the marketplace %s is %s; remove it first", m.name, trust.Printable(o.Source))
			}
		}
		l.Marketplaces = slices.DeleteFunc(l.Marketplaces, func(o Market) bool { return o.Name == m.name })
		l.Marketplaces = append(l.Marketplaces, Market{m.name, spec.String()})
		return nil
	})
}

// nameOf returns the name of a plugin that does not name itself.
func nameOf(spec *location) string {
	at := spec.Subdir
	if at == "" && spec.Dir != "" {
		at = filepath.ToSlash(spec.Dir)
	} else if at == "" {
		at = spec.URL[strings.LastIndexAny(spec.URL, ":/")+1:]
	}
	return strings.TrimSuffix(path.Base(at), ".git")
}

// Apply makes a change. If it is interrupted at any point, the old state is still there.
func (c *Change) Apply(ctx context.Context) error {
	s := c.store
	err := s.change(ctx, func(l *lockFile) error {
		at := l.find(c.Entry.Name)
		switch {
		case c.Old == nil && at != nil:
			return fmt.Errorf("the plugin %s was installed meanwhile", at.Name)
		case c.Old != nil && (at == nil || at.SHA256 != c.Old.SHA256):
			return fmt.Errorf("the plugin %s was changed meanwhile; try again", c.Old.Name)
		}
		if err := c.place(); err != nil {
			return err
		}
		if at != nil {
			*at = c.Entry
		} else {
			l.Plugins = append(l.Plugins, c.Entry)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.step("sweep")
	c.Close()
	return s.sweep(ctx)
}

// place gives the new content its name. A directory that has it already is one that no entry named, or was damaged.
func (c *Change) place() error {
	to := c.store.dir(&c.Entry)
	if have, err := read(to); err == nil && have.sum == c.Entry.SHA256 {
		return nil
	}
	c.store.step("place")
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		if err := os.Rename(to, filepath.Join(c.temp, "damaged")); err != nil {
			return err
		}
	}
	c.store.step("rename")
	return os.Rename(c.tree, to)
}

// Link adds a directory that is used where it is.
func (s *Store) Link(ctx context.Context, dir string) (*Entry, *About, error) {
	spec := &location{Dir: dir}
	spec.resolve(s.Base, s.Home)
	if info, err := os.Stat(spec.Dir); err != nil {
		return nil, nil, err
	} else if !info.IsDir() {
		return nil, nil, fmt.Errorf("%s is not a directory", trust.Printable(spec.Dir))
	}
	if _, err := read(spec.Dir); err != nil {
		return nil, nil, err
	}
	e := &Entry{Name: nameOf(spec), Source: spec.Dir, Link: spec.Dir, Enabled: true, Installed: time.Now().UTC().Truncate(time.Second)}
	about, err := inspect(ctx, spec.Dir, e)
	if err != nil {
		return nil, nil, err
	}
	e.Name, e.Version = about.Name, about.Version
	return e, about, s.change(ctx, func(l *lockFile) error {
		if old := l.find(e.Name); old != nil && old.Link != e.Link {
			return fmt.Errorf("the plugin %s is installed from %s; remove it first", old.Name, trust.Printable(old.Source))
		} else if old != nil {
			*old = *e
			return nil
		}
		l.Plugins = append(l.Plugins, *e)
		return nil
	})
}
