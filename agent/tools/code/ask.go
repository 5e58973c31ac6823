package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// servers returns the servers for the file that the action can use: all, or only those that know types. The error explains why
// there are none.
func (c *lspCall) servers(ctx context.Context, linters bool) ([]*lsp.Server, error) {
	servers, err := c.w.Servers(ctx, c.path)
	if err != nil {
		return nil, err
	}
	if !linters {
		servers = slices.DeleteFunc(slices.Clone(servers), func(s *lsp.Server) bool { return s.Spec().Linter })
	}
	if len(servers) == 0 {
		return nil, c.noServer(ctx, "No language server found for "+c.name(c.path))
	}
	return servers, nil
}

// maxReasons bounds the number of unused servers that are listed with their reasons.
const maxReasons = 8

// noServer returns the error for a file without a server, with the reasons: no answer does not mean that the code is correct.
func (c *lspCall) noServer(ctx context.Context, text string) error {
	_, list, err := c.w.All(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(text + "; nothing is known about it.")
	shown := 0
	for _, u := range list.Unused {
		switch {
		case c.path != "" && !lsp.Takes(u.FileTypes, c.path) || c.path == "" && u.Elsewhere:
		case shown < maxReasons:
			shown++
			fmt.Fprintf(&b, "\n- %s: %s", u.Name, u.Why)
		}
	}
	for _, p := range list.Problems {
		b.WriteString("\n! " + p)
	}
	return errors.New(b.String())
}

// An asker makes the requests of an action to one server, with the document open in it. It reports whether the answer is sufficient
// without other servers.
type asker func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (enough bool, err error)

// ask runs fn for each server that supports method for the file: of all servers, or only of those that know types. An error of one
// server becomes a note if another server has answered, and is returned otherwise.
func (c *lspCall) ask(ctx context.Context, linters bool, method string, fn asker) error {
	servers, err := c.servers(ctx, linters)
	if err != nil {
		return err
	}
	var failed []error
	answered := 0
	for _, s := range servers {
		c.asked = s.Name()
		enough, err := c.askOne(ctx, s, method, fn)
		switch {
		case err == nil:
			answered++
			c.asked = ""
		case ctx.Err() != nil:
			return err
		default:
			failed = append(failed, err)
		}
		if enough {
			break
		}
	}
	if answered == 0 {
		return joinOnce(failed)
	}
	for _, err := range failed {
		if _, lacks := errors.AsType[*lackError](err); !lacks {
			c.notes = append(c.notes, err.Error())
		}
	}
	return nil
}

// askAt is like [lspCall.ask], for an action on a symbol and servers that know types.
func (c *lspCall) askAt(ctx context.Context, method string, fn func(ctx context.Context, s *lsp.Server, doc *lsp.Document, at *spot) (enough bool, err error)) error {
	return c.ask(ctx, false, method, func(ctx context.Context, s *lsp.Server, doc *lsp.Document) (bool, error) {
		at, err := c.spot(doc.Text)
		if err != nil {
			return false, err
		}
		return fn(ctx, s, doc, at)
	})
}

// joinOnce is [errors.Join] without repeated texts.
func joinOnce(errs []error) error {
	said := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		twice := said[err.Error()]
		said[err.Error()] = true
		return twice
	})...)
}

// lackError reports a server that does not support a request.
type lackError struct{ server, method string }

func (e *lackError) Error() string {
	return fmt.Sprintf("%s does not support %s; use the action capabilities to see what it supports", e.server, e.method)
}

func (c *lspCall) askOne(ctx context.Context, s *lsp.Server, method string, fn asker) (enough bool, err error) {
	if err := s.Start(ctx); err != nil {
		return false, err
	}
	if !s.Supports(method, c.path) && !formatsUnsaid(s, method) {
		return false, &lackError{s.Name(), method}
	}
	doc, err := c.w.Hold(ctx, s, c.path)
	if err != nil {
		return false, c.holdError(err)
	}
	defer doc.Release()
	c.awaitLoading(ctx, s)
	enough, err = fn(ctx, s, doc)
	return enough, lacking(err)
}

// lacking returns a lackError if err is the answer of a server that does not support a method, regardless of its declared
// capabilities.
func lacking(err error) error {
	if re, ok := errors.AsType[*lsp.ResponseError](err); ok && re.Code == codeMethodNotFound {
		return &lackError{re.Server, re.Method}
	}
	return err
}

// holdError reports a file that could not be opened in any server, for example because it was deleted.
func (c *lspCall) holdError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &toolkit.MissingError{Text: "File not found: " + c.name(c.path) + " no longer exists"}
	}
	return err
}

// awaitLoading waits for a server that loads the project, but leaves time of the call for its requests.
func (c *lspCall) awaitLoading(ctx context.Context, s *lsp.Server) {
	most := loadTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)*3/4)
	}
	if !s.WaitIdle(ctx, most) {
		c.note(s.Name() + " is still loading the project; the result may be incomplete.")
	}
}

const (
	// codeMethodNotFound is the JSON-RPC code for an unknown method.
	codeMethodNotFound = -32601
	// codeContentModified is the code for a request that a change has made obsolete, codeServerCancelled for one that the server
	// has cancelled. Both requests may be repeated.
	codeContentModified = -32801
	codeServerCancelled = -32802
	overtakenTries      = 4
	overtakenPause      = 250 * time.Millisecond
)

// request is like [lsp.Server.Call], but repeats the request if the server reports that its answer would be outdated.
func (c *lspCall) request(ctx context.Context, s *lsp.Server, method string, params any, result *jsonx.Raw) error {
	for try := 1; ; try++ {
		err := s.Call(ctx, method, params, result)
		re, ok := errors.AsType[*lsp.ResponseError](err)
		if !ok || try == overtakenTries || re.Code != codeContentModified && re.Code != codeServerCancelled {
			return err
		}
		if err := pause(ctx, overtakenPause); err != nil {
			return err
		}
	}
}

// requestList is like [lspCall.request], for an answer that is null, one value or an array of values.
func requestList[T any](ctx context.Context, c *lspCall, s *lsp.Server, method string, params any) ([]T, error) {
	var raw jsonx.Raw
	if err := c.request(ctx, s, method, params, &raw); err != nil {
		return nil, err
	}
	return decodeList[T](raw)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note adds a note to the result, at most once.
func (c *lspCall) note(text string) {
	if text != "" && !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// uriOf and pathOf convert local paths to URIs and back.
func uriOf(path string) string { return lsp.FileURI(path, runtime.GOOS) }

func pathOf(uri string) (string, error) { return lsp.FilePath(uri, runtime.GOOS) }
