package acp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// echoAgent answers session/prompt. Its other methods panic.
type echoAgent struct {
	acp.Agent
	conn   *acp.AgentConn
	prompt func(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error)
}

func (a *echoAgent) Prompt(ctx context.Context, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	return func() (*acp.PromptResponse, error) { return a.prompt(ctx, p) }, nil
}

func (a *echoAgent) CloseSession(context.Context, *acp.CloseSessionRequest) (acp.Reply[acp.CloseSessionResponse], error) {
	return acp.Done[acp.CloseSessionResponse](nil), nil
}

// listener is a client that records updates.
type listener struct {
	acp.Client
	texts []string
}

func (l *listener) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	l.texts = append(l.texts, n.Update.(*acp.AgentMessageChunk).Content.(*acp.TextContent).Text)
	return nil
}

func (l *listener) ReadTextFile(_ context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return nil, fmt.Errorf("opening %s: %w", p.Path, &acp.Error{Code: acp.ErrorCodeResourceNotFound, Message: "no such file"})
}

// connect returns both ends of a connection over a pipe.
func connect(t *testing.T, a *echoAgent, opts *acp.ConnOptions) (*acp.ClientConn, *listener) {
	x, y := net.Pipe()
	agent := acp.NewAgentConn(t.Context(), y, y, opts, func(c *acp.AgentConn) acp.Agent { a.conn = c; return a })
	l := new(listener)
	client := acp.NewClientConn(t.Context(), x, x, &acp.ConnOptions{Closer: x}, func(*acp.ClientConn) acp.Client { return l })
	t.Cleanup(func() {
		_ = client.Close()
		_ = agent.Close()
	})
	return client, l
}

func piece(id, text string) *acp.SessionNotification {
	return &acp.SessionNotification{SessionID: "s", Update: &acp.AgentMessageChunk{MessageID: acp.MessageID(id), Content: &acp.TextContent{Text: text}}}
}

// The client handles every update of a turn before the prompt returns. A nil result is an empty object.
func TestConn_UpdatesBeforeTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &echoAgent{}
		a.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			for i := range 500 {
				if err := a.conn.Update(ctx, piece("m", fmt.Sprint(i, " "))); err != nil {
					return nil, err
				}
			}
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}
		client, l := connect(t, a, nil)
		resp, err := acp.MethodSessionPrompt.Call(t.Context(), client, &acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{&acp.TextContent{Text: "x"}}})
		if err != nil || resp.StopReason != acp.StopReasonEndTurn {
			t.Fatalf("%+v, %v", resp, err)
		}
		if got := strings.Fields(strings.Join(l.texts, "")); len(got) != 500 || got[499] != "499" {
			t.Errorf("%d pieces came before the response, the last %q", len(got), got[len(got)-1:])
		}
		if len(l.texts) == 500 {
			t.Log("nothing was merged: the client kept up")
		}
		if _, err := acp.MethodSessionClose.Call(t.Context(), client, &acp.CloseSessionRequest{SessionID: "s"}); err != nil {
			t.Error(err)
		}
	})
}

// Only plain chunks of the same message and kind merge.
func TestConn_WhatMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		conn := acp.NewAgentConn(t.Context(), y, y, &acp.ConnOptions{Closer: y}, func(*acp.AgentConn) acp.Agent { return nil })
		send := func(n *acp.SessionNotification) {
			if err := conn.Update(t.Context(), n); err != nil {
				t.Error(err)
			}
		}
		send(piece("m", "a"))
		synctest.Wait() // the writer is blocked on this chunk
		marked := piece("m", "d")
		if err := marked.Meta.Set("k", 1); err != nil {
			t.Fatal(err)
		}
		thought := &acp.SessionNotification{SessionID: "s", Update: &acp.AgentThoughtChunk{MessageID: "m", Content: &acp.TextContent{Text: "t"}}}
		other := piece("m", "o")
		other.SessionID = "s2"
		for _, n := range []*acp.SessionNotification{piece("m", "b"), piece("m", "c"), marked, piece("m", "e"), piece("n", "f"), thought, other, piece("", "g"), piece("", "h")} {
			send(n)
		}
		go func() { // ends with the connection
			synctest.Wait()
			_ = conn.Close()
		}()
		all, err := io.ReadAll(x)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(all)) {
			var m struct {
				Params struct {
					Update struct {
						Content struct {
							Text string `json:"text"`
						} `json:"content"`
					} `json:"update"`
				} `json:"params"`
			}
			if err := jsonx.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Params.Update.Content.Text)
		}
		if diff := cmp.Diff([]string{"a", "bc", "d", "e", "f", "t", "o", "g", "h"}, got); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
	})
}

// Errors keep their codes in both directions, even if they are wrapped. MapError maps other errors.
func TestConn_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := errors.New("out of paper")
		a := &echoAgent{}
		var fail error
		a.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			if fail != nil {
				return nil, fail
			}
			_, err := acp.MethodFSReadTextFile.Call(ctx, a.conn, &acp.ReadTextFileRequest{SessionID: "s", Path: "/x"})
			return nil, fmt.Errorf("reading: %w", err)
		}
		client, _ := connect(t, a, &acp.ConnOptions{MapError: func(err error) *acp.Error {
			if errors.Is(err, own) {
				return &acp.Error{Code: -32050, Message: "refill"}
			}
			return nil
		}, Ext: func(_ context.Context, method string, params jsonx.Raw) (func() (any, error), error) {
			if method == "_test/none" {
				return nil, nil
			}
			return func() (any, error) { return map[string]jsonx.Raw{method: params}, nil }, nil
		}})
		prompt := func() error {
			_, err := acp.MethodSessionPrompt.Call(t.Context(), client, &acp.PromptRequest{SessionID: "s"})
			return err
		}
		check := func(err error, code acp.ErrorCode, message string) {
			t.Helper()
			e, ok := errors.AsType[*acp.Error](err)
			if !ok || e.Code != code || e.Message != message {
				t.Errorf("got %#v, want %d %q", err, code, message)
			}
		}
		check(prompt(), -32002, "reading: opening /x: no such file")
		fail = fmt.Errorf("printing: %w", own)
		check(prompt(), -32050, "refill")
		fail = errors.New("plain")
		check(prompt(), -32603, "plain")
		check(client.Call(t.Context(), "session/nope", nil, nil), -32601, "method not found: session/nope")
		check(client.Call(t.Context(), "session/prompt", map[string]any{"sessionId": 7, "prompt": []any{}}, nil), -32602, "session/prompt: /params/sessionId: a number does not fit string")
		var got map[string]map[string]int
		if err := client.Call(t.Context(), "_test/echo", map[string]int{"n": 1}, &got); err != nil || got["_test/echo"]["n"] != 1 {
			t.Errorf("extension: %v, %v", got, err)
		}
		if err := client.Call(t.Context(), "_test/none", nil, &got); err != nil {
			t.Errorf("an extension without a result: %v", err)
		}
	})
}
