// Package boundary says what commands may do that the user has not seen: what they may change, read and reach.
package boundary

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/places"
)

// Settings describe where commands run that the user has not seen: in auto mode, and by a remembered answer or a rule.
type Settings struct {
	// Use says when commands run inside.
	Use Use
	// Find returns the mechanism of this machine, "bubblewrap", or why there is none. It may try one, and is called for the first
	// command. If nil, there is none.
	Find func() (kind string, err error)
	// Write are directories outside of the roots that commands may change.
	Write []string
	// Caches returns more such directories. It is called when a command runs inside. Optional.
	Caches func() []string
	// Hosts are those that commands may reach without a question: "example.com", "*.example.com".
	Hosts []string
	// Network opens the machine's network.
	Network bool
}

// Use says when commands run inside the boundary.
type Use string

// The uses. The zero value is off.
const (
	// Auto runs inside what the user has not seen. Without a boundary, it asks.
	Auto Use = "auto"
	// Require runs every command inside, and none without a boundary.
	Require Use = "require"
	// Off runs no command inside. What the user has not seen asks, unless it is known to only read.
	Off Use = "off"
)

// Uses lists all uses.
func Uses() []Use {
	return []Use{Auto, Require, Off}
}

// Holds reports whether commands can run inside.
func (b *Settings) Holds() bool {
	return (b.Use == Auto || b.Use == Require) && b.Lacks() == nil
}

// Encloses reports whether programs that belong to no call run inside. If a boundary is required and there is none, they cannot start.
func (b *Settings) Encloses() bool { return b.Use == Require || b.Holds() }

// Boxes reports whether the programs of a session that run inside share what only they have: a network, and the session's own directory
// for temporary files as /tmp.
func (b *Settings) Boxes() bool {
	if b.Use != Auto && b.Use != Require || b.Find == nil {
		return false
	}
	kind, err := b.Find()
	return err == nil && kind == "bubblewrap"
}

var errNoBoundary = errors.New("this session has none")

// Lacks returns why there is no boundary, or nil if there is one.
func (b *Settings) Lacks() error {
	if b.Find == nil {
		return errNoBoundary
	}
	_, err := b.Find()
	return err
}

// Access lists what a command inside the boundary may do. All paths are absolute, exist, and have no symbolic links.
type Access struct {
	// Write are the directories and files that it may change, Keep those in them that it may not, and Hide those that it cannot read.
	Write, Keep, Hide []string
	// Show are those in hidden directories that it can read nevertheless.
	Show []string
	// Hosts are those that it can reach.
	Hosts []string
	// Unknown are those of Keep whose entries have not been read.
	Unknown []string
	// Forbidden are those of Keep and Hide that the user cannot be asked about: a rule denies them.
	Forbidden []string
	// Fixed are directories of Write that it may not rename, because files in them are protected by the names of both.
	Fixed []string
	// Links are protected paths that lead elsewhere by a link, with where they lead.
	Links map[string]string
	// found identifies those of Keep that are protected by their own names.
	found map[string]fs.FileInfo
	// Wider are the paths by which this access exceeds that of the session's other commands.
	Wider []string
	// Network opens the machine's network.
	Network bool
}

// FileRule is a rule of the user's that does not allow to read or change files.
type FileRule struct {
	// Matches reports whether it is about an absolute path. Pattern is its text; empty for all files.
	Matches func(path string) bool
	Pattern string
	// Reads says that it is about reading. Denies says that the user cannot be asked.
	Reads, Denies bool
}

// Access returns what commands of a session may do inside the boundary. The rules hold there, too.
func (b *Settings) Access(ctx context.Context, paths *places.Paths, rules []FileRule) *Access {
	a := &Access{Hosts: slices.Clone(b.Hosts), Network: b.Network, Links: make(map[string]string), found: make(map[string]fs.FileInfo)}
	write := b.Write
	if b.Caches != nil {
		write = append(b.Caches(), write...) // before the scan: it may make directories in the roots, which no command has made
	}
	s := scan{paths: paths, index: paths.Index(), rules: rules, access: a}
	for i, root := range paths.Roots {
		real := paths.RealRoots[i]
		if root == filepath.Dir(root) || real == filepath.Dir(real) {
			continue // the whole machine is not a project
		}
		a.Write = append(a.Write, real)
		if !s.ruled(real) {
			s.directory(ctx, real, 0)
		}
	}
	for _, dir := range write {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			a.Write = append(a.Write, real)
		}
	}
	for _, own := range paths.Own {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			a.Hide = append(a.Hide, real)
		}
	}
	s.home(paths.Home)
	s.elsewhere()
	for _, list := range []*[]string{&a.Write, &a.Keep, &a.Hide, &a.Forbidden} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return a
}

