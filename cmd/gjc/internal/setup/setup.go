// Package setup adds gjc to the settings of editors.
package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// Options are the options of [For].
type Options struct {
	// Program is the absolute path of gjc.
	Program string
	// Home is the user's home directory, Getenv finds variables, GOOS is the operating system.
	Home   string
	Getenv func(string) string
	GOOS   string
}

// Editors returns the names of the editors.
func Editors() []string { return []string{"zed", "jetbrains", "neovim", "emacs"} }

// Plan is the change that adds gjc to an editor.
type Plan struct {
	// Title is the editor's name, with the plugin.
	Title string
	// Path is the file to change.
	Path string
	// Snippet has the lines to add by hand.
	Snippet string
	// After says what to do afterwards.
	After string

	// edit returns the changed file. Data is nil if there is none.
	edit func(data []byte) ([]byte, error)
	// needs is a directory that must exist, and missing what its absence means.
	needs, missing string
}

// ErrUnknown is wrapped by the error for an unknown editor.
var ErrUnknown = errors.New("unknown editor")

// For returns the plan for an editor. It changes nothing.
func For(editor string, o Options) (*Plan, error) {
	switch editor {
	case "zed":
		return zed(o)
	case "jetbrains":
		return jetbrains(o)
	case "neovim":
		return neovim(o), nil
	case "emacs":
		return emacs(o), nil
	}
	near := ""
	if name := text.Near(editor, Editors()); name != "" {
		near = fmt.Sprintf("; did you mean %s?", name)
	}
	return nil, fmt.Errorf("%w %s%s; the editors are %s, and docs/editors.md has more", ErrUnknown, configfile.Quote(editor), near, strings.Join(Editors(), ", "))
}

// zed returns the plan for Zed, whose settings are JSON with comments.
func zed(o Options) (*Plan, error) {
	dir := filepath.Join(o.Home, ".config", "zed")
	switch config := o.Getenv("XDG_CONFIG_HOME"); {
	case o.GOOS == "windows" && o.Getenv("APPDATA") != "":
		dir = filepath.Join(o.Getenv("APPDATA"), "Zed")
	case o.GOOS == "linux" && o.Getenv("FLATPAK_XDG_CONFIG_HOME") != "":
		dir = filepath.Join(o.Getenv("FLATPAK_XDG_CONFIG_HOME"), "zed")
	case o.GOOS == "linux" && config != "":
		dir = filepath.Join(config, "zed")
	}
	p := &Plan{
		Title: "Zed", Path: filepath.Join(dir, "settings.json"), needs: dir, missing: "start Zed once",
		After: "In Zed, open the agent panel and begin a thread with gjc.",
	}
	return p, p.json([]member{{"type", "custom"}, {"command", o.Program}, {"args", []string{"acp"}}, {"env", struct{}{}}})
}

// jetbrains returns the plan for the IDEs of JetBrains, which share a file.
func jetbrains(o Options) (*Plan, error) {
	p := &Plan{
		Title: "JetBrains IDEs", Path: filepath.Join(o.Home, ".jetbrains", "acp.json"),
		After: "In the IDE, open AI Chat and choose gjc. Run gjc login in a terminal first: the IDE has no sign-in.",
	}
	return p, p.json([]member{{"command", o.Program}, {"args", []string{"acp"}}, {"env", struct{}{}}})
}

type member struct {
	name  string
	value any
}

// json sets the snippet and the edit for a file with agent_servers.
func (p *Plan) json(members []member) error {
	var b strings.Builder
	b.WriteString("{\n  \"agent_servers\": {\n    \"gjc\": {")
	for i, m := range members {
		value, err := jsonx.Marshal(m.value)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n      %q: %s", m.name, value)
	}
	b.WriteString("\n    }\n  }\n}\n")
	p.Snippet = b.String()
	whole, err := configfile.ParseJSON([]byte(p.Snippet))
	if err != nil {
		return err
	}
	entry := whole.Member("agent_servers").Member("gjc")
	p.edit = func(data []byte) ([]byte, error) {
		if len(bytes.TrimSpace(data)) == 0 {
			return []byte(p.Snippet), nil
		}
		before, err := configfile.ParseJSONC(data)
		if err != nil {
			return nil, err
		}
		if have := before.Member("agent_servers").Member("gjc"); have != nil {
			// The user's model, mode and variables stay.
			return configfile.SetJSONC(data, []string{"agent_servers", "gjc", "command"}, entry.Member("command"))
		}
		return configfile.SetJSONC(data, []string{"agent_servers", "gjc"}, entry)
	}
	return nil
}

// Write changes the file and returns the path of the copy of the old one, "" if there was none. It reports whether anything had to
// be changed.
func (p *Plan) Write() (backup string, changed bool, err error) {
	if p.needs != "" {
		if info, err := os.Stat(p.needs); err != nil || !info.IsDir() {
			return "", false, fmt.Errorf("there is no directory %s: %s, or add the lines by hand (without --write they are printed)", p.needs, p.missing)
		}
	}
	path := p.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link into a directory of dotfiles stays one
	}
	data, err := configfile.ReadFile(path)
	mode := fs.FileMode(0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return "", false, err
	default:
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	edited, err := p.edit(data)
	if err != nil {
		return "", false, fmt.Errorf("%s is not changed: %w", path, err)
	}
	if data != nil && bytes.Equal(data, edited) {
		return "", false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", false, err
	}
	if data != nil {
		if backup, err = keep(path, data, mode); err != nil {
			return "", false, fmt.Errorf("%s is not changed: making a copy of it: %w", path, err)
		}
	}
	return backup, true, replace(path, edited, mode)
}

// mostBackups bounds the number of copies.
const mostBackups = 100

// keep writes a copy next to a file, and overwrites none.
func keep(path string, data []byte, mode fs.FileMode) (string, error) {
	for i := range mostBackups {
		name := path + ".before-gjc"
		if i > 0 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return name, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("there are %d copies already; remove some", mostBackups)
}

// replace replaces a file at once, so that the editor never reads a part of it.
func replace(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".gjc-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails after a successful rename
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
