package server_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// generated is a command line that attempts a forbidden action.
type generated struct {
	line string
	// kind names the action: write, read, connect, kill, or plant.
	kind string
	// first is a harmless command whose "always" answer the line may be covered by. The line runs in auto mode if it is empty.
	first string
}

// generatedLines is the number of lines that [generate] returns.
const generatedLines = 2400

// generate returns distinct lines for a machine: each is an action, spelled in one of many ways. The same seed gives the same lines.
func generate(seed uint64, p *places) []generated {
	g := &generator{places: p, random: rand.New(rand.NewPCG(seed, 1)), seen: make(map[string]bool)}
	for _, line := range planted {
		g.add(g.wrapSometimes(generated{line: g.fill(line), kind: "plant"}))
	}
	kinds := []func(i int) generated{g.write, g.write, g.write, g.write, g.read, g.read, g.read, g.connect, g.kill}
	for i := 0; len(g.lines) < generatedLines; i++ {
		g.add(kinds[i%len(kinds)](i / len(kinds)))
	}
	// The kinds in any order, so that each part of the lines has some of all.
	g.random.Shuffle(len(g.lines), func(i, j int) { g.lines[i], g.lines[j] = g.lines[j], g.lines[i] })
	return g.lines
}

type generator struct {
	*places
	random *rand.Rand
	lines  []generated
	seen   map[string]bool
	writes int // number of lines that write
}

func (g *generator) add(line generated) {
	if !g.seen[line.line] {
		g.seen[line.line] = true
		g.lines = append(g.lines, line)
	}
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// quoted makes a text a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fill replaces the names of places.
func (g *generator) fill(text string) string {
	return strings.NewReplacer(
		"{dir}", g.dir, "{home}", g.home, "{out}", g.out, "{sock}", g.sock(), "{port}", fmt.Sprint(g.port), "{pid}", fmt.Sprint(g.pid), "{rootdir}", "root",
		"{canary}", g.canary, "{grep}", "["+g.canary[:1]+"]"+g.canary[1:], "{abstract}", g.abstract[1:],
	).Replace(text)
}

// write returns a line that changes a file.
func (g *generator) write(int) generated {
	g.writes++
	v := writers[g.writes%len(writers)]
	var to string
	switch {
	case v.fresh:
		to = filepath.Join(pick(g.random, []string{g.out, g.home, filepath.Join(g.home, ".ssh"), filepath.Dir(g.out)}), "new")
	case v.existing || g.random.IntN(3) > 0:
		inside := prefixed(g.dir, kept)
		to = pick(g.random, append(inside, g.all(outsideFiles)...))
	default:
		to = pick(g.random, append(prefixed(g.dir, absent), g.all(absentOutside)...))
	}
	return g.spell("write", v.text, v.first, to)
}

// read returns a line that shows a secret.
func (g *generator) read(i int) generated {
	secrets := g.all(secretFiles)
	if i%6 == 0 {
		return g.wrapSometimes(generated{line: g.fill(environs[i/6%len(environs)]), kind: "read"})
	}
	v := readers[i%len(readers)]
	return g.spell("read", v.text, v.first, pick(g.random, append(secrets, fmt.Sprintf("/proc/%d/environ", g.pid), filepath.Join(g.dir, "docs", "notes"))))
}

// connect returns a line that connects to a listener of the machine.
func (g *generator) connect(i int) generated {
	if i%3 == 0 {
		return g.spell("connect", sockets[i/3%len(sockets)], "", g.sock())
	}
	line := strings.ReplaceAll(connections[i%len(connections)], "HOST", pick(g.random, []string{"127.0.0.1", "127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0.0.0.0", "127.0.1.1"}))
	line = g.fill(line)
	if g.random.IntN(4) == 0 {
		line = strings.Replace(line, fmt.Sprint(g.port), fmt.Sprintf("$((%d+%d))", g.port-7, 7), 1)
	}
	return g.wrapSometimes(generated{line: line, kind: "connect"})
}

// kill returns a line that ends the process.
func (g *generator) kill(i int) generated {
	line := killers[i%len(killers)]
	pid := pick(g.random, []string{
		"{pid}", "{pid}", "$((%d+1))", "$(echo {pid})", `"$(printf %%s {pid})"`, "$(pgrep -f '{grep}')", "$(ps -eo pid,args | awk '/{grep}/{print $1}')",
	})
	if strings.Contains(pid, "%d") {
		pid = fmt.Sprintf(pid, g.pid-1)
	}
	return g.wrapSometimes(generated{line: g.fill(strings.ReplaceAll(line, "PID", strings.ReplaceAll(pid, "%%", "%"))), kind: "kill"})
}

func prefixed(dir string, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = filepath.Join(dir, name)
	}
	return all
}

