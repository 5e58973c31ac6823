package policy

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// find looks at find and its like.
func (a *analysis) find(name string, args []arg) {
	var roots []arg
	begun := true
	first := 0
	if name == "find" || name == "bfs" {
		first = findOptions(args)
	}
	for i, this := range args {
		if i < first {
			continue
		}
		if strings.HasPrefix(this.text, "-") || this.text == "(" || this.text == "!" {
			begun = false
		}
		if begun {
			roots = append(roots, this)
		}
		if rest, ok := strings.CutPrefix(this.text, "--exec="); ok {
			a.nested(append([]arg{{text: rest, known: this.known}}, args[i+1:]...))
		} else if name != "find" && (strings.HasPrefix(this.text, "-x") || strings.HasPrefix(this.text, "-X")) && len(this.text) > 2 {
			a.nested(append([]arg{{text: this.text[2:], known: this.known}}, args[i+1:]...))
		}
		switch this.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			command := args[i+1:]
			// One without an end ends at the next: that one is looked at by itself.
			if end := slices.IndexFunc(command, func(arg arg) bool { return arg.text == ";" || arg.text == "+" || findRuns[arg.text] }); end >= 0 {
				command = command[:end]
			}
			a.found(name, this.text, args[first:], roots, command)
		case "-delete": // of the roots
			for _, r := range roots {
				a.target(r.text, r.known)
			}
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i+1 < len(args) {
				a.target(args[i+1].text, args[i+1].known)
			}
		}
	}
}

// findRuns are the options of find and fd behind which a command stands.
var findRuns = set("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")

// found looks at a command that find runs: what it puts in is something below each of the places where it looks.
func (a *analysis) found(name, option string, args, roots, command []arg) {
	if name == "fd" || name == "fdfind" { // a pattern, and then places; an option's value may stand between them
		roots = []arg{{text: ".", known: true}}
		for i, arg := range plainArgs(args[:slices.IndexFunc(args, func(arg arg) bool { return findRuns[arg.text] })]) {
			if i > 0 || arg.known {
				roots = append(roots, arg)
			}
		}
	}
	if len(roots) == 0 {
		roots = []arg{{text: ".", known: true}}
	}
	if !slices.ContainsFunc(command, func(arg arg) bool { return strings.Contains(arg.text, "{") }) && !strings.HasSuffix(option, "dir") {
		roots = roots[:1]
	}
	for _, root := range roots {
		if root.glob && root.text != "" {
			root = argOf(begun(root.text), true)
		}
		something := argOf(strings.TrimRight(root.text, "/")+"/found", root.known)
		dirs, unknown := a.dirs, a.unknown
		if option == "-execdir" || option == "-okdir" { // it runs where the file is
			if something = argOf("./found", true); root.known {
				a.dirs = a.places(root.text)
			} else {
				a.unknown = true
			}
		}
		put := make([]arg, 0, len(command)+1)
		for _, arg := range command {
			for _, mark := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
				arg = replaced(arg, mark, something)
			}
			put = append(put, arg)
		}
		a.command(append(put, argUnknown), false, nil)
		a.dirs, a.unknown = dirs, unknown
	}
}

// replaced is a word with something else put in for a mark.
func replaced(word arg, mark string, by arg) arg {
	before, _, ok := strings.Cut(word.text, mark)
	switch {
	case mark == "" || !ok:
	case !by.known:
		word.text, word.known, word.glob = before, false, false
	default:
		word.text = strings.ReplaceAll(word.text, mark, by.text)
	}
	return word
}

// findOptions is how many words of find's stand before the directories that it looks in.
func findOptions(args []arg) int {
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "-D", t == "-S", t == "-f":
			i++
		case t == "--", strings.HasPrefix(t, "-O"), len(t) > 1 && strings.Trim(t[1:], "HLPEXdsx") == "" && t[0] == '-':
		default:
			return i
		}
	}
	return len(args)
}

