//go:build unix

package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// chatOptions say how gjc chat is started.
type chatOptions struct {
	home, dir     string // default: new ones
	env           []string
	args          string
	columns, rows int
	// shell is the command line in place of gjc's; %s stands for that.
	shell string
}

// startChat runs gjc chat on a terminal. When it has ended, the screen shows its status and whether the terminal echoes.
func startChat(t *testing.T, o chatOptions) (*pane, *chatOptions) {
	t.Helper()
	if o.home == "" {
		o.home = tempDir(t)
	}
	if o.dir == "" {
		o.dir = tempDir(t)
	}
	if o.columns == 0 {
		o.columns, o.rows = 100, 40
	}
	env := append(environment(o.home), "LANG=C.UTF-8")
	command := "'" + self(t) + "' chat " + o.args
	if len(o.env) > 0 {
		command = "env " + strings.Join(o.env, " ") + " " + command
	}
	if o.shell != "" {
		command = strings.ReplaceAll(o.shell, "%s", command)
	} else {
		// An interrupt from the keyboard is for the shell, too.
		command = "trap : INT; " + command + `; echo "STATUS $? $(stty -a | grep -o ' -\?icanon\| -\?echo ' | tr -d '\n')"`
	}
	p := startPane(t, o.dir, env, o.columns, o.rows, command)
	return p, &o
}

// ended appears on the screen after gjc chat has ended well and restored the terminal.
const ended = "STATUS 0  icanon echo"

func TestChat_Editing(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	p, o := startChat(t, chatOptions{home: home})
	p.await("Ctrl-D ends")
	p.awaitEnd("\n>")
	// Editing, with characters of two columns.
	p.text("!say 2 한글")
	p.await("> !say 2 한글")
	p.keys("Left", "BSpace", "Home", "Delete", "End")
	p.await("> say 2 글")
	if got := p.cursor(); got != "10" {
		t.Errorf("the cursor is in column %s, want 10", got)
	}
	p.keys("C-u")
	p.awaitEnd("\n>")
	// A pasted text is one prompt, sent only by Enter.
	p.paste("!think first\n!think second\n")
	p.await("> !think first\n  !think second")
	p.keys("BSpace", "Enter")
	p.await("first")
	p.await("second")
	p.await("of 200k tokens\n>")
	// History, in this chat and in the next one.
	p.keys("Up")
	p.awaitEnd("> !think first\n  !think second")
	p.keys("C-c")
	p.awaitEnd("\n>")
	p.keys("C-d")
	p.await(ended)
	p, _ = startChat(t, *o)
	p.await("Ctrl-D ends")
	p.keys("C-r")
	p.text("THIN")
	p.await("(search) THIN: !think first")
	p.keys("Enter")
	p.awaitEnd("> !think first\n  !think second")
	p.keys("C-c", "C-c")
	p.await("Ctrl-C again, or Ctrl-D, ends gjc")
	p.keys("C-c")
	p.await(ended)
}

func TestChat_Completion(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFile(t, filepath.Join(dir, "subdir", "file.txt"), "hi")
	p, _ := startChat(t, chatOptions{dir: dir})
	p.await("Ctrl-D ends")
	p.text("/mo")
	p.completes("> /mode")
	p.keys("Tab")
	p.until("lists the candidates", regexp.MustCompile(`/mode +/model`).MatchString)
	p.text(" pl")
	p.keys("Tab")
	p.awaitEnd("> /mode plan")
	p.keys("Enter")
	p.awaitEnd("\nplan >")
	p.text("look at @su")
	p.keys("Tab")
	p.awaitEnd("@subdir/")
	p.keys("Tab")
	p.awaitEnd("@subdir/file.txt")
	p.keys("C-u")
	p.enter("/nonsense")
	p.await("there is no command /nonsense; /help lists them")
	p.enter("/help")
	p.await("Tab completes commands")
	p.enter("/exit")
	p.await(ended)
}

// withModel returns a home directory whose model is a server of the test.
func withModel(t *testing.T, model *providertest.Server, settings string) (home string) {
	t.Helper()
	t.Cleanup(model.Close)
	home = tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(
		"providers:\n  a: {api: openai-completions, baseUrl: %s, apiKey: k, models: [{id: m, input: [text, image]}]}\n", model.OpenAIURL(),
	))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"modelRoles: {default: a/m}\n"+settings)
	return home
}

