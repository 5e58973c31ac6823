package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// harmlessProgram are values of variables like PAGER that run nothing of interest.
var harmlessProgram = set("", "cat", "less", "more", "true", ":")

// pagers are variables whose value is a program that is shown something.
var pagers = set("PAGER", "MANPAGER", "GIT_PAGER", "GH_PAGER", "AWS_PAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "BROWSER")

// harmlessValue reports whether a variable with that value runs nothing after all.
func harmlessValue(name, value string) bool {
	switch {
	case pagers[name]:
		return harmlessProgram[value]
	case strings.HasPrefix(name, "GIT_TRACE"): // a path is a file to write
		return value == "" || value == "0" || value == "1" || value == "2"
	case name == "GIT_CONFIG_NOSYSTEM":
		return true
	}
	return false
}

// variables by which programs run others, or load code.
var runVariables = set(
	"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PAGER", "MANPAGER", "EDITOR",
	"VISUAL", "BROWSER", "SHELL", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB",
	"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SSH_ASKPASS", "SUDO_ASKPASS", "LESSOPEN", "LESSCLOSE",
	"RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "RUSTDOC", "RUSTFLAGS", "GOFLAGS", "GOENV", "GOPROXY", "GOROOT", "GOTOOLCHAIN", "GOTOOLDIR", "CC", "CXX",
	"LD", "AR", "FCEDIT", "HOME", "GCONV_PATH", "SHELLOPTS", "BASHOPTS", "CDPATH", "IFS", "GLOBIGNORE", "FPATH", "ZDOTDIR", "MAKEFILES", "MAKEFLAGS", "GNUMAKEFLAGS",
	"MFLAGS", "RIPGREP_CONFIG_PATH", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "LESS", "LESSKEY", "LESSKEYIN", "INPUTRC", "HISTFILE", "TERMINFO", "TERMINFO_DIRS", "TERMCAP",
	"PROMPT", "RPROMPT", "PS0", "PS1", "PS2", "PERL5DB", "PERLLIB", "RUBYSHELL", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "PYTHONBREAKPOINT",
	"PYTHONWARNINGS", "PYTHONUSERBASE", "PYTHONCASEOK", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "TAR_OPTIONS", "CURL_HOME", "WGETRC", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "MANOPT", "MANPATH", "MANROFFOPT",
	"GNUPGHOME", "KUBECONFIG", "KUBE_EDITOR", "DOCKER_HOST", "DOCKER_CONFIG", "HGRCPATH", "HGEDITOR", "SVN_EDITOR", "ANT_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "JAVA_OPTS", "JDK_JAVA_OPTIONS",
	"CLASSPATH", "CMAKE_TOOLCHAIN_FILE", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG", "PKG_CONFIG_PATH", "OPENSSL_CONF", "OPENSSL_ENGINES", "SSLKEYLOGFILE", "TMPDIR",
	"SYSTEMD_EDITOR", "XAUTHORITY", "NODE_EXTRA_CA_CERTS", "MALLOC_TRACE", "RES_OPTIONS", "HOSTALIASES", "LOCPATH", "NLSPATH", "SORT_OPTIONS", "GREP_OPTIONS",
)

// runPrefixes begin the names of families of such variables.
var runPrefixes = []string{"DYLD_", "LD_", "XDG_", "BASH_FUNC_", "CARGO_", "npm_config_", "NPM_CONFIG_", "COREPACK_", "PIP_", "UV_", "BUNDLE_", "GEM_"}

// RunsPrograms reports whether programs run others, or load code, by a variable of that name.
func RunsPrograms(name string) bool { return runsByName(name) }

func runsByName(name string) bool {
	for _, prefix := range runPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return runVariables[name] || strings.HasPrefix(name, "GIT_") && !harmlessGit[name]
}

var harmlessGit = set(
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
	"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS", "GIT_MERGE_AUTOEDIT",
)

// raise are programs that run others with other rights.
var raise = set("sudo", "sudoedit", "doas", "su", "runuser", "pkexec", "gosu", "su-exec", "run0", "machinectl", "nsenter", "chroot", "unshare")

// shells run what they are given.
var shells = set("sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "mksh", "rbash", "busybox", "pwsh", "powershell", "cmd")

// interpreters run what they are given, in other languages.
var interpreters = set("python", "pypy", "node", "nodejs", "perl", "ruby", "php", "lua", "tclsh", "osascript", "deno", "bun", "gdb", "m4")

// wrappers run the command in their arguments. The value has the options that take a value of their own.
var wrappers = map[string]string{
	"env": "-u --unset -C --chdir -S --split-string", "nohup": "", "time": "-f -o", "timeout": "-k --kill-after -s --signal",
	"nice": "-n --adjustment", "ionice": "-c -n -p", "setsid": "", "stdbuf": "-i -o -e", "xargs": "-I -0I -rI -tI -J -n -P -L -d -E -s -a",
	"command": "", "builtin": "", "exec": "-a", "parallel": "-j", "watch": "-n", "entr": "", "strace": "-o -e -p", "ltrace": "-o -e -p",
	"caffeinate": "-t -w", "chrt": "-p", "setpriv": "", "systemd-run": "-p -u -E", "hyperfine": "-w -r", "toybox": "", "cgexec": "-g", "numactl": "-C -m -N", "prlimit": "", "chronic": "", "flock": "-w -E", "taskset": "-c -p", "noglob": "", "unbuffer": "", "script": "-c",
	"catchsegv": "", "winpty": "", "torsocks": "", "proxychains": "", "proxychains4": "", "direnv": "", "firejail": "", "nocorrect": "",
}

// numberFirst are wrappers with a value of their own before the command.
var numberFirst = set("timeout", "flock", "taskset", "chrt")

// writers change the files in their arguments, with options left out. The value says which arguments they change.
var writers = map[string]string{
	"rm": "all", "rmdir": "all", "unlink": "all", "shred": "all", "truncate": "all", "touch": "all", "mkdir": "all", "tee": "all",
	"chmod": "behind first", "chown": "behind first", "chgrp": "behind first", "mv": "all", "cp": "last", "ln": "last",
	"install": "last", "rsync": "last", "scp": "last", "mkfifo": "all", "mknod": "first", "patch": "first", "split": "last",
	"uniq": "second", "link": "second",
	"unzip": "none", "setfacl": "all", "chattr": "all", "srm": "all", "trash": "all", "rename": "all",
}

// later are programs that make others run at another time, or for other users.
var later = set("crontab", "at", "batch", "launchctl", "systemctl", "update-rc.d", "chkconfig", "schtasks", "loginctl", "visudo",
	"useradd", "usermod", "passwd", "chsh", "dscl", "defaults", "reg", "iptables", "nft", "mount", "umount", "mkfs", "fdisk", "parted",
	"insmod", "modprobe", "sysctl", "shutdown", "reboot", "poweroff", "halt", "kextload", "csrutil", "spctl", "security")

// detached are programs that run others which are no children of the command.
var detached = set("tmux", "screen", "systemd-run", "dtach", "abduco")

// programName is what a program is called without its place and the number of its version.
func programName(word string) string {
	name := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	name = strings.TrimSuffix(name, ".exe")
	if short := strings.TrimRight(name, "0123456789."); short != "" {
		return short
	}
	return name
}

// call looks at one simple command. piped says that its input is another's output.
func (a *analysis) call(call *syntax.CallExpr, piped bool, redirs []*syntax.Redirect) {
	if len(call.Args) == 0 {
		return
	}
	args := make([]Arg, len(call.Args))
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		if args[i] = a.word(w); args[i].Known {
			words[i] = args[i].Text
		}
	}
	a.cmd.Simple = append(a.cmd.Simple, words)
	for i, w := range call.Args {
		if i > 0 && !args[i].Known && words[0] != "rm" && words[0] != "ls" && words[0] != "echo" {
			a.globReads(w, args[i])
		}
	}
	document, fed := a.given(redirs)
	if !fed && piped {
		document = a.outer
	}
	a.command(args, piped || fed, document)
}

// command looks at the words of a command: a simple one, or one in the arguments of another.
func (a *analysis) command(args []Arg, piped bool, document *Arg) {
	if len(args) == 0 {
		return
	}
	if !a.step(1 + len(args)) {
		return
	}
	if a.depth > maxDepth {
		a.risk("it is too long or too deep to be looked at")
		return
	}
	if !args[0].Known || args[0].Text == "" {
		a.risk("it runs a program that only the shell knows")
		return
	}
	a.depth++
	defer func() { a.depth-- }()
	a.called(args[0].Text, piped)
	name, rest := programName(args[0].Text), args[1:]
	run := []string{name}
	for _, arg := range rest {
		if !arg.Known {
			arg.Text = ""
		}
		run = append(run, arg.Text)
	}
	a.cmd.Runs = append(a.cmd.Runs, run)
	a.cmd.Calls = append(a.cmd.Calls, args)
	if computes[name] {
		for _, arg := range rest {
			if at := strings.IndexByte(arg.Text, '['); at >= 0 {
				a.computed(arg.Text[at:])
			}
		}
	}
	for _, arg := range rest {
		if arg.Known {
			a.mention(arg.Text)
		}
	}
	if raise[name] {
		a.risk("it runs with other rights (%s)", name)
		return
	}
	if later[name] {
		a.risk("it changes what the system runs or believes (%s)", name)
		return
	}
	if detached[name] {
		a.risk("it has %s run programs outside of this command", name)
	}
	a.outputs(name, rest)
	switch name {
	case "enable", "hash", "bind":
		for _, arg := range rest {
			if strings.HasPrefix(arg.Text, "-f") && name == "enable" || strings.HasPrefix(arg.Text, "-p") && name == "hash" || strings.HasPrefix(arg.Text, "-x") && name == "bind" {
				a.risk("it changes what the shell runs (%s)", name)
			}
		}
	case "zip":
		if plain := plainArgs(rest); len(plain) > 0 {
			a.target(plain[0].Text, plain[0].Known)
		}
	case "unzip", "cpio", "openssl", "gpg", "strace", "ltrace", "csplit":
		takes := map[string]string{"unzip": "-d", "cpio": "-D", "openssl": "-out", "gpg": "-o", "strace": "-o", "ltrace": "-o", "csplit": "-f"}[name]
		for i, arg := range rest {
			if arg.Text == takes && i+1 < len(rest) {
				a.target(rest[i+1].Text, rest[i+1].Known)
			} else if len(takes) == 2 && strings.HasPrefix(arg.Text, takes) {
				a.target(arg.Text[2:], arg.Known)
			}
		}
	case "xxd":
		if plain := plainArgs(rest); len(plain) > 1 && len(plain) < len(rest) {
			a.target(plain[len(plain)-1].Text, plain[len(plain)-1].Known)
		}
	case "npm", "pnpm", "yarn":
		if plain := plainArgs(rest); len(plain) > 1 && (plain[0].Text == "config" || plain[0].Text == "c") && plain[1].Text == "set" || len(plain) > 0 && plain[0].Text == "set" {
			a.risk("it changes the settings of %s, which name programs", name)
		}
	case "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "expect":
		a.risk("it has %s run commands", name)
	case "script":
		if plain := plainArgs(rest); len(plain) > 0 {
			a.target(plain[len(plain)-1].Text, plain[len(plain)-1].Known)
		}
	case "eval":
		a.risk("it has the shell run text (eval)")
	case "trap", "alias":
		for _, arg := range rest {
			_, text, assigned := strings.Cut(arg.Text, "=")
			if name == "trap" {
				text = arg.Text
			}
			if arg.Known && arg.Text == "--" {
				continue
			}
			if !arg.Known {
				a.risk("it has the shell run text (%s)", name)
			} else if name == "trap" || assigned {
				a.line(text)
				break
			}
		}
	case "cd", "pushd":
		dir := Arg{Text: a.paths.Home, Known: a.paths.Home != ""}
		for _, arg := range rest {
			if !strings.HasPrefix(arg.Text, "-") || arg.Text == "-" {
				dir = arg
			}
		}
		a.cd(dir.Text, dir.Known)
	case "popd":
		a.cd("", false)
	case "export", "declare", "typeset", "local", "readonly": // behind command, builtin, a backslash
		a.declared(rest)
		if slices.ContainsFunc(rest, func(arg Arg) bool {
			return name != "export" && strings.HasPrefix(arg.Text, "-") && strings.Contains(arg.Text, "n")
		}) {
			for _, arg := range rest {
				if _, to, ok := strings.Cut(arg.Text, "="); ok {
					a.sets(to, argUnknown)
				}
			}
		}
	case "read", "printf", "getopts":
		a.named(name, rest)
	case "find", "fd", "fdfind", "bfs":
		a.find(name, rest)
	case "git":
		a.git(rest)
	case "dd":
		for _, arg := range rest {
			if to, ok := strings.CutPrefix(arg.Text, "of="); ok {
				a.target(to, arg.Known)
			}
		}
	case "sed", "gsed", "perl":
		a.inPlace(name, rest)
	case "awk", "gawk", "mawk", "nawk":
		for _, arg := range rest {
			if arg.Known && awkRuns().MatchString(arg.Text) {
				a.risk("it may run programs or write files by awk")
			}
		}
	case "tar", "bsdtar", "gtar":
		a.tar(rest)
	case "make", "gmake":
		for i, arg := range rest {
			_, file, _ := strings.Cut(arg.Text, "=")
			if strings.HasPrefix(arg.Text, "-f") {
				file = arg.Text[2:]
			}
			if (arg.Text == "-f" || arg.Text == "--file" || arg.Text == "--makefile") && i+1 < len(rest) {
				file = rest[i+1].Text
			}
			if file == "-" || input().MatchString(file) {
				a.fed(name, piped, document)
			}
		}
	case "curl", "wget", "sort", "shuf", "gcc", "cc", "go", "ffmpeg", "rg", "man", "scp", "ssh-keygen":
		a.output(name, rest)
	case "ssh", "sftp":
		a.ssh(name, rest)
	case "mapfile", "readarray", "compgen", "complete":
		a.named(name, rest)
		for i, arg := range rest {
			if arg.Text == "-C" && i+1 < len(rest) {
				a.nested(rest[i+1 : i+2])
			}
		}
	case "docker", "podman":
		for i, arg := range rest {
			for _, option := range []string{"-v", "--volume"} {
				mount, ok := strings.CutPrefix(arg.Text, option+"=")
				if arg.Text == option && i+1 < len(rest) {
					mount, ok = rest[i+1].Text, true
				}
				if from, _, _ := strings.Cut(mount, ":"); ok && (filepath.IsAbs(from) || strings.Contains(from, "/")) {
					a.writes(from)
				}
			}
			if from, ok := mounted(rest, i); ok {
				a.writes(from)
			}
			if arg.Text == "--privileged" || arg.Text == "--privileged=true" {
				a.risk("it runs with other rights (--privileged)")
			}
		}
	case "kill", "pkill", "killall":
		for _, arg := range rest {
			if arg.Text == "-1" && arg.Known && name == "kill" && len(rest) > 1 && rest[len(rest)-1].Text == "-1" {
				a.risk("it ends all processes of the user")
			}
		}
	}
	if what, ok := writers[name]; ok {
		a.writer(name, what, rest)
	}
	if options, ok := wrappers[name]; ok {
		a.wrapped(name, options, rest, piped, document)
	}
	if shells[name] || interpreters[name] || name == "source" || name == "." {
		a.interpreter(name, rest, piped, document)
	}
}

// awkRuns is what runs programs or writes files in awk.
var awkRuns = lazyregexp.New(`system\s*\(|\|\s*[a-z]|\|\s*getline|\|\s*"|"\s*\||\|&|>\s*"|@load|getline\s*<`)

// mention looks at an argument as a path that may be read: alone, behind "=" or "@", as in --file=.env and -d @.env.
func (a *analysis) mention(text string) {
	a.reads(text)
	for _, sep := range []string{"=", "@", ":"} {
		if _, rest, ok := strings.Cut(text, sep); ok {
			a.reads(rest)
		}
	}
}

// target looks at a path that is written.
func (a *analysis) target(path string, known bool) {
	if !known {
		a.risk("it changes a file that only the shell knows")
		return
	}
	a.writes(path)
}

// plainArgs are the arguments that are no options, behind "--" all.
func plainArgs(args []Arg) []Arg {
	var out []Arg
	for i, arg := range args {
		if arg.Known && arg.Text == "--" {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(arg.Text, "-") || arg.Text == "-" {
			out = append(out, arg)
		}
	}
	return out
}

// wrapped looks at the command in the arguments of another.
func (a *analysis) wrapped(name, options string, args []Arg, piped bool, document *Arg) {
	takes := strings.Fields(options)
	first := numberFirst[name]
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case !arg.Known && arg.Text == "":
			a.risk("it runs a program that only the shell knows")
			return
		case arg.Text == "--":
			continue
		case name == "env" && shortOption(arg.Text, "iv0", 'S') && arg.Text != "-S":
			if _, text, _ := strings.Cut(arg.Text, "S"); text != "" {
				a.line(text)
			} else if i+1 < len(args) && args[i+1].Known {
				a.line(args[i+1].Text)
			}
			return
		case (name == "script" || name == "flock") && shortOption(arg.Text, "aefqnsxu", 'c') && arg.Text != "-c":
			if _, text, _ := strings.Cut(arg.Text, "c"); text != "" {
				a.line(text)
				return
			} else if i+1 < len(args) && args[i+1].Known {
				a.line(args[i+1].Text)
			}
			return
		case name == "flock" && arg.Text == "-c" && i+1 < len(args):
			a.nested(args[i+1 : i+2])
			return
		case name == "taskset" && arg.Text == "-c":
			continue
		case (name == "env") && (arg.Text == "-C" || strings.HasPrefix(arg.Text, "--chdir")):
			dir := arg
			if _, to, ok := strings.Cut(arg.Text, "="); ok {
				dir.Text = to
			} else if i++; i < len(args) {
				dir = args[i]
			}
			a.cd(dir.Text, dir.Known)
			continue
		case (name == "env" && (arg.Text == "-S" || strings.HasPrefix(arg.Text, "--split-string"))) || name == "script" && arg.Text == "-c":
			if i+1 < len(args) && args[i+1].Known {
				a.line(args[i+1].Text)
			} else {
				a.risk("it runs text (%s)", name)
			}
			return
		case strings.HasPrefix(arg.Text, "-"):
			if arg.Known && slices.Contains(takes, arg.Text) {
				i++
			} else if strings.HasPrefix(arg.Text, "--") && !strings.Contains(arg.Text, "=") && i+2 < len(args) && args[i+1].Known {
				a.command(args[i+2:], piped, document) // it may take a value
			}
			continue
		case name == "env" && strings.Contains(arg.Text, "="):
			variable, value, _ := strings.Cut(arg.Text, "=")
			if !safeVariable(variable) {
				a.cmd.Plain = false
			}
			if runsByName(variable) && !(arg.Known && harmlessValue(variable, value)) {
				a.risk("it sets %s, by which programs run others", variable)
			}
			continue
		case first:
			first = false
			continue
		}
		if (name == "watch" || name == "parallel" || name == "hyperfine" || name == "flock") && arg.Known && strings.ContainsAny(arg.Text, " ;|&$`") {
			a.line(arg.Text) // a shell gets it
		}
		if name == "xargs" || name == "parallel" {
			// What comes behind, or is put in, is read from elsewhere.
			command := slices.Clone(args[i:])
			if name == "xargs" {
				for j := range command {
					command[j] = replaced(command[j], xargsMark(args[:i]), argUnknown)
				}
			}
			a.command(append(command, argUnknown), false, nil)
			return
		}
		a.command(args[i:], piped, document)
		return
	}
}

// xargsMark is what xargs replaces in its command, if anything.
func xargsMark(options []Arg) (mark string) {
	for i, arg := range options {
		t := arg.Text
		switch {
		case (t == "-I" || t == "-J") && i+1 < len(options):
			mark = options[i+1].Text
		case strings.HasPrefix(t, "-I"), strings.HasPrefix(t, "-J"), strings.HasPrefix(t, "-i") && len(t) > 2:
			mark = t[2:]
		case t == "-i":
			mark = "{}"
		case abbreviates(t, "--replace", 5):
			if _, to, ok := strings.Cut(t, "="); ok {
				mark = to
			} else {
				mark = "{}"
			}
		default: // behind others without a value: -0I
			for _, letter := range "Ii" {
				if shortOption(t, "0rtpxo", byte(letter)) {
					_, mark, _ = strings.Cut(t, string(letter))
					if mark == "" && letter == 'I' && i+1 < len(options) {
						mark = options[i+1].Text
					} else if mark == "" {
						mark = "{}"
					}
				}
			}
		}
	}
	return mark
}

var argUnknown = Arg{}
