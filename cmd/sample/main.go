// Command sample prints texts of this repository, drawn at random, for a reader to judge their English: comments, error texts and
// paragraphs of documents. The same seed draws the same texts from the same commit.
//
//	go run ./cmd/sample -seed 7
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/gajae-code/gjc/internal/prose"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the random choice")
	comments := flag.Int("comments", 60, "number of comments")
	errorTexts := flag.Int("errors", 30, "number of error texts")
	paragraphs := flag.Int("paragraphs", 20, "number of paragraphs")
	flag.Parse()
	texts, err := prose.Read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
	r := rand.New(rand.NewPCG(*seed, 0))
	draw(r, "comments", texts.Comments, *comments)
	draw(r, "error texts", texts.Errors, *errorTexts)
	draw(r, "paragraphs", texts.Paragraphs, *paragraphs)
}

func draw(r *rand.Rand, kind string, texts []prose.Text, n int) {
	fmt.Printf("%d of %d %s\n", min(n, len(texts)), len(texts), kind)
	for _, i := range r.Perm(len(texts))[:min(n, len(texts))] {
		fmt.Printf("%s:%d: %s\n", texts[i].File, texts[i].Line, texts[i].Text)
	}
	fmt.Println()
}