// An answer is shown while it arrives, as text with attributes in place of Markdown.
func TestChat_Markdown(t *testing.T) {
	t.Parallel()
	gate := providertest.NewGate()
	model := providertest.NewServer(providertest.Step{
		providertest.Text("# Title\n\nSome **bold** text that"), gate.Hold(),
		providertest.Text(" ends.\n\n- item\n\n| A | B |\n|---|---|\n| 1 | 한글 |\n\n```go\nx := \"\x1b[31mred\"\n```\n"),
	})
	p, _ := startChat(t, chatOptions{home: withModel(t, model, "")})
	p.await("Ctrl-D ends")
	p.enter("hello")
	p.await("Title\n\nSome bold text")
	if s := p.screen(); strings.Contains(s, "ends.") {
		t.Errorf("the end is there before it was sent: %s", s)
	}
	if s := p.coloured(); !strings.Contains(s, "\x1b[1mbold") {
		t.Errorf("bold text has no attribute: %q", s)
	}
	gate.Open()
	s := p.await("• item\n\nA │ B\n────────\n1 │ 한글\n\nx := \"\\u001b[31mred\"\n")
	if strings.ContainsAny(s, "#*`|") {
		t.Errorf("Markdown is left: %s", s)
	}
	p.keys("C-d")
	p.await(ended)
}

func TestChat_Questions(t *testing.T) {
	t.Parallel()
	p, o := startChat(t, chatOptions{args: "--mode strict"})
	p.awaitEnd("\nstrict >")
	p.enter(`!write a.txt one\ntwo`)
	s := p.await("waiting for your answer")
	for _, want := range []string{"● Write a.txt", "a.txt +2 -0", "│ +one\n", "y  Allow once", "r  Reject with a reason"} {
		if !strings.Contains(s, want) {
			t.Errorf("the question lacks %q:\n%s", want, s)
		}
	}
	if s := p.coloured(); !strings.Contains(s, "\x1b[32m+one") {
		t.Errorf("the diff has no colours: %q", s)
	}
	p.text("xq5") // no answers
	p.keys("Enter")
	p.text("y")
	p.await("→ Allow once")
	p.await("all of them succeeded.")
	if data, err := os.ReadFile(filepath.Join(o.dir, "a.txt")); err != nil || string(data) != "one\ntwo" {
		t.Errorf("the file has %q, %v", data, err)
	}
	p.enter("!write b.txt x")
	p.await("b.txt +1 -0")
	p.await("waiting for your answer")
	p.text("r")
	p.awaitEnd("\nreason:")
	p.enter("not on Fridays")
	p.await("write failed: not allowed: Write b.txt: not on Fridays")
	p.enter("!ask Which? | Red | Blue")
	p.await("2  Blue")
	p.awaitEnd("  answer:")
	p.enter("9")
	p.await("give a number from 1 to 2")
	p.enter("2")
	p.awaitEnd("  Something else:")
	p.keys("Enter")
	p.await("The user answered: Blue")
	p.awaitEnd("\nstrict >")
	p.keys("C-d")
	p.await(ended)
}

// What the user types while the agent works is for the next prompt, and does not answer a question that appears meanwhile.
func TestChat_TypeAhead(t *testing.T) {
	t.Parallel()
	gate := providertest.NewGate()
	model := providertest.NewServer(
		providertest.Step{gate.Hold(), providertest.Call("c1", "write", `{"path":"a.txt","content":"x"}`)},
		providertest.Step{providertest.Text("written")},
	)
	p, o := startChat(t, chatOptions{home: withModel(t, model, ""), args: "--mode strict"})
	p.awaitEnd("\nstrict >")
	p.enter("go")
	p.awaitEnd("working; Ctrl-C cancels")
	<-gate.Reached()
	p.text("yes")
	p.awaitEnd("working; Ctrl-C cancels; next: yes")
	gate.Open()
	p.await("press Tab before you answer")
	p.text("y")
	if _, err := os.Stat(filepath.Join(o.dir, "a.txt")); err == nil {
		t.Error("a key that was typed ahead has answered the question")
	}
	p.keys("Tab")
	p.text("y")
	p.await("→ Allow once")
	p.await("written")
	p.awaitEnd("\nstrict > yesy")
	p.keys("C-u", "C-d")
	p.await(ended)
}

