package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

var (
	svgID  = regexp.MustCompile(`(\sid=")([^"]*")`)
	svgRef = regexp.MustCompile(`(url\(#|href="#)`)
)

// inline is a picture as part of a page: without its prologue, and with a prefix to its
// ids, so that those of several pictures differ.
func inline(svg []byte, prefix string) ([]byte, error) {
	if err := checkSVG(svg); err != nil {
		return nil, err
	}
	svg = svg[bytes.Index(svg, []byte("<svg")):]
	svg = svgID.ReplaceAll(svg, []byte("${1}"+prefix+"${2}"))
	return svgRef.ReplaceAll(svg, []byte("${1}"+prefix)), nil
}

// checkSVG refuses what is no picture, what would act on the page around it, and what
// lies elsewhere.
func checkSVG(svg []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(svg))
	root := ""
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the picture is no SVG: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			root = start.Name.Local
		}
		if err := checkElement(start); err != nil {
			return err
		}
	}
	if root != "svg" {
		return fmt.Errorf("the picture is no SVG: it begins with <%s>", root)
	}
	return nil
}

func checkElement(e xml.StartElement) error {
	switch name := strings.ToLower(e.Name.Local); name {
	case "script", "style", "foreignobject":
		return fmt.Errorf("the picture has a <%s>, which would act on the whole page", name)
	}
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		switch {
		case strings.HasPrefix(name, "on"):
			return fmt.Errorf("the picture has a script in %s of <%s>", a.Name.Local, e.Name.Local)
		case (name == "href" || name == "src") && !strings.HasPrefix(a.Value, "#"),
			strings.Contains(strings.ReplaceAll(a.Value, "url(#", ""), "url("):
			return fmt.Errorf("the picture refers to something outside of the page in %s of <%s>: %q", a.Name.Local, e.Name.Local, a.Value)
		}
	}
	return nil
}
