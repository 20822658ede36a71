package printable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/lists"
)

// Is reports whether a character can be shown without an escape. Letters, marks, digits,
// punctuation, symbols and spaces can. Control characters, characters that only change the
// direction of text (U+202E), and separators of lines and paragraphs cannot.
func Is(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) }

// Line replaces all unprintable characters of text, including newlines, by escapes. The
// result is one line.
func Line(text string) string { return escape(text, false) }

// Text replaces all characters of text that are not printable by escapes, except newlines.
func Text(text string) string { return escape(text, true) }

// escape replaces characters that are not printable by escapes. It keeps newlines if
// `lines` is true.
func escape(text string, lines bool) string {
	shown := func(r rune, size int) bool {
		return r == '\n' && lines || Is(r) && (r != utf8.RuneError || size > 1)
	}
	at := 0 // becomes the offset of the first character to escape
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !shown(r, size) {
			break
		}
		at += size
	}
	if at == len(text) {
		return text
	}
	b := []byte(text[:at])
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case shown(r, size):
			b = append(b, text[at:at+size]...)
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && r != '\n' && r != '\t' && r != '\r':
			b = fmt.Appendf(b, `\x%02x`, text[at])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b = append(b, quoted[1:len(quoted)-1]...)
		}
		at += size
	}
	return string(b)
}

// Writer writes text to W and escapes it as [Text] does.
type Writer struct {
	W    io.Writer
	part []byte // the first bytes of a character whose other bytes are not known yet
}

func (w *Writer) Write(p []byte) (int, error) {
	text := append(w.part, p...)
	end := len(text)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			end = i
		}
	}
	_, err := io.WriteString(w.W, Text(string(text[:end])))
	w.part = append([]byte(nil), text[end:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes of an incomplete character at the end of the text as escapes.
func (w *Writer) Flush() error {
	rest := string(w.part)
	w.part = nil
	_, err := io.WriteString(w.W, Text(rest))
	return err
}

// Count returns a number with a noun, which is in the plural unless n is 1: "1 cube", "2
// cubes", "2 processes".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"), strings.HasSuffix(thing, "ch"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Runs returns words for the numbers of an ascending list. A run of `least` or more
// consecutive numbers is one word, such as "3-5". Every other number is a word by itself.
func Runs(list []int, least int) (words []string) {
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		if j-i >= least {
			words = append(words, fmt.Sprintf("%d-%d", list[i], list[j-1]))
			i = j
		}
		for ; i < j; i++ {
			words = append(words, strconv.Itoa(list[i]))
		}
	}
	return words
}

// List joins words as in a sentence: "a, b and c".
func List(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// ShellWord returns a text as one word of a command line, in quotes if it needs them.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+.,:=/%@", r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Name returns the name of v, a value of an enumeration. If v has no name, it returns the
// name of the enumeration and the number, such as "Kind(9)".
func Name[T ~uint8](enumeration string, v T, names []string) string {
	if int(v) >= len(names) || names[v] == "" {
		return fmt.Sprintf("%s(%d)", enumeration, uint8(v))
	}
	return names[v]
}

// Words converts words of a string type to strings.
func Words[T ~string](words []T) []string {
	return lists.Map(words, func(w T) string { return string(w) })
}