func TestChat_Cancel(t *testing.T) {
	t.Parallel()
	p, _ := startChat(t, chatOptions{})
	p.awaitEnd("\n>")
	p.enter("!wait")
	p.await("working; Ctrl-C cancels")
	p.keys("C-c")
	p.await("\ncancelled")
	p.awaitEnd("\n>")
	p.enter("!think still here")
	p.await("still here\n\nDone.")
	// A question belongs to the turn.
	p.enter("!ask Which? | Red | Blue")
	p.awaitEnd("  answer:")
	p.keys("C-c")
	p.until("is ready again", func(s string) bool { return strings.Count(s, "\ncancelled") == 2 && strings.HasSuffix(s, "\n>") })
	p.enter("!wait")
	p.await("!wait\nworking; Ctrl-C cancels")
	p.keys("C-c", "C-c", "C-c")
	p.await("STATUS 0")
}

// A session of an earlier chat is opened with its last turns, and goes on.
func TestChat_Resume(t *testing.T) {
	t.Parallel()
	p, o := startChat(t, chatOptions{})
	p.awaitEnd("\n>")
	for _, word := range []string{"alpha", "beta", "gamma"} {
		p.enter("!think " + word)
		p.await(word + "\n\nDone.")
		p.awaitEnd("\n>")
	}
	p.keys("C-d")
	p.await(ended)
	p, _ = startChat(t, *o)
	p.awaitEnd("\n>")
	p.enter("/resume")
	p.until("lists the session", regexp.MustCompile(`\n +1  \d{4}-\d\d-\d\d \d\d:\d\d  [0-9a-f-]{36}  !think alpha`).MatchString)
	p.enter("/resume 1")
	s := p.await("> !think gamma\ngamma\n")
	if !strings.Contains(s, "1 earlier prompt") || !strings.Contains(s, "> !think beta\nbeta\n") || strings.Contains(s, "> !think alpha") {
		t.Errorf("the last turns are not shown:\n%s", s)
	}
	p.enter("/resume 7")
	p.await("there is no session 7")
	p.enter("!think delta")
	p.await("delta\n\nDone.")
	p.enter("/new")
	p.await("a new session")
	p.awaitEnd("\n>")
	p.keys("C-d")
	p.await(ended)
	p, _ = startChat(t, chatOptions{home: o.home, dir: o.dir, args: "--continue"})
	p.await("> !think delta\ndelta\n")
	p.awaitEnd("\n>")
	p.keys("C-d")
	p.await(ended)
}

// Pictures reach the model, by /image, by their pasted path and as @path; other files as links.
func TestChat_Images(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	model.Else(func(providertest.Recorded) providertest.Step { return providertest.Step{providertest.Text("seen")} })
	dir := tempDir(t)
	for _, name := range []string{"one.png", "two.png", "with space.png"} {
		writePicture(t, filepath.Join(dir, name))
	}
	writeFile(t, filepath.Join(dir, "notes.txt"), "words")
	p, _ := startChat(t, chatOptions{home: withModel(t, model, ""), dir: dir})
	p.awaitEnd("\n>")
	p.enter("/image one.png")
	p.awaitEnd("\n[picture] >")
	p.enter("/image nothing.png")
	p.await("error: ")
	p.enter("/image notes.txt")
	p.await("is not a PNG, JPEG, GIF or WebP picture")
	p.enter("see @two.png, '" + filepath.Join(dir, "with space.png") + "' and @notes.txt.")
	p.await("seen")
	p.awaitEnd("\n>")
	requests := model.Requests()
	body := string(requests[len(requests)-1].Body)
	if n := strings.Count(body, "data:image/png;base64,"); n != 3 {
		t.Errorf("the model got %d pictures, want 3", n)
	}
	if !strings.Contains(body, "notes.txt") {
		t.Error("the model got no link to the file")
	}
	p.keys("C-d")
	p.await(ended)
}