// inPlace looks at programs that edit files where they are.
func (a *analysis) inPlace(name string, args []arg) {
	in, script, whole := false, "", true
	var files []arg
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case name != "perl" && (abbreviates(arg.text, "--in-place", 3) || shortOption(arg.text, "nErsuzbal", 'i') || shortOption(arg.text, "nErsuzbal", 'I')),
			name == "perl" && strings.HasPrefix(arg.text, "-") && !strings.HasPrefix(arg.text, "--") && strings.Contains(arg.text, "i"):
			in = true
			if strings.Contains(arg.text, "e") && name == "perl" {
				i++
			}
		case abbreviates(arg.text, "--expression", 4) && strings.Contains(arg.text, "="):
			_, text, _ := strings.Cut(arg.text, "=")
			script += text + "\n"
			whole = whole && arg.known
		case name != "perl" && shortOption(arg.text, "nErsuzbal", 'e'):
			if _, text, _ := strings.Cut(arg.text, "e"); text != "" {
				script += text + "\n"
				whole = whole && arg.known
			} else if i++; i < len(args) {
				script += args[i].text + "\n"
				whole = whole && args[i].known
			}
		case arg.text == "-e" || abbreviates(arg.text, "--expression", 4):
			if i++; i < len(args) {
				script += args[i].text + "\n"
				whole = whole && args[i].known
			}
		case strings.HasPrefix(arg.text, "--file="):
			script += "\n"
		case arg.text == "-f" || arg.text == "--file" || name != "perl" && shortOption(arg.text, "nErsuzbal", 'f'): // a script of the workspace's
			script += "\n"
			if strings.HasSuffix(arg.text, "f") || arg.text == "--file" {
				i++
			}
		case strings.HasPrefix(arg.text, "-"):
		default:
			files = append(files, arg)
		}
	}
	if script == "" && name != "perl" && len(files) > 0 {
		script, whole, files = files[0].text, files[0].known, files[1:]
	}
	if name != "perl" && sedRuns(script, whole) {
		a.risk("it may run programs or write files by %s", name)
	}
	if !in {
		return
	}
	for _, f := range files {
		if f.known {
			a.writes(f.text)
		} else if f.text != "" || f.glob {
			a.globWrites(f)
		}
	}
}

// globWrites looks at a word that stands for files that are changed: where it begins, and what it may be.
func (a *analysis) globWrites(arg arg) {
	a.writes(begun(arg.text))
	for part := range strings.SplitSeq(arg.pattern, "/") {
		if !strings.HasPrefix(part, ".") || !strings.ContainsAny(part, "*?[") {
			continue // a glob does not stand for names with a dot in front, unless it begins with one
		}
		for name := range runDirectories {
			if ok, _ := doublestar.Match(part, name); ok {
				a.risk("it changes what may be %s (%s)", name, runDirectories[name])
				return
			}
		}
		for name := range rcFiles {
			if ok, _ := doublestar.Match(part, name); ok {
				a.risk("it changes what may be %s, which is read when a program starts", name)
				return
			}
		}
	}
}

// tarFile looks at the archive that tar writes.
func (a *analysis) tarFile(args []arg) {
	writes := false
	var files []arg
	for i, this := range args {
		t := this.text
		switch {
		case strings.HasPrefix(t, "--"):
			for _, mode := range []string{"--create", "--append", "--update", "--concatenate", "--catenate", "--delete"} {
				writes = writes || abbreviates(t, mode, 4)
			}
			if _, to, ok := strings.Cut(t, "="); abbreviates(t, "--file", 4) && ok {
				files = append(files, arg{text: to, known: this.known})
			} else if abbreviates(t, "--file", 4) && i+1 < len(args) {
				files = append(files, args[i+1])
			}
		case strings.HasPrefix(t, "-"):
			writes = writes || strings.ContainsAny(t, "cruA")
			if at := strings.IndexByte(t, 'f'); at > 0 && at+1 < len(t) {
				files = append(files, arg{text: t[at+1:], known: this.known})
			} else if at > 0 && i+1 < len(args) {
				files = append(files, args[i+1])
			}
		case i == 0: // letters without a dash, with their values behind in order
			writes = strings.ContainsAny(t, "cruA")
			at := 1
			for _, letter := range t {
				if letter == 'f' && at < len(args) {
					files = append(files, args[at])
				}
				if strings.ContainsRune("fCbITXFgLNVHK", letter) {
					at++
				}
			}
		}
	}
	for _, file := range files {
		if writes && (!file.known || !strings.Contains(file.text, ":") || strings.Contains(file.text, "/")) { // else on another host
			a.target(file.text, file.known)
		}
	}
}

