package conformance

import (
	"path/filepath"
	"strings"
)

// refusingCall makes the client answer a method with an error.
func refusingCall(method string) func(*scene) {
	return func(s *scene) { s.on(method, s.breakdown) }
}

// answering makes the client answer a method with a result.
func answering(method string, result object) func(*scene) {
	return func(s *scene) { s.on(method, func(m *message) { s.reply(m, result) }) }
}

// calling returns a check that a turn for a purpose succeeds and calls a method of the client. prepare sets up the client; then
// checks the call. The file notes.txt has the unsaved text "in the buffer", and edit.txt has an unsaved line.
func calling(capabilities object, method string, prepare func(*scene), then func(u *turn, m *message), purpose Purpose, values ...string) func(*trial) {
	return inSessionFor(capabilities, func(s *scene) {
		s.buffer(s.file("notes.txt", "on the disk\n"), "in the buffer\n")
		s.buffer(s.file("edit.txt", "alpha\n"), "unsaved\nalpha\n")
		prepare(s)
		u := s.ask(purpose, values...)
		m := u.seesCall(method)
		u.stop()
		then(u, m)
	})
}

// reading, writing and commanding are like calling, for a turn that reads a file, writes a file, and runs a command.
func reading(prepare func(*scene), then func(u *turn, m *message)) func(*trial) {
	return calling(withFiles, "fs/read_text_file", prepare, then, PurposeRead, "file", "notes.txt")
}

func writing(prepare func(*scene), then func(u *turn, m *message)) func(*trial) {
	return calling(withFiles, "fs/write_text_file", prepare, then, PurposeWrite, "file", "new.txt", "text", "written")
}

func commanding(prepare func(*scene), then func(u *turn, m *message)) func(*trial) {
	return calling(withTerminals, "terminal/create", prepare, then, PurposeCommand, "file", "ran.txt", "text", "ran")
}

func asUsual(*scene)       {}
func ends(*turn, *message) {}

// uses returns a check that a turn whose model calls a tool calls a method of the client.
func uses(capabilities object, method, complaint string, purpose Purpose, values ...string) func(*trial) {
	return inSessionFor(capabilities, func(s *scene) {
		s.buffer(s.file("notes.txt", "on the disk\n"), "in the buffer\n")
		u := s.ask(purpose, values...)
		if c := u.tool(); !u.called(method) {
			s.failAt(c.first, "%s", complaint)
		}
	})
}

