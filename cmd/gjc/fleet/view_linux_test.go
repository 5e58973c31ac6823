package fleet

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
)

// view is the conversation as a client shows it, by the rules of docs/attach.md. It has one owner at a time.
type view struct {
	items []item
	// seq is the number of the last update; 0 before the first.
	seq int64
	// own is the client's own prompt which has no place yet: the server does not send it back, but leaves its number out.
	own string
	// interrupted reports whether the conversation ends with the notice about a turn that was cut.
	interrupted bool
	// errs are the violations of the rules.
	errs []string
}

// item is a part of a conversation.
type item struct{ kind, id, text string }

// String returns the item in a line.
func (it item) String() string {
	return fmt.Sprintf("%s %s%q\n", it.kind, it.id, strings.TrimSpace(it.text))
}

const (
	itemUser  = "user"
	itemAgent = "agent"
	itemCall  = "call"
)

// wordsOfInterruption begin the notice that ends a conversation whose last turn was cut.
const wordsOfInterruption = "The turn was interrupted."

// add adds an update with its number. fresh reports whether the client may receive updates that share a number, or begin anywhere, because the
// conversation is sent from its beginning.
func (v *view) add(seq int64, u acp.SessionUpdate, fresh bool) {
	switch {
	case seq == 0:
		v.errs = append(v.errs, "an update has no number")
	case v.seq == 0 || seq == v.seq+1:
	case fresh && seq == v.seq:
	case seq == v.seq+2 && v.own != "":
		v.place()
	default:
		v.errs = append(v.errs, fmt.Sprintf("update %d follows update %d", seq, v.seq))
	}
	v.seq = seq
	v.show(u)
}

// place shows the client's own prompt.
func (v *view) place() {
	v.say(itemUser, v.own)
	v.own = ""
}

// answered is the answer to the client's own prompt, with the prompt's number.
func (v *view) answered(seq int64) {
	if v.own == "" {
		return // it has its place
	}
	if seq != v.seq+1 {
		v.errs = append(v.errs, fmt.Sprintf("the prompt has the number %d, and its turn no update after %d", seq, v.seq))
	}
	v.place()
	v.seq = seq
}

func (v *view) show(u acp.SessionUpdate) {
	switch u := u.(type) {
	case *acp.UserMessageChunk:
		v.say(itemUser, textOf(u.Content))
	case *acp.AgentMessageChunk:
		v.interrupted = false
		v.say(itemAgent, textOf(u.Content))
	case *acp.Notice:
		v.interrupted = v.interrupted || strings.HasPrefix(u.Title, wordsOfInterruption)
	case *acp.ToolCall:
		v.call(u.ToolCallID, u.Status)
	case *acp.ToolCallUpdate:
		if status, ok := u.Status.Get(); ok {
			v.call(u.ToolCallID, status)
		}
	}
}

func textOf(c acp.ContentBlock) string {
	if t, ok := c.(*acp.TextContent); ok {
		return t.Text
	}
	return ""
}

// beginOfPrompt begins each prompt. Two may follow each other, if a turn was cut before its answer began.
const beginOfPrompt = "!say begin-"

// say adds text to the last item, if that is a part of the same message.
func (v *view) say(kind, text string) {
	if n := len(v.items); n == 0 || v.items[n-1].kind != kind || strings.HasPrefix(text, beginOfPrompt) {
		v.items = append(v.items, item{kind: kind})
	}
	v.items[len(v.items)-1].text += text
	if kind == itemUser {
		v.interrupted = false
	}
}

func (v *view) call(id acp.ToolCallID, status acp.ToolCallStatus) {
	for i := len(v.items) - 1; i >= 0; i-- {
		if it := &v.items[i]; it.kind == itemCall && it.id == string(id) {
			it.text = string(status)
			return
		}
	}
	v.items = append(v.items, item{itemCall, string(id), string(status)})
}

// append adds a part of the conversation that follows.
func (v *view) append(it item) {
	if it.kind == itemCall {
		v.call(acp.ToolCallID(it.id), acp.ToolCallStatus(it.text))
		return
	}
	v.say(it.kind, it.text)
}

// turns returns the prompts, each with its answer.
func (v *view) turns() (all []string) {
	for i, it := range v.items {
		if it.kind == itemUser || i == 0 {
			all = append(all, "")
		}
		all[len(all)-1] += it.String()
	}
	return all
}

// differences compares what a client has shown with what replaces it. All turns but the last, which may have been cut, were over.
func (v *view) differences(stored *view) []string {
	was, is := v.turns(), stored.turns()
	if len(was) == 0 {
		return nil
	}
	for i := range len(was) - 1 {
		if i >= len(is) || was[i] != is[i] {
			return []string{fmt.Sprintf("a client has shown turn %d as\n%sand it is stored as\n%s", i, was[i], strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""))}
		}
	}
	if n := len(was); len(is) < n {
		return []string{fmt.Sprintf("a client has shown the prompt\n%sand it is not stored", was[n-1])}
	}
	return nil
}

// cut reports whether the last turn was cut: its prompt has no answer, or no answer follows its last call.
func (v *view) cut() bool {
	if len(v.items) == 0 {
		return false
	}
	last := v.items[len(v.items)-1]
	return last.kind == itemUser || last.kind == itemCall
}

// calls returns the statuses of the calls that have ended.
func (v *view) calls() map[string]string {
	all := make(map[string]string)
	for _, it := range v.items {
		if it.kind == itemCall && (it.text == string(acp.ToolCallStatusCompleted) || it.text == string(acp.ToolCallStatusFailed)) {
			all[it.id] = it.text
		}
	}
	return all
}

// String returns the conversation, an item a line.
func (v *view) String() string {
	var s strings.Builder
	for _, it := range v.items {
		s.WriteString(it.String())
	}
	return s.String()
}
