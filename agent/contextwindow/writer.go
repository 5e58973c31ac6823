package contextwindow

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// Model is an open model.
type Model struct {
	providers.Model
	Info providers.ModelInfo
}

// Writer asks models to write summaries. All fields are required unless noted otherwise.
type Writer struct {
	// Models are asked in order until one writes a summary. There must be at least one.
	Models []Model
	// Remote, if set, is asked before the models.
	Remote *Remote
	// SessionID is that of the session whose conversation is summarized.
	SessionID string
	// Hide replaces secrets with placeholders.
	Hide func(string) string
	// Retry is the retry policy for failed requests. Again waits and notifies the user before a retry; it returns the error of the
	// request if the request is not sent again.
	Retry providers.RetryPolicy
	Again func(ctx context.Context, failed int, err error) error
	// Used receives the usage of each request.
	Used func(model providers.ModelInfo, used *Meter)
	// Warn notifies the user.
	Warn func(title, detail string)
	// Say receives a summary while it is written. Optional.
	Say func(text string)
	// Restart is called if the text that Say has received becomes invalid. Required with Say.
	Restart func(err error)

	said bool // whether Say has received something since the last Restart
}

// write returns a summary. It asks the remote endpoint first and then one model after the other.
func (w *Writer) write(ctx context.Context, task *summaryTask) (string, error) {
	if w.Remote != nil {
		summary, err := w.Remote.ask(ctx, w.Hide(task.prompt(summaryRoom(&w.Models[0].Info)-len(summarySystem))))
		if err == nil {
			w.say(summary)
			return summary, nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		w.Warn("The remote summary failed; the model is writing it instead.", err.Error())
	}
	var first error
	for i, model := range w.Models {
		more := i+1 < len(w.Models)
		summary, err := w.ask(ctx, model, task, more)
		if err == nil || ctx.Err() != nil {
			return summary, err
		}
		if first == nil {
			first = err
		}
		if more {
			w.Warn("The model gave no summary; asking "+w.Models[i+1].Info.Ref()+".", err.Error())
			w.restart(err)
		}
	}
	return "", first
}

// maxWait bounds the wait before another attempt if another model is available.
const maxWait = 15 * time.Second

// ask requests the summary from model. It retries after temporary failures, and with a shorter conversation if the conversation is
// too long. If others is set, other models are available, and ask returns the error instead of waiting longer than maxWait.
func (w *Writer) ask(ctx context.Context, model Model, task *summaryTask, others bool) (string, error) {
	room := summaryRoom(&model.Info) - len(summarySystem)
	for failed := 0; ; {
		prompt := task.prompt(room)
		summary, err := w.stream(ctx, model, &providers.Request{
			System: strings.TrimSpace(summarySystem), Messages: []providers.Message{UserMessage(prompt)},
			Thinking: providers.ThinkingOff, SessionID: w.SessionID,
		})
		if err == nil || ctx.Err() != nil {
			return summary, err
		}
		if Overflowed(err) && room > minSummaryRoom {
			room = min(room, len(prompt)) / 2
		} else {
			failed++
			if wait, again := w.Retry.Next(failed, err); again && others && wait > maxWait {
				return "", err
			}
			if err := w.Again(ctx, failed, err); err != nil {
				return "", err
			}
		}
		w.restart(err)
	}
}

// restart invalidates the text that Say has received.
func (w *Writer) restart(err error) {
	if w.said && w.Restart != nil {
		w.Restart(err)
	}
	w.said = false
}

func (w *Writer) say(text string) {
	if w.Say != nil && text != "" {
		w.said = true
		w.Say(text)
	}
}

// stream sends one request and passes the summary on while it arrives.
func (w *Writer) stream(ctx context.Context, model Model, req *providers.Request) (string, error) {
	var used Meter
	defer func() { w.Used(model.Info, &used) }()
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", StreamError(ctx, err)
		}
		used.Add(ev)
		switch ev := ev.(type) {
		case providers.TextDelta:
			w.say(ev.Text)
		case providers.Done:
			summary := withoutLists(ev.Message.Text())
			if summary == "" {
				return "", errors.New("the model gave an empty summary; try again, or with another model")
			}
			if ev.Message.StopReason != providers.StopEnd {
				return "", errors.New("the model did not finish the summary (" + string(ev.Message.StopReason) + "); try again, or with another model")
			}
			return summary, nil
		default:
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
	return "", errors.New("the model gave no summary; try again")
}