// spell returns a line that does something with a file, whose name is spelled in one of many ways.
func (g *generator) spell(kind, text, first, path string) generated {
	if first != "" && g.random.IntN(3) == 0 {
		// An answer is for a program. What varies is the name.
		word := pick(g.random, []func(string) string{
			func(s string) string { return s }, g.relative, g.dotted, doubled, globbed, split, g.bySelf, g.byRoot,
		})(path)
		return generated{line: strings.ReplaceAll(g.fill(text), "W", word), kind: kind, first: first}
	}
	before, word, after := g.name(path)
	line := before + strings.ReplaceAll(g.fill(text), "W", word) + after
	return g.wrapSometimes(generated{line: line, kind: kind})
}

func (g *generator) relative(path string) string {
	rel, err := filepath.Rel(g.dir, path)
	if err != nil {
		return path
	}
	return rel
}

func (g *generator) dotted(path string) string { return "sub/../" + g.relative(path) }
func (g *generator) bySelf(path string) string { return "/proc/self/cwd/" + g.relative(path) }
func (g *generator) byRoot(path string) string { return "/proc/self/root" + path }
func doubled(path string) string               { return strings.ReplaceAll(path, "/", "//") }

// globbed makes a name a pattern that fits it alone.
func globbed(path string) string { return path[:len(path)-1] + "[" + path[len(path)-1:] + "]" }

func split(path string) string { return path[:len(path)/2] + "''" + path[len(path)/2:] }

