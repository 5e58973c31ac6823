package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// options are the arguments with which a program does what its name says, and neither runs nor writes anything else. What is not
// named here may do more.
type options struct {
	// all says that there are no others.
	all bool
	// flags are letters of options without a value, values of those with one, in this word or the next.
	flags, values string
	// long are long options. One with "=" takes a value, in this word or the next; one with "?" has one behind "=" or none.
	long string
	// single says that long options have one dash, and letters stand alone: as in Go's programs.
	single bool
	// digits says that -5 is an option.
	digits bool
	// most is how many other arguments there are at most, if limited.
	limited bool
	most    int
	// named says that an answer covers the other arguments as they are: the targets of make, a script of npm.
	named bool
	// fits looks at all arguments, if set.
	fits func(args []Arg) bool
}

const (
	logOptions = "oneline graph all stat? shortstat numstat name-only name-status cached staged color? no-color decorate? no-decorate patch " +
		"no-patch abbrev-commit abbrev? format= pretty? author= committer= since= until= after= before= grep= max-count= skip= first-parent " +
		"merges no-merges reverse follow date= summary diff-filter= unified= word-diff? ignore-all-space ignore-space-change " +
		"ignore-blank-lines ignore-space-at-eol minimal patience histogram find-renames? check exit-code quiet raw full-index no-renames no-ext-diff no-textconv " +
		"relative? merge-base branches? tags? remotes? left-right topo-order date-order compact-summary text function-context " +
		"inter-hunk-context= pickaxe-regex pickaxe-all ancestry-path no-prefix no-notes no-index cherry-pick cherry-mark"
	goOptions = "v race tags= p= n= mod= json trimpath a x count= timeout= short run= skip= cover covermode= coverpkg= parallel= bench= benchmem " +
		"benchtime= failfast list= shuffle= cpu= vet="
	goBuildOptions = "v race tags= p= n mod= json trimpath a x"
	cargoOptions   = "release workspace all all-targets all-features no-default-features lib bins tests examples benches verbose quiet package= exclude= " +
		"features= bin= test= example= bench= jobs= locked offline frozen no-run no-fail-fast message-format= profile="
	npmOptions = "silent if-present workspaces"
)

func cargo() options { return options{flags: "vqr", values: "pFj", long: cargoOptions} }

func gitLog() options {
	return options{flags: "pusbwazRiEF", values: "nSGLU", long: logOptions, digits: true}
}

func script() options {
	return options{flags: "s", long: npmOptions, limited: true, most: 1, named: true}
}

func target(flags string) options {
	return options{flags: flags, named: true, fits: func(args []Arg) bool { // a variable of make's can be a program
		return !slices.ContainsFunc(args, func(a Arg) bool { return strings.ContainsAny(a.Text, "=:") })
	}}
}

// only are options of which the first argument is one of some.
func only(o options, first ...string) options {
	o.fits = func(args []Arg) bool { return len(args) > 0 && slices.Contains(first, args[0].Text) }
	return o
}

// remote are options of git that names a remote: its address could name a program, or a repository with hooks.
func remote(flags, long string) options {
	return options{flags: flags, long: long, fits: func(args []Arg) bool {
		for i, a := range plainArgs(args) {
			if strings.Contains(a.Text, "::") || i == 0 && !remoteName().MatchString(a.Text) {
				return false
			}
		}
		return true
	}}
}

var remoteName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// noExpressions forbids what a shell may take for arithmetic with a command in it: bash behind -v, zsh in any number.
func noExpressions(args []Arg) bool {
	for i, a := range args {
		if !a.Known || strings.ContainsAny(a.Text, "[`") || strings.Contains(a.Text, "$(") || i == 0 && strings.HasPrefix(a.Text, "-") && a.Text != "--" {
			return false
		}
	}
	return true
}

// sedScript is a script of sed that only prints, deletes or replaces.
var sedScript = lazyregexp.New(`^(\d+|\$|/[^/;{}]*/)?(,(\d+|\$|\+\d+|/[^/;{}]*/))?!?([pdq=]|s/[^/;{}\\\n]*/[^/;{}\\\n]*/[gpiI0-9]*)$`)

// awkScript is one of awk that has nothing by which it could write or run something.
var awkScript = lazyregexp.New(`^[^>|@]*$`)

func sedOptions() options {
	return options{flags: "nErs", long: "quiet silent regexp-extended", fits: func(args []Arg) bool {
		plain := plainArgs(args)
		return len(plain) > 0 && plain[0].Known && sedScript().MatchString(plain[0].Text)
	}}
}

