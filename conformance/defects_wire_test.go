package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// usageLine modifies the lines with a usage_update.
func usageLine(change func(line []byte) []byte) func([]byte) []byte {
	return func(line []byte) []byte {
		if bytes.Contains(line, []byte("usage_update")) {
			return change(line)
		}
		return line
	}
}

// mangles returns a defect that replaces one response ID by another.
func mangles(check, from, to string) defect {
	return defect{name: "mangles-" + check, trips: []string{"jsonrpc.id." + check}, out: func(_ *fake, m object) bool {
		if string(rawID(m)) == from {
			m["id"] = jsonx.Raw(to)
		}
		return true
	}}
}

// fatal returns a defect that crashes on a line.
func fatal(check, text string) defect {
	return defect{name: "dies-of-" + check, trips: []string{check}, line: onLine(containing(text), dies)}
}

func wireDefects() []defect {
	return []defect{
		{name: "logs-to-stdout", trips: ids("transport.stdout.json"), raw: usageLine(func(l []byte) []byte { return append([]byte("log: "), l...) })},
		{name: "pretty-prints", trips: ids("transport.stdout.one-line transport.stdout.json"), raw: usageLine(func(l []byte) []byte {
			return bytes.Replace(l, []byte("{"), []byte("{\n"), 1)
		})},
		{name: "latin-1", trips: ids("transport.stdout.utf8"), raw: func(l []byte) []byte {
			return bytes.ReplaceAll(l, []byte("A talk"), []byte("A t\xe4lk"))
		}},
		{name: "blank-lines", trips: ids("transport.stdout.no-blank-lines"), raw: usageLine(func(l []byte) []byte { return append(l, '\n') })},
		{name: "talks-first", trips: ids("transport.stdout.silent-start")},
		{name: "traces-to-stderr", trips: ids("transport.stderr.no-messages"), out: func(f *fake, m object) bool {
			fmt.Fprintf(f.stderr, "%s\n", encode(m))
			return true
		}},
		{name: "reads-are-messages", trips: ids("transport.split-writes")},
		{name: "one-message-a-read", trips: ids("transport.many-in-one-write"), hangs: true},
		{name: "no-crlf", trips: ids("transport.crlf"), line: onLine(func(l string) bool { return strings.HasSuffix(l, "}\r\n") }, errs(codeParse))},
		{name: "answers-blank-lines", trips: ids("transport.blank-lines"), line: onLine(func(l string) bool { return strings.TrimSpace(l) == "" }, errs(codeParse))},
		{name: "no-white-space", trips: ids("transport.whitespace"), hangs: true, line: onLine(func(l string) bool { return l[0] == ' ' && strings.Contains(l, "{") }, errs(codeParse))},
		{name: "short-lines", trips: ids("transport.long-line transport.very-long-line"), line: onLine(func(l string) bool { return len(l) > 1<<20 }, dies)},
		{name: "medium-lines", trips: ids("transport.very-long-line"), line: onLine(func(l string) bool { return len(l) > 8<<20 }, dies)},
		{name: "loses-what-is-read-late", trips: ids("transport.slow-reader"), hangs: true, line: func(f *fake, l []byte) bool {
			return strings.Contains(string(l), `"padding"`) && len(l) < 1<<20 && f.count("padding") > 20
		}},
		fatal("transport.deep-nesting", "[[[[[["),

		{name: "no-version", trips: ids("jsonrpc.version.sent"), out: func(_ *fake, m object) bool {
			if isUpdate("usage_update")(m) {
				delete(m, "jsonrpc")
			}
			return true
		}},
		{name: "version-missing", trips: ids("jsonrpc.version.missing"), in: on("", func(m *message) bool { return m.value["jsonrpc"] == nil }, dying)},
		{name: "version-other", trips: ids("jsonrpc.version.other"), in: on("", func(m *message) bool { return m.value["jsonrpc"] != nil && m.value["jsonrpc"] != "2.0" }, dying)},
		mangles("number", "4711", `"4711"`), mangles("zero", "0", "null"), mangles("negative", "-7", "7"),
		mangles("big-number", "9007199254740993", "9007199254740992"), mangles("string", `"4712"`, "4712"),
		mangles("uuid", `"6F9619FF-8B86-D011-B42D-00C04FC964FF"`, `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`),
		mangles("empty-string", `""`, "null"), mangles("unicode", `"ü \"quoted\" \\ 😀"`, `"quoted"`),
		fatal("jsonrpc.id.null", `"id":null,"method"`), fatal("jsonrpc.id.wrong-type", `"id":{}`),
		{name: "dies-of-twins", trips: ids("jsonrpc.id.duplicate"), in: on("", func(m *message) bool { return m.id == `"twin"` }, func(f *fake, m *message) bool {
			if f.count("twin") > 1 {
				f.die()
			}
			return false
		})},
		{name: "ids-once", trips: ids("jsonrpc.id.reused"), hangs: true, in: on("", func(m *message) bool { return m.id == `"again"` }, func(f *fake, m *message) bool {
			return f.count("again") > 1
		})},
		{name: "answers-twice", trips: ids("jsonrpc.response.once"), out: after(func(m object) bool { return has(m["result"], "sessions") }, func(_ *fake, m object) object {
			return object{"id": m["id"], "result": object{}}
		})},
		{name: "answers-nobody", trips: ids("jsonrpc.response.asked"), out: after(isUpdate("usage_update"), func(*fake, object) object {
			return object{"id": 424242, "result": object{}}
		})},
		{name: "result-and-error", trips: ids("jsonrpc.response.result-xor-error"), out: func(_ *fake, m object) bool {
			if has(m["result"], "sessions") {
				m["error"] = nil
			}
			return true
		}},
		{name: "wordless-errors", trips: ids("jsonrpc.error.shape"), out: func(_ *fake, m object) bool {
			if e, ok := m["error"].(map[string]any); ok {
				e["message"] = ""
			}
			return true
		}},
		{name: "one-id", trips: ids("jsonrpc.request.ids-unique")},
		{name: "knows-any-method", trips: ids("jsonrpc.method.unknown"), in: on("no/such/method", always, replying(object{}))},
		{name: "nameless-method", trips: ids("jsonrpc.method.empty"), in: func(f *fake, m *message) bool {
			if m.method == "" {
				f.reply(m, object{})
			}
			return m.method == ""
		}},
		{name: "case-insensitive", trips: ids("jsonrpc.method.case"), in: on("Session/New", always, replying(object{"sessionId": "x"}))},
		{name: "plays-client", trips: ids("jsonrpc.method.of-the-client"), in: on("fs/read_text_file", always, replying(object{"content": ""}))},
		fatal("jsonrpc.method.wrong-type", `"method":7`),
		{name: "params-missing", trips: ids("jsonrpc.params.missing"), in: on("session/new", func(m *message) bool { return !has(m.value, "params") }, replying(object{"sessionId": "x"}))},
		{name: "params-string", trips: ids("jsonrpc.params.string"), in: on("session/new", func(m *message) bool { return m.params == any("cwd") }, replying(object{"sessionId": "x"}))},
		{name: "params-number", trips: ids("jsonrpc.params.number"), in: on("session/prompt", func(m *message) bool { return m.params == any(7.0) }, replying(object{"stopReason": "end_turn"}))},
		{name: "params-array", trips: ids("jsonrpc.params.array"), in: on("session/new", func(m *message) bool { return list(m.params) != nil }, replying(object{"sessionId": "x"}))},
		{name: "params-empty", trips: ids("jsonrpc.params.empty"), in: on("session/prompt", not(paramHas("sessionId")), refusing(-32603))},
		{name: "silent-on-junk", trips: ids("jsonrpc.junk.words"), hangs: true, line: onLine(containing("this is not"), ignores)},
		{name: "cut-off-code", trips: ids("jsonrpc.junk.cut-off"), line: onLine(containing(`"id":"cut"`), errs(codeParams))},
		{name: "first-of-two", trips: ids("jsonrpc.junk.two-values"), line: onLine(containing(`"two"`), func(f *fake, _ []byte) { f.replyTo(`"one"`, object{}) })},
		fatal("jsonrpc.junk.binary", "\x00\x01"),
		{name: "dies-of-bytes", trips: ids("jsonrpc.junk.invalid-utf8"), line: onLine(func(l string) bool { return !utf8.ValidString(l) && l[0] == '{' }, dies)},
		fatal("jsonrpc.junk.lone-surrogate", `\ud800`),
		{name: "loses-patience", trips: ids("jsonrpc.junk.repeated"), line: func(f *fake, l []byte) bool {
			if bytes.HasPrefix(l, []byte("junk {")) && f.count("junk") > 50 {
				f.die()
			}
			return false
		}},
		{name: "empty-object", trips: ids("jsonrpc.invalid.empty-object"), line: onLine(func(l string) bool { return l == "{}\n" }, errs(codeParse))},
		{name: "scalar", trips: ids("jsonrpc.invalid.scalar"), line: onLine(func(l string) bool { return l == "42\n" }, errs(codeParse))},
		{name: "dies-of-null", trips: ids("jsonrpc.invalid.null"), line: onLine(func(l string) bool { return l == "null\n" }, dies)},
		{name: "dies-of-batch", trips: ids("jsonrpc.batch.lives jsonrpc.batch.answered"), line: onLine(func(l string) bool { return strings.HasPrefix(l, "[{") }, dies)},
		{name: "silent-on-batch", trips: ids("jsonrpc.batch.answered"), line: onLine(func(l string) bool { return strings.HasPrefix(l, "[{") }, ignores)},
		{name: "empty-batch", trips: ids("jsonrpc.batch.empty"), line: onLine(func(l string) bool { return l == "[]\n" }, errs(codeParse))},
		{name: "answers-results", trips: ids("jsonrpc.response.to-nothing"), line: onLine(containing(`98765,"result"`), errs(codeInvalidRequest))},
		{name: "answers-errors", trips: ids("jsonrpc.response.error-to-nothing"), line: onLine(containing(`98765,"error"`), errs(codeInvalidRequest))},
		{name: "answers-notifications", trips: ids("jsonrpc.notification.unknown"), in: on("no/such/notification", always, noting)},
		{name: "answers-bad-notifications", trips: ids("jsonrpc.notification.bad-params"), in: on("session/cancel", func(m *message) bool {
			return m.session() == "" && !has(m.params, "_meta") && str(m.params) == "" && string(encode(m.params)) != "{}"
		}, noting)},
		{name: "answers-without-id", trips: ids("jsonrpc.notification.of-a-request"), in: on("session/prompt", func(m *message) bool { return m.id == "" }, noting)},
		{name: "wants-order", trips: ids("jsonrpc.members.order"), hangs: true, line: onLine(func(l string) bool { return strings.HasPrefix(l, `{"params"`) }, errs(codeParse))},
		{name: "no-escapes", trips: ids("jsonrpc.members.escaped"), hangs: true, line: onLine(containing(`\u0069`), errs(codeInvalidRequest))},
		fatal("jsonrpc.members.duplicate", `"id":"d","id"`),
		{name: "loses-one", trips: ids("jsonrpc.concurrent"), hangs: true, in: on("", func(m *message) bool { return m.id == `"c50"` }, deaf)},
		{name: "dies-of-answers", trips: ids("robustness.late-responses"), line: func(f *fake, l []byte) bool {
			if strings.Contains(string(l), `"late"`) && f.count("late") > 3 {
				f.die()
			}
			return false
		}},
		{name: "junk-sticks", trips: ids("robustness.mixed-junk"), line: func(f *fake, l []byte) bool {
			if string(l) == "junk\n" {
				f.note("junk", true)
			}
			if f.noted("junk") != nil && strings.Contains(string(l), "session/prompt") {
				f.die()
			}
			return false
		}},
		{name: "few-sessions", trips: ids("robustness.sessions"), in: on("session/new", always, func(f *fake, m *message) bool {
			if f.count("sessions") > 50 {
				f.refuse(m, -32603, "too many")
				return true
			}
			return false
		})},
		{name: "few-prompts", trips: ids("robustness.prompts"), in: on("session/prompt", always, func(f *fake, m *message) bool {
			if f.count(m.session()) > 30 {
				f.refuse(m, -32603, "too many")
				return true
			}
			return false
		})},
		{name: "few-turns", trips: ids("robustness.parallel-turns"), in: on("session/prompt", within(" p9"), refusing(-32603))},
		{name: "few-cancels", trips: ids("robustness.cancel-storm"), in: on("session/cancel", always, func(f *fake, m *message) bool {
			if f.count("cancels") > 50 {
				f.die()
			}
			return false
		})},
	}
}
