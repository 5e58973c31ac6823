package providertest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// testCutAnywhere cuts off a whole answer after every byte, both cleanly and by breaking the connection. The result must be the
// whole answer or a retryable network error.
func testCutAnywhere(t *testing.T, target implementation) {
	step := Step{
		Think("hm 🤔"), Text("Grüße\n"), Text("🌍"), Call("c1", "read", `{"path":`, `"ä.go"}`),
		Use(providers.Usage{Input: 3, Output: 4, CacheRead: 5}),
	}
	answer := func(split func(string) io.Reader) (*providers.Message, error) {
		for ev, err := range target.canned(t, step, split).Stream(t.Context(), hello()) {
			if err != nil {
				return nil, err
			}
			if done, ok := ev.(providers.Done); ok {
				return &done.Message, nil
			}
		}
		return nil, errors.New("the stream has no end")
	}
	want, err := answer(nil)
	if err != nil {
		t.Fatal(err)
	}
	body, whole := target.Format.Body(step), 0
	for at := 1; at <= len(body); at++ {
		if testenv.Race && at%7 != 0 && at != len(body) {
			continue // the race detector makes each cut slow; the last one is the whole answer
		}
		for name, end := range map[string]io.Reader{"ended": strings.NewReader(""), "broken": brokenReader{}} {
			got, err := answer(func(s string) io.Reader { return io.MultiReader(strings.NewReader(s[:at]), end) })
			if err == nil {
				whole++
				// What follows the answer may be missing, and so may a signature at its end.
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(providers.Message{}, "Usage")); diff != "" {
					t.Fatalf("%s after %q: an answer that is not whole (-want +got):\n%s", name, body[:at], diff)
				}
				continue
			}
			e, ok := errors.AsType[*providers.Error](err)
			if !ok || e.Kind != providers.KindNetwork || !e.Retryable() {
				t.Fatalf("%s after %q: %+v, want an error of the network", name, body[:at], err)
			}
		}
	}
	if whole == 0 {
		t.Error("no answer was whole")
	}
}

// A brokenReader is a connection that breaks.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// testSplitCharacters reads characters that are split between two events.
func testSplitCharacters(t *testing.T, target implementation) {
	if target.Format.frame != nil {
		return // frames with checksums
	}
	const high, low = "HIGH-HALF", "LOW-HALF"
	step := Step{
		Think("x" + high), Think(low + "y"), Text("a" + high), Text(low), Text("b" + high),
		Call("c1", "read", `{"path":"`+high, low+`"}`),
	}
	var m providers.Message
	model := target.canned(t, step, func(s string) io.Reader {
		return strings.NewReader(strings.NewReplacer(high, `\ud83d`, low, `\ude00`).Replace(s))
	})
	var text, thought string
	for ev, err := range model.Stream(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case providers.TextDelta:
			text += ev.Text
		case providers.ThinkingDelta:
			thought += ev.Text
		case providers.Done:
			m = ev.Message
		}
	}
	// The last half has no counterpart.
	if m.Text() != "a😀b\ufffd" || text != m.Text() || thought != "x😀y" {
		t.Errorf("text %+q, streamed %+q, thinking %+q", m.Text(), text, thought)
	}
	calls := m.ToolCalls()
	var input struct {
		Path string `json:"path"`
	}
	if len(calls) != 1 || jsonx.Unmarshal(calls[0].Input, &input) != nil || input.Path != "😀" {
		t.Errorf("calls %+v", calls)
	}
}

// testNameless reads a call without a name. It becomes a call like any other, so that the model learns what is wrong and the
// conversation can continue.
func testNameless(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Text("I look."), Call("c1", "", `{"path":"a"}`), Call("c2", "re ad\u00fc", `{}`)}, Step{Text("ok")})
	req := hello()
	req.Tools = []providers.Tool{Tool("read")}
	m, _ := f.must(req)
	calls := m.ToolCalls()
	if len(calls) != 2 || m.StopReason != providers.StopTools {
		t.Fatalf("stop %q, calls %+v", m.StopReason, calls)
	}
	req.Messages = append(req.Messages, m)
	for _, c := range calls {
		if want := map[string]string{"": `{"path":"a"}`, "re ad\u00fc": `{}`}[c.Name]; c.ID == "" || string(inputOf(c.Input)) != want {
			t.Errorf("the call is %+v, want the input %s", c, want)
		}
		failed := ResultOf(c, "there is no such tool")
		failed.IsError = true
		req.Messages = append(req.Messages, failed)
	}
	f.must(req)
	body := string(f.server.Requests()[1].Body)
	if strings.Contains(body, `"name":""`) || strings.Contains(body, "re ad") || !strings.Contains(body, `"name":"unnamed"`) || !strings.Contains(body, `"name":"re_ad_"`) {
		t.Errorf("the next request is %s", body)
	}
}

// inputOf returns the input of a call, or an empty object.
func inputOf(raw jsonx.Raw) jsonx.Raw {
	if len(raw) == 0 {
		return jsonx.Raw(`{}`)
	}
	return raw
}

// testStatusDecides reads errors whose body is less specific than their status.
func testStatusDecides(t *testing.T, target implementation) {
	body := target.Format.writer().failBody("something went wrong", providers.KindServer)
	for status, want := range map[int]providers.ErrorKind{
		http.StatusBadRequest: providers.KindInvalid, http.StatusUnauthorized: providers.KindAuth, http.StatusForbidden: providers.KindAuth,
		http.StatusRequestTimeout: providers.KindTimeout, http.StatusTooManyRequests: providers.KindRateLimit,
		http.StatusInternalServerError: providers.KindServer, http.StatusServiceUnavailable: providers.KindOverloaded,
		http.StatusGatewayTimeout: providers.KindTimeout, 529: providers.KindOverloaded,
	} {
		if e := target.start(t, nil, Step{Status(status, body, nil)}).mustFail(hello()); e.Kind != want || e.Status != status {
			t.Errorf("status %d with %s: kind %q, want %q", status, body, e.Kind, want)
		}
	}
}