func awkOptions() options {
	return options{values: "F", fits: func(args []Arg) bool {
		for i, a := range args {
			switch {
			case a.Known && a.Text == "-F" && i+1 < len(args), a.Known && strings.HasPrefix(a.Text, "-F"):
			case i > 0 && args[i-1].Text == "-F":
			default: // the script; what comes behind is a file, or a variable that the script may run
				return a.Known && awkScript().MatchString(a.Text) && !strings.Contains(a.Text, "system") && !strings.Contains(a.Text, "getline") &&
					!slices.ContainsFunc(args[i+1:], func(a Arg) bool { return strings.Contains(a.Text, "=") })
			}
		}
		return false
	}}
}

var everything = options{all: true}

// programs are what is known of well-known programs; one with a subcommand is "git status".
var programs = knownPrograms()

func knownPrograms() map[string]options {
	m := map[string]options{
		"uniq": {flags: "cdDiuz", values: "fsw", limited: true, most: 1},
		"sort": {flags: "bdfgiMhnRrVcCmsuz", values: "kt", long: "reverse numeric-sort unique key= field-separator= human-numeric-sort version-sort stable ignore-case check?"},
		"rg": {
			flags: "niIlLwvFcoNSsuUpPHah0", values: "egtTABCmMjd", long: "glob= iglob= type= type-not= files hidden no-ignore no-ignore-vcs ignore-case smart-case " +
				"line-number no-line-number files-with-matches files-without-match count count-matches max-count= context= after-context= before-context= fixed-strings " +
				"word-regexp invert-match color= no-heading heading json multiline pcre2 sort= stats only-matching max-depth= no-filename with-filename column trim " +
				"vimgrep max-columns= regexp= type-list case-sensitive null version help",
		},
		"find": {single: true, long: "name= iname= path= ipath= wholename= regex= iregex= regextype= type= xtype= maxdepth= mindepth= mtime= mmin= ctime= cmin= atime= amin= " +
			"newer= size= empty perm= user= group= links= inum= samefile= not a o and or print print0 prune quit depth d H L P xdev mount daystart follow true false readable writable executable ls"},
		"fd":   {flags: "HIutgsiapF0L1l", values: "tedE", long: "type= extension= hidden no-ignore max-depth= min-depth= exclude= absolute-path glob fixed-strings full-path ignore-case case-sensitive print0 color= version help"},
		"tree": {flags: "adfphsDCFnvl", values: "LIP", long: "gitignore noreport dirsfirst du prune"},
		"date": {flags: "uRI", values: "d", long: "utc iso-8601? rfc-3339= date=", fits: func(args []Arg) bool {
			return !slices.ContainsFunc(plainArgs(args), func(a Arg) bool { return !strings.HasPrefix(a.Text, "+") })
		}},
		"xxd":    {flags: "pbiu", values: "lscg", limited: true, most: 1},
		"base64": {flags: "dD", values: "w", long: "decode wrap=", limited: true, most: 1},
		"sed":    sedOptions(), "awk": awkOptions(), "gawk": awkOptions(), "mawk": awkOptions(), "nawk": awkOptions(),
		"printf": {flags: "", fits: noExpressions},
		"test":   testOptions(), "[": testOptions(),
		"cd":    {flags: "LP", limited: true, most: 1},
		"gofmt": {single: true, long: "l d e s"},
		"tsc": {long: "noEmit version help", flags: "", fits: func(args []Arg) bool {
			return slices.ContainsFunc(args, func(a Arg) bool { return a.Text == "--noEmit" || a.Text == "--version" })
		}},

		"git status": {flags: "sbuzv", long: "short branch porcelain? long verbose show-stash untracked-files? ignored? no-renames ahead-behind no-ahead-behind"},
		"git log":    gitLog(), "git diff": gitLog(), "git show": gitLog(), "git whatchanged": gitLog(), "git shortlog": {flags: "sne", long: "summary numbered email all since= until= no-merges"},
		"git blame":  {flags: "swelbtfn", values: "L", long: "date= since= porcelain line-porcelain"},
		"git branch": {flags: "avr", long: "all remotes list verbose show-current sort= contains= merged? no-merged? format= color? no-color points-at=", limited: true},
		"git grep": {flags: "niIlLwvEFPGcohHqpW", values: "eACBm", long: "name-only line-number ignore-case files-with-matches word-regexp count heading break untracked cached and or not " +
			"all-match color? no-color extended-regexp fixed-strings perl-regexp show-function max-depth= threads="},
		"git rev-parse": everything, "git ls-files": everything, "git rev-list": {flags: "", values: "n", long: "count all max-count= since= until= no-merges merges first-parent reverse left-right oneline", digits: true},
		"git ls-tree": {flags: "rdtlz", long: "name-only full-name full-tree long"}, "git cat-file": {flags: "ptes"}, "git describe": {long: "tags all always dirty? abbrev? long match= exact-match contains"},
		"git merge-base": {flags: "a", long: "all is-ancestor fork-point octopus"}, "git name-rev": {long: "name-only tags"},
		"git show-ref": {flags: "sdq", long: "heads tags head verify hash?"}, "git for-each-ref": {long: "format= sort= count= merged? contains="},
		"git remote": {flags: "v", long: "verbose", fits: func(args []Arg) bool { p := plainArgs(args); return len(p) == 0 || p[0].Text == "get-url" }},
		"git stash":  only(options{flags: "p", long: "stat patch name-only"}, "list", "show"),
		"git tag":    {flags: "ln", long: "list sort= contains= points-at= merged?", fits: func(args []Arg) bool { return len(args) == 0 || args[0].Text == "-l" || args[0].Text == "--list" }},
		"git config": {flags: "l", long: "get get-all list show-origin show-scope global local system name-only type=", limited: true, most: 1},
		"git add":    {flags: "AunvpfN", long: "all update verbose dry-run intent-to-add patch force"},
		"git commit": {flags: "asqvn", values: "m", long: "message= amend no-edit all signoff quiet verbose allow-empty no-verify author= date= fixup= squash= dry-run"},
		"git push":   remote("uqvnf", "set-upstream tags follow-tags force force-with-lease? dry-run quiet verbose no-verify porcelain atomic all"),
		"git fetch":  remote("qvpatn", "all prune tags quiet verbose no-tags dry-run"),
		"git pull":   remote("qvpatn", "all prune tags quiet verbose no-tags rebase? no-rebase ff-only ff no-ff no-edit autostash"),

		"go test": {single: true, long: goOptions}, "go build": {single: true, long: goBuildOptions}, "go vet": {single: true, long: goBuildOptions + " c="},
		"go list": {single: true, long: "m json? f= u deps test e versions find compiled tags= mod= retracted"}, "go doc": {single: true, long: "all src u c cmd short"},
		"go version": {single: true, long: "m v"}, "go env": {single: true, long: "json changed"}, "go fmt": {single: true, long: "n x"},
		"go mod": only(options{single: true, long: "v m"}, "tidy", "verify", "graph", "why", "download"),

		"npm test": script(), "npm run": script(), "npm run-script": script(), "pnpm test": script(), "pnpm run": script(), "yarn test": script(), "yarn run": script(), "bun test": script(),
		"npm ls": {flags: "al", long: "all depth= json long"}, "npm view": {long: "json"}, "npm outdated": {long: "json"},
		"make": target("kswnB"), "task": target("s"), "just": target("q"),
		"cargo build": cargo(), "cargo test": cargo(), "cargo check": cargo(), "cargo clippy": cargo(), "cargo bench": cargo(), "cargo doc": {flags: "vq", long: "no-deps workspace document-private-items all-features"},
		"cargo fmt": {long: "all check"}, "cargo tree": {flags: "ei", long: "depth= all-features"},
		"pytest": {flags: "vqxsl", values: "km", long: "maxfail= tb= lf ff last-failed failed-first durations= no-header collect-only verbose quiet"},

		"docker ps": everything, "docker images": everything, "docker logs": everything, "docker inspect": everything, "docker version": everything, "docker info": everything,
		"kubectl get": {flags: "Aw", values: "nol", long: "namespace= output= all-namespaces selector= show-labels"}, "kubectl describe": {flags: "A", values: "nl", long: "namespace= selector="},
		"kubectl logs": {flags: "fp", values: "nc", long: "namespace= container= tail= since= previous follow"},
	}
	for name := range strings.FieldsSeq("ls dir vdir cat head tail wc grep egrep fgrep cut tr nl tac rev fold fmt expand unexpand paste join column comm cmp diff od hexdump " +
		"strings jq md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum cksum sum echo pwd true false which whereis type basename dirname realpath readlink stat du df id whoami groups " +
		"uname arch nproc uptime free ps pgrep lscpu seq sleep expr cal tsort locale getconf") {
		m[name] = everything
	}
	return m
}

