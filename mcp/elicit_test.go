package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// asks returns a server's question as a line; params omits the braces.
func asks(id, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"Which?",%s}}`, id, params)
}

const (
	aForm = `"mode":"form","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":"b"}}}`
	aURL  = `"mode":"url","url":"https://login.invalid/","elicitationId":"e1"`
)

// twoWayPuppet runs a test with the puppet over the transports on which a server can ask.
func twoWayPuppet(t *testing.T, run func(t *testing.T, server mcp.Server)) {
	t.Run("stdio", func(t *testing.T) { run(t, fake(t, "puppet")) })
	t.Run("http", func(t *testing.T) { run(t, webPuppet(t, "")) })
}

// TestElicit_EndsWithTheCall checks that cancelling a call also cancels the question that the server asked in it.
func TestElicit_EndsWithTheCall(t *testing.T) {
	twoWayPuppet(t, func(t *testing.T, server mcp.Server) {
		asked, ended := make(chan struct{}, 1), make(chan error, 1)
		set := start(t, mcp.Options{Elicit: func(ctx context.Context, _ mcp.ElicitRequest) (mcp.ElicitResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return mcp.ElicitResult{}, ctx.Err()
		}}, server).connected()
		for id, params := range map[string]string{"q1": aForm, "q2": aURL} {
			ctx, cancel := context.WithCancelCause(t.Context())
			called, turnOver := make(chan error, 1), errors.New("the turn is over")
			go func() {
				_, err := set.Call(ctx, set.tool("puppet", "say"), jsonx.Raw(fmt.Sprintf(`{"mute":true,"lines":[%q]}`, asks(id, params))), nil)
				called <- err
			}()
			<-asked
			cancel(turnOver)
			if err := <-called; !errors.Is(err, turnOver) {
				t.Errorf("err = %v", err)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the question is still open")
			}
			if got := set.says("puppet", "say", "{}"); got != "said" {
				t.Errorf("say says %q", got)
			}
		}
	})
}

// TestElicit_LivesWithTheLastCall checks that a question ends with the last of the two calls that were under way.
func TestElicit_LivesWithTheLastCall(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	set := start(t, mcp.Options{Elicit: func(ctx context.Context, _ mcp.ElicitRequest) (mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		close(ended)
		return mcp.ElicitResult{}, ctx.Err()
	}}, fake(t, "puppet")).connected()
	open := func(lines string) (end func() error) {
		ctx, cancel := context.WithCancel(t.Context())
		called, begun := make(chan error, 1), make(chan struct{}, 1)
		go func() {
			input := fmt.Sprintf(`{"mute":true,"lines":[%q]}`, lines)
			_, err := set.Call(ctx, set.tool("puppet", "say"), jsonx.Raw(input), &mcp.CallOptions{Progress: func(mcp.Progress) { begun <- struct{}{} }})
			called <- err
		}()
		if strings.Contains(lines, "progress") {
			<-begun
		}
		return func() error { cancel(); return <-called }
	}
	first := open(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$TOKEN","progress":1}}`)
	second := open(asks("q1", aForm))
	<-asked
	if err := second(); err == nil {
		t.Error("no error")
	}
	select {
	case <-ended:
		t.Error("the question ended with the second of two calls")
	default:
	}
	if err := first(); err == nil {
		t.Error("no error")
	}
	<-ended
}

// TestElicit_Unasked checks that a question without a call under way does not reach the user.
func TestElicit_Unasked(t *testing.T) {
	set := start(t, mcp.Options{Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
		t.Error("the user was asked")
		return mcp.ElicitResult{}, errors.New("no")
	}}, fake(t, "puppet", puppetLists+"="+asks("q1", aForm))).connected()
	set.until("it is told", func() bool { return set.countNotices("while no call is under way") == 1 })
	waitReceived(t, set, `"id":"q1","result":{"action":"cancel"}`)
}

// waitReceived waits until the puppet has heard what holds part, and returns that.
func waitReceived(t *testing.T, set *watched, part string) string {
	t.Helper()
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		for line := range strings.Lines(set.says("puppet", "heard", "{}")) {
			if strings.Contains(line, part) {
				return line
			}
		}
	}
	t.Fatalf("the server has not heard %s", part)
	return ""
}

