package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// Prompt queues a turn. Prompts of a session run one after the other, in the order of the wire.
func (s *Server) Prompt(ctx context.Context, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		return nil, err
	}
	s.refreshModels(ctx) // before the session's model is asked: the last one may have asked for a login
	begin, err := s.turnOf(e, p)
	if err != nil {
		return nil, err
	}
	type started struct {
		turn *agent.Turn
		err  error
	}
	begun := make(chan started, 1)
	e.then(func(session *agent.Session, err error) {
		if err != nil {
			begun <- started{err: err}
			return
		}
		e.out.beginTurn()
		begun <- started{turn: begin(session)}
	})
	return func() (*acp.PromptResponse, error) {
		b := <-begun
		if b.err != nil {
			return nil, b.err
		}
		r := b.turn.Wait(ctx)
		e.out.endTurn()
		if session := e.ready(); session != nil {
			acp.AfterResponse(ctx, func() { s.refresh(e, session) })
		}
		if r.Err != nil {
			return nil, r.Err
		}
		return &acp.PromptResponse{StopReason: acp.StopReason(r.Stop), Usage: usage(r.Usage)}, nil
	}, nil
}

// Cancel ends the turn that runs and those that wait. For a session that is not there, or idle, it does nothing.
func (s *Server) Cancel(_ context.Context, p *acp.CancelNotification) error {
	e, err := s.lookup(p.SessionID)
	if err != nil {
		for _, e := range s.entries() { // a child's, perhaps
			e.then(func(session *agent.Session, err error) {
				if err == nil {
					session.CancelChild(string(p.SessionID))
				}
			})
		}
		return err
	}
	e.then(func(session *agent.Session, err error) {
		if err == nil {
			session.Cancel()
		}
	})
	return nil
}

// usage is what the model calls of one turn came to; nil for none.
func usage(u providers.Usage) *acp.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	out := &acp.Usage{
		InputTokens: int64(u.Input), OutputTokens: int64(u.Output),
		TotalTokens: int64(u.Input + u.Output + u.CacheRead + u.CacheWrite),
	}
	for _, part := range []struct {
		n  int
		to **int64
	}{{u.Thinking, &out.ThoughtTokens}, {u.CacheRead, &out.CachedReadTokens}, {u.CacheWrite, &out.CachedWriteTokens}} {
		if part.n > 0 {
			*part.to = new(int64(part.n))
		}
	}
	return out
}

// promptParts turns prompt blocks into what a model is sent: one text, with the images beside it. first is the number of
// the first block, for errors.
func promptParts(blocks []acp.ContentBlock, first int) ([]providers.Part, error) {
	var texts []string
	var parts []providers.Part
	for i, b := range blocks {
		i += first
		switch b := b.(type) {
		case *acp.TextContent:
			texts = append(texts, b.Text)
		case *acp.ImageContent:
			img, err := image(b.MIMEType, b.Data)
			if err != nil {
				return nil, invalidParams("prompt block %d: %v", i, err)
			}
			parts = append(parts, img)
		case *acp.ResourceLink:
			texts = append(texts, linkText(b))
		case *acp.EmbeddedResource:
			text, img, err := resource(b)
			if err != nil {
				return nil, invalidParams("prompt block %d: %v", i, err)
			}
			if img != nil {
				parts = append(parts, *img)
			} else {
				texts = append(texts, text)
			}
		case *acp.AudioContent:
			return nil, invalidParams("prompt block %d is audio, which this agent does not advertise", i)
		default:
			return nil, invalidParams("prompt block %d is of a type that this agent does not know", i)
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n\n"))
	if text != "" {
		parts = append([]providers.Part{providers.Text{Text: text}}, parts...)
	}
	if len(parts) == 0 {
		return nil, invalidParams("the prompt is empty")
	}
	return parts, nil
}

func image(mimeType, data string) (providers.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return providers.Image{}, fmt.Errorf("the image is not base64: %w", err)
	}
	if !strings.HasPrefix(mimeType, "image/") {
		return providers.Image{}, fmt.Errorf("an image cannot have the type %q", mimeType)
	}
	return providers.Image{MIMEType: mimeType, Data: raw}, nil
}

// linkText names a linked file so that the model can read it.
func linkText(l *acp.ResourceLink) string {
	name := l.Title
	if name == "" {
		name = l.Name
	}
	place := l.URI
	if path, ok := filePath(l.URI); ok {
		place = path
	}
	if name == "" || name == place {
		return place
	}
	return fmt.Sprintf("%s (%s)", name, place)
}

func resource(r *acp.EmbeddedResource) (text string, img *providers.Image, err error) {
	switch c := r.Resource.(type) {
	case *acp.TextResourceContents:
		place := c.URI
		if path, ok := filePath(c.URI); ok {
			place = path
		}
		return embeddedText(place, c.Text), nil, nil
	case *acp.BlobResourceContents:
		if strings.HasPrefix(c.MIMEType, "image/") {
			image, err := image(c.MIMEType, c.Blob)
			return "", &image, err
		}
		return fmt.Sprintf("[embedded resource: %s]", c.URI), nil, nil
	default:
		return "", nil, fmt.Errorf("the embedded resource is neither text nor a blob")
	}
}

// embeddedText is a file's text as part of a prompt.
func embeddedText(place, text string) string {
	return fmt.Sprintf("<file path=%q>\n%s\n</file>", place, text)
}

// filePath returns the path of a file URI.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", false
	}
	path := u.Path
	switch {
	case u.Host != "" && u.Host != "localhost": // a share: \\host\path on Windows
		path = "//" + u.Host + path
	case len(path) > 2 && path[0] == '/' && path[2] == ':': // file:///C:/x has the path /C:/x
		path = path[1:]
	}
	return filepath.FromSlash(path), true
}
