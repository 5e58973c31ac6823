// Package shell analyzes what a shell command line runs, reads and writes, and which paths are protected or hold secrets. It decides
// nothing; package approval does.
package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Paths is what a path is judged against.
type Paths struct {
	// Roots are the directories that a session works in, as they were given; the first one is the working directory.
	Roots []string
	// RealRoots are the same behind their links; nil to look for each question.
	RealRoots []string
	// Home is the user's, for "~". Empty for none.
	Home string
	// Own are directories with gjc's own state: whatever changes them can change what is allowed.
	Own []string
	// Real resolves the symbolic links of an absolute path, as far as it exists. If nil, there are none.
	Real func(path string) string
}

// Resolve returns path with its symbolic links resolved, as far as it exists.
func (p *Paths) Resolve(path string) string {
	if p.Real == nil {
		return filepath.Clean(path)
	}
	return p.Real(path)
}

// Outside reports whether an absolute path lies outside the roots, by its name or behind its links.
func (p *Paths) Outside(path string) bool {
	if !withinAny(p.Roots, path) {
		return true
	}
	return !withinAny(p.realRoots(), p.Resolve(path))
}

func (p *Paths) realRoots() []string {
	if p.RealRoots != nil {
		return p.RealRoots
	}
	roots := make([]string, len(p.Roots))
	for i, root := range p.Roots {
		roots[i] = p.Resolve(root)
	}
	return roots
}

func withinAny(roots []string, path string) bool {
	for _, root := range roots {
		if Within(root, path) {
			return true
		}
	}
	return false
}

// Within reports whether path is root or lies below it, by the names alone. Both are clean.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Names are the parts of a path as a file system that does not tell upper case from lower sees them, without the characters
// that some file systems leave out of names.
func Names(path string) []string {
	path = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, filepath.ToSlash(path))
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, " .") // as Windows reads it
		if part == "." || part == ".." {
			parts[i] = part
		}
	}
	return parts
}

// rcFiles are read and run by shells and the like when they start.
var rcFiles = set(
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
	".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".xprofile", ".xinitrc", ".xsession", ".envrc",
	"config.fish", ".gitconfig", ".inputrc", ".vimrc", ".exrc", ".gdbinit", ".lldbinit", ".mcp.json", ".pythonstartup",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pre-commit-config.yaml", ".pre-commit-config.yml",
)

// runDirectories hold what programs run or believe.
var runDirectories = map[string]string{
	".git": "git runs hooks and programs that are named there", ".gjc": "gjc takes hooks, rules and programs from there",
	".devcontainer": "an editor builds and runs what is named there",
	".ssh":          "it decides who may log in, and where", ".gnupg": "keys are kept there", ".husky": "git runs the hooks there",
}

// editorFiles are files of editors that name programs to run, by directory.
var editorFiles = map[string]map[string]bool{
	".vscode": set("settings.json", "tasks.json", "launch.json"), ".zed": set("settings.json", "tasks.json", "debug.json"),
	".cursor": set("mcp.json", "hooks.json", "rules"), ".claude": set("settings.json", "settings.local.json", "hooks"), "fish": set("conf.d", "functions"),
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Protected says why a change of an absolute path always asks: because something would run what is written there, or gjc
// itself would believe it. It is empty for other paths.
func (p *Paths) Protected(path string) string {
	real := p.Resolve(path)
	for _, own := range p.Own {
		if Within(own, path) || Within(p.Resolve(own), real) {
			return "gjc's own files are there"
		}
	}
	// A root's own place says nothing: a project may lie below a directory called .git, and worktrees of gjc's do.
	for _, path := range []string{p.below(path), p.below(real)} {
		if why := protectedName(Names(path)); why != "" {
			return why
		}
	}
	return p.bare(path)
}

// bare says why a change of a path may make a directory a repository of git without a .git, or change what one runs.
func (p *Paths) bare(path string) string {
	const why = "git takes its directory for a repository, and runs what is configured there"
	if strings.EqualFold(filepath.Base(path), "HEAD") {
		return why
	}
	if p.Real == nil {
		return "" // there are no files to look at
	}
	for dir, name := filepath.Dir(path), filepath.Base(path); ; dir, name = filepath.Dir(dir), filepath.Base(dir) {
		if lower := strings.ToLower(name); lower == "config" || lower == "hooks" {
			if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
				return why
			}
		}
		if dir == filepath.Dir(dir) || !withinAny(p.Roots, dir) {
			return ""
		}
	}
}

// below is what of a path is behind the root that it lies in, or all of it.
func (p *Paths) below(path string) string {
	for _, roots := range [][]string{p.Roots, p.realRoots()} {
		for _, root := range roots {
			if rel, err := filepath.Rel(root, path); err == nil && Within(root, path) {
				return rel
			}
		}
	}
	return path
}

