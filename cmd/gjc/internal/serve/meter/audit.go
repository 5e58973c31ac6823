package meter

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// event is one line of the audit log. It has no content of a conversation.
type event struct {
	Time string `json:"time"`
	// Event is "connected", "disconnected", "refused", "request", "answer" or "notification".
	Event string `json:"event"`
	User  string `json:"user,omitzero"`
	Token string `json:"token,omitzero"`
	// Remote is the address of the client, Connection a number that the lines of one connection share.
	Remote     string `json:"remote,omitzero"`
	Connection uint64 `json:"connection,omitzero"`
	Method     string `json:"method,omitzero"`
	Session    string `json:"session,omitzero"`
	// Outcome is "ok", or the kind of the error; for a prompt its stop reason, for an answer the option that was selected, and for what the
	// server has refused the reason.
	Outcome string `json:"outcome,omitzero"`
	// Code is the JSON-RPC code of an error.
	Code int64 `json:"code,omitzero"`
	// Milliseconds is the time that a request or a connection took.
	Milliseconds int64 `json:"ms,omitzero"`
}

// log writes the event to the log. The time is the log's own.
func (e *event) log(to *zerolog.Event) {
	for _, field := range [...]struct{ name, value string }{
		{"user", e.User}, {"token", e.Token}, {"remote", e.Remote}, {"method", e.Method}, {"session", e.Session}, {"outcome", e.Outcome},
	} {
		if field.value != "" {
			to = to.Str(field.name, field.value)
		}
	}
	if e.Code != 0 {
		to = to.Int64("code", e.Code)
	}
	to.Uint64("connection", e.Connection).Int64("ms", e.Milliseconds).Msg(e.Event)
}

// audit writes events. It is safe for concurrent use.
type audit struct {
	clock func() time.Time
	log   *zerolog.Logger
	mu    sync.Mutex // guards the fields below
	w     io.Writer  // nil for none
	last  uint64     // the number of the last connection
}

// number returns the number of a new connection.
func (a *audit) number() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	return a.last
}

func (a *audit) write(e *event) error {
	e.log(a.log.Info())
	if a.w == nil {
		return nil
	}
	e.Time = a.clock().UTC().Format("2006-01-02T15:04:05.000Z")
	line, err := jsonx.Marshal(e)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the audit log cannot be written: %w", err)
	}
	return nil
}