func TestElicit_URLs(t *testing.T) {
	var seen []mcp.ElicitRequest
	completed := make(chan string, 10)
	set := start(t, mcp.Options{
		Elicit: func(_ context.Context, r mcp.ElicitRequest) (mcp.ElicitResult, error) {
			seen = append(seen, r)
			action := "accept"
			if strings.Contains(r.URL, "no") {
				action = "decline"
			}
			return mcp.ElicitResult{Action: action}, nil
		},
		ElicitationComplete: func(server, id string) { completed <- server + " " + id },
	}, fake(t, "puppet")).connected()
	for i, url := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "/relative", "https:", "http:///x", "https:opaque", "vscode://x", "ssh://host/",
		"https://example.com@evil.invalid/", " https://x.invalid/", "https://" + strings.Repeat("x", 9000), "data:text/html,x", "",
	} {
		id := fmt.Sprint("bad", i)
		if _, err := set.say(says{Lines: []string{asks(id, fmt.Sprintf(`"mode":"url","elicitationId":"x","url":%q`, url))}}); err != nil {
			t.Fatal(err)
		}
		receivedError(t, set, id, -32602)
	}
	if len(seen) != 0 {
		t.Fatalf("the user was sent to %q", seen)
	}
	done := `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`
	wait := func(id string) { waitReceived(t, set, `"id":"`+id+`","result"`) } // until the question has been answered, and so recorded
	for _, id := range []string{"u1", "u2"} {
		input := says{Mute: true, Lines: []string{asks(id, aURL), fmt.Sprintf(done, "unknown")}}
		go func() { _, _ = set.say(input) }()
		wait(id)
	}
	input := says{Mute: true, Lines: []string{asks("u3", `"mode":"url","url":"https://no.invalid/","elicitationId":"e3"`)}}
	go func() { _, _ = set.say(input) }()
	wait("u3")
	if len(seen) != 3 || seen[0].ID == seen[1].ID || seen[0].ID == "e1" || seen[0].ID == "" {
		t.Fatalf("asked %+v", seen)
	}
	if _, err := set.say(says{Lines: []string{fmt.Sprintf(done, "e3"), fmt.Sprintf(done, "e1"), fmt.Sprintf(done, "e1"), fmt.Sprintf(done, "last")}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range seen[:2] {
		if got := <-completed; got != "puppet "+want.ID {
			t.Errorf("completed %q, want %q", got, want.ID)
		}
	}
	set.close()
	close(completed)
	for extra := range completed {
		t.Errorf("completed %q too", extra)
	}
}

// receivedError waits for the answer to the server's request id, which must be an error with the given code.
func receivedError(t *testing.T, set *watched, id string, code int) {
	t.Helper()
	if line := waitReceived(t, set, fmt.Sprintf(`"id":%q`, id)); !strings.Contains(line, fmt.Sprintf(`"code":%d`, code)) {
		t.Errorf("%s was answered with %s", id, line)
	}
}

func TestElicit_Modes(t *testing.T) {
	for _, tt := range []struct {
		name        string
		forms, urls bool
		shown       string
		refused     []string
	}{
		{"forms", true, false, `"elicitation":{"form":{}}`, []string{aURL}},
		{"urls", false, true, `"elicitation":{"url":{}}`, []string{aForm}},
		{"both", true, true, `"elicitation":{"form":{},"url":{}}`, nil},
		{"unsaid", false, false, `"elicitation":{"form":{},"url":{}}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := start(t, mcp.Options{
				ElicitForms: tt.forms, ElicitURLs: tt.urls,
				Elicit: func(context.Context, mcp.ElicitRequest) (mcp.ElicitResult, error) {
					return mcp.ElicitResult{Action: "accept"}, nil
				},
			}, fake(t, "puppet")).connected()
			if got := set.says("puppet", "heard", "{}"); !strings.Contains(got, tt.shown) {
				t.Errorf("the server was told %s", got)
			}
			for i, params := range tt.refused {
				id := fmt.Sprint("q", i)
				if _, err := set.say(says{Lines: []string{asks(id, params)}}); err != nil {
					t.Fatal(err)
				}
				receivedError(t, set, id, -32602)
			}
		})
	}
}

// TestElicit_TimeOfTheUser checks that the user may take longer to answer than a server may be silent.
func TestElicit_TimeOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		channel := &channelPuppet{newPuppet(""), func() *mcp.Set { return nil }}
		set := mcp.NewSet(mcp.Options{
			Channel: channel, CallTimeout: time.Minute,
			Elicit: func(ctx context.Context, _ mcp.ElicitRequest) (mcp.ElicitResult, error) {
				select {
				case <-time.After(time.Hour):
					return mcp.ElicitResult{Action: "accept"}, nil
				case <-ctx.Done():
					return mcp.ElicitResult{}, context.Cause(ctx)
				}
			},
		}, []mcp.Server{{Name: "puppet", Channel: &mcp.ChannelServer{ID: "p"}}})
		set.Start()
		if err := set.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		input := `{"answer":{"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"m",` + aForm + `}}}}}`
		for _, tool := range set.Tools() {
			if tool.Remote != "say" {
				continue
			}
			res, err := set.Call(t.Context(), tool, jsonx.Raw(input), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(res.Text, `"a":"b"`) {
				t.Errorf("the server has got %s", res.Text)
			}
		}
		if err := set.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestElicit_TimeOfTheUser_Asked checks the same for a question that the server sends as a request.
func TestElicit_TimeOfTheUser_Asked(t *testing.T) {
	const limit, thinks = 2 * time.Second, 3 * time.Second
	set := start(t, mcp.Options{CallTimeout: limit, Elicit: func(ctx context.Context, _ mcp.ElicitRequest) (mcp.ElicitResult, error) {
		select {
		case <-time.After(thinks):
			return mcp.ElicitResult{Action: "accept"}, nil
		case <-ctx.Done():
			return mcp.ElicitResult{}, context.Cause(ctx)
		}
	}}, fake(t, "puppet")).connected()
	begun := time.Now()
	_, err := set.say(says{Mute: true, Lines: []string{asks("q1", aForm)}})
	if err == nil || !strings.Contains(err.Error(), "no message for") {
		t.Errorf("err = %v", err)
	}
	if took := time.Since(begun); took < thinks {
		t.Errorf("the user had %s", took)
	}
	if got := set.says("puppet", "heard", "{}"); !strings.Contains(got, `"action":"accept"`) {
		t.Errorf("the server has heard %s", got)
	}
}
