package live_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// short is the limit of an answer in tokens; it includes the tokens that a model spends on reasoning.
const short = 2000

// exercise asks a model for text, a tool call and an image.
func exercise(t *testing.T, m providers.Model) {
	info := m.Info()
	t.Run("text", func(t *testing.T) {
		got := must(t, m, &providers.Request{
			System: "You answer with one word.", Messages: []providers.Message{user("Say the word pong.")}, MaxTokens: short,
		})
		if !says(&got, "pong") || got.StopReason != providers.StopEnd {
			t.Errorf("the answer is %q, stopped with %s", got.Text(), got.StopReason)
		}
		if got.Usage.Context() == 0 || got.Usage.Output == 0 {
			t.Errorf("the usage is %+v", got.Usage)
		}
	})
	levels := []providers.ThinkingLevel{providers.ThinkingOff}
	if len(info.Thinking) > 0 {
		levels = append(levels, info.Thinking[0])
	}
	for _, level := range levels {
		t.Run("tool, thinking "+string(level), func(t *testing.T) { useTool(t, m, level) })
	}
	t.Run("image", func(t *testing.T) {
		if !info.Images {
			t.Skipf("%s sees no images", info.Ref())
		}
		question := user("Which colour has this picture? Answer with the name of the colour.")
		question.Parts = append(question.Parts, providers.Image{MIMEType: "image/png", Data: red(t)})
		got := must(t, m, &providers.Request{Messages: []providers.Message{question}, MaxTokens: short})
		if !says(&got, "red") {
			t.Errorf("the answer is %q", got.Text())
		}
	})
}

// useTool makes a model call a tool and answer with its result. The conversation continues afterwards, so that the model's thinking
// is sent back.
func useTool(t *testing.T, m providers.Model, level providers.ThinkingLevel) {
	req := &providers.Request{
		System: "Use the tool to look into boxes. Answer in one sentence.", MaxTokens: short, Thinking: level,
		Tools: []providers.Tool{{
			Name: "open_box", Description: "Tells what is in the box with a number.",
			Schema: jsonx.Raw(`{"type":"object","properties":{"number":{"type":"integer","description":"The number of the box"}},"required":["number"],"additionalProperties":false}`),
		}},
		Messages: []providers.Message{user("What is in box 7?")},
	}
	got := must(t, m, req)
	calls := got.ToolCalls()
	if len(calls) != 1 || calls[0].Name != "open_box" || string(jsonx.Lookup(calls[0].Input, "number")) != "7" || got.StopReason != providers.StopTools {
		t.Fatalf("it calls %+v and says %q, stopped with %s", calls, got.Text(), got.StopReason)
	}
	if level != providers.ThinkingOff {
		t.Logf("it has thought: %t, %d tokens", thought(&got), got.Usage.Thinking)
	}
	req.Messages = append(req.Messages, got, providers.Message{
		Role: providers.RoleTool, ToolCallID: calls[0].ID, ToolName: calls[0].Name, Parts: []providers.Part{providers.Text{Text: "a jar of marmalade"}},
	})
	got = must(t, m, req)
	if !says(&got, "marmalade") {
		t.Errorf("after the result it says %q", got.Text())
	}
	req.Messages = append(req.Messages, got, user("Thanks. Say goodbye, without opening a box."))
	got = must(t, m, req)
	if got.Text() == "" || len(got.ToolCalls()) > 0 {
		t.Errorf("in the end it says %q and calls %+v", got.Text(), got.ToolCalls())
	}
	if !m.Info().StructuredOutput {
		return
	}
	req.Messages = append(req.Messages, got, user("Now say as JSON what was in which box."))
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(
		`{"type":"object","properties":{"number":{"type":"integer","minimum":1},"content":{"type":"string"},"note":{"type":"string"}},"required":["number","content"]}`,
	)}
	got = must(t, m, req)
	if json := jsonx.Raw(got.Text()); !jsonx.Valid(json) || string(jsonx.Lookup(json, "number")) != "7" || !says(&got, "marmalade") || got.StopReason != providers.StopEnd {
		t.Errorf("as JSON it says %q, stopped with %s", got.Text(), got.StopReason)
	}
}

func thought(m *providers.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(providers.Thinking); ok {
			return true
		}
	}
	return false
}

func says(m *providers.Message, word string) bool {
	return strings.Contains(strings.ToLower(m.Text()), word)
}

func user(text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}

// must asks and requires an answer.
func must(t *testing.T, m providers.Model, req *providers.Request) providers.Message {
	t.Helper()
	got, err := ask(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// ask sends a request, and retries if the server says that it is busy.
func ask(t *testing.T, m providers.Model, req *providers.Request) (providers.Message, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var policy providers.RetryPolicy
	for failed := 1; ; failed++ {
		got, err := once(ctx, m, req)
		wait, again := policy.Next(failed, err)
		if !again || policy.Wait(ctx, wait) != nil {
			return got, err
		}
	}
}

func once(ctx context.Context, m providers.Model, req *providers.Request) (providers.Message, error) {
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return providers.Message{}, err
		}
		if done, ok := ev.(providers.Done); ok {
			return done.Message, nil
		}
	}
	return providers.Message{}, errors.New("the answer has no end")
}

// red is a red picture.
func red(t *testing.T) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(color.RGBA{R: 230, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
