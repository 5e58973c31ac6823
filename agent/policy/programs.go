package policy

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
	args := make([]arg, len(call.Args))
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		if args[i] = a.word(w); args[i].known {
			words[i] = args[i].text
		}
	}
	a.cmd.Simple = append(a.cmd.Simple, words)
	for i, w := range call.Args {
		if i > 0 && !args[i].known && words[0] != "rm" && words[0] != "ls" && words[0] != "echo" {
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
func (a *analysis) command(args []arg, piped bool, document *arg) {
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
	if !args[0].known || args[0].text == "" {
		a.risk("it runs a program that only the shell knows")
		return
	}
	a.depth++
	defer func() { a.depth-- }()
	a.called(args[0].text, piped)
	name, rest := programName(args[0].text), args[1:]
	run := []string{name}
	for _, arg := range rest {
		if !arg.known {
			arg.text = ""
		}
		run = append(run, arg.text)
	}
	a.cmd.Runs = append(a.cmd.Runs, run)
	a.cmd.calls = append(a.cmd.calls, args)
	if computes[name] {
		for _, arg := range rest {
			if at := strings.IndexByte(arg.text, '['); at >= 0 {
				a.computed(arg.text[at:])
			}
		}
	}
	for _, arg := range rest {
		if arg.known {
			a.mention(arg.text)
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
			if strings.HasPrefix(arg.text, "-f") && name == "enable" || strings.HasPrefix(arg.text, "-p") && name == "hash" || strings.HasPrefix(arg.text, "-x") && name == "bind" {
				a.risk("it changes what the shell runs (%s)", name)
			}
		}
	case "zip":
		if plain := plainArgs(rest); len(plain) > 0 {
			a.target(plain[0].text, plain[0].known)
		}
	case "unzip", "cpio", "openssl", "gpg", "strace", "ltrace", "csplit":
		takes := map[string]string{"unzip": "-d", "cpio": "-D", "openssl": "-out", "gpg": "-o", "strace": "-o", "ltrace": "-o", "csplit": "-f"}[name]
		for i, arg := range rest {
			if arg.text == takes && i+1 < len(rest) {
				a.target(rest[i+1].text, rest[i+1].known)
			} else if len(takes) == 2 && strings.HasPrefix(arg.text, takes) {
				a.target(arg.text[2:], arg.known)
			}
		}
	case "xxd":
		if plain := plainArgs(rest); len(plain) > 1 && len(plain) < len(rest) {
			a.target(plain[len(plain)-1].text, plain[len(plain)-1].known)
		}
	case "npm", "pnpm", "yarn":
		if plain := plainArgs(rest); len(plain) > 1 && (plain[0].text == "config" || plain[0].text == "c") && plain[1].text == "set" || len(plain) > 0 && plain[0].text == "set" {
			a.risk("it changes the settings of %s, which name programs", name)
		}
	case "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "expect":
		a.risk("it has %s run commands", name)
	case "script":
		if plain := plainArgs(rest); len(plain) > 0 {
			a.target(plain[len(plain)-1].text, plain[len(plain)-1].known)
		}
	case "eval":
		a.risk("it has the shell run text (eval)")
	case "trap", "alias":
		for _, arg := range rest {
			_, text, assigned := strings.Cut(arg.text, "=")
			if name == "trap" {
				text = arg.text
			}
			if arg.known && arg.text == "--" {
				continue
			}
			if !arg.known {
				a.risk("it has the shell run text (%s)", name)
			} else if name == "trap" || assigned {
				a.line(text)
				break
			}
		}
	case "cd", "pushd":
		dir := arg{text: a.paths.Home, known: a.paths.Home != ""}
		for _, arg := range rest {
			if !strings.HasPrefix(arg.text, "-") || arg.text == "-" {
				dir = arg
			}
		}
		a.cd(dir.text, dir.known)
	case "popd":
		a.cd("", false)
	case "export", "declare", "typeset", "local", "readonly": // behind command, builtin, a backslash
		a.declared(rest)
		if slices.ContainsFunc(rest, func(arg arg) bool {
			return name != "export" && strings.HasPrefix(arg.text, "-") && strings.Contains(arg.text, "n")
		}) {
			for _, arg := range rest {
				if _, to, ok := strings.Cut(arg.text, "="); ok {
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
			if to, ok := strings.CutPrefix(arg.text, "of="); ok {
				a.target(to, arg.known)
			}
		}
	case "sed", "gsed", "perl":
		a.inPlace(name, rest)
	case "awk", "gawk", "mawk", "nawk":
		for _, arg := range rest {
			if arg.known && awkRuns().MatchString(arg.text) {
				a.risk("it may run programs or write files by awk")
			}
		}
	case "tar", "bsdtar", "gtar":
		a.tar(rest)
	case "make", "gmake":
		for i, arg := range rest {
			_, file, _ := strings.Cut(arg.text, "=")
			if strings.HasPrefix(arg.text, "-f") {
				file = arg.text[2:]
			}
			if (arg.text == "-f" || arg.text == "--file" || arg.text == "--makefile") && i+1 < len(rest) {
				file = rest[i+1].text
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
			if arg.text == "-C" && i+1 < len(rest) {
				a.nested(rest[i+1 : i+2])
			}
		}
	case "docker", "podman":
		for i, arg := range rest {
			for _, option := range []string{"-v", "--volume"} {
				mount, ok := strings.CutPrefix(arg.text, option+"=")
				if arg.text == option && i+1 < len(rest) {
					mount, ok = rest[i+1].text, true
				}
				if from, _, _ := strings.Cut(mount, ":"); ok && (filepath.IsAbs(from) || strings.Contains(from, "/")) {
					a.writes(from)
				}
			}
			if from, ok := mounted(rest, i); ok {
				a.writes(from)
			}
			if arg.text == "--privileged" || arg.text == "--privileged=true" {
				a.risk("it runs with other rights (--privileged)")
			}
		}
	case "kill", "pkill", "killall":
		for _, arg := range rest {
			if arg.text == "-1" && arg.known && name == "kill" && len(rest) > 1 && rest[len(rest)-1].text == "-1" {
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
func plainArgs(args []arg) []arg {
	var out []arg
	for i, arg := range args {
		if arg.known && arg.text == "--" {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(arg.text, "-") || arg.text == "-" {
			out = append(out, arg)
		}
	}
	return out
}

// wrapped looks at the command in the arguments of another.
func (a *analysis) wrapped(name, options string, args []arg, piped bool, document *arg) {
	takes := strings.Fields(options)
	first := numberFirst[name]
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case !arg.known && arg.text == "":
			a.risk("it runs a program that only the shell knows")
			return
		case arg.text == "--":
			continue
		case name == "env" && shortOption(arg.text, "iv0", 'S') && arg.text != "-S":
			if _, text, _ := strings.Cut(arg.text, "S"); text != "" {
				a.line(text)
			} else if i+1 < len(args) && args[i+1].known {
				a.line(args[i+1].text)
			}
			return
		case (name == "script" || name == "flock") && shortOption(arg.text, "aefqnsxu", 'c') && arg.text != "-c":
			if _, text, _ := strings.Cut(arg.text, "c"); text != "" {
				a.line(text)
				return
			} else if i+1 < len(args) && args[i+1].known {
				a.line(args[i+1].text)
			}
			return
		case name == "flock" && arg.text == "-c" && i+1 < len(args):
			a.nested(args[i+1 : i+2])
			return
		case name == "taskset" && arg.text == "-c":
			continue
		case (name == "env") && (arg.text == "-C" || strings.HasPrefix(arg.text, "--chdir")):
			dir := arg
			if _, to, ok := strings.Cut(arg.text, "="); ok {
				dir.text = to
			} else if i++; i < len(args) {
				dir = args[i]
			}
			a.cd(dir.text, dir.known)
			continue
		case (name == "env" && (arg.text == "-S" || strings.HasPrefix(arg.text, "--split-string"))) || name == "script" && arg.text == "-c":
			if i+1 < len(args) && args[i+1].known {
				a.line(args[i+1].text)
			} else {
				a.risk("it runs text (%s)", name)
			}
			return
		case strings.HasPrefix(arg.text, "-"):
			if arg.known && slices.Contains(takes, arg.text) {
				i++
			} else if strings.HasPrefix(arg.text, "--") && !strings.Contains(arg.text, "=") && i+2 < len(args) && args[i+1].known {
				a.command(args[i+2:], piped, document) // it may take a value
			}
			continue
		case name == "env" && strings.Contains(arg.text, "="):
			variable, value, _ := strings.Cut(arg.text, "=")
			if !safeVariable(variable) {
				a.cmd.Plain = false
			}
			if runsByName(variable) && !(arg.known && harmlessValue(variable, value)) {
				a.risk("it sets %s, by which programs run others", variable)
			}
			continue
		case first:
			first = false
			continue
		}
		if (name == "watch" || name == "parallel" || name == "hyperfine" || name == "flock") && arg.known && strings.ContainsAny(arg.text, " ;|&$`") {
			a.line(arg.text) // a shell gets it
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
func xargsMark(options []arg) (mark string) {
	for i, arg := range options {
		t := arg.text
		switch {
		case (t == "-I" || t == "-J") && i+1 < len(options):
			mark = options[i+1].text
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
						mark = options[i+1].text
					} else if mark == "" {
						mark = "{}"
					}
				}
			}
		}
	}
	return mark
}

var argUnknown = arg{}