// outputOptions are options by which many programs take the file or directory that they write.
var outputOptions = set(
	"-o", "-out", "--out", "--output", "--outfile", "--out-file", "--output-file", "--outdir", "--out-dir", "--output-dir", "--output-directory",
	"-coverprofile", "--coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir", "--target-dir", "--log-file", "--logfile",
)

// otherwise are programs for which "-o" and the like mean something else.
var otherwise = set(
	"grep", "egrep", "fgrep", "rg", "ag", "ls", "ps", "ssh", "scp", "sftp", "set", "test", "[", "find", "mount", "column", "sort", "curl", "wget", "git", "tar", "jq",
	"journalctl", "pgrep", "pkill", "lsblk", "stat", "timeout", "time", "read", "complete", "compgen", "shopt", "kubectl", "docker", "podman", "aws", "az", "gcloud", "helm",
)

// outputs looks at the options of any other program for what it writes.
func (a *analysis) outputs(name string, args []arg) {
	if otherwise[name] || shells[name] {
		return
	}
	for i, this := range args {
		option, to, ok := strings.Cut(this.text, "=")
		switch {
		case !this.known:
		case ok && outputOptions[option]:
			a.writes(to)
		case outputOptions[this.text] && i+1 < len(args) && args[i+1].known:
			a.writes(args[i+1].text)
		case compilers[name] && strings.HasPrefix(this.text, "-o") && len(this.text) > 2:
			a.writes(this.text[2:])
		}
	}
}

var compilers = set("gcc", "cc", "g++", "c++", "clang", "clang++", "tcc", "ld", "rustc", "gfortran")

// tarValues are the letters of tar that take a value.
const tarValues = "fCbITXFgLNVHK"

// tar looks at tar, whose options can run programs.
func (a *analysis) tar(args []arg) {
	a.tarFile(args)
	value := func(letter byte, to arg) {
		switch letter {
		case 'I', 'F':
			a.risk("it runs a program by an option of tar")
		case 'C':
			a.target(to.text, to.known)
		}
	}
	next := func(i int) arg {
		if i < len(args) {
			return args[i]
		}
		return arg{}
	}
	for i, this := range args {
		t := this.text
		if strings.HasPrefix(t, "--") {
			a.tarLong(this, next(i+1))
			continue
		}
		letters := strings.TrimPrefix(t, "-")
		dashed := letters != t
		if !dashed && i > 0 {
			continue
		}
		behind := 1 // the values of letters without a dash stand behind in order
		for k := range len(letters) {
			switch {
			case letters[k] == 'P':
				a.risk("it unpacks to wherever the archive says")
			case !strings.Contains(tarValues, letters[k:k+1]):
			case !dashed:
				value(letters[k], next(behind))
				behind++
			case k+1 < len(letters):
				value(letters[k], arg{text: letters[k+1:], known: this.known})
			default:
				value(letters[k], next(i+1))
			}
			if dashed && strings.Contains(tarValues, letters[k:k+1]) {
				break
			}
		}
	}
}

