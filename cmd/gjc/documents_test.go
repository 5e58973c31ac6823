package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/testenv"
)

// guides calls fn for the README and each page of docs, except the changelog.
func guides(t *testing.T, fn func(path, text string)) {
	t.Helper()
	root := testenv.ModuleRoot(t)
	paths := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" && !strings.Contains(filepath.ToSlash(path), "/changelog/") {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			paths = append(paths, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d pages: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		fn(path, string(text))
	}
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	span       = regexp.MustCompile("`([^`\n]+)`")
	invocation = regexp.MustCompile(`(?:^|[\s'"])(?:\S*/)?gjc((?:[ \t]+[^=\s|;&<>'"#()\x60]+)+)`)
	slashName  = regexp.MustCompile(`^/([a-z]+)(?: |$)`)
	flagName   = regexp.MustCompile(`^--[a-z][a-z-]*`)
	buildTool  = regexp.MustCompile(`go (build|test|vet) |gjc-conformance`)
	lowerWord  = regexp.MustCompile(`^[a-z]+$`)
	dotted     = regexp.MustCompile(`^([a-zA-Z]+)\.([a-z][a-zA-Z]*)$`)
)

// TestDocuments_Commands checks that the commands, flags, slash commands and configuration keys in documents exist.
func TestDocuments_Commands(t *testing.T) {
	t.Parallel()
	root := newRoot(&host{}, new(options))
	flags := map[string]bool{
		// Flags of other programs.
		"--agent": true, "--approve-all": true, "--cwd": true, "--mcp-config": true, "--verbose": true, "--system-prompt": true, "--git-dir": true, "--output": true,
		"--pre": true, "--files": true, "--sortr": true,
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, f := range regexp.MustCompile(`--[a-z-]+`).FindAllString(c.LocalFlags().FlagUsages()+c.InheritedFlags().FlagUsages(), -1) {
			flags[f] = true
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	flags["--acp-terminal-auth"] = true
	source := func(parts ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{testenv.ModuleRoot(t)}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	suite := make(map[string]bool)
	for _, m := range regexp.MustCompile(`set\.\w+Var\(&[\w.]+, "([a-z-]+)"`).FindAllStringSubmatch(source("cmd", "gjc-conformance", "main.go"), -1) {
		suite["--"+m[1]] = true
	}
	slashes := map[string]bool{"tmp": true}
	for _, m := range regexp.MustCompile(`\{name: "(\w+)"`).FindAllStringSubmatch(source("acp", "server", "slash", "list.go"), -1) {
		slashes[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`case "/(\w+)"(?:, "/(\w+)")?:`).FindAllStringSubmatch(source("cmd", "gjc", "internal", "chat", "commands.go"), -1) {
		slashes[m[1]], slashes[m[2]] = true, true
	}
	keys, sections := make(map[string]bool), make(map[string]bool)
	for _, key := range config.Keys() {
		section, name, _ := strings.Cut(key.Name, ".")
		keys[key.Name], sections[section] = true, name != "" && name != "ROLE"
	}
	commands := 0
	guides(t, func(path, text string) {
		var lines []string
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[2], "gjc demo: an editor") { // the transcript in the README
				lines = append(lines, strings.Split(m[2], "\n")...)
			}
		}
		plain := fence.ReplaceAllString(text, "")
		for _, m := range span.FindAllStringSubmatch(plain, -1) {
			code := m[1]
			lines = append(lines, code)
			if name := flagName.FindString(code); name != "" && !flags[name] && !suite[name] {
				t.Errorf("%s: there is no flag %s", path, name)
			}
			if m := slashName.FindStringSubmatch(code); m != nil && !slashes[m[1]] {
				t.Errorf("%s: there is no slash command %s", path, m[0])
			}
			if m := dotted.FindStringSubmatch(code); m != nil {
				if sections[m[1]] && !slices.Contains([]string{"json", "yml", "yaml", "key"}, m[2]) && !keys[m[1]+"."+m[2]] {
					t.Errorf("%s: config.yml has no key %s", path, code)
				}
			}
		}
		for _, line := range lines {
			if buildTool.MatchString(line) {
				continue
			}
			for _, m := range invocation.FindAllStringSubmatch(line, -1) {
				if why := wrongCall(root, strings.Fields(m[1])); why != "" {
					t.Errorf("%s: %q: %s", path, strings.TrimSpace(line), why)
				}
				commands++
			}
		}
	})
	if commands < 60 {
		t.Errorf("only %d commands were found", commands)
	}
}

// wrongCall returns why gjc would refuse the arguments, or "".
func wrongCall(c *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		word := strings.Trim(args[i], ",.:[]")
		switch {
		case word == "--":
			return "" // the words of another program follow
		case strings.HasPrefix(word, "--"):
			name, _, valued := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			f := c.Flag(name)
			if name == "help" {
				return ""
			}
			if f == nil {
				return c.CommandPath() + " has no flag --" + name
			}
			if f.Value.Type() != "bool" && !valued {
				i++
			}
		case len(word) == 2 && word[0] == '-':
			if c.Flags().ShorthandLookup(word[1:]) == nil {
				return c.CommandPath() + " has no flag " + word
			}
			i++
		case c.HasSubCommands() && lowerWord.MatchString(word):
			sub, _, err := c.Find([]string{word})
			if err != nil || sub == c {
				return c.CommandPath() + " has no command " + word
			}
			c = sub
		}
	}
	return ""
}

// TestDocuments_Config checks that the examples of config.yml in documents have no mistake.
func TestDocuments_Config(t *testing.T) {
	t.Parallel()
	var known []string
	for _, key := range config.Keys() {
		section, _, _ := strings.Cut(key.Name, ".")
		known = append(known, section)
	}
	examples := 0
	guides(t, func(path, text string) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "yaml" {
				continue
			}
			n, err := configfile.ParseYAML([]byte(m[2]))
			if err != nil {
				t.Errorf("%s: %v in:\n%s", path, err, m[2])
				continue
			}
			if n.Kind != configfile.Object || slices.ContainsFunc(n.Members, func(m configfile.Member) bool { return !slices.Contains(known, m.Name) }) {
				continue // of another file
			}
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "config.yml"), m[2])
			if err := config.Read(dir, nil, "").Err(); err != nil {
				t.Errorf("%s: %v in:\n%s", path, err, m[2])
			}
			examples++
		}
	})
	if examples < 5 {
		t.Errorf("only %d examples were found", examples)
	}
}
