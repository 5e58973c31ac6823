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

// servers returns those for the file that the action can ask: all, or only those that know types. An error says why there
// are none.
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

// maxReasons bounds how many servers that are not used are listed with their reasons.
const maxReasons = 8

// noServer says that there is none, and why: nothing is known then, which is not the same as that all is well.
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

// ask runs fn for each of the servers that takes method for the file, with the document held there. What a server answers
// with an error, and what it can not do, becomes a note as long as another one has answered; else it is the error.
func (c *lspCall) ask(ctx context.Context, servers []*lsp.Server, method string, fn func(ctx context.Context, s *lsp.Server, doc *lsp.Document) error) error {
	var failed []error
	answered := 0
	for _, s := range servers {
		c.asked = s.Name()
		err := c.askOne(ctx, s, method, fn)
		switch {
		case err == nil:
			answered++
			c.asked = ""
		case ctx.Err() != nil:
			return err
		default:
			failed = append(failed, err)
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

// joinOnce is [errors.Join] for errors of which several say the same.
func joinOnce(errs []error) error {
	said := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		twice := said[err.Error()]
		said[err.Error()] = true
		return twice
	})...)
}

// lackError is a server that does not do what is asked.
type lackError struct{ server, method string }

func (e *lackError) Error() string {
	return fmt.Sprintf("%s does not support %s; the action capabilities shows what it can do", e.server, e.method)
}

func (c *lspCall) askOne(ctx context.Context, s *lsp.Server, method string, fn func(ctx context.Context, s *lsp.Server, doc *lsp.Document) error) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	if !s.Supports(method, c.path) && !formatsUnsaid(s, method) {
		return &lackError{s.Name(), method}
	}
	doc, err := c.w.Hold(ctx, s, c.path)
	if err != nil {
		return c.holdError(err)
	}
	defer doc.Release()
	c.settle(ctx, s)
	return lacking(fn(ctx, s, doc))
}

// lacking makes a lackError of the answer of a server that does not know a method, whatever it says of its capabilities.
func lacking(err error) error {
	if re, ok := errors.AsType[*lsp.ResponseError](err); ok && re.Code == codeMethodNotFound {
		return &lackError{re.Server, re.Method}
	}
	return err
}

// holdError is for a file that no server can be given: gone since it was looked at, for one.
func (c *lspCall) holdError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &toolkit.MissingError{Text: "File not found: " + c.name(c.path) + " does not exist any more"}
	}
	return err
}

// settle waits for a server that loads the project, as far as the time of the call allows to ask it anything afterwards.
func (c *lspCall) settle(ctx context.Context, s *lsp.Server) {
	most := settleTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)*3/4)
	}
	if !s.Settled(ctx, most) {
		c.note(s.Name() + " is still loading the project; this may not be all that it knows.")
	}
}

const (
	// codeMethodNotFound is JSON-RPC's.
	codeMethodNotFound = -32601
	// codeContentModified is the answer of a server whose work was overtaken by a change, codeServerCancelled that of one
	// that has given up for now. Both may be asked again.
	codeContentModified = -32801
	codeServerCancelled = -32802
	overtakenTries      = 4
	overtakenPause      = 250 * time.Millisecond
)

// request is [lsp.Server.Call], again where the server says that its answer would be old.
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

// pause waits, for most as long as ctx lives.
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

// note adds a remark to the result, once.
func (c *lspCall) note(text string) {
	if text != "" && !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// uriOf and pathOf are the URIs of this machine.
func uriOf(path string) string { return lsp.FileURI(path, runtime.GOOS) }

func pathOf(uri string) (string, error) { return lsp.FilePath(uri, runtime.GOOS) }
