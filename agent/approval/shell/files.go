package shell

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// find looks at find and its like.
func (a *analysis) find(name string, args []Arg) {
	var roots []Arg
	begun := true
	first := 0
	if name == "find" || name == "bfs" {
		first = findOptions(args)
	}
	for i, this := range args {
		if i < first {
			continue
		}
		if strings.HasPrefix(this.Text, "-") || this.Text == "(" || this.Text == "!" {
			begun = false
		}
		if begun {
			roots = append(roots, this)
		}
		if rest, ok := strings.CutPrefix(this.Text, "--exec="); ok {
			a.nested(append([]Arg{{Text: rest, Known: this.Known}}, args[i+1:]...))
		} else if name != "find" && (strings.HasPrefix(this.Text, "-x") || strings.HasPrefix(this.Text, "-X")) && len(this.Text) > 2 {
			a.nested(append([]Arg{{Text: this.Text[2:], Known: this.Known}}, args[i+1:]...))
		}
		switch this.Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			command := args[i+1:]
			// One without an end ends at the next: that one is looked at by itself.
			if end := slices.IndexFunc(command, func(arg Arg) bool { return arg.Text == ";" || arg.Text == "+" || findRuns[arg.Text] }); end >= 0 {
				command = command[:end]
			}
			a.found(name, this.Text, args[first:], roots, command)
		case "-delete": // of the roots
			for _, r := range roots {
				a.target(r.Text, r.Known)
			}
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i+1 < len(args) {
				a.target(args[i+1].Text, args[i+1].Known)
			}
		}
	}
}

// findRuns are the options of find and fd behind which a command stands.
var findRuns = set("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")

