package shell

import (
	"fmt"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/internal/text"
)

// The notes are words for a question. They decide nothing: a command that the user has not seen runs inside the boundary, or asks.

// rights are programs that run others with other rights, and shells those that run what they read.
var (
	rights = set("sudo", "su", "doas", "pkexec", "run0", "runuser", "setpriv", "gsudo")
	shells = set("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox")
	wraps  = set("env", "xargs", "nohup", "timeout", "nice", "ionice", "time", "watch", "parallel", "find", "fd", "ssh", "npx", "docker", "podman", "command", "exec", "builtin", "eval", "source", ".", "strace", "flock", "stdbuf", "setsid", "chroot", "unshare", "script")
	later  = set("crontab", "at", "batch", "systemctl", "launchctl", "systemd-run", "update-rc.d", "schtasks")
)

// Launches reports whether a program runs others that are named in its words.
func Launches(program string) bool {
	name := programName(program)
	return wraps[name] || rights[name] || shells[name]
}

// notes adds what a user should know about the line.
func (r *reader) notes() {
	for _, path := range r.line.Changes {
		if !r.touches("changes", path) && r.paths.Secret(path) {
			r.note(fmt.Sprintf("it changes %s, which holds secrets by its name", show(path)))
		}
	}
	for _, c := range r.line.Commands {
		first := c.Words[0]
		name := programName(first.Text)
		_, reads := readers()[name]
		switch {
		case !first.Static:
			r.note("it runs a program that only the shell knows")
		case name == "eval":
			r.note("it runs text that it computes (eval)")
		case shells[name] && c.Fed && len(c.Words) == 1:
			r.note(fmt.Sprintf("it runs what %s reads", name))
		case later[name]:
			r.note(fmt.Sprintf("it changes what the system runs later (%s)", name))
		}
		for i, w := range c.Words {
			if name := programName(w.Text); w.Static && rights[name] && (i == 0 || !reads && !quotes[programName(first.Text)]) {
				r.note(fmt.Sprintf("it runs with other rights (%s)", name))
			}
			if i > 0 {
				r.names(w, reads)
			}
		}
	}
}

// names looks at a word that may be a path. reads says that its command changes nothing.
func (r *reader) names(w Word, reads bool) {
	if _, value, ok := strings.Cut(w.Text, "="); ok {
		r.names(Word{Text: value, Static: w.Static}, reads)
	}
	paths := []string{w.Text}
	switch {
	case len(w.Text) > 4096 || strings.ContainsAny(w.Text, "\n\x00"):
		return
	case w.pattern != "" && r.paths.Real != nil:
		paths, _ = filepath.Glob(r.paths.Expand(w.pattern, r.dir)) // a bad pattern matches nothing
		paths = paths[:min(len(paths), maxMatches)]
	case !w.Static || w.Text == "" || strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "://"):
		return
	}
	for _, path := range paths {
		path = r.paths.Expand(path, r.dir)
		if r.paths.Secret(path) {
			r.note(fmt.Sprintf("it reaches %s, which holds secrets by its name", show(path)))
		}
		if !reads || w.pattern == "" && r.paths.Outside(path) && r.paths.Protected(path) == "" {
			r.touches("reaches", path)
		}
	}
}

// touches notes a path that programs run or follow, or that lies outside the roots. It reports whether it does.
func (r *reader) touches(how, path string) bool {
	switch why := r.paths.Protected(path); {
	case why != "":
		r.note(fmt.Sprintf("it %s %s (%s)", how, show(path), why))
	case r.paths.Outside(path):
		r.note(fmt.Sprintf("it %s %s, outside the workspace", how, show(path)))
	default:
		return false
	}
	return true
}

// assign looks at a variable that is set.
func (r *reader) assign(as *syntax.Assign) {
	if as.Name == nil {
		return
	}
	if as.Value != nil {
		r.names(r.word(as.Value), true)
	}
	if name := as.Name.Value; RunsPrograms(name) {
		r.note(fmt.Sprintf("it sets %s, by which programs run others", name))
	}
}

// runners are variables by which programs find others, or options that run them; runnerStarts and runnerEnds are the beginnings and ends
// of such names.
var (
	runners = set(
		"path", "home", "shell", "env", "ifs", "ps4", "prompt_command", "editor", "visual", "pager", "browser", "manpager", "lesspipe", "lessopen", "lessclose", "term_program",
		"makeflags", "makefiles", "gnumakeflags", "mflags", "cc", "cxx", "ld", "ar", "as", "goflags", "gocacheprog", "goroot", "gotooldir", "gotoolchain", "rustc", "rustdoc",
		"pythonpath", "pythonhome", "pythonstartup", "perl5lib", "perl5opt", "perl5db", "rubyopt", "rubylib", "node_options", "node_path", "java_tool_options", "jdk_java_options", "_java_options",
		"classpath", "maven_opts", "gradle_opts", "xdg_config_home", "xdg_data_home", "xdg_config_dirs", "xdg_data_dirs", "tar_options", "rsync_rsh", "cvs_rsh", "svn_ssh", "vagrant_home",
		"ripgrep_config_path", "wgetrc", "curl_home", "netrc", "ssh_askpass", "sudo_askpass", "ssh_auth_sock", "docker_host", "docker_config", "kubeconfig", "openssl_conf", "gconv_path", "terminfo", "emacsloadpath", "vimruntime", "viminit", "exinit", "cdpath", "fpath", "globignore",
	)
	runnerStarts = []string{"ld_", "dyld_", "git_", "bash_", "npm_config_", "yarn_", "pnpm_", "cargo_", "rustc_", "rustup_", "pip_", "uv_", "bundle_", "composer_", "zdot", "cmake_", "pytest_", "gem_", "conda_", "gjc_"}
	runnerEnds   = []string{"_editor", "_pager", "_command", "_program", "_askpass", "_wrapper", "_preload", "_cmd", "_hook", "_exec", "_opts", "_flags", "_options"}
	quiet        = set("git_author_name", "git_author_email", "git_author_date", "git_committer_name", "git_committer_email", "git_committer_date", "git_terminal_prompt", "git_optional_locks", "cargo_term_color", "bash_silence_deprecation_warning", "yarn_enable_colors", "pip_no_input", "pip_disable_pip_version_check")
)

// RunsPrograms reports whether programs run others by a variable's name, as far as is known.
func RunsPrograms(name string) bool {
	name = strings.ToLower(name)
	if quiet[name] {
		return false
	}
	if runners[name] || name == "pwd" || name == "oldpwd" {
		return true
	}
	for _, start := range runnerStarts {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	for _, end := range runnerEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// show returns a path or a word on one line, for people: no longer than can be read, and without characters that fool the eye.
func show(s string) string { return text.VisibleLine(text.Truncate(s, 120)) }