func protectedName(parts []string) string {
	for i, part := range parts {
		if strings.HasPrefix(part, "git~") { // the short name of .git on Windows
			part = ".git"
		}
		if why := runDirectories[part]; why != "" {
			return why
		}
		if files := editorFiles[part]; i+1 < len(parts) && files[parts[i+1]] {
			return "an editor runs programs that are named there"
		}
	}
	if rcFiles[parts[len(parts)-1]] {
		return "it is run or read when a program starts"
	}
	return ""
}

// secretNames are files that hold keys, as a rule.
var secretNames = set(
	".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".dockercfg", ".vault-token",
	"credentials", "credentials.json", "credentials.toml", "auth.json", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml",
	"kubeconfig", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "terraform.tfvars", "master.key",
	"service-account.json", "shadow", "gshadow",
)

// secretEnds are how the names of keys end.
var secretEnds = []string{".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".kdbx", ".ppk", ".tfstate"}

// harmlessEnv are files that show what an .env has to look like.
var harmlessEnv = set("example", "sample", "template", "dist", "defaults", "schema", "test.example")

// Secret reports whether a file holds secrets by its name, or by what is behind its links: .env, keys, credentials.
func (p *Paths) Secret(path string) bool {
	return SecretName(Names(p.below(path))) || SecretName(Names(p.below(p.Resolve(path))))
}

// secretPlaces are files that hold secrets in one directory, and not in others.
var secretPlaces = map[string]string{
	".kube/config": "", ".docker/config.json": "", "gh/hosts.yml": "", "glab-cli/config.yml": "", "agent/models.yml": "", "agent/models.yaml": "", "agent/auth.json": "",
	"gcloud/access_tokens.db": "", "gcloud/credentials.db": "", "gcloud/application_default_credentials.json": "",
}

// backupEnds are how the names of copies end.
var backupEnds = []string{"~", ".bak", ".old", ".orig", ".save", ".swp", ".backup"}

// SecretName reports whether the path with the elements parts names a file or a directory of secrets, or a backup of one. parts is not
// empty.
func SecretName(parts []string) bool {
	name := parts[len(parts)-1]
	for _, end := range backupEnds {
		if short, ok := strings.CutSuffix(name, end); ok && short != "" {
			parts = append(parts[:len(parts)-1:len(parts)-1], short)
			return SecretName(parts)
		}
	}
	switch name {
	case ".ssh", ".gnupg", ".aws", ".azure", ".password-store":
		return true
	}
	if len(parts) > 1 {
		if _, ok := secretPlaces[parts[len(parts)-2]+"/"+name]; ok {
			return true
		}
		if name == "environ" && slices.Contains(parts, "proc") {
			return true
		}
	}
	if name == ".env" || name == ".envrc" {
		return true
	}
	if rest, ok := strings.CutPrefix(name, ".env."); ok {
		return !harmlessEnv[rest]
	}
	if rest, ok := strings.CutSuffix(name, ".env"); ok && rest != "" {
		return !harmlessEnv[strings.TrimPrefix(rest[strings.LastIndexByte(rest, '.')+1:], ".")]
	}
	if secretNames[name] {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return !strings.HasSuffix(name, ".pub.pem") && name != end
		}
	}
	for _, part := range parts[:len(parts)-1] {
		switch part {
		case ".ssh":
			return !strings.HasSuffix(name, ".pub") && name != "known_hosts" && name != "config"
		case ".gnupg", ".aws", ".azure", ".password-store":
			return true
		}
	}
	return false
}

// behindLinks is where a path leads whose ".." stand behind links: to the directory above the one that the link leads to. That is
// how the system reads it; a shell's cd does not.
func (p *Paths) behindLinks(path, dir string) string {
	lexical := p.Expand(path, dir)
	if p.Real == nil || !strings.Contains(path, "..") || strings.HasPrefix(path, "~") || filepath.VolumeName(lexical) != "" {
		return lexical
	}
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	at := "/"
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part == ".." {
			at = filepath.Dir(p.Resolve(at))
		} else {
			at = filepath.Join(at, part)
		}
	}
	if p.Resolve(at) == p.Resolve(lexical) {
		return lexical
	}
	return at
}

// Expand makes a path of a shell word or a rule absolute: "~" is the home directory, other paths are below dir.
func (p *Paths) Expand(path, dir string) string {
	switch {
	case path == "~" && p.Home != "":
		return p.Home
	case strings.HasPrefix(path, "~/") && p.Home != "":
		return filepath.Join(p.Home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	default:
		return filepath.Join(dir, path)
	}
}