// NO_COLOR removes colours, and nothing else.
func TestChat_NoColor(t *testing.T) {
	t.Parallel()
	p, _ := startChat(t, chatOptions{env: []string{"NO_COLOR=1"}, args: "--mode strict"})
	p.awaitEnd("\nstrict >")
	p.enter("!write a.txt x")
	p.await("│ +x")
	p.await("waiting for your answer")
	p.text("n")
	p.await("1 of them failed")
	p.awaitEnd("\nstrict >")
	s := p.coloured()
	if m := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7])[;m]`).FindString(s); m != "" {
		t.Errorf("the screen has the colour %q: %q", m, s)
	}
	if !strings.Contains(s, "\x1b[1m") {
		t.Errorf("the screen has no bold text: %q", s)
	}
	p.keys("C-d")
	p.await(ended)
}

// A dumb terminal gets no escape sequences, and whole lines suffice.
func TestChat_Dumb(t *testing.T) {
	t.Parallel()
	written := filepath.Join(tempDir(t), "written")
	p, o := startChat(t, chatOptions{env: []string{"TERM=dumb", "LANG=C"}, args: "--mode strict"})
	p.run("pipe-pane", "-t", ":", "cat > '"+written+"'")
	p.awaitEnd("\nstrict >")
	p.enter("!write a.txt x")
	p.awaitEnd("\n?")
	p.enter("maybe")
	p.await("answer with one of y, a, w, n, d")
	p.enter("r not now")
	p.await("not allowed: Write a.txt: not now")
	p.awaitEnd("\nstrict >")
	p.enter("!write b.txt x")
	p.awaitEnd("\n?")
	p.enter("y")
	p.await("-> Allow once")
	p.await("all of them succeeded")
	if _, err := os.Stat(filepath.Join(o.dir, "b.txt")); err != nil {
		t.Error(err)
	}
	p.awaitEnd("\nstrict >")
	p.enter("!wait")
	p.until("has a turn: its prompt is stored", func(string) bool { // a dumb terminal shows nothing of it, and ^C discards a line that was not read
		files, err := filepath.Glob(filepath.Join(o.home, ".gjc", "agent", "sessions", "*", "*.jsonl"))
		return err == nil && slices.ContainsFunc(files, func(file string) bool {
			data, _ := os.ReadFile(file)
			return strings.Contains(string(data), "!wait")
		})
	})
	p.keys("C-c")
	p.await("cancelled")
	p.awaitEnd("\nstrict >")
	p.run("pipe-pane", "-t", ":")
	p.keys("C-d")
	p.await(ended)
	data, err := os.ReadFile(written)
	if err != nil || len(data) == 0 {
		t.Fatalf("%q, %v", data, err)
	}
	for _, r := range string(data) {
		if r == 0x1b || r > 0x7e {
			t.Fatalf("the terminal got %q in %q", r, data)
		}
	}
}

// The terminal is as before when the chat is stopped or ended from outside.
func TestChat_Signals(t *testing.T) {
	t.Parallel()
	bash := testenv.NeedsTool(t, "bash")
	p, _ := startChat(t, chatOptions{shell: "PS1='$ ' '" + bash + "' --norc --noprofile -i"})
	p.awaitEnd("$")
	p.enter("'" + self(t) + "' chat")
	p.awaitEnd("\n>")
	p.text("abc")
	p.await("> abc")
	p.keys("C-z")
	p.until("is the shell's", func(s string) bool { return strings.Contains(s, "Stopped") && strings.HasSuffix(s, "$") })
	p.enter("stty -a | grep -o ' -*icanon'; fg")
	p.await("\n icanon")
	p.awaitEnd("\n> abc")
	p.text("def")
	p.awaitEnd("\n> abcdef")
	p.keys("C-u", "C-d")
	p.awaitEnd("\n$")
	pid := filepath.Join(tempDir(t), "pid")
	p.enter("clear; sh -c 'echo $$ >" + pid + "; exec " + self(t) + " chat'; echo \"ENDED $?$(stty -a | grep -o ' -*icanon')\"")
	p.awaitEnd("\n>")
	p.enter("!wait")
	p.awaitEnd("working; Ctrl-C cancels")
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.await("ENDED 0 icanon")
}

// A line that is being edited fits into the terminal after each change of its size.
func TestChat_Resize(t *testing.T) {
	t.Parallel()
	p, _ := startChat(t, chatOptions{columns: 60, rows: 20})
	p.awaitEnd("\n>")
	p.text("0123456789 abcdefghij 0123456789 abcdefghij")
	p.awaitEnd("> 0123456789 abcdefghij 0123456789 abcdefghij")
	p.run("resize-window", "-t", ":", "-x", "30", "-y", "20")
	p.awaitEnd("> 0123456789 abcdefghij 01234\n56789 abcdefghij")
	p.text("!")
	p.awaitEnd("> 0123456789 abcdefghij 01234\n56789 abcdefghij!")
	p.keys("C-u")
	p.awaitEnd("\n>")
	p.keys("C-d")
	p.await("STATUS 0")
}

// It works over ssh, with a real sshd. Where terminals do not belong to a group of their own, only root's sshd can allocate one.
func TestChat_SSHAsRoot(t *testing.T) {
	t.Parallel()
	o := chatOptions{home: tempDir(t)}
	script := filepath.Join(tempDir(t), "script")
	var b strings.Builder
	for _, kv := range append(environment(o.home), "LANG=C.UTF-8") {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&b, "export %s='%s'\n", name, value)
	}
	writeFile(t, script, b.String()+"cd '"+o.home+"'\nexec '"+self(t)+"' chat\n")
	p, _ := startChat(t, chatOptions{home: o.home, shell: sshCommand(t) + " -tt localhost sh '" + script + "'; echo STATUS $?"})
	p.await("Ctrl-D ends")
	p.awaitEnd("\n>")
	p.text("!think 한글x")
	p.await("> !think 한글x")
	p.keys("BSpace", "Enter")
	p.await("한글\n\nDone.")
	p.enter("!wait")
	p.await("working; Ctrl-C cancels")
	p.keys("C-c")
	p.await("\ncancelled")
	p.awaitEnd("\n>")
	p.keys("C-d")
	p.await("STATUS 0")
}

// sshCommand returns the beginning of a command of ssh, which talks to an sshd of its own over a pipe.
func sshCommand(t *testing.T) string {
	t.Helper()
	ssh, keygen := testenv.NeedsTool(t, "ssh"), testenv.NeedsTool(t, "ssh-keygen")
	sshd := "/usr/sbin/sshd" // it is not on the PATH of most users
	if _, err := os.Stat(sshd); err != nil {
		sshd = testenv.NeedsTool(t, "sshd")
	}
	dir := tempDir(t)
	for _, name := range []string{"key", "host"} {
		if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	server, client, known := filepath.Join(dir, "sshd_config"), filepath.Join(dir, "ssh_config"), filepath.Join(dir, "known")
	writeFile(t, known, "localhost "+string(host))
	writeFile(t, server, fmt.Sprintf("HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/key.pub\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", dir))
	writeFile(t, client, fmt.Sprintf("ProxyCommand %s -i -f %s\nIdentityFile %s/key\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nLogLevel ERROR\nBatchMode yes\n", sshd, server, dir, known))
	command := fmt.Sprintf("'%s' -F '%s'", ssh, client)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", command+" -tt localhost true").CombinedOutput(); err != nil {
		if os.Getuid() != 0 {
			t.Skipf("this user gets no terminal from an sshd of its own (%v): %s", err, out)
		}
		testenv.Skip(t, "no login through sshd (%v): %s", err, out)
	}
	return command
}

// writePicture writes a small picture.
func writePicture(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.String())
}

// A timer begins a turn, while the user edits a line, which comes back.
func TestChat_OwnTurn(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), "turns: {auto: on}\n")
	p, _ := startChat(t, chatOptions{home: home})
	p.await("Ctrl-D ends")
	p.enter(`!mcp job {"after":1,"note":"the build"}`)
	p.await("of 200k tokens\n>")
	p.text("half a line")
	p.await("job-1 has ended: timer: the build gjc goes on without a prompt.")
	p.await("A real model would go on here.")
	p.awaitEnd("> half a line")
	p.keys("C-u", "C-d")
	p.await(ended)
}