func testOptions() options {
	return options{flags: "defghknoprstuwxzLOSNGabc", long: "", single: true, fits: func(args []Arg) bool {
		for i, a := range args {
			if i == len(args)-1 && a.Text == "]" && a.Known {
				continue
			}
			if !noExpressions([]Arg{{Known: true}, a}) || a.Text == "-v" || a.Text == "-R" {
				return false
			}
		}
		return true
	}}
}

// subcommands are programs whose first word behind the name says what they do.
var subcommands = func() map[string]bool {
	m := make(map[string]bool)
	for name := range programs {
		if program, _, ok := strings.Cut(name, " "); ok {
			m[program] = true
		}
	}
	return m
}()

// SafeCommand returns what is known of a command, and how many of its words name it; ok is false for a program that is not known.
func SafeCommand(args []Arg) (o options, named int, ok bool) {
	name := args[0].Text
	switch dir := path.Dir(name); dir {
	case ".", "/bin", "/usr/bin":
		if dir == "." && strings.Contains(name, "/") {
			return o, 0, false
		}
		name = path.Base(name)
	default:
		return o, 0, false
	}
	if !subcommands[name] {
		o, ok = programs[name]
		return o, 1, ok
	}
	if len(args) < 2 || !args[1].Known {
		return o, 1, false
	}
	o, ok = programs[name+" "+args[1].Text]
	return o, 2, ok
}