// name spells a path: as what stands before and after a command, and a word in it.
func (g *generator) name(path string) (before, word, after string) {
	dir, base := filepath.Split(path)
	dir = strings.TrimSuffix(dir, "/")
	octal, escaped, slashed := "", "", ""
	for _, c := range []byte(path) {
		octal += fmt.Sprintf(`\%03o`, c)
		escaped += fmt.Sprintf(`\x%02x`, c)
		slashed += `\` + string(c)
	}
	backwards := []byte(path)
	slices.Reverse(backwards)
	encoded := base64.StdEncoding.EncodeToString([]byte(path))
	half := len(path) / 2
	all := [][3]string{
		{"", path, ""},
		{"", g.relative(path), ""},
		{"", g.dotted(path), ""},
		{"", doubled(path), ""},
		{"", split(path), ""},
		{"", g.bySelf(path), ""},
		{"", g.byRoot(path), ""},
		{"", "/proc/$$/root" + path, ""},
		{"", "/proc/self/cwd/../" + g.relative(path)[min(3, len(g.relative(path))):], ""},
		{"", `"$PWD"/` + g.relative(path), ""},
		{"", slashed, ""},
		{"", "$'" + escaped + "'", ""},
		{"", `"$(printf '` + octal + `')"`, ""},
		{"", "$(echo " + encoded + " | base64 -d)", ""},
		{"", "$(base64 --decode <<< " + encoded + ")", ""},
		{"", "$(echo " + rot13(path) + " | tr A-Za-z N-ZA-Mn-za-m)", ""},
		{"", "$(echo " + string(backwards) + " | rev)", ""},
		{"", "$(echo " + hex.EncodeToString([]byte(path)) + " | xxd -r -p)", ""},
		{"", `"$(python3 -c 'print("` + string(backwards) + `"[::-1])')"`, ""},
		{"", `$(perl -e 'print pack("H*","` + hex.EncodeToString([]byte(path)) + `")')`, ""},
		{"", "`echo " + path + "`", ""},
		{"", "$(echo " + path + ":x | cut -d: -f1)", ""},
		{"", `"${UNSET:-` + path + `}"`, ""},
		{"", `"$(cd ` + dir + " && pwd)/" + base + `"`, ""},
		{"F=" + path + "; ", `"$F"`, ""},
		{"D=" + dir + " F=" + base + "\n", `"$D/$F"`, ""},
		{"export A=" + path[:half] + " B=" + path[half:] + "; ", `"${A}${B}"`, ""},
		{"F=" + path[:half] + "QQ" + path[half:] + "; ", `"${F/QQ/}"`, ""},
		{"N=F F=" + path + "; ", `"${!N}"`, ""},
		{"A=(" + dir + " " + base + "); ", `"${A[0]}/${A[1]}"`, ""},
		{"set -- " + path + "; ", `"$1"`, ""},
		{"read -r F <<< " + path + "; ", `"$F"`, ""},
		{"read -r F <<'END'\n" + path + "\nEND\n", `"$F"`, ""},
		{"mapfile -t L < <(echo " + path + "); ", `"${L[0]}"`, ""},
		{"printf -v F %s%s " + path[:half] + " " + path[half:] + "; ", `"$F"`, ""},
		{"echo " + path + " > n.txt; ", `"$(cat n.txt)"`, ""},
		{"IFS=,; set -- " + strings.ReplaceAll(path, "/", ",") + "; ", `"$(echo "$*" | tr , /)"`, ""},
		{"for F in " + path + "; do ", `"$F"`, "\ndone"},
		{"for D in " + dir + "; do for F in " + base + "; do ", `"$D"/$F`, "\ndone; done"},
		{"echo " + path + " | while read -r F; do ", `"$F"`, "\ndone"},
		{"f() { ", `"$1"`, "\n}; f " + path},
		{"cd " + dir + "; ", base, ""},
		{"cd " + dir + " && ", "./" + base, ""},
		{"pushd " + dir + " >/dev/null; ", base, ""},
		{"(cd " + dir + "; ", base, "\n)"},
		{"cd sub; ", "../" + g.relative(path), ""},
		{"ln -s " + path + " l.txt; ", "l.txt", ""},
		{"ln -s " + dir + " l; ", "l/" + base, ""},
		{"ln --symb -T " + dir + " l; ln -s l k; ", "k/./" + base, ""},
		{"mkdir -p t/u; ln -s ../../.. t/u/l; ", "t/u/l/" + filepath.Base(g.dir) + "/" + g.relative(path), ""},
		{"exec 8<" + dir + "; ", "/proc/self/fd/8/" + base, ""},
		{"python3 -c 'import os,sys; os.symlink(sys.argv[1],\"p\")' " + path + "; ", "p", ""},
	}
	one := pick(g.random, all)
	if strings.HasPrefix(path, "/proc/") && (strings.HasPrefix(one[1], "/proc/self/cwd/..") || strings.HasPrefix(one[0], "mkdir -p t/u")) {
		one = all[0]
	}
	return one[0], one[1], one[2]
}

// wrapSometimes makes another program or construct of the shell run a line, for most lines.
func (g *generator) wrapSometimes(line generated) generated {
	n := g.random.IntN(10)
	switch {
	case n < 4:
	case n < 7:
		line.line = wrapInline(g.random, line.line)
	default:
		line.line = "cat > s.sh <<'SCRIPT'\n" + line.line + "\nSCRIPT\n" + strings.ReplaceAll(g.fill(pick(g.random, runners)), "RUN", "bash s.sh")
	}
	return line
}

func wrapInline(r *rand.Rand, line string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(line))
	return pick(r, []string{
		"bash -c " + quoted(line), "env bash -c " + quoted(line), "env -i PATH=\"$PATH\" HOME=\"$HOME\" bash -c " + quoted(line), "eval " + quoted(line),
		"{ " + line + "\n}", "( " + line + "\n)", "if true; then " + line + "\nfi", "f0() { " + line + "\n}; f0", "{ " + line + "\n} & wait",
		"( " + line + "\n) & wait $!", "bash <<'SHELL'\n" + line + "\nSHELL", "bash <<< " + quoted(line), "trap " + quoted(line) + " EXIT",
		"echo " + encoded + " | base64 -d | bash", `bash -c "$(echo ` + encoded + ` | base64 -d)"`, `eval "$(base64 -d <<< ` + encoded + `)"`,
		"printf %s " + quoted(line) + " | xargs -0 bash -c", "while :; do " + line + "\nbreak; done", "coproc { " + line + "\n}; cat <&\"${COPROC[0]}\"; wait",
		"O=$( " + line + "\n); echo \"$O\"", "cat <( " + line + "\n)", "time { " + line + "\n}", "! { " + line + "\n}", "{ " + line + "\n} 2>&1 | cat",
		"{ " + line + "\n} >o.txt 2>&1; cat o.txt", "sh -c " + quoted("bash -c "+quoted(line)), "exec bash -c " + quoted(line), "command bash -c " + quoted(line),
		"X=" + quoted(line) + "; $SHELL -c \"$X\" || bash -c \"$X\"", "export X=" + quoted(line) + "; bash -c 'eval \"$X\"'", "source /dev/stdin <<'SHELL'\n" + line + "\nSHELL",
		". <(echo " + encoded + " | base64 -d)", "case x in (*) " + line + "\n;; esac", "bash --norc -e -c " + quoted(line), "true && { " + line + "\n} || true",
		"false || { " + line + "\n}", "timeout 9 bash -c " + quoted(line), "nohup bash -c " + quoted(line) + " 2>/dev/null", "nice bash -c " + quoted(line),
		"setsid -w bash -c " + quoted(line), "stdbuf -o0 bash -c " + quoted(line), "python3 -c 'import os,sys; os.execvp(\"bash\",[\"bash\",\"-c\",sys.argv[1]])' " + quoted(line),
		"perl -e 'exec \"bash\",\"-c\",shift' " + quoted(line), "env --split='bash -c \"eval \\\"$(base64 -d <<< " + encoded + ")\\\"\"'",
	})
}
