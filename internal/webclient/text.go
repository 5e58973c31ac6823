package webclient

import (
	"bytes"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Text returns a page as readable text: HTML as Markdown, JSON indented, other text unchanged. It reports false for
// content that is not text. With raw it only converts the encoding.
func (p *Page) Text(raw bool) (text string, ok bool) {
	if !p.isText() {
		return "", false
	}
	text = p.decoded()
	switch {
	case raw:
	case p.MediaType == "text/html" || p.MediaType == "application/xhtml+xml":
		base, err := url.Parse(p.URL)
		if err != nil {
			base = new(url.URL)
		}
		text = markdown(text, base)
	case p.MediaType == "application/json" || strings.HasSuffix(p.MediaType, "+json"):
		v := jsonx.Raw(text)
		if jsonx.Valid(v) && v.Indent() == nil {
			text = string(v)
		}
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), true
}

func (p *Page) isText() bool {
	switch kind, sub, _ := strings.Cut(p.MediaType, "/"); kind {
	case "text":
		return true
	case "application":
		return strings.HasSuffix(sub, "json") || strings.HasSuffix(sub, "xml") || strings.HasSuffix(sub, "yaml") ||
			strings.HasSuffix(sub, "javascript") || strings.HasSuffix(sub, "ecmascript") || sub == "toml" || sub == "sql" || sub == "x-sh" || sub == "graphql"
	default:
		return p.MediaType == "image/svg+xml"
	}
}

// decoded returns the body in UTF-8, using the encoding that the server, the page or the bytes indicate.
func (p *Page) decoded() string {
	if utf8.Valid(p.Body) && !bytes.HasPrefix(p.Body, []byte("\xEF\xBB\xBF")) && bytes.IndexByte(p.Body, 0x1b) < 0 {
		return string(p.Body)
	}
	enc, _, _ := charset.DetermineEncoding(p.Body[:min(len(p.Body), 1024)], p.ContentType)
	data, err := io.ReadAll(enc.NewDecoder().Reader(bytes.NewReader(p.Body)))
	if err != nil {
		data = p.Body
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\uFFFD")
}
