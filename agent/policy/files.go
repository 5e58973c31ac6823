package policy

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// find looks at find and its like.
func (a *analysis) find(name string, args []arg) {
	var roots []arg
	begun := true
	for i, this := range args {
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
			if end := slices.IndexFunc(command, func(arg arg) bool { return arg.text == ";" || arg.text == "+" }); end >= 0 {
				command = command[:end]
			}
			a.command(append(command[:len(command):len(command)], argUnknown), false, nil)
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

// inPlace looks at programs that edit files where they are.
func (a *analysis) inPlace(name string, args []arg) {
	in, script := false, ""
	var files []arg
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case strings.HasPrefix(arg.text, "--in-place"), shortOption(arg.text, "nErsuz", 'i') && name != "perl",
			name == "perl" && strings.HasPrefix(arg.text, "-") && !strings.HasPrefix(arg.text, "--") && strings.Contains(arg.text, "i"):
			in = true
			if strings.Contains(arg.text, "e") && name == "perl" {
				i++
			}
		case strings.HasPrefix(arg.text, "--expression="):
			script += strings.TrimPrefix(arg.text, "--expression=") + "\n"
		case name != "perl" && strings.HasPrefix(arg.text, "-e") && len(arg.text) > 2:
			script += arg.text[2:] + "\n"
		case arg.text == "-e" || arg.text == "--expression" || arg.text == "-f":
			if i++; i < len(args) {
				script += args[i].text + "\n"
			}
		case strings.HasPrefix(arg.text, "-"):
		default:
			files = append(files, arg)
		}
	}
	if script == "" && name != "perl" && len(files) > 0 {
		script, files = files[0].text, files[1:]
	}
	if name != "perl" && sedRuns().MatchString(script) {
		a.risk("it may run programs or write files by %s", name)
	}
	if !in {
		return
	}
	for _, f := range files {
		if f.known {
			a.writes(f.text)
		} else if f.text != "" {
			a.writes(begun(f.text))
		}
	}
}

// sedRuns is what runs programs (e, and the flag e of s) or writes files (w) in sed.
var sedRuns = lazyregexp.New(`(?m)(^|[;{}]|/[gip0-9]*|\d|\$|!)\s*[eEwW](\s|$|;)|/[gip0-9]*[ew][gip]*\s*(/|\S*/|$)`)

// tar looks at tar, whose options can run programs.
func (a *analysis) tar(args []arg) {
	for i, arg := range args {
		t := arg.text
		switch {
		case abbreviates(t, "--checkpoint-action", 13), abbreviates(t, "--to-command", 5), abbreviates(t, "--use-compress-program", 5),
			abbreviates(t, "--info-script", 5), abbreviates(t, "--new-volume-script", 7), abbreviates(t, "--rsh-command", 5), t == "-I", t == "-F":
			a.risk("it runs a program by an option of tar")
		case t == "--absolute-names", (i == 0 || strings.HasPrefix(t, "-")) && !strings.HasPrefix(t, "--") && strings.Contains(t, "P"):
			a.risk("it unpacks to wherever the archive says")
		case strings.HasPrefix(t, "-C") && len(t) > 2:
			a.target(t[2:], arg.known)
		case i == 0 && !strings.HasPrefix(t, "-") && strings.Contains(t, "C") && len(args) > 2:
			a.target(args[2].text, args[2].known)
			a.target(args[1].text, args[1].known)
		case t == "-C" || t == "--directory":
			if i+1 < len(args) {
				a.target(args[i+1].text, args[i+1].known)
			}
		case strings.HasPrefix(t, "--directory="):
			a.target(strings.TrimPrefix(t, "--directory="), arg.known)
		}
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
		return strings.HasPrefix(strings.TrimLeft(text, "-"), "vettool") || strings.HasPrefix(text, "-exec=") || strings.HasPrefix(text, "--exec")
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
	long := []string{"--output=", "--output-document=", "--output-dir=", "--directory-prefix=", "--outp=", "--outpu=", "--dump-header=", "--cookie-jar=", "--trace=", "--trace-ascii=", "--libcurl=", "--stderr="}
	short := set("-o", "--output", "-O", "--output-document", "-P", "--directory-prefix", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--libcurl", "--stderr")
	if name != "curl" && name != "wget" {
		short = set("-o", "--output")
	}
	if name == "curl" {
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
		for _, l := range long {
			if to, ok := strings.CutPrefix(arg.text, l); ok {
				a.target(to, arg.known)
			}
		}
		if name == "curl" && (arg.text == "-K" || arg.text == "--config") {
			a.risk("it takes its options from a file (%s)", name)
		}
		if name == "go" && (strings.HasPrefix(arg.text, "-toolexec") || strings.HasPrefix(arg.text, "--toolexec") || arg.text == "-exec") {
			a.risk("it runs a program by an option of go")
		}
	}
}
