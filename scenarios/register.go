package scenarios

import (
	"embed"

	"github.com/kernbench/kernbench/scenario"
)

//go:embed *.yaml
var files embed.FS

// register adds the scenario of a file beside this one.
func register(name string) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		panic(err) // it is part of the program
	}
	scenario.Register(name, text)
}