var filesChecks = []Check{
	{"files.read.used", TierShould, "Files are read from the client, so that unsaved text is seen.", pageFiles, uses(withFiles, "fs/read_text_file", "the client reads files and was not asked", PurposeRead, "file", "notes.txt")},
	{"files.read.absolute", TierMust, "fs/read_text_file has an absolute path.", pageFiles, watchCall("fs/read_text_file", absolutePath)},
	{"files.read.lines", TierMust, "The line of fs/read_text_file, if any, counts from 1.", pageFiles, watchCall("fs/read_text_file", lineFrom1)},
	{"files.read.session", TierMust, "File requests name the session.", pageFiles, watchSession("fs/", "file request")},
	{"files.read.error", TierMust, "An error of the client's makes a failed tool call, and the turn goes on.", pageFiles, reading(refusingCall("fs/read_text_file"), ends)},
	{"files.read.malformed", TierMust, "A malformed answer to fs/read_text_file does not end the turn with an error.", pageFiles, reading(answering("fs/read_text_file", object{"text": 7}), ends)},
	{"files.write.used", TierShould, "Files are written by the client, so that the user sees the change.", pageFiles, uses(withFiles, "fs/write_text_file", "the client writes files and was not asked", PurposeWrite, "file", "new.txt", "text", "written")},
	{"files.write.absolute", TierMust, "fs/write_text_file has an absolute path.", pageFiles, watchCall("fs/write_text_file", absolutePath)},
	{"files.write.content", TierMust, "What is written is what the model wanted.", pageFiles, writing(asUsual, func(u *turn, m *message) {
		if str(m.params, "path") != filepath.Join(u.work, "new.txt") || !strings.Contains(str(m.params, "content"), "written") {
			u.failAt(m, "the model writes new.txt, and the client is asked for this")
		}
	})},
	{"files.write.buffer", TierMust, "A change of an unsaved buffer keeps what is in it.", pageFiles, calling(withFiles, "fs/write_text_file", asUsual, func(u *turn, m *message) {
		if text := str(m.params, "content"); !strings.Contains(text, "unsaved") || !strings.Contains(text, "omega") {
			u.failAt(m, "the buffer had an unsaved line, and is overwritten without it")
		}
	}, PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"files.write.error", TierMust, "A write that the client refuses makes a failed tool call.", pageFiles, writing(refusingCall("fs/write_text_file"), func(u *turn, _ *message) {
		u.wants(u.tool(), "failed", "the client refused to write")
	})},
	{"files.write.no-way-round", TierShould, "A write that the client refuses is not done by other means.", pageFiles, writing(refusingCall("fs/write_text_file"), func(u *turn, _ *message) {
		if u.exists("new.txt") {
			u.failf("the client refused to write new.txt, and it is there")
		}
	})},
}

// wantsReleased checks that the agent releases every terminal.
func (p *peer) wantsReleased() {
	issued := make(map[string]*message)
	creations := make(map[string]bool)
	for _, m := range p.messages(0) {
		switch {
		case !m.sent && m.method == "terminal/create":
			creations[m.id] = true
		case m.sent && m.isResponse() && creations[m.id] && m.hasResult:
			issued[str(m.result, "terminalId")] = m
		case !m.sent && m.method == "terminal/release":
			delete(issued, str(m.params, "terminalId"))
		}
	}
	for id, m := range issued {
		p.failAt(m, "the terminal %s is not released", id)
	}
}

// released returns a check that the terminal of a command is released.
func released(prepare func(*scene)) func(*trial) {
	return commanding(prepare, func(u *turn, _ *message) {
		u.awaitQuiet()
		u.wantsReleased()
	})
}

var terminalChecks = []Check{
	{"terminal.used", TierShould, "Commands run in the client's terminals, so that the user sees them.", pageTerminals, uses(withTerminals, "terminal/create", "the client has terminals and was not asked for one", PurposeCommand, "file", "ran.txt", "text", "ran")},
	{"terminal.create.command", TierMust, "terminal/create has a command.", pageTerminals, watchCall("terminal/create", notBlank("command", "the command is empty"))},
	{"terminal.create.cwd", TierMust, "The cwd of terminal/create, if any, is absolute.", pageTerminals, watchCall("terminal/create", func(params any) string {
		cwd := at(params, "cwd")
		return when(cwd != nil && !filepath.IsAbs(str(params, "cwd")), "the cwd is "+excerpt(cwd))
	})},
	{"terminal.create.session-cwd", TierShould, "A command runs in the session's cwd.", pageTerminals, commanding(asUsual, func(u *turn, m *message) {
		if str(m.params, "cwd") != u.work {
			u.failAt(m, "the session's cwd is %s", u.work)
		}
	})},
	{"terminal.create.limit", TierShould, "terminal/create has an output limit, above zero.", pageTerminals, watchCall("terminal/create", func(params any) string {
		limit, _ := at(params, "outputByteLimit").(float64)
		return when(limit <= 0, "the limit is "+excerpt(at(params, "outputByteLimit")))
	})},
	{"terminal.create.session", TierMust, "Terminal requests name a session.", pageTerminals, watchSession("terminal/", "terminal request")},
	{"terminal.create.error", TierMust, "A terminal that cannot be created makes a failed tool call, and the turn goes on.", pageTerminals, commanding(refusingCall("terminal/create"), func(u *turn, _ *message) {
		if !u.exists("ran.txt") {
			u.wants(u.tool(), "failed", "the terminal was not created, nothing was run")
		}
	})},
	{"terminal.create.malformed", TierMust, "A malformed answer to terminal/create does not end the turn with an error.", pageTerminals, commanding(answering("terminal/create", object{"terminalId": 7}), ends)},
	{"terminal.own", TierMust, "Terminal requests name terminals that the client gave out.", pageTerminals, watch("request about a terminal", func() look {
		creations := make(map[string]bool)
		issued := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case !m.sent && m.method == "terminal/create":
				creations[m.id] = true
			case m.sent && m.isResponse() && creations[m.id]:
				issued[str(m.result, "terminalId")] = true
			case !m.sent && strings.HasPrefix(m.method, "terminal/"):
				return true, when(!issued[str(m.params, "terminalId")], "there is no such terminal")
			}
			return false, ""
		}
	})},
	{"terminal.dead", TierMust, "A released terminal is not used again.", pageTerminals, watch("terminal/release", func() look {
		dead := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent || !strings.HasPrefix(m.method, "terminal/") {
				return false, ""
			}
			id := str(m.params, "terminalId")
			if dead[id] && id != "" {
				return true, "the terminal " + id + " was released before"
			}
			dead[id] = dead[id] || m.method == "terminal/release"
			return dead[id], ""
		}
	})},
	{"terminal.embedded", TierShould, "The tool call shows the terminal, before it is released.", pageTerminals, commanding(asUsual, func(u *turn, _ *message) {
		for _, m := range u.all() {
			if m.content("terminal") != nil {
				return
			}
			if m.method == "terminal/release" {
				u.failAt(m, "the terminal is released before any tool call has shown it")
			}
		}
		u.failf("no tool call shows the terminal")
	})},
	{"terminal.released", TierMust, "A terminal is released when its command has ended.", pageTerminals, released(asUsual)},
	{"terminal.released.wait-error", TierMust, "A terminal is released when waiting for it fails.", pageTerminals, released(refusingCall("terminal/wait_for_exit"))},
	{"terminal.released.output-error", TierMust, "A terminal is released when its output cannot be had.", pageTerminals, released(refusingCall("terminal/output"))},
	{"terminal.released.failure", TierMust, "A terminal is released when its command fails.", pageTerminals, released(answering("terminal/wait_for_exit", object{"exitCode": 3}))},
	{"terminal.released.cancel", TierMust, "A terminal is released when its turn is cancelled.", pageTerminals, func(t *trial) {
		u := t.slowCommand()
		u.cancels()
		u.awaitQuiet()
		u.wantsReleased()
	}},
	{"terminal.exit-code", TierShould, "A command that fails makes a failed tool call.", pageTerminals, commanding(func(s *scene) {
		failed := object{"exitCode": 3, "signal": nil}
		answering("terminal/wait_for_exit", failed)(s)
		answering("terminal/output", object{"output": "no\n", "truncated": false, "exitStatus": failed})(s)
	}, func(u *turn, _ *message) {
		u.wants(u.tool(), "failed", "the command ended with code 3")
	})},
}