// tarLong looks at a long option; next is the word behind it.
func (a *analysis) tarLong(this, next arg) {
	t := this.text
	to := next
	if _, value, ok := strings.Cut(t, "="); ok {
		to = arg{text: value, known: this.known}
	}
	switch {
	case abbreviates(t, "--checkpoint-action", 13), abbreviates(t, "--to-command", 5), abbreviates(t, "--use-compress-program", 5),
		abbreviates(t, "--info-script", 5), abbreviates(t, "--new-volume-script", 7), abbreviates(t, "--rsh-command", 5), abbreviates(t, "--rmt-command", 4):
		a.risk("it runs a program by an option of tar")
	case abbreviates(t, "--absolute-names", 4):
		a.risk("it unpacks to wherever the archive says")
	case abbreviates(t, "--directory", 4):
		a.target(to.text, to.known)
	case abbreviates(t, "--one-top-level", 6) && strings.Contains(t, "="):
		a.target(to.text, to.known)
	}
}

// outputLetters are the short options of programs for a file that they write.
var outputLetters = map[string]string{"curl": "oDc", "wget": "OPoa", "sort": "o", "shuf": "o"}

// outputRuns reports whether an option has one of these programs run another.
func outputRuns(name, text string) bool {
	switch name {
	case "sort":
		return abbreviates(text, "--compress-program", 5)
	case "wget":
		return abbreviates(text, "--use-askpass", 7) || abbreviates(text, "--execute", 5) || text == "-e"
	case "go":
		return strings.HasPrefix(strings.TrimLeft(text, "-"), "vettool") || strings.HasPrefix(text, "-exec=") || strings.HasPrefix(text, "--exec") ||
			strings.Contains(text, "extld=") || strings.Contains(text, "extld ")
	case "rg":
		return text == "--pre" || strings.HasPrefix(text, "--pre=") || strings.HasPrefix(text, "--hostname-bin")
	case "man":
		return strings.HasPrefix(text, "-P") || strings.HasPrefix(text, "-H") || abbreviates(text, "--pager", 5) || abbreviates(text, "--html", 5)
	case "scp":
		return strings.HasPrefix(text, "-S") || strings.HasPrefix(text, "-D") || strings.Contains(strings.ToLower(text), "proxycommand") || strings.Contains(strings.ToLower(text), "localcommand")
	case "ssh-keygen":
		return strings.HasPrefix(text, "-D")
	case "gcc", "cc":
		return text == "-wrapper" || strings.HasPrefix(text, "-fplugin")
	}
	return false
}

// goSets reports whether an option of go env changes a setting.
func goSets(text string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-"), "=")
	return strings.HasPrefix(text, "-") && (name == "w" || name == "u")
}

// curlValues are the letters of curl that take a value.
const curlValues = "AbcCdDeEFhHmoPQrTtuUwxXyYz"

// bundled reports whether a word has an option's letter among others, before one that takes the rest as its value.
func bundled(text string, letter byte, values string) bool {
	if !strings.HasPrefix(text, "-") || strings.HasPrefix(text, "--") {
		return false
	}
	for i := 1; i < len(text); i++ {
		if text[i] == letter {
			return true
		}
		if strings.Contains(values, text[i:i+1]) {
			return false
		}
	}
	return false
}

// shortOption reports whether a word is a letter behind others without values.
func shortOption(text, flags string, letter byte) bool {
	if !strings.HasPrefix(text, "-") || strings.HasPrefix(text, "--") {
		return false
	}
	rest := strings.TrimLeft(text[1:], flags)
	return rest != "" && rest[0] == letter
}

