package approval

import (
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// commandScope describes the reach of an "always" answer to a command: a program, with its subcommand if it has one, or the line itself.
type commandScope struct {
	text  string
	whole bool
}

// commandScopes returns the scope of each command in a line. The line is one scope of its own if it runs outside the boundary, where
// only the line itself is known to do what the user has seen, or if the first words of its commands do not say what runs.
func commandScopes(line string, known *shell.Line, inside bool, remote func(name string) string) []commandScope {
	whole := []commandScope{{text: strings.TrimSpace(line), whole: true}}
	if known == nil || !inside || !known.Flat || known.Assigns {
		return whole
	}
	var scopes []commandScope
	for _, c := range known.Commands {
		if slices.ContainsFunc(c.Words, func(w shell.Word) bool { return !w.Static && !w.Glob() }) {
			return whole
		}
		text, ok := family(c.Words, remote)
		if !ok {
			return whole
		}
		if s := (commandScope{text: text}); !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// subcommands are programs whose second word says what they do; for those in its list, the third does.
var subcommands = map[string][]string{
	"git": {"remote", "stash", "worktree", "submodule", "bisect", "notes"}, "go": {"mod", "tool", "work"}, "npm": {"run", "run-script", "exec"}, "pnpm": {"run", "exec", "dlx"},
	"yarn": {"run", "workspace", "dlx"}, "bun": {"run"}, "deno": {"task"}, "cargo": nil, "rustup": nil, "docker": {"compose", "image", "container", "volume", "network"},
	"podman": nil, "kubectl": nil, "helm": nil, "gh": {"pr", "issue", "repo", "run", "release", "workflow"}, "pip": nil, "pip3": nil, "uv": {"pip", "run", "tool"}, "poetry": {"run"},
	"terraform": nil, "aws": nil, "gcloud": nil, "az": nil, "dotnet": nil, "bundle": {"exec"}, "mix": nil, "brew": nil, "apt": nil, "apt-get": nil, "systemctl": nil,
}

// family returns the kind of a command: "go test", "npm run build". A git command that goes to a remote has the address of that.
func family(words []shell.Word, remote func(name string) string) (text string, ok bool) {
	text = words[0].Text
	deeper, has := subcommands[path.Base(text)]
	if !has {
		return text, true
	}
	for n := 1; ; n++ {
		if n >= len(words) || !words[n].Static || words[n].Text == "" || strings.HasPrefix(words[n].Text, "-") {
			return "", false
		}
		text += " " + words[n].Text
		if n > 1 || !slices.Contains(deeper, words[n].Text) {
			break
		}
	}
	if path.Base(words[0].Text) != "git" {
		return text, true
	}
	switch words[1].Text {
	case "push", "fetch", "pull", "ls-remote", "clone", "submodule", "remote":
		return remoteFamily(text, words[2:], remote)
	default:
		return text, true
	}
}

// remoteFamily returns the kind of a git command that goes to a remote, if that is one of the repository's and nothing of it is forced,
// deleted or run.
func remoteFamily(text string, words []shell.Word, remote func(name string) string) (family string, ok bool) {
	address := ""
	for _, w := range words {
		switch {
		case !w.Static || strings.ContainsAny(w.Text, ":+"):
			return "", false
		case w.Text == "-u" || w.Text == "--set-upstream" || w.Text == "--tags" || w.Text == "--prune" || w.Text == "-p" || w.Text == "--rebase":
		case strings.HasPrefix(w.Text, "-"):
			return "", false
		case address == "":
			if address = remote(w.Text); address == "" {
				return "", false
			}
			text += " " + w.Text
		}
	}
	return text + " (" + address + ")", address != ""
}
