package conformance

import (
	"os"
	"path/filepath"
	"strings"
)

var filesChecks = []Check{
	{"files.read.used", TierShould, "Files are read from the client, so that unsaved text is seen.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.buffer(p.file("notes.txt", "on the disk\n"), "in the buffer\n")
		u := p.purpose(id, PurposeRead, "file", "notes.txt")
		u.stop()
		c := u.tool()
		if p.find(u.index, func(m *message) bool { return m.method == "fs/read_text_file" }) == nil {
			t.failAt(c.first, "the client reads files and was not asked")
		}
	}},
	{"files.read.absolute", TierMust, "fs/read_text_file has an absolute path.", pageFiles, watchCall("fs/read_text_file", absolutePath)},
	{"files.read.lines", TierMust, "The line of fs/read_text_file, if any, counts from 1.", pageFiles, watchCall("fs/read_text_file", func(params any) string {
		line, ok := at(params, "line").(float64)
		return map[bool]string{true: "the line is " + excerpt(at(params, "line"))}[ok && line < 1]
	})},
	{"files.read.session", TierMust, "File requests name the session.", pageFiles, watchOne("file request", func(m *message) (bool, string) {
		if !strings.HasPrefix(m.method, "fs/") {
			return false, ""
		}
		return true, map[bool]string{true: "the request names no session"}[m.session() == ""]
	})},
	{"files.read.error", TierMust, "An error of the client's makes a failed tool call, and the turn goes on.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.file("notes.txt", "x\n")
		p.on("fs/read_text_file", func(m *message) { p.replyError(m, -32603, "the editor has a problem") })
		u := p.purpose(id, PurposeRead, "file", "notes.txt")
		u.seesCall("fs/read_text_file")
		u.stop()
	}},
	{"files.read.malformed", TierMust, "A malformed answer to fs/read_text_file does not end the turn with an error.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.file("notes.txt", "x\n")
		p.on("fs/read_text_file", func(m *message) { p.reply(m, object{"text": 7}) })
		u := p.purpose(id, PurposeRead, "file", "notes.txt")
		u.seesCall("fs/read_text_file")
		u.stop()
	}},
	{"files.write.used", TierShould, "Files are written by the client, so that the user sees the change.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		u := p.purpose(id, PurposeWrite, "file", "new.txt", "text", "written")
		u.stop()
		c := u.tool()
		if p.find(u.index, func(m *message) bool { return m.method == "fs/write_text_file" }) == nil {
			t.failAt(c.first, "the client writes files and was not asked")
		}
	}},
	{"files.write.absolute", TierMust, "fs/write_text_file has an absolute path.", pageFiles, watchCall("fs/write_text_file", absolutePath)},
	{"files.write.content", TierMust, "What is written is what the model wanted.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		u := p.purpose(id, PurposeWrite, "file", "new.txt", "text", "written")
		m := u.seesCall("fs/write_text_file")
		u.stop()
		if str(m.params, "path") != filepath.Join(p.work, "new.txt") || !strings.Contains(str(m.params, "content"), "written") {
			t.failAt(m, "the model writes new.txt, and the client is asked for this")
		}
	}},
	{"files.write.buffer", TierMust, "A change of an unsaved buffer keeps what is in it.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.buffer(p.file("edit.txt", "alpha\n"), "unsaved\nalpha\n")
		u := p.purpose(id, PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")
		m := u.seesCall("fs/write_text_file")
		u.stop()
		if text := str(m.params, "content"); !strings.Contains(text, "unsaved") || !strings.Contains(text, "omega") {
			t.failAt(m, "the buffer had an unsaved line, and is overwritten without it")
		}
	}},
	{"files.write.error", TierMust, "A write that the client refuses makes a failed tool call.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.on("fs/write_text_file", func(m *message) { p.replyError(m, -32603, "the file is read-only") })
		u := p.purpose(id, PurposeWrite, "file", "new.txt", "text", "written")
		u.seesCall("fs/write_text_file")
		u.stop()
		if c := u.tool(); c.status() != "failed" {
			t.failAt(c.events[len(c.events)-1], "the client refused to write and %v is %s", c, c.status())
		}
	}},
	{"files.write.no-way-round", TierShould, "A write that the client refuses is not done behind its back.", pageFiles, func(t *trial) {
		p, id := t.session(withFiles)
		p.on("fs/write_text_file", func(m *message) { p.replyError(m, -32603, "the file is read-only") })
		u := p.purpose(id, PurposeWrite, "file", "new.txt", "text", "written")
		u.seesCall("fs/write_text_file")
		u.answer()
		if _, err := os.Stat(filepath.Join(p.work, "new.txt")); err == nil {
			t.failf("the client refused to write new.txt, and it is there")
		}
	}},
}

func absolutePath(params any) string {
	return map[bool]string{false: "the path is not absolute"}[filepath.IsAbs(str(params, "path"))]
}
