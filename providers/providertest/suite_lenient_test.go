package providertest

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

// rewritten returns the target with rewrite applied to its events before they are sent.
func (target implementation) rewritten(rewrite func(events []byte) []byte) implementation {
	frame := target.Format.frame
	target.Format.frame = func(events []byte) []byte {
		events = rewrite(events)
		if frame != nil {
			events = frame(events)
		}
		return events
	}
	return target
}

// answer returns the target's answer to step, read from memory.
func (target implementation) answer(t *testing.T, step Step) (m providers.Message, reported []providers.Usage, err error) {
	t.Helper()
	for ev, err := range target.canned(t, step, nil).Stream(context.Background(), hello()) {
		switch ev := ev.(type) {
		case nil:
			return m, reported, err
		case providers.UsageSoFar:
			reported = append(reported, ev.Usage)
		case providers.Done:
			m = ev.Message
		default:
		}
	}
	return m, reported, nil
}

var (
	counts  = regexp.MustCompile(`"(\w*(?:_tokens|TokenCount|eval_count))":(\d+)`)
	details = regexp.MustCompile(`"(\w+_tokens_details)":\{[^{}]*\}`)
	indexes = regexp.MustCompile(`"(index|\w+_index)":(\d+)`)
)

// testMalformedUsage reads complete answers whose usage is malformed.
func testMalformedUsage(t *testing.T, target implementation) {
	usage := target.usage(providers.Usage{Input: 12, Output: 34, CacheRead: 560, CacheWrite: 78, Thinking: 9})
	step := Step{Text("an answer"), Use(usage)}
	for with, want := range map[string]providers.Usage{
		`"$1":$2.0`: usage, `"$1":${2}0e-1`: usage, `"$1":"$2"`: usage,
		`"$1":[]`: {}, `"$1":false`: {}, `"$1":1e19`: {}, `"$1":99999999999999999999`: {}, `"$1":1.5`: {}, `"$1":null`: {}, `"$1":"many"`: {},
		`"$1":{"a":$2}`: {}, `"$1":-5`: {}, `"$1":-9223372036854775808`: {}, `"$1":-5.0`: {},
	} {
		m, reported, err := target.rewritten(func(b []byte) []byte { return counts.ReplaceAll(b, []byte(with)) }).answer(t, step)
		if err != nil || m.Text() != "an answer" || m.Usage != want {
			t.Errorf("%s: err %v, %q, usage %+v, want %+v", with, err, m.Text(), m.Usage, want)
		}
		for _, u := range reported {
			if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thinking) < 0 {
				t.Errorf("%s: reported %+v", with, u)
			}
		}
	}
	for _, with := range []string{`[]`, `false`, `"x"`, `0`, `null`} {
		for name, find := range map[string]*regexp.Regexp{
			"details": details,
			"usage":   regexp.MustCompile(`"(usage|usageMetadata)":\{(?:[^{}]|\{[^{}]*\})*\}`),
		} {
			m, _, err := target.rewritten(func(b []byte) []byte { return find.ReplaceAll(b, []byte(`"$1":`+with)) }).answer(t, step)
			if err != nil || m.Text() != "an answer" {
				t.Errorf("%s of %s: err %v, %q", name, with, err, m.Text())
			}
		}
	}
}

// testLooseTypes reads answers of servers that use an API's names with other types.
func testLooseTypes(t *testing.T, target implementation) {
	step := Step{Text("I "), Text("look"), Call("c1", "read", `{"a":1}`), Call("c2", "list", `{"b":2}`)}
	check := func(name, first string, rewrite func([]byte) []byte) {
		t.Helper()
		m, _, err := target.rewritten(rewrite).answer(t, step)
		calls := m.ToolCalls()
		if err != nil || m.Text() != "I look" || len(calls) != 2 || calls[0].ID != first || string(calls[0].Input) != `{"a":1}` || string(calls[1].Input) != `{"b":2}` {
			t.Errorf("%s: err %v, %+v", name, err, m.Parts)
		}
	}
	check("indexes in strings", "c1", func(b []byte) []byte { return indexes.ReplaceAll(b, []byte(`"$1":"$2"`)) })
	check("indexes as floats", "c1", func(b []byte) []byte { return indexes.ReplaceAll(b, []byte(`"$1":$2.0`)) })
	check("numbers for ids", "7", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"c1"`), []byte(`7`)) })
	for _, none := range []string{`""`, `{}`, `null`, `{ }`, `[]`, `false`} {
		check("an error that is "+none, "c1", func(b []byte) []byte {
			lines := strings.SplitAfter(string(b), "\n")
			for i, line := range lines {
				for _, begin := range []string{"data: {", "{"} {
					if rest, ok := strings.CutPrefix(line, begin); ok && !strings.Contains(line, `"error"`) {
						lines[i] = begin + `"error":` + none + `,` + rest
					}
				}
			}
			return []byte(strings.Join(lines, ""))
		})
	}
}
