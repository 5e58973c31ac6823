package policy

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// find looks at find and its like.
func (a *analysis) find(args []arg) {
	var roots []arg
	begun := true
	for i, this := range args {
		if strings.HasPrefix(this.text, "-") || this.text == "(" || this.text == "!" {
			begun = false
		}
		if begun {
			roots = append(roots, this)
		}
		switch this.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			command := args[i+1:]
			if end := slices.IndexFunc(command, func(arg arg) bool { return arg.text == ";" || arg.text == "+" }); end >= 0 {
				command = command[:end]
			}
			a.command(append(command[:len(command):len(command)], argUnknown), false, nil)
		case "-delete":
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
		case strings.HasPrefix(arg.text, "--in-place"), strings.HasPrefix(arg.text, "-i") && name != "perl",
			name == "perl" && strings.HasPrefix(arg.text, "-") && !strings.HasPrefix(arg.text, "--") && strings.Contains(arg.text, "i"):
			in = true
			if strings.Contains(arg.text, "e") && name == "perl" {
				i++
			}
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
var sedRuns = lazyregexp.New(`(?m)(^|[;{}]|/[gip0-9]*|\d|\$)\s*[eEwW](\s|$|;)|/[gip0-9]*[ew][gip]*\s*(/|\S*/|$)`)

// tar looks at tar, whose options can run programs.
func (a *analysis) tar(args []arg) {
	for i, arg := range args {
		t := arg.text
		switch {
		case strings.HasPrefix(t, "--checkpoint-action"), strings.HasPrefix(t, "--to-command"), strings.HasPrefix(t, "--use-compress-program"),
			strings.HasPrefix(t, "--info-script"), strings.HasPrefix(t, "--new-volume-script"), strings.HasPrefix(t, "--rsh-command"), t == "-I":
			a.risk("it runs a program by an option of tar")
		case t == "--absolute-names", (i == 0 || strings.HasPrefix(t, "-")) && !strings.HasPrefix(t, "--") && strings.Contains(t, "P"):
			a.risk("it unpacks to wherever the archive says")
		case t == "-C" || t == "--directory":
			if i+1 < len(args) {
				a.target(args[i+1].text, args[i+1].known)
			}
		case strings.HasPrefix(t, "--directory="):
			a.target(strings.TrimPrefix(t, "--directory="), arg.known)
		}
	}
}

// output looks at programs with an option for the file that they write.
func (a *analysis) output(name string, args []arg) {
	long := []string{"--output=", "--output-document=", "--output-dir=", "--directory-prefix="}
	short := set("-o", "--output", "-O", "--output-document", "-P", "--directory-prefix", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar")
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
		delete(short, "-o")
	}
	for i, arg := range args {
		if short[arg.text] && i+1 < len(args) {
			a.target(args[i+1].text, args[i+1].known)
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