// scan finds what is to be kept and hidden.
type scan struct {
	paths *places.Paths
	index *places.Index
	// rules are those that do not allow to read or to change files.
	rules  []FileRule
	access *Access
	seen   int
}

// Limits of a scan. What is beyond them is kept as it is.
const (
	maxScanned   = 200_000
	maxScanDepth = 40
)

// dependencies are directories of other people's code and of results, in which names say little.
var dependencies = map[string]bool{
	"node_modules": true, "bower_components": true, "vendor": true, "site-packages": true, "__pycache__": true, "target": true,
	".venv": true, "venv": true, ".tox": true, ".nox": true, "Pods": true, ".gradle": true, ".dart_tool": true, ".terraform": true,
}

func (s *scan) directory(ctx context.Context, dir string, depth int) {
	entries, err := os.ReadDir(dir)
	if s.seen += len(entries); s.seen > maxScanned || depth > maxScanDepth || ctx.Err() != nil || err != nil && len(entries) == 0 && !os.IsNotExist(err) {
		s.access.Keep, s.access.Unknown = append(s.access.Keep, dir), append(s.access.Unknown, dir)
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if s.ruled(path) {
			continue
		}
		if strings.EqualFold(e.Name(), ".git") {
			s.repository(path)
			continue
		}
		link := e.Type()&fs.ModeSymlink != 0
		secret, protected := s.judge(e.Name(), path, link)
		if secret {
			s.add(&s.access.Hide, path)
		}
		if protected {
			s.keep(path)
		}
		if e.IsDir() && !secret && !protected && !dependencies[e.Name()] || link && !protected && s.leads(path) {
			kept := len(s.access.Keep)
			s.directory(ctx, path, depth+1)
			if e.IsDir() && len(s.access.Keep) > kept && s.paths.Leads(e.Name()) {
				s.access.Fixed = append(s.access.Fixed, path)
			}
		}
	}
}

// judge reports whether a path holds secrets, and whether it is protected.
func (s *scan) judge(name, path string, link bool) (secret, protected bool) {
	if !link && !s.index.Candidate(name) {
		return false, false
	}
	return s.paths.Secret(path) && !plainNpmrc(path), s.paths.Protected(path) != ""
}

// ruled keeps or hides a path about which there is a rule. It reports whether the path is hidden, with all that is in it.
func (s *scan) ruled(path string) (hidden bool) {
	for _, r := range s.rules {
		if r.Pattern != "" && !r.Matches(path) {
			continue
		}
		list := &s.access.Keep
		if r.Reads {
			list, hidden = &s.access.Hide, true
		}
		s.add(list, path)
		if r.Denies {
			s.add(&s.access.Forbidden, path)
		}
	}
	return hidden
}

// maxElsewhere bounds the files outside the roots that rules hide.
const maxElsewhere = 1000

// elsewhere hides the files outside the roots that rules name.
func (s *scan) elsewhere() {
	for _, r := range s.rules {
		if !r.Reads || !strings.HasPrefix(r.Pattern, "/") && !strings.HasPrefix(r.Pattern, "~") {
			continue
		}
		found, _ := doublestar.FilepathGlob(strings.TrimSuffix(s.paths.Expand(r.Pattern, ""), "/**")) // the rule has been checked
		for _, path := range found[:min(len(found), maxElsewhere)] {
			s.add(&s.access.Hide, path)
			if r.Denies {
				s.add(&s.access.Forbidden, path)
			}
		}
	}
}

// leads reports whether a link may lead to files that are protected by its name and theirs, such as a link named .vscode. A link in
// such a directory is not followed: its files are not found by that name.
func (s *scan) leads(link string) bool {
	info, err := os.Stat(link)
	real, realErr := filepath.EvalSymlinks(filepath.Dir(link))
	return err == nil && info.IsDir() && s.paths.Leads(filepath.Base(link)) && realErr == nil && real == filepath.Dir(link)
}

