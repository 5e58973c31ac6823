// Package plugins installs plugins, directories with commands, skills, helper agents, hooks, tools and MCP servers, and finds those that
// a session may use.
//
// The agent directory's plugins/lock.json lists the plugins. The files of an installed one are in plugins/NAME/HASH, which is complete
// before the list names it and does not change afterwards. A linked one stays where it is. Installing runs nothing of a plugin.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
	"github.com/gajae-code/gjc/internal/trust"
)

const (
	lockName    = "lock.json"
	lockVersion = 1
	// tempPrefix begins the names of directories of unfinished installations.
	tempPrefix = ".new-"
	// abandoned is the age at which such a directory belongs to no process.
	abandoned = time.Hour
)

// Entry is a plugin in the list.
type Entry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
	// Source is the text that the user gave, with an absolute directory.
	Source string `json:"source"`
	// From is where the files come from if Source names a marketplace.
	From   string `json:"from,omitzero"`
	Commit string `json:"commit,omitzero"`
	// SHA256 is the checksum of the content; empty for a linked plugin.
	SHA256 string `json:"sha256,omitzero"`
	// Path is the directory below plugins/, with slashes, or Link the directory of a linked plugin.
	Path    string `json:"path,omitzero"`
	Link    string `json:"link,omitzero"`
	Enabled bool   `json:"enabled"`
	// Required says that only sessions in projects that require the plugin use it.
	Required  bool      `json:"required,omitzero"`
	Installed time.Time `json:"installed"`
	// Listed is the entry of the marketplace.
	Listed jsonx.Raw `json:"listed,omitzero"`
}

// Market is a marketplace in the list.
type Market struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

type lockFile struct {
	Version      int      `json:"version"`
	Plugins      []Entry  `json:"plugins"`
	Marketplaces []Market `json:"marketplaces,omitzero"`
}

// Store has the plugins of one agent directory. It is safe for concurrent use, also by several processes.
type Store struct {
	// Dir is the directory plugins in the agent directory.
	Dir string
	Git *Git
	// Base is the directory of relative paths, and Home replaces "~".
	Base, Home string
	// Step is called before each step of a change, for tests. Optional.
	Step func(name string)

	file *lockedfile.File
}

// Open returns the store in an agent directory. It does no I/O.
func Open(agentDir, base, home string, git *Git) *Store {
	dir := filepath.Join(agentDir, "plugins")
	return &Store{Dir: dir, Git: git, Base: base, Home: home, file: lockedfile.New(filepath.Join(dir, lockName))}
}

func (s *Store) step(name string) {
	if s.Step != nil {
		s.Step(name)
	}
}

// errUnknown is wrapped by the error for a plugin that is not in the list.
var errUnknown = errors.New(`"gjc plugin list" shows the plugins`)

func (s *Store) decode(data []byte) (*lockFile, error) {
	l := &lockFile{Version: lockVersion}
	if data == nil {
		return l, nil
	}
	bad := func(why string) error {
		return fmt.Errorf("%s: %s; no plugin is used until you fix it or move it away", s.file.Path(), why)
	}
	if err := jsonx.Unmarshal(data, l); err != nil {
		return nil, bad(err.Error())
	}
	if l.Version != lockVersion {
		return nil, bad(fmt.Sprintf("it has version %d; this program supports version %d", l.Version, lockVersion))
	}
	for i := range l.Plugins {
		e := &l.Plugins[i]
		inside := e.Link == "" && e.Path == contentPath(e.Name, e.SHA256) && len(e.SHA256) == 64 && isHex(e.SHA256)
		if !validName(e.Name) || !inside && !filepath.IsAbs(e.Link) {
			return nil, bad(fmt.Sprintf("plugin %d is not valid", i+1))
		}
	}
	return l, nil
}

// read returns the list.
func (s *Store) read() (*lockFile, error) {
	data, err := s.file.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the plugins: %w", err)
	}
	return s.decode(data)
}