// output looks at programs with an option for the file that they write.
func (a *analysis) output(name string, args []arg) {
	long := []string{"--etag-save=", "--hsts=", "--alt-svc=", "--output=", "--output-document=", "--output-dir=", "--directory-prefix=", "--outp=", "--outpu=", "--dump-header=", "--cookie-jar=", "--trace=", "--trace-ascii=", "--libcurl=", "--stderr="}
	short := set("-o", "--output", "-O", "--output-document", "-P", "--directory-prefix", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--libcurl", "--stderr")
	if name != "curl" && name != "wget" {
		short = set("-o", "--output")
	}
	if name == "curl" {
		short["--etag-save"], short["--hsts"], short["--alt-svc"] = true, true, true
		delete(short, "-O")
		delete(short, "-P")
	}
	if name == "wget" {
		delete(short, "-c")
		delete(short, "-D")
	}
	for i, arg := range args {
		if short[arg.text] && i+1 < len(args) {
			a.target(args[i+1].text, args[i+1].known)
		} else if letters := outputLetters[name]; letters != "" && strings.HasPrefix(arg.text, "-") && !strings.HasPrefix(arg.text, "--") {
			// -so FILE, -oFILE
			if at := strings.IndexAny(arg.text, letters); at > 0 && at+1 < len(arg.text) {
				a.target(arg.text[at+1:], arg.known)
			} else if at > 1 && i+1 < len(args) {
				a.target(args[i+1].text, args[i+1].known)
			}
		}
		if outputRuns(name, arg.text) {
			a.risk("it runs a program by an option of %s", name)
		}
		if _, to, ok := strings.Cut(arg.text, "="); ok && (name == "sort" && abbreviates(arg.text, "--output", 3) || name == "wget" && abbreviates(arg.text, "--output-document", 9)) {
			a.target(to, arg.known)
		}
		for _, l := range long {
			if to, ok := strings.CutPrefix(arg.text, l); ok {
				a.target(to, arg.known)
			}
		}
		if name == "go" && i > 0 && args[0].text == "env" && goSets(arg.text) {
			a.risk("it changes the settings of go, which name programs")
		}
		if name == "curl" && (bundled(arg.text, 'K', curlValues) || abbreviates(arg.text, "--config", 6)) {
			a.risk("it takes its options from a file (%s)", name)
		}
		if name == "go" && (strings.HasPrefix(arg.text, "-toolexec") || strings.HasPrefix(arg.text, "--toolexec") || arg.text == "-exec") {
			a.risk("it runs a program by an option of go")
		}
	}
}

// sshValues are the letters of ssh that take a value.
const sshValues = "BbcDEeFIiJLlmOoPpQRSWw"

// ssh looks at ssh and sftp, whose settings name programs.
func (a *analysis) ssh(name string, args []arg) {
	for i, this := range args {
		t := strings.ToLower(this.text)
		runs := strings.Contains(t, "proxycommand") || strings.Contains(t, "localcommand") || strings.Contains(t, "knownhostscommand") ||
			bundled(this.text, 'F', sshValues) || bundled(this.text, 'I', sshValues) || name == "sftp" && bundled(this.text, 'S', sshValues)
		if runs {
			a.risk("it runs a program by an option of %s", name)
		}
		if strings.HasPrefix(this.text, "-E") && name == "ssh" {
			if to := this.text[2:]; to != "" {
				a.target(to, this.known)
			} else if i+1 < len(args) {
				a.target(args[i+1].text, args[i+1].known)
			}
		}
	}
}

// mounted is the directory of this machine that an option of docker gives to a container, in the forms that are not --volume.
func mounted(args []arg, i int) (from string, is bool) {
	t := args[i].text
	spec := ""
	switch {
	case bundled(t, 'v', "aceHhlmpuw") && !strings.HasPrefix(t, "-v="):
		if at := strings.IndexByte(t, 'v'); at+1 < len(t) {
			spec = t[at+1:]
		} else if i+1 < len(args) && t != "-v" {
			spec = args[i+1].text
		}
	case t == "--mount" && i+1 < len(args):
		spec = args[i+1].text
	case strings.HasPrefix(t, "--mount="):
		spec = strings.TrimPrefix(t, "--mount=")
	}
	if strings.Contains(t, "mount") {
		for part := range strings.SplitSeq(spec, ",") {
			if key, value, _ := strings.Cut(part, "="); (key == "source" || key == "src") && strings.Contains(spec, "bind") {
				return value, true
			}
		}
		return "", false
	}
	from, _, _ = strings.Cut(spec, ":")
	return from, strings.Contains(from, "/")
}
