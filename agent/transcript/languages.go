package transcript

import "strings"

// language describes a language for highlighting.
type language struct {
	// names holds the names that may follow a code fence, and keywords the language's keywords, both separated by spaces.
	names, words string
	line         []string
	block        [][2]string
	quotes       []string
	// anyCase reports that keywords ignore case, tags that words after "<" are keywords, longStrings that all strings
	// may have several lines, noEscapes that strings have no backslash escapes.
	anyCase, tags, longStrings, noEscapes bool
}

// languageOf returns the language of a code fence; nil if unknown.
func languageOf(name string) *language {
	name = strings.ToLower(strings.Trim(name, "{}."))
	if name == "" || strings.ContainsAny(name, " ") {
		return nil
	}
	for i := range languages {
		if strings.Contains(languages[i].names, " "+name+" ") {
			return &languages[i]
		}
	}
	return nil
}

var (
	slashes  = []string{"//"}
	hash     = []string{"#"}
	starred  = [][2]string{{"/*", "*/"}}
	quoted   = []string{`"`, "'"}
	backtick = []string{`"`, "'", "`"}
)

// languages is read-only.
var languages = [...]language{
	{
		names: " go golang ", line: slashes, block: starred, quotes: backtick,
		words: " break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota any error string int bool byte rune ",
	},
	{
		names: " js javascript jsx mjs cjs ts typescript tsx ", line: slashes, block: starred, quotes: backtick,
		words: " abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield ",
	},
	{
		names: " py python python3 ", line: hash, quotes: []string{`"""`, "'''", `"`, "'"},
		words: " False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield ",
	},
	{
		names: " rust rs ", line: slashes, block: starred, quotes: []string{`"`},
		words: " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while bool char str String u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 Option Result Some None Ok Err Vec Box ",
	},
	{
		names: " c h cpp c++ cc cxx hpp objc ", line: slashes, block: starred, quotes: quoted,
		words: " auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr NULL operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while include define ifdef ifndef endif pragma ",
	},
	{
		names: " java ", line: slashes, block: starred, quotes: []string{`"""`, `"`, "'"},
		words: " abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package private protected public record return short static strictfp super switch synchronized this throw throws transient true try var void volatile while yield ",
	},
	{
		names: " kt kotlin kts ", line: slashes, block: starred, quotes: []string{`"""`, `"`, "'"},
		words: " abstract as break by class companion const constructor continue data do else enum false final for fun if import in init inline interface internal is lateinit null object open operator out override package private protected public return sealed super suspend this throw true try typealias val var when where while ",
	},
	{
		names: " cs csharp c# ", line: slashes, block: starred, quotes: quoted,
		words: " abstract as async await base bool break byte case catch char class const continue decimal default delegate do double else enum event explicit false finally float for foreach get if implicit in int interface internal is lock long namespace new null object operator out override params private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof uint ulong using var virtual void volatile while yield ",
	},
	{
		names: " swift ", line: slashes, block: starred, quotes: []string{`"""`, `"`},
		words: " actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is let mutating nil open operator override private protocol public repeat return self Self static struct subscript super switch throw throws true try typealias var weak where while ",
	},
	{
		names: " rb ruby ", line: hash, quotes: quoted,
		words: " alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or raise redo require rescue retry return self super then true undef unless until when while yield ",
	},
	{
		names: " php ", line: []string{"//", "#"}, block: starred, quotes: quoted,
		words: " abstract and array as break callable case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global if implements include instanceof interface isset list match namespace new null or print private protected public readonly require return self static switch this throw trait true try unset use var while yield ",
	},
	{
		names: " sh bash shell zsh console ", line: hash, quotes: quoted, longStrings: true,
		words: " alias case cd declare do done echo elif else esac eval exec exit export fi for function if in local read readonly return select set shift source then trap unset until while ",
	},
	{
		names: " sql postgresql mysql sqlite ", line: []string{"--"}, block: starred, quotes: []string{"'", `"`}, anyCase: true, longStrings: true, noEscapes: true,
		words: " add all alter and as asc begin between by case cast check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction true union unique update using values view when where with ",
	},
	{names: " json jsonc json5 jsonl ", line: slashes, block: starred, quotes: []string{`"`}, words: " true false null "},
	{names: " yaml yml ", line: hash, quotes: quoted, words: " true false null yes no on off "},
	{names: " toml ini ", line: []string{"#", ";"}, quotes: []string{`"""`, "'''", `"`, "'"}, words: " true false "},
	{names: " html xml svg vue svelte xhtml ", block: [][2]string{{"<!--", "-->"}}, quotes: []string{`"`}, tags: true, longStrings: true, noEscapes: true},
	{
		names: " css scss less ", line: []string{"// "}, block: starred, quotes: quoted,
		words: " import media keyframes supports important and not only from to ",
	},
	{
		names: " lua ", block: [][2]string{{"--[[", "]]"}}, line: []string{"--"}, quotes: quoted,
		words: " and break do else elseif end false for function goto if in local nil not or repeat return then true until while ",
	},
	{
		names: " dockerfile docker ", line: hash, quotes: quoted,
		words: " FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL AS ",
	},
	{
		names: " make makefile ", line: hash, quotes: quoted,
		words: " ifeq ifneq ifdef ifndef else endif include define endef export override ",
	},
	{
		names: " ex elixir exs ", line: hash, quotes: []string{`"""`, `"`, "'"},
		words: " alias and case cond def defmodule defp defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with ",
	},
	{
		names: " zig ", line: slashes, quotes: quoted,
		words: " align and anyerror async await bool break catch comptime const continue defer else enum errdefer error export extern false fn for if inline null or orelse packed pub return struct switch test true try type undefined union unreachable usize var void while ",
	},
}