// change changes the list under its lock. If fn fails, nothing changes.
func (s *Store) change(ctx context.Context, fn func(*lockFile) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return s.file.Change(ctx, func(data []byte) ([]byte, error) {
		l, err := s.decode(data)
		if err != nil {
			return nil, err
		}
		if err := fn(l); err != nil {
			return nil, err
		}
		slices.SortFunc(l.Plugins, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		if l.Plugins == nil {
			l.Plugins = []Entry{}
		}
		s.step("write")
		data, err = jsonx.Marshal(l)
		if err != nil {
			return nil, err
		}
		text := jsonx.Raw(data)
		if err := text.Indent(); err != nil {
			return nil, err
		}
		return append(text, '\n'), nil
	})
}

// find returns the plugin with a name. Names differ by more than case, because they are directories.
func (l *lockFile) find(name string) *Entry {
	for i := range l.Plugins {
		if strings.EqualFold(l.Plugins[i].Name, name) {
			return &l.Plugins[i]
		}
	}
	return nil
}

func (l *lockFile) known(name string) (*Entry, error) {
	if e := l.find(name); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("there is no plugin %s; %w", trust.Printable(name), errUnknown)
}

// contentPath returns the directory of a content, below plugins/.
func contentPath(name, sum string) string { return name + "/" + sum[:min(32, len(sum))] }

// dir returns the directory with a plugin's files.
func (s *Store) dir(e *Entry) string {
	if e.Link != "" {
		return e.Link
	}
	return filepath.Join(s.Dir, filepath.FromSlash(e.Path))
}

// List returns the plugins by name.
func (s *Store) List() ([]Entry, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	return l.Plugins, nil
}

// SetEnabled lets all sessions use a plugin, or none.
func (s *Store) SetEnabled(ctx context.Context, name string, on bool) error {
	return s.change(ctx, func(l *lockFile) error {
		e, err := l.known(name)
		if err == nil {
			e.Enabled, e.Required = on, e.Required && !on
		}
		return err
	})
}

// Remove removes a plugin from the list, and then its files. Those of a linked one stay.
func (s *Store) Remove(ctx context.Context, name string) error {
	err := s.change(ctx, func(l *lockFile) error {
		e, err := l.known(name)
		if err == nil {
			s.step("remove")
			l.Plugins = slices.DeleteFunc(l.Plugins, func(o Entry) bool { return o.Name == e.Name })
		}
		return err
	})
	if err != nil {
		return err
	}
	s.step("sweep")
	return s.sweep(ctx)
}

// Markets returns the marketplaces.
func (s *Store) Markets() ([]Market, error) {
	l, err := s.read()
	if err != nil {
		return nil, err
	}
	return l.Marketplaces, nil
}

// RemoveMarket removes a marketplace. Its plugins stay.
func (s *Store) RemoveMarket(ctx context.Context, name string) error {
	return s.change(ctx, func(l *lockFile) error {
		before := len(l.Marketplaces)
		l.Marketplaces = slices.DeleteFunc(l.Marketplaces, func(m Market) bool { return m.Name == name })
		if len(l.Marketplaces) == before {
			return fmt.Errorf(`there is not a marketplace %s; "gjc plugin marketplace list" shows them`, trust.Printable(name))
		}
		return nil
	})
}

// leftovers lists what is in the directory and belongs to no plugin: contents that no entry names, and unfinished installations.
func (s *Store) leftovers(l *lockFile, now time.Time) []string {
	var all []string
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil
	}
	used := make(map[string]bool)
	for i := range l.Plugins {
		used[l.Plugins[i].Path] = true
	}
	for _, e := range entries {
		full := filepath.Join(s.Dir, e.Name())
		switch info, err := e.Info(); {
		case err != nil || !e.IsDir():
		case strings.HasPrefix(e.Name(), tempPrefix):
			if now.Sub(info.ModTime()) > abandoned {
				all = append(all, full)
			}
		case validName(e.Name()):
			all = append(all, orphans(full, e.Name(), used)...)
		}
	}
	return all
}

// orphans lists the contents in a plugin's directory that no entry names, or the directory if it has no other.
func orphans(dir, name string, used map[string]bool) (all []string) {
	contents, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, c := range contents {
		if !used[name+"/"+c.Name()] {
			all = append(all, filepath.Join(dir, c.Name()))
		}
	}
	if len(all) == len(contents) {
		return []string{dir}
	}
	return all
}

// sweep removes leftovers, under the lock, because installations rename their directories under it.
func (s *Store) sweep(ctx context.Context) error {
	if _, err := os.Stat(s.Dir); err != nil {
		return nil
	}
	return s.file.Change(ctx, func(data []byte) ([]byte, error) {
		l, err := s.decode(data)
		if err != nil {
			return nil, err // an unreadable list names nothing, and everything would be a leftover
		}
		var errs []error
		for _, name := range s.leftovers(l, time.Now()) {
			errs = append(errs, os.RemoveAll(name))
		}
		return nil, errors.Join(errs...)
	})
}