// found looks at a command that find runs: what it puts in is something below each of the places where it looks.
func (a *analysis) found(name, option string, args, roots, command []Arg) {
	if name == "fd" || name == "fdfind" { // a pattern, and then places; an option's value may stand between them
		roots = []Arg{{Text: ".", Known: true}}
		for i, arg := range plainArgs(args[:slices.IndexFunc(args, func(arg Arg) bool { return findRuns[arg.Text] })]) {
			if i > 0 || arg.Known {
				roots = append(roots, arg)
			}
		}
	}
	if len(roots) == 0 {
		roots = []Arg{{Text: ".", Known: true}}
	}
	if !slices.ContainsFunc(command, func(arg Arg) bool { return strings.Contains(arg.Text, "{") }) && !strings.HasSuffix(option, "dir") {
		roots = roots[:1]
	}
	for _, root := range roots {
		if root.glob && root.Text != "" {
			root = argOf(begun(root.Text), true)
		}
		something := argOf(strings.TrimRight(root.Text, "/")+"/found", root.Known)
		dirs, unknown := a.dirs, a.unknown
		if option == "-execdir" || option == "-okdir" { // it runs where the file is
			if something = argOf("./found", true); root.Known {
				a.dirs = a.places(root.Text)
			} else {
				a.unknown = true
			}
		}
		put := make([]Arg, 0, len(command)+1)
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
func replaced(word Arg, mark string, by Arg) Arg {
	before, _, ok := strings.Cut(word.Text, mark)
	switch {
	case mark == "" || !ok:
	case !by.Known:
		word.Text, word.Known, word.glob = before, false, false
	default:
		word.Text = strings.ReplaceAll(word.Text, mark, by.Text)
	}
	return word
}

// findOptions is how many words of find's stand before the directories that it looks in.
func findOptions(args []Arg) int {
	for i := 0; i < len(args); i++ {
		switch t := args[i].Text; {
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
func (a *analysis) inPlace(name string, args []Arg) {
	in, script, whole := false, "", true
	var files []Arg
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case name != "perl" && (abbreviates(arg.Text, "--in-place", 3) || shortOption(arg.Text, "nErsuzbal", 'i') || shortOption(arg.Text, "nErsuzbal", 'I')),
			name == "perl" && strings.HasPrefix(arg.Text, "-") && !strings.HasPrefix(arg.Text, "--") && strings.Contains(arg.Text, "i"):
			in = true
			if strings.Contains(arg.Text, "e") && name == "perl" {
				i++
			}
		case abbreviates(arg.Text, "--expression", 4) && strings.Contains(arg.Text, "="):
			_, text, _ := strings.Cut(arg.Text, "=")
			script += text + "\n"
			whole = whole && arg.Known
		case name != "perl" && shortOption(arg.Text, "nErsuzbal", 'e'):
			if _, text, _ := strings.Cut(arg.Text, "e"); text != "" {
				script += text + "\n"
				whole = whole && arg.Known
			} else if i++; i < len(args) {
				script += args[i].Text + "\n"
				whole = whole && args[i].Known
			}
		case arg.Text == "-e" || abbreviates(arg.Text, "--expression", 4):
			if i++; i < len(args) {
				script += args[i].Text + "\n"
				whole = whole && args[i].Known
			}
		case strings.HasPrefix(arg.Text, "--file="):
			script += "\n"
		case arg.Text == "-f" || arg.Text == "--file" || name != "perl" && shortOption(arg.Text, "nErsuzbal", 'f'): // a script of the workspace's
			script += "\n"
			if strings.HasSuffix(arg.Text, "f") || arg.Text == "--file" {
				i++
			}
		case strings.HasPrefix(arg.Text, "-"):
		default:
			files = append(files, arg)
		}
	}
	if script == "" && name != "perl" && len(files) > 0 {
		script, whole, files = files[0].Text, files[0].Known, files[1:]
	}
	if name != "perl" && sedRuns(script, whole) {
		a.risk("it may run programs or write files by %s", name)
	}
	if !in {
		return
	}
	for _, f := range files {
		if f.Known {
			a.writes(f.Text)
		} else if f.Text != "" || f.glob {
			a.globWrites(f)
		}
	}
}

// globWrites looks at a word that stands for files that are changed: where it begins, and what it may be.
func (a *analysis) globWrites(arg Arg) {
	a.writes(begun(arg.Text))
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
func (a *analysis) tarFile(args []Arg) {
	writes := false
	var files []Arg
	for i, this := range args {
		t := this.Text
		switch {
		case strings.HasPrefix(t, "--"):
			for _, mode := range []string{"--create", "--append", "--update", "--concatenate", "--catenate", "--delete"} {
				writes = writes || abbreviates(t, mode, 4)
			}
			if _, to, ok := strings.Cut(t, "="); abbreviates(t, "--file", 4) && ok {
				files = append(files, Arg{Text: to, Known: this.Known})
			} else if abbreviates(t, "--file", 4) && i+1 < len(args) {
				files = append(files, args[i+1])
			}
		case strings.HasPrefix(t, "-"):
			writes = writes || strings.ContainsAny(t, "cruA")
			if at := strings.IndexByte(t, 'f'); at > 0 && at+1 < len(t) {
				files = append(files, Arg{Text: t[at+1:], Known: this.Known})
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
		if writes && (!file.Known || !strings.Contains(file.Text, ":") || strings.Contains(file.Text, "/")) { // else on another host
			a.target(file.Text, file.Known)
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
func (a *analysis) outputs(name string, args []Arg) {
	if otherwise[name] || shells[name] {
		return
	}
	for i, this := range args {
		option, to, ok := strings.Cut(this.Text, "=")
		switch {
		case !this.Known:
		case ok && outputOptions[option]:
			a.writes(to)
		case outputOptions[this.Text] && i+1 < len(args) && args[i+1].Known:
			a.writes(args[i+1].Text)
		case compilers[name] && strings.HasPrefix(this.Text, "-o") && len(this.Text) > 2:
			a.writes(this.Text[2:])
		}
	}
}

var compilers = set("gcc", "cc", "g++", "c++", "clang", "clang++", "tcc", "ld", "rustc", "gfortran")

// tarValues are the letters of tar that take a value.
const tarValues = "fCbITXFgLNVHK"

// tar looks at tar, whose options can run programs.
func (a *analysis) tar(args []Arg) {
	a.tarFile(args)
	value := func(letter byte, to Arg) {
		switch letter {
		case 'I', 'F':
			a.risk("it runs a program by an option of tar")
		case 'C':
			a.target(to.Text, to.Known)
		}
	}
	next := func(i int) Arg {
		if i < len(args) {
			return args[i]
		}
		return Arg{}
	}
	for i, this := range args {
		t := this.Text
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
				value(letters[k], Arg{Text: letters[k+1:], Known: this.Known})
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
func (a *analysis) tarLong(this, next Arg) {
	t := this.Text
	to := next
	if _, value, ok := strings.Cut(t, "="); ok {
		to = Arg{Text: value, Known: this.Known}
	}
	switch {
	case abbreviates(t, "--checkpoint-action", 13), abbreviates(t, "--to-command", 5), abbreviates(t, "--use-compress-program", 5),
		abbreviates(t, "--info-script", 5), abbreviates(t, "--new-volume-script", 7), abbreviates(t, "--rsh-command", 5), abbreviates(t, "--rmt-command", 4):
		a.risk("it runs a program by an option of tar")
	case abbreviates(t, "--absolute-names", 4):
		a.risk("it unpacks to wherever the archive says")
	case abbreviates(t, "--directory", 4):
		a.target(to.Text, to.Known)
	case abbreviates(t, "--one-top-level", 6) && strings.Contains(t, "="):
		a.target(to.Text, to.Known)
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
func (a *analysis) output(name string, args []Arg) {
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
		if short[arg.Text] && i+1 < len(args) {
			a.target(args[i+1].Text, args[i+1].Known)
		} else if letters := outputLetters[name]; letters != "" && strings.HasPrefix(arg.Text, "-") && !strings.HasPrefix(arg.Text, "--") {
			// -so FILE, -oFILE
			if at := strings.IndexAny(arg.Text, letters); at > 0 && at+1 < len(arg.Text) {
				a.target(arg.Text[at+1:], arg.Known)
			} else if at > 1 && i+1 < len(args) {
				a.target(args[i+1].Text, args[i+1].Known)
			}
		}
		if outputRuns(name, arg.Text) {
			a.risk("it runs a program by an option of %s", name)
		}
		if _, to, ok := strings.Cut(arg.Text, "="); ok && (name == "sort" && abbreviates(arg.Text, "--output", 3) || name == "wget" && abbreviates(arg.Text, "--output-document", 9)) {
			a.target(to, arg.Known)
		}
		for _, l := range long {
			if to, ok := strings.CutPrefix(arg.Text, l); ok {
				a.target(to, arg.Known)
			}
		}
		if name == "go" && i > 0 && args[0].Text == "env" && goSets(arg.Text) {
			a.risk("it changes the settings of go, which name programs")
		}
		if name == "curl" && (bundled(arg.Text, 'K', curlValues) || abbreviates(arg.Text, "--config", 6)) {
			a.risk("it takes its options from a file (%s)", name)
		}
		if name == "go" && (strings.HasPrefix(arg.Text, "-toolexec") || strings.HasPrefix(arg.Text, "--toolexec") || arg.Text == "-exec") {
			a.risk("it runs a program by an option of go")
		}
	}
}

// sshValues are the letters of ssh that take a value.
const sshValues = "BbcDEeFIiJLlmOoPpQRSWw"

// ssh looks at ssh and sftp, whose settings name programs.
func (a *analysis) ssh(name string, args []Arg) {
	for i, this := range args {
		t := strings.ToLower(this.Text)
		runs := strings.Contains(t, "proxycommand") || strings.Contains(t, "localcommand") || strings.Contains(t, "knownhostscommand") ||
			bundled(this.Text, 'F', sshValues) || bundled(this.Text, 'I', sshValues) || name == "sftp" && bundled(this.Text, 'S', sshValues)
		if runs {
			a.risk("it runs a program by an option of %s", name)
		}
		if strings.HasPrefix(this.Text, "-E") && name == "ssh" {
			if to := this.Text[2:]; to != "" {
				a.target(to, this.Known)
			} else if i+1 < len(args) {
				a.target(args[i+1].Text, args[i+1].Known)
			}
		}
	}
}

// mounted is the directory of this machine that an option of docker gives to a container, in the forms that are not --volume.
func mounted(args []Arg, i int) (from string, is bool) {
	t := args[i].Text
	spec := ""
	switch {
	case bundled(t, 'v', "aceHhlmpuw") && !strings.HasPrefix(t, "-v="):
		if at := strings.IndexByte(t, 'v'); at+1 < len(t) {
			spec = t[at+1:]
		} else if i+1 < len(args) && t != "-v" {
			spec = args[i+1].Text
		}
	case t == "--mount" && i+1 < len(args):
		spec = args[i+1].Text
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