// keep adds a protected path.
func (s *scan) keep(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return // it is gone, or leads nowhere
	}
	s.access.Keep = append(s.access.Keep, real)
	if real != path {
		// Another name of a protected file is followed only if that name is, too.
		byName := *s.paths
		if byName.Real = nil; byName.Protected(path) != "" {
			s.access.Links[path] = real
		}
	} else if info, err := os.Lstat(path); err == nil {
		s.access.found[path] = info
	}
}

// add adds the place to which a path leads.
func (s *scan) add(list *[]string, path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		*list = append(*list, real)
	}
}

// repository keeps what git runs or follows, and lets it change the rest.
func (s *scan) repository(dotGit string) {
	dir, common := gitDirectories(dotGit)
	for _, dir := range []string{dir, common} {
		if dir == "" {
			continue
		}
		s.access.Write = append(s.access.Write, dir)
		for _, name := range []string{"hooks", "config", "config.worktree", "info", "commondir", "gitdir"} {
			s.keep(filepath.Join(dir, name))
		}
		s.modules(filepath.Join(dir, "modules"))
		s.worktrees(filepath.Join(dir, "worktrees"))
	}
	if info, err := os.Lstat(dotGit); err == nil && !info.IsDir() {
		s.keep(dotGit)
	}
}

// worktrees keeps what says where other worktrees have their repository: git follows it when the user works there.
func (s *scan) worktrees(dir string) {
	entries, _ := os.ReadDir(dir) // usually there are none
	for _, e := range entries {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			s.keep(filepath.Join(dir, e.Name(), name))
		}
	}
}

// modules keeps the same of the repositories of submodules.
func (s *scan) modules(dir string) {
	entries, _ := os.ReadDir(dir) // usually there are none
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			continue
		}
		// Without HEAD it is a part of a name with slashes, or a repository to be.
		for _, name := range []string{"hooks", "config", "info"} {
			s.keep(filepath.Join(path, name))
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			path = filepath.Join(path, "modules")
		}
		s.modules(path)
	}
}

// gitDirectories returns the directory of a repository and that which it shares with its other worktrees. dotGit is the entry .git of
// a worktree: a directory, or a file that names one. That is trusted only if it names the worktree in turn.
func gitDirectories(dotGit string) (dir, common string) {
	info, err := os.Lstat(dotGit)
	if err != nil {
		return "", ""
	}
	if info.IsDir() {
		return dotGit, ""
	}
	data, err := os.ReadFile(dotGit)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if err != nil || !ok {
		return "", ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(dotGit), to)
	}
	if dir, err = filepath.EvalSymlinks(to); err != nil {
		return "", ""
	}
	back, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil || filepath.Clean(strings.TrimSpace(string(back))) != dotGit {
		return "", ""
	}
	shared, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir, ""
	}
	if common = strings.TrimSpace(string(shared)); !filepath.IsAbs(common) {
		common = filepath.Join(dir, common)
	}
	if common, err = filepath.EvalSymlinks(common); err != nil || !places.Within(common, dir) {
		return dir, ""
	}
	return dir, common
}

// homeSecrets are files and directories of the user's home that hold secrets.
var homeSecrets = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".local/share/keyrings", ".config/gcloud", ".config/gh",
	".config/glab-cli", ".config/op", ".config/git/credentials", ".config/github-copilot", ".docker/config.json", ".cargo/credentials",
	".cargo/credentials.toml", ".terraform.d/credentials.tfrc.json", ".codex/auth.json", ".claude/.credentials.json", ".gemini",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".bash_history", ".zsh_history",
	".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".gem/credentials",
}

// home hides the secrets of a home directory.
func (s *scan) home(home string) {
	if home == "" {
		return
	}
	// It is seen where a boundary has a directory of its own, such as /tmp, around it.
	if real, err := filepath.EvalSymlinks(home); err == nil && innermost(real, s.access.Write) == 0 {
		s.access.Keep = append(s.access.Keep, real)
	}
	for _, name := range homeSecrets {
		s.add(&s.access.Hide, filepath.Join(home, name))
	}
	entries, _ := os.ReadDir(home)
	for _, e := range entries {
		path := filepath.Join(home, e.Name())
		if e.Type().IsRegular() && places.SecretName(places.Names(e.Name())) && !plainNpmrc(path) {
			s.add(&s.access.Hide, path)
		}
	}
}

// plainNpmrc reports whether a file configures npm without credentials.
func plainNpmrc(path string) bool {
	if filepath.Base(path) != ".npmrc" {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && !strings.Contains(string(data), "_auth") && !strings.Contains(string(data), "_password")
}
