package google

import (
	"cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// chunk is one event of the stream, with the members that are used.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage      dialect.Object[usage] `json:"usageMetadata"`
	ResponseID dialect.ID            `json:"responseId"`
	Error      jsonx.Raw             `json:"error"`
}

type candidate struct {
	Index   dialect.Number `json:"index"`
	Content struct {
		Parts []answerPart `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

type answerPart struct {
	Text             string        `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

type usage struct {
	Prompt     dialect.Number `json:"promptTokenCount"`
	ToolUse    dialect.Number `json:"toolUsePromptTokenCount"`
	Cached     dialect.Number `json:"cachedContentTokenCount"`
	Candidates dialect.Number `json:"candidatesTokenCount"`
	Thoughts   dialect.Number `json:"thoughtsTokenCount"`
}

// An answer reads one response.
type answer struct {
	dialect.Answer

	cfg    *providers.Config
	stream *wire.Stream

	chunk   chunk // reused for every event
	finish  string
	message string // sent with the finish reason
	blocked string
	name    string // the id of the response
}

func (a *answer) run() {
	a.stream.Each(a.stream.Next, a.Yield, a.event, func() bool {
		complete := a.finish != "" || a.blocked != ""
		if complete {
			a.done()
		}
		return complete
	})
}

// event processes one event. It reports whether the stream continues.
func (a *answer) event(ev wire.Event) (more bool, err error) {
	data := ev.Data
	if text, used, ok := plainText(data); ok && a.name != "" {
		if used != nil {
			var u usage
			if err := jsonx.Unmarshal(used, &u); err != nil {
				return false, a.stream.BadEvent(err)
			}
			a.count(&u)
			if !a.Report() {
				return false, nil
			}
		}
		return a.SendText(text), nil
	}
	a.chunk = chunk{Candidates: a.chunk.Candidates[:0]}
	c := &a.chunk
	if err := jsonx.Unmarshal(data, c); err != nil {
		return false, a.stream.BadEvent(err)
	}
	if dialect.IsError(c.Error, len(c.Candidates) > 0 || c.Usage.Known) {
		return false, a.stream.EventError(c.Error)
	}
	a.name = cmp.Or(string(c.ResponseID), a.name)
	if c.Feedback.BlockReason != "" {
		a.blocked = c.Feedback.BlockReason
		a.message = c.Feedback.BlockReasonMessage
	}
	if c.Usage.Known {
		a.count(&c.Usage.Value)
	}
	if !a.Report() {
		return false, nil
	}
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index.Value != 0 {
			continue // a second answer, which was not requested
		}
		for j := range candidate.Content.Parts {
			if !a.part(&candidate.Content.Parts[j]) {
				return false, nil
			}
		}
		if candidate.FinishReason != "" {
			a.finish, a.message = candidate.FinishReason, candidate.FinishMessage
		}
	}
	return true, nil
}

func (a *answer) part(p *answerPart) bool {
	switch {
	case p.FunctionCall != nil:
		return a.call(p)
	case p.Thought:
		if !a.SendThinking(p.Text) {
			return false
		}
		if p.ThoughtSignature != "" {
			a.Build.SignThinking(p.ThoughtSignature)
			a.Build.Break()
		}
	case p.ThoughtSignature != "":
		// A signature belongs to its own part only, so the part before must end.
		a.Build.Break()
		if !a.SendText(p.Text) {
			return false
		}
		a.Build.SignText(p.ThoughtSignature)
		a.Build.Break()
	default:
		return a.SendText(p.Text)
	}
	return true
}

// call processes a call, which always arrives in one piece.
func (a *answer) call(p *answerPart) bool {
	c := p.FunctionCall
	id, more := a.StartCall(string(c.ID), a.name, c.Name)
	if !more {
		return false
	}
	if p.ThoughtSignature != "" {
		a.Build.SignCall(id, p.ThoughtSignature)
	}
	if jsonx.IsNull(c.Args) || string(c.Args) == "{}" {
		return true
	}
	return a.Send(providers.ToolCallDelta{ID: id, Input: string(c.Args)})
}

func (a *answer) count(u *usage) {
	a.Usage = providers.Usage{
		Input: max(0, u.Prompt.Count()+u.ToolUse.Count()-u.Cached.Count()), CacheRead: u.Cached.Count(),
		Output: u.Candidates.Count() + u.Thoughts.Count(), Thinking: u.Thoughts.Count(),
	}
}

func (a *answer) done() {
	stop, err := a.stopReason()
	if err != nil {
		a.Yield(nil, err)
		return
	}
	if stop == providers.StopRefusal && !a.Said {
		why := "Google blocked this request: " + cmp.Or(a.blocked, a.finish)
		if a.message != "" {
			why += " (" + a.message + ")"
		}
		if !a.Send(providers.TextDelta{Text: why + "."}) {
			return
		}
	}
	a.Done(stop, nil)
}

func (a *answer) stopReason() (providers.StopReason, error) {
	if a.blocked != "" {
		return providers.StopRefusal, nil
	}
	switch a.finish {
	case "MAX_TOKENS":
		return providers.StopLength, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return providers.StopRefusal, nil
	case "MALFORMED_FUNCTION_CALL":
		return "", a.failed(providers.KindProtocol, "the model wrote an invalid tool call")
	case "UNEXPECTED_TOOL_CALL":
		return "", a.failed(providers.KindProtocol, "the model called an unknown tool")
	case "TOO_MANY_TOOL_CALLS":
		return "", a.failed(providers.KindProtocol, "the model called too many tools at once")
	case "MISSING_THOUGHT_SIGNATURE":
		return "", a.failed(providers.KindInvalid, "the request lacks a signature of the model's thinking")
	case "STOP":
	default:
		if !a.Said {
			return "", a.failed(providers.KindProtocol, "the model stopped without an answer: "+a.finish)
		}
	}
	if a.Build.Calls() > 0 {
		return providers.StopTools, nil
	}
	return providers.StopEnd, nil
}

// failed returns the error of an answer that failed.
func (a *answer) failed(kind providers.ErrorKind, what string) error {
	if a.message != "" {
		what += ": " + a.message
	}
	e := wire.Errorf(a.cfg, kind, "%s", what)
	e.RequestID = a.stream.RequestID
	return e
}
