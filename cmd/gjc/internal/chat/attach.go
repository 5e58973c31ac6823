package chat

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
)

// attached returns a prompt with what its text names: the contents of pictures, and links to files and directories.
func (c *chat) attached(text string) []acp.ContentBlock {
	blocks := []acp.ContentBlock{&acp.TextContent{Text: text}}
	if text == "" {
		blocks = nil
	}
	var seen []string
	for _, word := range words(text) {
		name, named := strings.CutPrefix(word, "@")
		picture := isPicture(name)
		if !named && !(picture && filepath.IsAbs(name)) { // a terminal pastes the path of a file that is dropped on it
			continue
		}
		path, ok := c.existing(name, named)
		if !ok || slices.Contains(seen, path) {
			continue
		}
		seen = append(seen, path)
		if picture {
			image, err := headless.ReadImage(path)
			if err != nil {
				c.fail(err)
				continue
			}
			blocks = append(blocks, image)
			continue
		}
		link := &url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		blocks = append(blocks, &acp.ResourceLink{Name: filepath.Base(path), URI: link.String()})
	}
	return blocks
}

// existing returns the absolute path of a file that a word names. The word may end with the punctuation of its sentence.
func (c *chat) existing(name string, sentence bool) (string, bool) {
	for {
		if name == "" {
			return "", false
		}
		path := c.absolute(name)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
		shorter := strings.TrimRight(name, ".,:;?!)")
		if shorter == name || !sentence {
			return "", false
		}
		name = shorter
	}
}

func (c *chat) absolute(name string) string {
	if home, err := os.UserHomeDir(); err == nil && (name == "~" || strings.HasPrefix(name, "~/")) {
		return filepath.Join(home, name[1:])
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(c.view.cwd, name)
}

func isPicture(name string) bool {
	switch strings.ToLower(filepath.Ext(strings.TrimRight(name, ".,:;?!)"))) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	default:
		return false
	}
}

// words divides a text as a shell does: a quoted part has spaces, and so has one with a backslash before them.
func words(text string) []string {
	var all []string
	var word strings.Builder
	quote := byte(0)
	flush := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(b)
		case (b == '\'' || b == '"') && (word.Len() == 0 || word.String() == "@") && strings.IndexByte(text[i+1:], b) >= 0:
			quote = b
		case b == '\\' && i+1 < len(text) && text[i+1] == ' ':
			i++
			word.WriteByte(' ')
		case b == ' ' || b == '\n' || b == '\t':
			flush()
		default:
			word.WriteByte(b)
		}
	}
	flush()
	return all
}

// image adds a picture to the next prompt.
func (c *chat) image(args string) {
	all := words(args)
	if len(all) == 0 {
		c.view.line("give the path of a picture: /image PATH")
		return
	}
	for _, name := range all {
		picture, err := headless.ReadImage(c.absolute(name))
		if err != nil {
			c.fail(err)
			continue
		}
		c.pictures = append(c.pictures, picture)
		if !c.raw {
			c.view.line("the picture is a part of the next prompt")
		}
	}
}
