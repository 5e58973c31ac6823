package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// served is a running "gjc serve".
type served struct {
	t    *testing.T
	url  string // of the endpoint
	dir  string // --serve-dir
	home string
	cmd  *exec.Cmd
	// ending is set after a signal: a second one would end it at once.
	ending bool
	killed bool
	wait   func() error
	log    *buffer // what it writes to stderr
}

// signal sends a signal that ends the server.
func (s *served) signal(sig os.Signal) {
	s.t.Helper()
	s.ending = true
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// startServe makes tokens for users, by the names of their files, and starts "gjc serve". It ends with the test.
func startServe(t *testing.T, tokens map[string]string, args ...string) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("several users are not kept apart here")
	}
	s := &served{t: t, home: tempDir(t)}
	s.dir = filepath.Join(s.home, "team")
	if i := slices.Index(args, "--serve-dir"); i >= 0 {
		s.dir = args[i+1]
	}
	for file, flags := range tokens {
		secret := s.gjc(append([]string{"serve", "token", "create", "--serve-dir", s.dir}, strings.Fields(flags)...)...)
		if err := os.WriteFile(s.token(file), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := self(t)
	if slices.Contains(args, "--uids") { // other users cannot run the test binary where it is
		data, err := os.ReadFile(program)
		if err == nil {
			program = filepath.Join(s.dir, "gjc.test")
			err = os.WriteFile(program, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.cmd = &exec.Cmd{
		Path: program, Args: append([]string{"gjc", "serve", "--listen", "127.0.0.1:0", "--serve-dir", s.dir}, args...),
		Env: environment(s.home, "OPERATORS_KEY=the operator's key"), Dir: s.home,
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(buffer)
	s.cmd.Stderr, s.log = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.wait = sync.OnceValue(s.cmd.Wait)
	t.Cleanup(func() {
		if !s.ending {
			s.signal(os.Interrupt)
		}
		if err := s.wait(); err != nil && !s.killed {
			t.Errorf("gjc serve: %v", err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	var first struct{ Listening string }
	if err != nil || json.Unmarshal([]byte(line), &first) != nil {
		t.Fatalf("the first line is %q, %v; %s", line, err, log)
	}
	s.url = first.Listening
	return s
}

// gjc runs a command and returns its output.
func (s *served) gjc(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), self(s.t), args...)
	cmd.Env = environment(s.home)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("gjc %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// token returns the path of a file with a token.
func (s *served) token(name string) string { return filepath.Join(s.home, name+".token") }

// connect starts "gjc connect" with a token.
func (s *served) connect(token string) *peer {
	s.t.Helper()
	return startPeer(s.t, peerOptions{command: []string{"connect", s.url, "--token-file", s.token(token)}})
}

// get sends a request and returns the status and the body. Without the name of a token it has none.
func (s *served) get(token, path string, edit func(*http.Request)) (status int, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/acp")+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		secret, err := os.ReadFile(s.token(token))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	}
	if edit != nil {
		edit(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestServe_Guard(t *testing.T) {
	t.Parallel()
	s := startServe(t, map[string]string{"ann": "--user ann", "ops": "--user ops --scopes admin"})
	evil := func(name string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set(name, "http://evil.example.com")
			if name == "Host" {
				r.Host = "evil.example.com"
			}
		}
	}
	for _, c := range []struct {
		token, path string
		edit        func(*http.Request)
		status      int
		text        string
	}{
		{"", "/healthz", nil, 200, "ok"},
		{"", "/readyz", nil, 200, "ok"},
		{"ops", "/metrics", nil, 200, "\ngjc_connections 0\n"},
		{"ann", "/metrics", nil, 403, `the token lacks the scope "admin"`},
		{"", "/metrics", nil, 401, "the token is missing or wrong"},
		{"", "/acp", nil, 401, "the token is missing or wrong"},
		{"ops", "/acp", nil, 403, `the token lacks the scope "read"`},
		{"ann", "/acp", evil("Host"), 421, `this server is not "evil.example.com"; --host gives it another name`},
		{"ann", "/acp", evil("Origin"), 403, "requests of web pages are refused"},
		{"ann", "/tokens.json", nil, 404, ""},
	} {
		if status, body := s.get(c.token, c.path, c.edit); status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s with the token %q: %d %s", c.path, c.token, status, body)
		}
	}
	s.gjc("serve", "token", "revoke", "--serve-dir", s.dir, "ops")
	if status, body := s.get("ops", "/metrics", nil); status != 401 || !strings.Contains(body, "revoked; ask for a new one") {
		t.Errorf("with a revoked token: %d %s", status, body)
	}
	audit, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
	if err != nil || strings.Count(string(audit), `"event":"refused"`) != 7 {
		t.Errorf("the audit log is %s, %v", audit, err)
	}
}

// TestServe_Users checks that users are kept apart by bubblewrap.
func TestServe_Users(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root gives each user one of the operating system; TestServe_UsersAsRoot")
	}
	testenv.NeedsTool(t, "bwrap")
	testUsers(t)
}

// passable returns a new directory through which other users of the operating system can pass.
func passable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe_UsersAsRoot checks that users are kept apart by users of the operating system.
func TestServe_UsersAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run engines as other users")
	}
	dir := passable(t)
	testUsers(t, "--uids", "272000-272009", "--serve-dir", dir)
}

// firstOption returns the first option of a permission request.
func firstOption(t *testing.T, m message) string {
	t.Helper()
	var p struct{ Options []struct{ OptionID string } }
	if err := json.Unmarshal(m.Params, &p); err != nil || len(p.Options) == 0 {
		t.Fatalf("a question without options: %s", m.line)
	}
	return p.Options[0].OptionID
}

func testUsers(t *testing.T, args ...string) {
	t.Helper()
	s := startServe(t, map[string]string{"ann": "--user ann", "bob": "--user bob", "eve": "--user bob --max-sessions 1"}, args...)
	ann, bob := s.connect("ann"), s.connect("bob")
	shell := func(p *peer, session, command string) string {
		t.Helper()
		id := p.prompt(session, "!bash "+command)
		var text strings.Builder
		for {
			m, before := p.until("the end of "+command, func(m message) bool {
				return m.isResponse() && string(m.ID) == id || m.Method == "session/request_permission"
			})
			text.WriteString(strings.Join(lines(before), "\n"))
			if m.isResponse() {
				return text.String()
			}
			// The user lets commands out of their sandbox, too.
			p.reply(m, `{"outcome":{"outcome":"selected","optionId":"`+firstOption(t, m)+`"}}`)
		}
	}
	// Each user has files, sessions and settings of their own.
	open := func(p *peer, user string) string {
		t.Helper()
		p.initialize(object{})
		p.work = filepath.Join(s.dir, "users", user)
		return p.session("auto")
	}
	annID, bobID := open(ann, "ann"), open(bob, "bob")
	if got := shell(ann, annID, "echo private words > note; cat note; id -un; echo home=$HOME"); !strings.Contains(got, "private words") || !strings.Contains(got, "home="+filepath.Join(s.dir, "users", "ann")) {
		t.Errorf("ann: %s", got)
	}
	for _, command := range []string{
		"cat ../ann/note",
		"find .. -name '*.jsonl' | xargs cat",
		"cat " + filepath.Join(s.dir, "tokens.json"),
		"env",
		"cat /proc/*/environ | tr '\\0' '\\n'",
	} {
		if got := shell(bob, bobID, command); regexp.MustCompile(`private words\\n|"hash"|the operator's key|GJC_TEST_AS_GJC`).MatchString(got) {
			t.Errorf("bob: %s: %s", command, got)
		}
	}
	var list struct {
		Sessions []struct{ SessionID string }
	}
	if err := json.Unmarshal(bob.call("session/list", object{}), &list); err != nil {
		t.Fatal(err)
	}
	for _, session := range list.Sessions {
		if session.SessionID != bobID {
			t.Errorf("bob sees the session %s", session.SessionID)
		}
	}
	id := bob.request("session/load", object{"sessionId": annID, "cwd": bob.work, "mcpServers": []string{}})
	if answer, _ := bob.answer(id); answer.Error == nil {
		t.Error("bob loads a session of ann's")
	}
	// A limit of a token.
	eve := s.connect("eve")
	open(eve, "bob")
	id = eve.request("session/new", object{"cwd": bob.work, "mcpServers": []string{}})
	if answer, _ := eve.answer(id); answer.Error == nil || !strings.Contains(answer.Error.Message, "1 sessions; close one") {
		t.Errorf("a second session: %+v", answer)
	}
	// A connection ends soon after its token is revoked.
	s.gjc("serve", "token", "revoke", "--serve-dir", s.dir, "bob")
	for _, p := range []*peer{bob, eve} {
		select {
		case <-p.ended:
			<-p.drained
			if text := p.stderrText.String(); !strings.Contains(text, "the token is revoked; ask for a new one") {
				t.Errorf("the client of a revoked token says %q", text)
			}
		case <-time.After(time.Minute):
			t.Error("the connection of a revoked token goes on")
			p.stop()
		}
	}
	ann.stop()
}

// ownToken makes a file for --token-file.
func ownToken(t *testing.T) string {
	t.Helper()
	file := filepath.Join(tempDir(t), "own.token")
	if err := os.WriteFile(file, []byte("0123456789abcdef0123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestServe_Drain checks that after SIGTERM running turns end, and none begins.
func TestServe_Drain(t *testing.T) {
	t.Parallel()
	token := ownToken(t)
	s := startServe(t, nil, "--token-file", token)
	p := startPeer(t, peerOptions{command: []string{"connect", s.url, "--token-file", token}})
	p.initialize(object{})
	id := p.session("auto")
	turn := p.prompt(id, "!bash until test -e go; do sleep 0.02; done; echo released")
	p.until("the command", func(m message) bool { return strings.Contains(m.line, `"in_progress"`) })
	s.signal(syscall.SIGTERM)
	for status := 0; status != 503; {
		status, _ = s.get("", "/readyz", nil)
	}
	if answer, _ := p.answer(p.request("session/new", object{"cwd": p.work, "mcpServers": []any{}})); answer.Error == nil || !strings.Contains(answer.line, `"kind":"shutdown"`) {
		t.Errorf("a new session: %s", answer.line)
	}
	if answer, _ := p.answer(p.prompt(id, "!say no")); answer.Error == nil || !strings.Contains(answer.Error.Message, "connect again in a moment") {
		t.Errorf("a new turn: %s", answer.line)
	}
	if err := os.WriteFile(filepath.Join(p.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answer, before := p.answer(turn)
	if !strings.Contains(answer.line, "end_turn") || !strings.Contains(strings.Join(lines(before), ""), "released") {
		t.Errorf("the turn ends with %s", answer.line)
	}
	p.stop() // the command ends in time, though its server is gone
}

// TestServe_DrainIsBounded checks that a turn that does not end in time is cancelled, and answered.
func TestServe_DrainIsBounded(t *testing.T) {
	t.Parallel()
	token := ownToken(t)
	s := startServe(t, nil, "--token-file", token, "--drain", "100ms")
	p := startPeer(t, peerOptions{command: []string{"connect", s.url, "--token-file", token, "--retry", "1s"}})
	p.initialize(object{})
	id := p.session("auto")
	turn := p.prompt(id, "!bash sleep 600")
	p.until("the command", func(m message) bool { return strings.Contains(m.line, `"in_progress"`) })
	s.signal(syscall.SIGTERM)
	if answer, _ := p.answer(turn); !strings.Contains(answer.line, `"cancelled"`) {
		t.Errorf("the turn ends with %s", answer.line)
	}
	<-p.ended
}

// TestServe_Reload checks that after SIGHUP the audit log is a new file.
func TestServe_Reload(t *testing.T) {
	t.Parallel()
	s := startServe(t, map[string]string{"ann": "--user ann"})
	s.get("", "/metrics", nil)
	audit := filepath.Join(s.dir, "audit.jsonl")
	if err := os.Rename(audit, audit+".1"); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(audit); err != nil; _, err = os.Stat(audit) {
		time.Sleep(5 * time.Millisecond)
	}
	s.get("", "/metrics", nil)
	for _, name := range []string{audit, audit + ".1"} {
		if data, err := os.ReadFile(name); err != nil || strings.Count(string(data), "\n") != 1 {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
}

// TestServe_Store checks that users who share a database have only their own sessions there.
func TestServe_Store(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root gives each user one of the operating system, who cannot reach the database's socket")
	}
	testenv.NeedsTool(t, "bwrap")
	cluster := new(postgrestest.Cluster)
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	address := cluster.Database(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := startServe(t, map[string]string{"ann": "--user ann", "bob": "--user bob"}, "--store", address, "--share", u.Query().Get("host"))
	talk := func(user string) (session string) {
		t.Helper()
		p := s.connect(user)
		defer p.stop()
		p.initialize(object{})
		p.work = filepath.Join(s.dir, "users", user)
		session = p.session("auto")
		p.say(session, user+"-words")
		var list struct{ Sessions []struct{ SessionID string } }
		if err := json.Unmarshal(p.call("session/list", object{}), &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != session {
			t.Errorf("%s has the sessions %+v, %v", user, list, err)
		}
		if answer, _ := p.answer(p.prompt(session, "!bash env | grep -c GJC_STORE")); !strings.Contains(answer.line, "end_turn") {
			t.Errorf("%s: %s", user, answer.line)
		}
		return session
	}
	annID, bobID := talk("ann"), talk("bob")
	for user, id := range map[string]string{"ann": annID, "bob": bobID} {
		rows := postgrestest.Rows(t, address, "SELECT DISTINCT owner FROM gjc_files JOIN gjc_data ON file = id WHERE encode(data, 'escape') LIKE '%"+user+"-words%'")
		if len(rows) != 1 || !strings.HasSuffix(rows[0], "_"+user) {
			t.Errorf("the words of %s in session %s belong to %q", user, id, rows)
		}
	}
	// A later connection has the session, whatever server serves it.
	p := s.connect("ann")
	p.initialize(object{})
	if answer, before := p.answer(p.request("session/load", object{"sessionId": annID, "cwd": filepath.Join(s.dir, "users", "ann"), "mcpServers": []any{}})); answer.Error != nil || !strings.Contains(strings.Join(lines(before), ""), "ann-words") {
		t.Errorf("loading it again: %s", answer.line)
	}
	p.stop()
}

// TestServe_Workspace checks whose files a session gets.
func TestServe_Workspace(t *testing.T) {
	t.Parallel()
	workspace, elsewhere, token := tempDir(t), tempDir(t), ownToken(t)
	s := startServe(t, nil, "--token-file", token, "--workspace", workspace)
	for _, c := range []struct {
		name, cwd    string
		capabilities object
		want         string
	}{
		{"in the workspace", workspace, object{}, `"gjc/files":"server"`},
		{"in the workspace, with files of its own", filepath.Join(workspace, "new"), object{"fs": object{"readTextFile": true, "writeTextFile": true}}, `"gjc/files":"server"`},
		{"elsewhere, with files of its own", elsewhere, object{"fs": object{"readTextFile": true, "writeTextFile": true}}, `"gjc/files":"client"`},
		{"elsewhere", elsewhere, object{}, `"kind":"no_workspace"`},
		{"out of the workspace by its name", workspace + "/../" + filepath.Base(elsewhere), object{}, `"kind":"no_workspace"`},
	} {
		p := startPeer(t, peerOptions{command: []string{"connect", s.url, "--token-file", token}})
		p.initialize(c.capabilities)
		answer, _ := p.answer(p.request("session/new", object{"cwd": c.cwd, "mcpServers": []any{}}))
		if !strings.Contains(answer.line, c.want) {
			t.Errorf("%s: %s", c.name, answer.line)
		}
		p.stop()
	}
}

// TestServe_Logs checks that each line of the log is an object, that it names the user and the session, and that it has no content.
func TestServe_Logs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the test's directory is root's")
	}
	testenv.NeedsTool(t, "bwrap")
	s := startServe(t, map[string]string{"ann": "--user ann"}, "--log-level", "debug")
	p := s.connect("ann")
	p.initialize(object{})
	p.work = filepath.Join(s.dir, "users", "ann")
	id := p.session("auto")
	p.say(id, "zebra words")
	if answer, _ := p.answer(p.prompt(id, "!bash echo zebra output; cat zebra-file")); !strings.Contains(answer.line, "end_turn") {
		t.Error(answer.line)
	}
	_ = p.request("session/prompt", object{"sessionId": id, "prompt": "zebra malformed"})
	p.stop()
	s.signal(syscall.SIGTERM)
	_ = s.wait() // reported at the end
	users, turns := 0, 0
	for line := range strings.Lines(s.log.String()) {
		var has map[string]any
		if err := json.Unmarshal([]byte(line), &has); err != nil {
			t.Errorf("not an object: %s", line)
		}
		if strings.Contains(line, "zebra") {
			t.Errorf("content: %s", line)
		}
		if has["user"] == "ann" {
			users++
		}
		if has["method"] == "session/prompt" && has["session"] == id && has["outcome"] == "end_turn" {
			turns++
		}
	}
	if users < 6 || turns != 2 {
		t.Errorf("%d lines name the user, %d turns:\n%s", users, turns, s.log.String())
	}
}