// Allow reports whether arguments are among the options.
func (o *options) Allow(args []Arg) bool {
	if o.all {
		return true
	}
	if o.fits != nil && !o.fits(args) {
		return false
	}
	others := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Known && (!a.glob || a.Text == "" || o.limited):
			return false // it may be an option, or many words
		case !a.Known && a.Text[0] != '-':
			others++
		case !a.Known:
			return false
		case a.Text == "--":
			others += len(args) - i - 1
			for _, a := range args[i+1:] {
				if !a.Known && (!a.glob || o.limited) || o.named {
					return false
				}
			}
			i = len(args)
		case len(a.Text) < 2 || a.Text[0] != '-':
			others++
		default:
			n := o.option(a.Text)
			if n < 0 {
				return false
			}
			for ; n > 0; n-- { // its value
				if i++; i >= len(args) || !args[i].Known {
					return false
				}
			}
		}
	}
	return !o.limited || others <= o.most
}

// option returns how many words behind it an option takes, or -1 for one that is not known.
func (o *options) option(text string) int {
	name, long := strings.CutPrefix(text, "--")
	if o.single && !long {
		name, long = text[1:], true
	}
	if o.digits && strings.Trim(text[1:], "0123456789") == "" {
		return 0
	}
	if long {
		name, _, given := strings.Cut(name, "=")
		if o.single && len(name) == 1 && strings.Contains(o.flags, name) && !given {
			return 0
		}
		for l := range strings.FieldsSeq(o.long) {
			switch kind := l[len(l)-1]; {
			case kind == '=' && l[:len(l)-1] == name && given, kind == '?' && l[:len(l)-1] == name:
				return 0
			case kind == '=' && l[:len(l)-1] == name:
				return 1
			case l == name && !given:
				return 0
			case l == name && o.single && (strings.HasSuffix(text, "=true") || strings.HasSuffix(text, "=false")):
				return 0
			}
		}
		return -1
	}
	for i, r := range text[1:] {
		switch {
		case strings.ContainsRune(o.flags, r):
		case strings.ContainsRune(o.values, r) && i+2 < len(text):
			return 0
		case strings.ContainsRune(o.values, r):
			return 1
		default:
			return -1
		}
	}
	return 0
}

// GitGlobal returns a command of git without the options before its subcommand that change nothing of what it does.
func GitGlobal(args []Arg) []Arg {
	if programName(args[0].Text) != "git" {
		return args
	}
	i := 1
	for i < len(args) && args[i].Known {
		text, next := args[i].Text, i+1 < len(args) && args[i+1].Known
		if text == "--no-pager" || text == "-P" || text == "--no-optional-locks" || text == "--literal-pathspecs" {
			i++
		} else if next && (text == "-C" || text == "-c" && harmlessSetting(args[i+1].Text)) {
			i += 2
		} else {
			break
		}
	}
	return append(args[:1:1], args[i:]...)
}

// Scopes returns what an answer for each command of a line may cover: its program with its subcommand. ok is false for a line of
// which an answer can cover nothing but itself, because a command in it is not known, or has arguments by which it may run or
// write something.
func Scopes(line string) (scopes []string, ok bool) {
	a := &analysis{paths: &Paths{Home: "/"}, dirs: []string{"/"}, cmd: &Command{Parsed: true, Plain: true}}
	a.line(line)
	if !a.cmd.Plain || !a.cmd.Parsed {
		return nil, false
	}
	for _, args := range a.cmd.Calls {
		scope, ok := scopeOf(args)
		if !ok {
			return nil, false
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, len(scopes) > 0
}

func scopeOf(args []Arg) (scope string, ok bool) {
	args = GitGlobal(args)
	o, named, ok := SafeCommand(args)
	if !ok || !o.Allow(args[named:]) {
		return "", false
	}
	scope = args[0].Text
	if named == 2 {
		scope += " " + args[1].Text
	}
	for _, arg := range args[named:] {
		switch {
		case scope == "git push" && overwrites(arg.Text):
			return "", false // what it overwrites is gone
		case o.named && !strings.HasPrefix(arg.Text, "-"):
			scope += " " + arg.Text
		}
	}
	return scope, true
}

// overwrites reports whether an argument of git push forces it, or deletes a branch.
func overwrites(arg string) bool {
	return strings.HasPrefix(arg, "--force") || strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, ":") ||
		strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "f")
}
