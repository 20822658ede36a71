// Package archtest holds the module's architecture to its rules. It has tests
// only; running them parses every Go file of the module and reports each
// violation with its position.
//
// The rules:
//
//   - Packages form layers, listed in layers_test.go. A package imports only
//     packages of its own layer or of those listed before it, in tests too.
//     Packages of a layer that are apart do not import each other. A package that
//     is not listed is a violation. The table of docs/work/architecture.md has the same
//     layers.
//   - Files named formula.go hold closed forms: costs computed without
//     simulating. They import simtime for times and never internal/sim, the
//     engine. The other files of the package, which are the model, use no
//     function of formula.go. So a test that compares model and closed form
//     compares two things.
//   - Only internal/config imports a YAML library, tests aside, and nothing imports
//     "C".
//   - The command links no plotting library (gonum) and no parser of LaTeX.
//   - Only commands and examples print: fmt.Print, Printf and Println appear in
//     cmd, internal/cli, examples and tests alone.
//   - Only internal/file opens, reads, writes and renames files of the user. The
//     packages that deal with files of the system or with temporary ones are listed
//     in layers_test.go.
//   - Exported declarations of public packages mention no type of an internal package
//     of the module. A public package exports at most 150 functions, methods and
//     types, and torch.Context has at most 30 exported methods.
//   - The records in docs/adr are complete, numbered without gaps, and listed in the
//     index docs/adr/README.md. Run go test ./internal/archtest -update to write the
//     index.
//
// Archtest imports nothing of the module but internal/config/configtest. When a rule is wrong, change it
// here with an ADR that says why.
package archtest
